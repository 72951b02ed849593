"""Temperature scaling, one number for all predictions: that of the least NLL or the least MMCE."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats
from lore_core.data.probabilities import (
    PROBABILITY_FLOOR,
    by_blocks,
    log_probabilities,
    log_share,
    softmax,
)
from lore_core.data.rows import Rows
from lore_core.data.rules import POSITIVE
from lore_core.data.validation import InputError, as_rows, check_each, check_positive
from lore_core.data.weights import as_weights, weighed
from lore_core.recalibration.base import Recalibrator

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset


class State(TypedDict):
    """What temperature scaling fits."""

    temperature: Annotated[float, POSITIVE]  #: T


@dataclass(eq=False, repr=False)
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
    temperature_: float = field(init=False)

    bounds: tuple[float, float] = (0.05, 20.0)

    def _check_params(self) -> None:
        bounds = check_each(self.bounds, "bounds", check_positive)
        if len(bounds) != 2 or bounds[0] >= bounds[1]:
            raise InputError(
                f"'bounds' must be two numbers, the smaller first; got {self.bounds!r}."
            )

    def _fit_on(self, calibration: Dataset, *_: object) -> State:
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


#: Width of the kernel over confidences, as in the paper that defines the MMCE.
KERNEL_WIDTH = 0.4
#: Temperatures tried before the best of them is refined: the MMCE may have several minima.
_GRID = 25


def maximum_mean_calibration_error(
    confidence: ArrayLike, outcome: ArrayLike, *, weights: ArrayLike | None = None
) -> float:
    """MMCE, in [0, 1]: how far outcome and confidence differ for any smooth function of confidence.

    ``confidence``, ``outcome`` (n,): confidences in [0, 1] and outcomes 0 or 1. ``weights`` (n,):
    what each row counts for, above 0.

    Notes
    -----
    The square root of n⁻² Σ_ij (a_i − c_i)(a_j − c_j) exp(−|c_i − c_j| / 0.4), i = j included: not
    the weighted form of the same paper. With weights n⁻² is w_i w_j / (Σ w)². O(n log n).

    References
    ----------
    Kumar, Sarawagi, Jain, "Trainable calibration measures", ICML 2018, eq. 5.
    """
    c, a = as_rows(confidence, outcome)
    return float(np.sqrt(_squared(c, a, as_weights(weights, len(c)))))


def _squared(c: Floats, a: Floats, weights: Floats | None) -> float:
    from lore_core.kernel_sums import laplacian_sums

    residual = weighed(a - c, weights)
    sums = laplacian_sums(c, None, residual, bandwidth=KERNEL_WIDTH, n_jobs=1)
    # The kernel is positive definite: below 0 is rounding.
    return max(float(residual @ sums) / len(c) ** 2, 0.0)


class MMCEOptimization(TemperatureScaling):
    """p' = softmax(log p / T), with the T that minimises the MMCE of the calibration rows.

    Parameters and attributes are those of :class:`~lore_core.TemperatureScaling`.

    Notes
    -----
    See :func:`maximum_mean_calibration_error`. The weighted form, which balances right and wrong
    rows, falls without end as T → ∞ on calibrated data and is not used.

    References
    ----------
    Kumar, Sarawagi, Jain, ICML 2018 (as a training loss); Luo et al., UAI 2022 (as a recalibrator).
    """

    label = "MMCE optimization"
    color = 6

    def _fit_on(self, calibration: Dataset, *_: object) -> State:
        from scipy.optimize import minimize_scalar

        logs = log_probabilities(calibration.probabilities)
        outcome = calibration.outcome
        index, predicted = np.arange(len(calibration)), calibration.predictions
        weights = as_weights(calibration.weights)

        def loss(log_temperature: float) -> float:
            vectors = softmax(logs / float(np.exp(log_temperature)))
            return _squared(vectors[index, predicted], outcome, weights)

        grid = np.linspace(np.log(self.bounds[0]), np.log(self.bounds[1]), _GRID)
        best = int(np.argmin([loss(point) for point in grid]))
        around = grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)]
        found = minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-7})
        return {"temperature": float(np.exp(found.x))}
