"""Platt scaling: a logistic curve from the log-odds of the confidence to how often it is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from lore_core.data.arrays import Floats
from lore_core.data.probabilities import expit, logit, top_log_odds
from lore_core.data.rows import Rows
from lore_core.data.weights import effective_rows, weighed
from lore_core.recalibration.base import Recalibrator

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset

#: Log-odds that differ less than this are one confidence, rounded differently.
_SMALLEST_SPREAD = 1e-9


class State(TypedDict):
    """What Platt scaling fits."""

    slope: float  #: α
    intercept: float  #: β


class PlattScaling(Recalibrator):
    """p' = 1 / (1 + exp(−(αℓ + β))) with ℓ the log-odds of the top-label confidence.

    Attributes
    ----------
    slope_, intercept_ : float
        α and β; 1 and 0 leave every confidence as it is.

    Notes
    -----
    A logistic regression without penalty on Platt's smoothed targets: a right row counts as (N₊ +
    1)/(N₊ + 2) and a wrong one as 1/(N₋ + 2). So the slope stays finite where confidence separates
    right from wrong; on many rows this hardly matters.

    A row of weight 2 is not two rows: N₊ and N₋ sum to the effective sample size, (Σw)²/Σw².

    References
    ----------
    Platt, "Probabilistic outputs", 1999. Lin, Lin, Weng, Machine Learning 68, 2007.
    """

    label = "Platt scaling"
    color = 5
    takes_weights = True
    state_type = State
    numbers_in_words = "slope and intercept of a curve"
    slope_: float
    intercept_: float

    def _fit_on(self, calibration: Dataset, *_: object) -> State:
        from sklearn.linear_model import LogisticRegression

        odds = top_log_odds(calibration.probabilities, calibration.predictions)
        weights = calibration.weights
        share = smoothed_targets(calibration.outcome, weights)
        centre, spread = float(odds.mean()), float(odds.std())
        if spread < _SMALLEST_SPREAD:
            mean = float(np.average(share, weights=weights))
            return {"slope": 1.0, "intercept": float(logit(mean)) - centre}
        scaled = (odds - centre) / spread
        right_copy = np.repeat([1, 0], len(odds))
        model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8).fit(
            np.concatenate([scaled, scaled])[:, None],
            right_copy,
            sample_weight=np.concatenate([weighed(v, weights) for v in (share, 1 - share)]),
        )
        slope = float(model.coef_[0, 0]) / spread
        return {"slope": slope, "intercept": float(model.intercept_[0]) - slope * centre}

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Draw the log-odds of the confidences through the curve."""
        odds = top_log_odds(rows.probabilities, rows.predicted)
        return rows.with_confidence(expit(state["slope"] * odds + state["intercept"]))


def smoothed_targets(outcome: Floats, weights: Floats | None = None) -> Floats:
    """Return Platt's targets of outcomes; with weights N₊ + N₋ is the effective size (Σw)²/Σw²."""
    right = outcome.sum()
    wrong = len(outcome) - right
    if weights is not None:
        n = effective_rows(weights, len(outcome))
        right = n * float(np.average(outcome, weights=weights))
        wrong = n - right
    return np.asarray(np.where(outcome == 1, (right + 1) / (right + 2), 1 / (wrong + 2)))
