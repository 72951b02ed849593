"""Temperature scaling: one number that softens or sharpens every prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from lore_core.data import probabilities as formulas
from lore_core.data.dataset import Dataset
from lore_core.data.probabilities import log_softmax, softmax
from lore_core.metrics.global_metrics import PROBABILITY_FLOOR
from lore_core.recalibration.base import Recalibrator

__all__ = ["TemperatureScaling"]


def log_probabilities(dataset: Dataset) -> NDArray[np.float64]:
    """Log p of every class, finite, shape (n, K)."""
    return formulas.log_probabilities(dataset.probabilities)


def tempered(logs: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """softmax(log p / T), shape (n, K)."""
    return softmax(logs / temperature)


class TemperatureScaling(Recalibrator):
    """p' = softmax(log p / T), with the T that minimises the NLL of the calibration rows.

    Parameters
    ----------
    bounds : tuple of float
        Smallest and largest temperature tried.

    Attributes
    ----------
    temperature_ : float
        Above 1 where the classifier was overconfident.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger, "On calibration of modern neural networks", ICML 2017.
    """

    label = "Temperature scaling"

    def __init__(self, bounds: tuple[float, float] = (0.05, 20.0)) -> None:
        self.bounds = bounds
        self.temperature_ = 1.0

    def _fit(self, calibration: Dataset, embedding: Any) -> None:
        logs = log_probabilities(calibration)
        index = np.arange(len(calibration))

        def loss(log_temperature: float) -> float:
            scaled = log_softmax(logs * np.exp(-log_temperature))
            true = scaled[index, calibration.labels]
            return float(-np.maximum(true, np.log(PROBABILITY_FLOOR)).mean())

        low, high = np.log(self.bounds)
        found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
        self.temperature_ = float(np.exp(found.x))

    def _recalibrate(self, evaluation: Dataset, embedding: Any) -> Dataset:
        return evaluation.with_probabilities(
            tempered(log_probabilities(evaluation), self.temperature_)
        )
