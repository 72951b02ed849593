"""Isotonic regression: the best step function that never falls as the confidence rises."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from lore_core.data.rows import Rows
from lore_core.data.validation import OnMaps
from lore_core.recalibration.base import Recalibrator

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset
    from lore_core.data.progress import Progress


class State(TypedDict):
    """What isotonic regression fits: the corners of the function."""

    confidence: NDArray[np.float64]  #: (m,) where they are
    accuracy: NDArray[np.float64]  #: (m,) what it says there


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
    confidence_: NDArray[np.float64]
    accuracy_: NDArray[np.float64]

    def _fit(self, calibration: Dataset, embedding: OnMaps, progress: Progress | None) -> State:
        from sklearn.isotonic import IsotonicRegression as Fit

        fit = Fit(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        fit.fit(calibration.confidence, calibration.outcome)
        return {
            "confidence": np.asarray(fit.X_thresholds_, dtype=np.float64),
            "accuracy": np.asarray(fit.y_thresholds_, dtype=np.float64),
        }

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Look the confidences up in the function."""
        return rows.with_confidence(
            np.interp(rows.confidence, state["confidence"], state["accuracy"])
        )
