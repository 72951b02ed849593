"""Isotonic regression: the best step function that never falls as the confidence rises."""

from __future__ import annotations

from typing import Any

import numpy as np

from lore_core.data.dataset import Dataset
from lore_core.recalibration.base import Recalibrator

__all__ = ["IsotonicRegression"]


class IsotonicRegression(Recalibrator):
    """Replaces the top-label confidence by a non-decreasing function of it.

    Attributes
    ----------
    confidence_, accuracy_ : ndarray of shape (m,)
        The function's corners; between them it is a straight line, beyond them it is constant.

    Notes
    -----
    scikit-learn's pool-adjacent-violators fit of outcome on confidence by least squares. Its ends
    are often exactly 0 or 1, so a single wrong row there costs the likelihood its whole floor.

    References
    ----------
    Zadrozny, Elkan, "Transforming classifier scores into accurate multiclass probability
    estimates", KDD 2002.
    """

    label = "Isotonic regression"

    def _fit(self, calibration: Dataset, embedding: Any) -> None:
        from sklearn.isotonic import IsotonicRegression as Fit

        fit = Fit(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        fit.fit(calibration.confidence, calibration.outcome)
        self.confidence_ = np.asarray(fit.X_thresholds_, dtype=np.float64)
        self.accuracy_ = np.asarray(fit.y_thresholds_, dtype=np.float64)

    def _recalibrate(self, evaluation: Dataset, embedding: Any) -> Dataset:
        return evaluation.with_confidence(
            np.interp(evaluation.confidence, self.confidence_, self.accuracy_)
        )
