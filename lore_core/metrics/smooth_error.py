"""The smooth calibration error: no bins, one bandwidth that the data choose.

Błasiok, Nakkiran, "Smooth ECE: principled reliability diagrams via kernel smoothing", ICLR 2024.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft

from lore_core.data.arrays import Floats
from lore_core.data.validation import as_rows
from lore_core.data.weights import as_weights, weighed

#: Steps of the grid confidences are put on; what that changes is of the order of its square.
_STEPS = 2000
#: Halvings of the search for the bandwidth, from 1 down.
_HALVINGS = 40


def smooth_calibration_error(
    confidence: ArrayLike, outcome: ArrayLike, *, weights: ArrayLike | None = None
) -> float:
    """Calibration error after smoothing along the confidence, in [0, 1].

    Parameters
    ----------
    confidence, outcome : array-like of shape (n,)
        Confidences in [0, 1] and outcomes 0 or 1.
    weights : array-like of shape (n,), optional
        What each row counts for, above 0: 1/n becomes w_i / Σ w.

    Notes
    -----
    smECE_σ = ∫₀¹ |1/n Σ (a_i − c_i) K_σ(t, c_i)| dt, with K_σ the normal density of standard
    deviation σ, reflected at 0 and 1. It falls as σ grows; the smooth ECE is smECE_σ* at the σ*
    where smECE_σ* = σ*. Each confidence is shared between its two neighbours of a grid of 2,000
    steps, and on that grid a reflected Gaussian is a product in the cosine transform.
    """
    c, a = as_rows(confidence, outcome)
    # Cells' middles, so that the reflection at 0 and 1 is that of the cosine transform.
    place = np.clip(c * _STEPS - 0.5, 0.0, _STEPS - 1.0)
    left = np.minimum(place.astype(np.int64), _STEPS - 2)
    share = place - left
    residual = weighed(a - c, as_weights(weights, len(c))) / len(c)
    sums = np.bincount(left, weights=residual * (1 - share), minlength=_STEPS)
    sums += np.bincount(left + 1, weights=residual * share, minlength=_STEPS)
    waves = fft.dct(sums, type=2)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        sigma = (low + high) / 2
        low, high = (sigma, high) if _error(waves, sigma) > sigma else (low, sigma)
    return _error(waves, high)


def _error(waves: Floats, sigma: float) -> float:
    """Error after smoothing with one bandwidth."""
    damped = waves * np.exp(-0.5 * np.square(np.pi * sigma * np.arange(_STEPS)))
    return float(np.abs(fft.idct(damped, type=2)).sum())
