"""Temperature scaling: one number that softens or sharpens every prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypedDict

import numpy as np

from lore_core.data.probabilities import (
    PROBABILITY_FLOOR,
    by_blocks,
    log_probabilities,
    log_share,
    softmax,
)
from lore_core.data.rows import Rows
from lore_core.data.rules import POSITIVE
from lore_core.data.validation import InputError, check_each, check_positive
from lore_core.recalibration.base import Recalibrator

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset


class State(TypedDict):
    """What temperature scaling fits."""

    temperature: Annotated[float, POSITIVE]  #: T


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

    Notes
    -----
    A row of weight 2 is two rows.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger, "On calibration of modern neural networks", ICML 2017.
    """

    label = "Temperature scaling"
    color = 1
    takes_weights = True
    state_type = State
    numbers_in_words = "a temperature"
    temperature_: float

    def __init__(self, bounds: tuple[float, float] = (0.05, 20.0)) -> None:
        self.bounds = bounds
        self._check_params()

    def _check_params(self) -> None:
        bounds = check_each(self.bounds, "bounds", check_positive)
        if len(bounds) != 2 or bounds[0] >= bounds[1]:
            raise InputError(
                f"'bounds' must be two numbers, the smaller first; got {self.bounds!r}."
            )

    def _fit(self, calibration: Dataset) -> State:
        from scipy.optimize import minimize_scalar

        logs = log_probabilities(calibration.probabilities)

        def loss(log_temperature: float) -> float:
            true = log_share(logs, calibration.labels, np.exp(-log_temperature))
            clipped = np.maximum(true, np.log(PROBABILITY_FLOOR))
            return -float(np.average(clipped, weights=calibration.weights))

        low, high = np.log(self.bounds)
        found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
        return {"temperature": float(np.exp(found.x))}

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Divide the logarithms of the probabilities by the temperature."""
        temperature = state["temperature"]
        return rows.with_probabilities(
            by_blocks(lambda p: softmax(log_probabilities(p) / temperature), rows.probabilities)
        )
