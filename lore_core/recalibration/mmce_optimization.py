"""MMCE optimisation: the temperature at which right and wrong rows balance at every confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats
from lore_core.data.probabilities import log_probabilities, softmax
from lore_core.data.validation import as_rows
from lore_core.data.weights import as_weights, weighed
from lore_core.kernel_sums import laplacian_sums
from lore_core.recalibration.temperature_scaling import State, TemperatureScaling

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset

#: Width of the kernel over confidences, as in the paper that defines the MMCE.
KERNEL_WIDTH = 0.4
#: Temperatures tried before the best of them is refined: the MMCE may have several minima.
_GRID = 25


def maximum_mean_calibration_error(
    confidence: ArrayLike, outcome: ArrayLike, *, weights: ArrayLike | None = None
) -> float:
    """MMCE, in [0, 1]: how far outcome and confidence differ for any smooth function of confidence.

    ``confidence``, ``outcome`` (n,): confidences in [0, 1] and outcomes 0 or 1. ``weights`` (n,):
    what each row counts for, above 0: n⁻² becomes w_i w_j / (Σ w)².

    Notes
    -----
    The square root of MMCE_m² = n⁻² Σ_ij (a_i − c_i)(a_j − c_j) exp(−|c_i − c_j| / 0.4), over all
    pairs, i = j included: not the weighted form of the same paper. Exact in O(n log n).

    References
    ----------
    Kumar, Sarawagi, Jain, "Trainable calibration measures for neural networks from kernel mean
    embeddings", ICML 2018, eq. 5.
    """
    c, a = as_rows(confidence, outcome)
    return float(np.sqrt(_squared(c, a, as_weights(weights, len(c)))))


def _squared(c: Floats, a: Floats, weights: Floats | None) -> float:
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
    Kumar, Sarawagi, Jain, ICML 2018: there it is a term of the training loss; as a recalibrator it
    is one of the baselines of Luo et al., UAI 2022.
    """

    label = "MMCE optimization"
    color = 6

    def _fit(self, calibration: Dataset) -> State:
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
