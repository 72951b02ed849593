"""From kernel means around a row to its corrected confidence, for LoRe and LoRe smooth."""

from __future__ import annotations

import numpy as np

from lore_core.data.arrays import Floats


def corrected(
    mean: Floats,
    mass: Floats,
    prior_strength: float,
    *,
    confidence: Floats,
    accuracy: Floats,
    start: Floats | None,
) -> Floats:
    """Return p' of LoRe before it is clipped, shape (n,).

    ``mean``: kernel mean of the neighbours' outcomes or, with a base, of what it leaves over; NaN
    where the bin has none. ``mass``: Σk. ``confidence``: the rows' own. ``accuracy``: of their
    bins; the confidence where that is empty. ``start``: confidences of the base.
    """
    if start is not None:
        return start + _pulled(mean, mass, np.zeros(len(start)), prior_strength)
    # Without pseudo-rows nothing says where a row without neighbours should go: it stays.
    return _pulled(mean, mass, confidence if prior_strength == 0 else accuracy, prior_strength)


def _pulled(mean: Floats, mass: Floats, toward: Floats, prior_strength: float) -> Floats:
    """(Σ k v + s·toward) / (Σ k + s), from the mean of v and the mass Σ k.

    Where there is nothing to average (NaN) ``toward`` is returned. With s = 0 the mean is returned
    to the last bit, also where the mass underflows.
    """
    if prior_strength == 0:
        return np.where(np.isnan(mean), toward, mean)
    share = mass / (mass + prior_strength)
    return np.where(np.isnan(mean), toward, np.nan_to_num(mean) * share + toward * (1 - share))


def lowest_confidence(n_classes: int, floor: bool) -> float:
    """Return 1/K, below which the largest of K probabilities cannot be, or 0 without a floor."""
    return 1.0 / n_classes if floor else 0.0
