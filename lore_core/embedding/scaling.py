"""Bring embedding dimensions to unit scale, so that a bandwidth γ means the same on every map."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from lore_core.data.arrays import Floats
from lore_core.data.validation import InputError

Scale = Literal["unit", "isotropic", "none"]
SCALES: tuple[Scale, ...] = get_args(Scale)

#: A standard deviation below this share of the largest coordinate is rounding, not spread.
_ROUNDING = 1e-12


def check_scale(scale: str | None, default: Scale) -> Scale:
    """Return the scale asked for, or ``default`` where none was."""
    if scale is None:
        return default
    for known in SCALES:
        if scale == known:
            return known
    raise InputError(f"'scale' must be 'unit', 'isotropic' or 'none'; got {scale!r}.")


def scale_factors(coordinates: Floats, scale: Scale) -> Floats:
    """Return the number each dimension of unscaled coordinates (n, d) is divided by, shape (d,).

    ``"unit"``: the population standard deviation σ_k. ``"isotropic"``: sqrt(mean_k σ_k²) for all.
    ``"none"``: 1, as for a dimension (isotropic: a whole map) that does not vary.
    """
    d = coordinates.shape[1]
    if scale == "none":
        return np.ones(d)
    deviation = coordinates.std(axis=0)
    deviation[deviation <= _ROUNDING * np.abs(coordinates).max(axis=0)] = 0.0
    if scale == "isotropic":
        deviation = np.full(d, np.sqrt(np.mean(deviation**2)))
    return np.where(deviation > 0, deviation, 1.0)
