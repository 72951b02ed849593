"""Beta calibration, fitted by the package betacal."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from lore_core.data.rows import Rows
from lore_core.data.validation import OnMaps
from lore_core.recalibration.rivals import Rival

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset
    from lore_core.data.progress import Progress


class State(TypedDict):
    """What beta calibration fits."""

    coefficients: tuple[float, float, float]  #: NaN where nothing was fitted
    model: Any  #: betacal's, or None


class BetaCalibration(Rival):
    """p' = 1 / (1 + exp(−(a log c − b log(1 − c) + m))) of the top-label confidence c.

    Where all calibration rows are right, or all wrong, nothing can be fitted and every confidence
    stays.

    Attributes
    ----------
    coefficients_ : tuple of float
        a and b, and the confidence that is told 0.5; NaN where nothing was fitted.

    Notes
    -----
    Needs ``betacal`` (``pip install "lore-lens[rivals]"``).

    References
    ----------
    Kull, Silva Filho, Flach, "Beta calibration: a well-founded and easily implemented improvement
    on logistic calibration for binary classifiers", AISTATS 2017.
    """

    label = "Beta calibration"
    modules = ("betacal",)
    installation = "pip install betacal"
    coefficients_: tuple[float, float, float]

    def _fit(self, calibration: Dataset, embedding: OnMaps, progress: Progress | None) -> State:
        made = self.library("betacal").BetaCalibration(parameters="abm")
        outcome = calibration.outcome
        if outcome.min() == outcome.max():
            return {"coefficients": (np.nan, np.nan, np.nan), "model": None}
        # betacal switches every warning of the process off and leaves it so.
        with warnings.catch_warnings():
            model = made.fit(calibration.confidence, outcome)
        a, b, half = model.calibrator_.map_
        return {"coefficients": (float(a), float(b), float(half)), "model": model}

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Draw the confidences through the curve."""
        if state["model"] is None:
            return rows
        return rows.with_confidence(np.clip(state["model"].predict(rows.confidence), 0.0, 1.0))
