"""Intervals of means, one or several jointly, and of draws; Holm's adjusted p-values."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from lore_core.data.arrays import Floats, Ints
from lore_core.data.probabilities import by_blocks, row_maximum
from lore_core.data.validation import check_share
from lore_core.data.weights import weighed

#: Draws behind joint intervals; most blocks that rows are averaged in.
_DRAWS, _MAX_BLOCKS = 5000, 1000
#: Relative difference up to which values count as equal: rounding of sums.
TIE = 1e-9


def mean_interval(values: ArrayLike) -> tuple[float, float, float]:
    """Return the mean of some rows and its 95 % Student-t interval.

    ``values`` (n,): NaN for rows that take no part. Of fewer than two the interval is NaN.
    """
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    mean = float(known.mean()) if len(known) else float("nan")
    if len(known) < 2:
        return mean, float("nan"), float("nan")
    error = known.std(ddof=1) / np.sqrt(len(known))
    half = float(stdtrit(len(known) - 1, 0.975) * error)
    return mean, mean - half, mean + half


def joint_intervals(values: pd.DataFrame, possible: ArrayLike | None = None) -> pd.DataFrame:
    """Return means of columns with joint 95 % intervals.

    ``values`` (n, m): a column for each mean; rows with a NaN take no part. ``possible`` (m, 2):
    smallest and largest possible value of a column; by default the largest absolute value there is,
    with either sign.

    Returns a DataFrame: one row a column: ``difference`` (the mean), ``low, high`` and ``p_value``
    (two-sided, adjusted for all columns); of fewer than two rows the last three are NaN.

    Gaffke's bounds, which cover skewed means too: docs/method.md ("Paired differences").
    """
    known = values.to_numpy(np.float64)
    if (missing := np.isnan(known).any(axis=1)).any():
        known = known.T[:, ~missing].T
    n, m = known.shape
    mean = known.mean(axis=0) if n else np.full(m, np.nan)
    low = high = p_value = np.full(m, np.nan)
    if n >= 2 and m:
        size = -(-n // _MAX_BLOCKS)
        order = np.random.default_rng(0).permutation(n)[: n // size * size]
        blocks = sum((known[rows] for rows in np.split(order, size)), np.zeros(m)) / size
        largest = np.maximum(known.max(axis=0), -known.min(axis=0))
        ends = np.array([-largest, largest]) if possible is None else np.asarray(possible).T
        least, most = mean + (ends - mean) / size
        below, p_below = _upper_bounds(-blocks, -least)
        high, p_above = _upper_bounds(blocks, most)
        low, p_value = -below, np.minimum(2 * np.minimum(p_below, p_above), 1.0)
    columns = {"difference": mean, "low": low, "high": high, "p_value": p_value}
    return pd.DataFrame(columns, values.columns)


def _upper_bounds(rows: Floats, worst: Floats) -> tuple[Floats, Floats]:
    """Return joint 97.5 % upper bounds of columns' means, and p-values of means ≥ 0."""
    drawn = drawn_weights(len(rows)) @ np.vstack([rows, worst])
    ordered = np.sort(drawn, axis=0)
    highest = np.sort(pd.DataFrame(drawn).rank(method="min").max(axis=1).to_numpy(int) - 1)
    bound = ordered[highest[int(0.975 * _DRAWS)]]
    beyond = _DRAWS - np.searchsorted(highest, (ordered < 0).sum(axis=0))
    return bound, (1 + beyond) / (1 + _DRAWS)


@lru_cache(maxsize=2)
def drawn_weights(n: int) -> Floats:
    """Return weights (draws, n + 1) of n rows and an extra one, uniform on the simplex: 40 MB."""
    drawn = np.random.default_rng(0).standard_exponential((_DRAWS, n + 1))
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))


def difference_range(
    score_of_class: Callable[[Floats], Floats],
    first: Floats,
    other: Floats,
    weights: Floats | None = None,
    units: Ints | None = None,
) -> tuple[float, float]:
    """Return the least and largest difference of a score over all classes.

    ``first``: scores of all classes of each row, ``other``: other probabilities of them, (n, K).
    ``units`` (n,): then of :func:`~lore_core.data.units.by_unit`, by its largest unit.
    """

    def ends(one: Floats, two: Floats) -> Floats:
        difference = score_of_class(two) - one
        return np.column_stack([-row_maximum(-difference), row_maximum(difference)])

    low, high = weighed(by_blocks(ends, first, other), weights).T
    least, most = float(low.min()), float(high.max())
    if units is None:
        return least, most
    mass = np.bincount(units, weights)
    times = float(mass.max() / mass.mean())
    return least - (times - 1) * (most - least), most + (times - 1) * (most - least)


def central_interval(draws: ArrayLike, level: float, *, axis: int = 0) -> tuple[Floats, Floats]:
    """Return limits that hold a further draw with probability ``level``."""
    tail = (1 - check_share(level, "level")) / 2
    low, high = np.quantile(np.asarray(draws), [tail, 1 - tail], axis=axis, method="weibull")
    return np.asarray(low), np.asarray(high)


def holm(p_values: Floats) -> Floats:
    """Adjust p-values after Holm: the smallest times their number, the next times one less."""
    order = np.argsort(p_values, kind="stable")
    stepped = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted
