"""Isotonic regression: the best step function that never falls as the confidence rises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypedDict

import numpy as np

from lore_core.data.arrays import Floats, Ints
from lore_core.data.rows import Rows
from lore_core.data.rules import Values
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.cells import joined_steps, rounded

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset


class State(TypedDict):
    """What isotonic regression fits: the corners of the function."""

    confidence: Annotated[
        Floats, Values(("m",), 0.0, 1.0, rising=True), "corners of the step function{cuts}"
    ]
    accuracy: Annotated[
        Floats, Values(("m",), 0.0, 1.0, rising=True), "accuracy of each level{smallest}"
    ]
    #: Of the step
    count: Annotated[Ints, Values(("m",), 0, whole=True), "how many calibration rows these are of"]


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

    A row of weight 2 is two rows.

    References
    ----------
    Zadrozny, Elkan, "Transforming classifier scores into accurate multiclass probability
    estimates", KDD 2002.
    """

    label = "Isotonic regression"
    color = 4
    takes_weights = True
    state_type = State
    confidence_: Floats
    accuracy_: Floats

    def _fit(self, calibration: Dataset) -> State:
        from sklearn.isotonic import IsotonicRegression as Fit

        fit = Fit(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        fit.fit(calibration.confidence, calibration.outcome, sample_weight=calibration.weights)
        corners = np.asarray(fit.X_thresholds_, dtype=np.float64)
        accuracy = np.asarray(fit.y_thresholds_, dtype=np.float64)
        step = _steps(accuracy)
        starts = np.flatnonzero(np.diff(step, prepend=-1))
        of_row = np.searchsorted(corners[starts], calibration.confidence, side="right") - 1
        return {"confidence": corners, "accuracy": accuracy, "count": np.bincount(of_row)[step]}

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Look the confidences up in the function."""
        return rows.with_confidence(
            np.interp(rows.confidence, state["confidence"], state["accuracy"])
        )

    @staticmethod
    def in_cells(state: State, size: int) -> tuple[State, None]:
        """Return the function with steps of fewer rows joined to their neighbours."""
        count = state["count"]
        step = _steps(state["accuracy"])
        starts = np.flatnonzero(np.diff(step, prepend=-1))
        step = joined_steps(count[starts], size)[step]
        weight = np.where(np.isin(np.arange(len(count)), starts), count, 0)
        total = np.bincount(step, weights=weight)
        right = np.bincount(step, weights=weight * state["accuracy"])
        ends = np.flatnonzero((np.diff(step, prepend=-1) > 0) | (np.diff(step, append=-1) != 0))
        return {
            "confidence": rounded(state["confidence"][ends]),
            "accuracy": (right / total)[step[ends]],
            "count": total[step[ends]].astype(np.int64),
        }, None


def _steps(accuracy: Floats) -> Ints:
    """Return the step of each corner, shape (m,): corners of one accuracy share one."""
    return np.asarray(np.cumsum(np.diff(accuracy, prepend=-1.0) > 0) - 1)
