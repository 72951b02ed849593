"""Temperatures: one for all probabilities, of the least NLL or MMCE; one for the other classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Self, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats, Ints
from lore_core.data.probabilities import (
    PROBABILITY_FLOOR,
    by_blocks,
    log_probabilities,
    log_share,
    log_softmax,
    softmax,
)
from lore_core.data.rows import Rows
from lore_core.data.rules import POSITIVE, Number
from lore_core.data.validation import InputError, as_rows, check_each, check_positive
from lore_core.data.weights import as_weights, chosen_weights, weighed
from lore_core.recalibration.base import Recalibrator

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset


class State(TypedDict):
    """What temperature scaling fits."""

    temperature: Annotated[float, POSITIVE]  #: T


@dataclass(eq=False, repr=False)
class TemperatureScaling(Recalibrator):
    """p' = softmax(log p / T), with the T that minimises the NLL of the calibration rows.

    ``bounds``: smallest and largest temperature tried. Fitted: ``temperature_``, above 1 where the
    classifier was overconfident.

    A row of weight 2 is two rows. The NLL that is minimised clips p at 1e-6.

    Guo, Pleiss, Sun, Weinberger, "On calibration of modern neural networks", ICML 2017.
    """

    label = "Temperature scaling"
    color = 1
    takes_weights = True
    state_type = State
    numbers_in_words = "a temperature"

    bounds: tuple[float, float] = (0.05, 20.0)

    def _check_params(self) -> None:
        bounds = check_each(self.bounds, "bounds", check_positive)
        if len(bounds) != 2 or bounds[0] >= bounds[1]:
            raise InputError(
                f"'bounds' must be two numbers, the smaller first; got {self.bounds!r}."
            )

    def _fit_on(self, calibration: Dataset, *_: object) -> State:
        logs = log_probabilities(calibration.probabilities)

        def loss(log_temperature: float) -> float:
            true = log_share(logs, calibration.labels, np.exp(-log_temperature))
            clipped = np.maximum(true, np.log(PROBABILITY_FLOOR))
            return -float(np.average(clipped, weights=calibration.weights))

        low, high = np.log(self.bounds)
        return _lowest(loss, low, high, 1e-9)

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Divide the logarithms of the probabilities by the temperature."""
        temperature = state["temperature"]
        return rows.with_probabilities(
            by_blocks(lambda p: softmax(log_probabilities(p) / temperature), rows.probabilities)
        )


def _lowest(loss: Callable[[float], float], low: float, high: float, precision: float) -> State:
    from scipy.optimize import minimize_scalar

    options = {"xatol": precision}
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options=options)
    return {"temperature": float(np.exp(found.x))}


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

    The square root of n⁻² Σ_ij (a_i − c_i)(a_j − c_j) exp(−|c_i − c_j| / 0.4), i = j included: not
    the weighted form of the same paper. With weights n⁻² is w_i w_j / (Σ w)². O(n log n).

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

    See :func:`maximum_mean_calibration_error`. The weighted form, which balances right and wrong
    rows, falls without end as T → ∞ on calibrated data and is not used.

    Kumar, Sarawagi, Jain, ICML 2018 (as a training loss); Luo et al., UAI 2022 (as a recalibrator).
    """

    label = "MMCE optimization"
    color = 6

    def _fit_on(self, calibration: Dataset, *_: object) -> State:
        logs, outcome = log_probabilities(calibration.probabilities), calibration.outcome
        own = np.arange(len(calibration)), calibration.predictions
        weights = as_weights(calibration.weights)

        def loss(log_temperature: float) -> float:
            vectors = softmax(logs / float(np.exp(log_temperature)))
            return _squared(vectors[own], outcome, weights)

        low, high = np.log(self.bounds)
        grid = np.linspace(low, high, _GRID)
        best = int(np.argmin([loss(point) for point in grid]))
        return _lowest(loss, grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)], 1e-7)


#: What is added to every probability; the first only keeps logarithms finite.
_OFFSETS = (1e-12, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
#: Temperatures tried.
_BOUNDS = (0.05, 20.0)


@dataclass(frozen=True)
class OtherClasses:
    """Shares of the other classes, softened so that they fit the wrong rows.

    q_k = (p_k + ε)^{1/T} / Σ_{j≠ŷ} (p_j + ε)^{1/T} minimises −Σ_{wrong} log q_y + ρ (log T)²/2, a
    normal prior for few wrong rows. The confidence is another factor of the likelihood.
    """

    temperature: Annotated[float, POSITIVE] = 1.0  #: T; above 1 the shares become more alike
    #: ε, added first: what a class is worth that the classifier gave no probability.
    offset: Annotated[float, Number(0.0)] = _OFFSETS[0]

    @classmethod
    def fit(cls, calibration: Dataset, precision: float = 1.0) -> Self:
        """Fit T and ε (ρ: ``precision``); two classes, or no wrong row, change nothing."""
        from scipy.optimize import minimize_scalar

        wrong = calibration.outcome == 0
        if calibration.n_classes == 2 or not wrong.any():
            return cls()
        weights = chosen_weights(as_weights(calibration.weights), wrong)
        rows = calibration.rows(wrong)
        best, lowest = cls(), np.inf
        for offset in _OFFSETS:
            logs = _logs_of_the_others(rows.probabilities, rows.predictions, offset)

            def loss(log_temperature: float, logs: Floats = logs) -> float:
                share = log_share(logs, rows.labels, np.exp(-log_temperature))
                fitted = weighed(np.maximum(share, np.log(PROBABILITY_FLOOR)), weights).sum()
                return float(precision * log_temperature**2 / 2 - fitted)

            found = minimize_scalar(loss, bounds=tuple(np.log(_BOUNDS)), method="bounded")
            # Where shares do not depend on the offset, the smallest one wins.
            if found.fun < lowest - 1e-9:
                best, lowest = cls(float(np.exp(found.x)), offset), float(found.fun)
        return best

    def shares(self, probabilities: Floats, predicted: Ints) -> Floats:
        """Return shares q, shape (n, K), of the classifier's p (n, K); 0 at the predicted class."""
        logs = _logs_of_the_others(probabilities, predicted, self.offset)
        return np.asarray(np.exp(log_softmax(logs / self.temperature)))

    def complete(self, rows: Rows, confidence: Floats) -> Rows:
        """Give the predicted classes new confidences, and the others their shares of the rest."""
        return rows.with_probabilities(
            by_blocks(self._completed, rows.probabilities, rows.predicted, confidence)
        )

    def _completed(self, probabilities: Floats, predicted: Ints, confidence: Floats) -> Floats:
        vectors = self.shares(probabilities, predicted) * (1.0 - confidence)[:, None]
        vectors[np.arange(len(vectors)), predicted] = confidence
        return vectors


def _logs_of_the_others(probabilities: Floats, predicted: Ints, offset: float) -> Floats:
    """Log(p + offset), shape (n, K), −inf at the predicted class."""
    logs = np.log(probabilities + offset)
    logs[np.arange(len(probabilities)), predicted] = -np.inf
    return np.asarray(logs)
