"""Weights of rows: what a row counts for in every mean, and what a mean is then worth.

Weights are fixed by the design; outcomes vary. Only ratios matter: weights get mean 1, and equal
ones become None, so that every number is that without weights to the last bit.
"""

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.validation import as_vector, check_lengths, check_rows

#: A mean this close to 1 is 1.
_ROUNDING = 1e-12


def as_weights(values: ArrayLike | None, n_rows: int | None = None) -> Floats | None:
    """Return weights of mean 1, shape (n,), or None if none or all equal; InputError if invalid."""
    if values is None:
        return None
    array = as_vector(values, "weights")
    if n_rows is not None:
        check_lengths(weights=array, rows=range(n_rows))
    fix = "Leave rows of weight 0 out: they count for nothing."
    check_rows(array <= 0, "weights", "be above 0", lambda row: f"{array[row]:.6g}", fix)
    if array.min() == array.max():
        return None
    if array.max() <= len(array) and abs(array.mean() - 1.0) <= _ROUNDING:
        return array  # Read again: not a bit may change.
    # Not by the mean of weights as they are, whose sum may overflow.
    scaled = array / array.max()
    return np.asarray(scaled / scaled.mean())


def weighed(values: Floats, weights: Floats | None) -> Floats:
    """Multiply the values of each row, (n,) or (n, m), by its weight, if there are weights."""
    if weights is None:
        return values
    return values * (weights if values.ndim == 1 else weights[:, None])


def chosen_weights(weights: Floats | None, rows: Ints | Mask | slice) -> Floats | None:
    """Return the weights of some rows (mask, indices or slice), not normalised again."""
    return None if weights is None else weights[rows]


def effective_rows(weights: Floats | None, n_rows: int) -> float:
    """Return the effective sample size (Σw)² / Σw² (Kish 1965)."""
    if weights is None or not len(weights):
        return float(n_rows)
    return float(weights.sum() ** 2 / np.square(weights).sum())


def linearised(values: Floats, weights: Floats | None) -> Floats:
    """Return values whose plain mean is the weighted one, and whose scatter is its error.

    ``values`` (n,): NaN for rows that take no part. With m = Σ w v / Σ w over the others,
    u_i = m + n w_i (v_i − m) / Σ w: the linearised ratio (Särndal, Swensson, Wretman 1992, 5.6).
    Intervals of means and of paired differences take u for v.
    """
    if weights is None:
        return values
    part = values == values
    v, w = values[part], weights[part]
    mean = np.average(v, weights=w)
    found = values.copy()
    found[part] = mean + w * (v - mean) * (len(v) / w.sum())
    return found
