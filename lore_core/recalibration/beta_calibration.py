"""Beta calibration, fitted by the package betacal."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from lore_core.data.dataset import Dataset
from lore_core.recalibration.rivals import Rival

__all__ = ["BetaCalibration"]


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

    def __init__(self) -> None:
        self.coefficients_ = (float("nan"),) * 3

    def _fit(self, calibration: Dataset, embedding: Any) -> None:
        made = self.library("betacal").BetaCalibration(parameters="abm")
        outcome = calibration.outcome
        self._fitted = None
        self.coefficients_ = (float("nan"),) * 3
        if outcome.min() == outcome.max():
            return
        # betacal switches every warning of the process off and leaves it so.
        with warnings.catch_warnings():
            self._fitted = made.fit(calibration.confidence, outcome)
        a, b, half = self._fitted.calibrator_.map_
        self.coefficients_ = (float(a), float(b), float(half))

    def _recalibrate(self, evaluation: Dataset, embedding: Any) -> Dataset:
        if self._fitted is None:
            return evaluation
        found = self._fitted.predict(evaluation.confidence)
        return evaluation.with_confidence(np.clip(found, 0.0, 1.0))
