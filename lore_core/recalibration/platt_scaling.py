"""Platt scaling: a logistic curve from the log-odds of the confidence to how often it is right."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.data.dataset import Dataset
from lore_core.data.probabilities import expit, logit, top_log_odds
from lore_core.recalibration.base import Recalibrator

__all__ = ["PlattScaling"]

#: Log-odds that differ less than this are one confidence, rounded differently.
_SMALLEST_SPREAD = 1e-9


def _log_odds(dataset: Dataset) -> NDArray[np.float64]:
    return top_log_odds(dataset.probabilities, np.asarray(dataset.predictions))


class PlattScaling(Recalibrator):
    """p' = 1 / (1 + exp(−(αℓ + β))) with ℓ the log-odds of the top-label confidence.

    Attributes
    ----------
    slope_, intercept_ : float
        α and β; 1 and 0 leave every confidence as it is.

    Notes
    -----
    A logistic regression without penalty on Platt's smoothed targets: a right row counts as
    (N₊ + 1)/(N₊ + 2) and a wrong one as 1/(N₋ + 2). With plain targets the slope runs to infinity
    where confidence separates right from wrong, or where every row is right; with these it stays
    finite, and on many rows the two are the same.

    References
    ----------
    Platt, "Probabilistic outputs for support vector machines and comparisons to regularized
    likelihood methods", 1999. Lin, Lin, Weng, "A note on Platt's probabilistic outputs for support
    vector machines", Machine Learning 68, 2007.
    """

    label = "Platt scaling"

    def __init__(self) -> None:
        self.slope_ = 1.0
        self.intercept_ = 0.0

    def _fit(self, calibration: Dataset, embedding: Any) -> None:
        from sklearn.linear_model import LogisticRegression

        odds, outcome = _log_odds(calibration), calibration.outcome
        right = outcome.sum()
        wrong = len(outcome) - right
        share = np.where(outcome == 1, (right + 1) / (right + 2), 1 / (wrong + 2))
        centre, spread = float(odds.mean()), float(odds.std())
        if spread < _SMALLEST_SPREAD:
            # One confidence for all rows: nothing to draw a slope from.
            self.slope_, self.intercept_ = 1.0, float(logit(share.mean())) - centre
            return
        scaled = (odds - centre) / spread
        # A soft target is the row once as right and once as wrong, weighted.
        right_copy = np.repeat([1, 0], len(odds))
        model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8).fit(
            np.concatenate([scaled, scaled])[:, None],
            right_copy,
            sample_weight=np.concatenate([share, 1 - share]),
        )
        self.slope_ = float(model.coef_[0, 0]) / spread
        self.intercept_ = float(model.intercept_[0]) - self.slope_ * centre

    def _recalibrate(self, evaluation: Dataset, embedding: Any) -> Dataset:
        return evaluation.with_confidence(
            expit(self.slope_ * _log_odds(evaluation) + self.intercept_)
        )
