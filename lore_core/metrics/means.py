"""Intervals of means of rows, and of several at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from lore_core.data.arrays import Floats
from lore_core.data.weights import chosen_weights, weighed

#: Resamples behind intervals that hold at once, and of how many rows at most: the distribution of
#: t changes little beyond.
_DRAWS, _MOST_ROWS = 2000, 2000
#: Spread that is less, as a share of the mean, is rounding.
_ROUNDING = 1e-9
#: Numbers of a score by row and class that are held at a time.
_CHUNK = 100_000
#: Means more skewed than this have no interval: from here on ever more than 5 % lie outside it.
MOST_SKEWED = 0.3


def mean_interval(values: ArrayLike) -> tuple[float, float, float]:
    """Return the mean of some rows and its 95 % Student-t interval.

    ``values`` (n,): NaN for rows that take no part. Of fewer than two the interval is NaN.
    """
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    mean = float(known.mean()) if len(known) else float("nan")
    if len(known) < 2:
        return mean, float("nan"), float("nan")
    half = float(stats.t.ppf(0.975, len(known) - 1) * stats.sem(known))
    return mean, mean - half, mean + half


def joint_intervals(values: pd.DataFrame) -> pd.DataFrame:
    """Return means of columns with intervals that hold all at once with 95 %.

    Parameters
    ----------
    values : DataFrame of shape (n, m)
        One row a row of the data, one column a mean that is wanted. Rows with a NaN take no part.

    Returns
    -------
    DataFrame
        One row a column: ``difference`` (the mean), ``low, high`` and ``p_value``: how often one of
        m columns of mean 0 that vary together as these do lies so many standard errors off. Of
        fewer than two rows they are NaN.

    Notes
    -----
    Intervals reach as many standard errors as the largest |t| of the columns exceeds in 5 % of
    2,000 resamples of the rows (studentised bootstrap): less than Bonferroni's where columns
    vary together, as differences to one method do, and more than Student's where few rows make
    them skewed. Where resamples have no spread, as rare rows alone make the mean, there is no
    interval. A column that does not vary has no width.
    """
    known = values.dropna().to_numpy(np.float64)
    n, m = known.shape
    mean = known.mean(axis=0) if n else np.full(m, np.nan)
    half = p_value = np.full(m, np.nan)
    if n >= 2:
        error = known.std(axis=0, ddof=1) / np.sqrt(n)
        varies = error > _ROUNDING * np.abs(mean)
        largest = _largest_t(known[:, varies])
        off = np.abs(mean) / np.where(varies, error, 1.0)
        beyond = (1 + _DRAWS - np.searchsorted(largest, off)) / (1 + _DRAWS)
        reach = largest[int(0.95 * _DRAWS)]
        half = np.where(varies, error * (reach if np.isfinite(reach) else np.nan), 0.0)
        p_value = np.where(varies, beyond, np.where(mean == 0, 1.0, 0.0))
    columns = {"difference": mean, "low": mean - half, "high": mean + half, "p_value": p_value}
    return pd.DataFrame(columns, values.columns)


def _largest_t(columns: Floats) -> Floats:
    """Return the largest |t| of some columns in every resample of their rows, in order."""
    if not columns.shape[1]:
        return np.zeros(_DRAWS)
    rows = np.linspace(0, len(columns) - 1, min(len(columns), _MOST_ROWS)).astype(int)
    off = columns[rows] - columns[rows].mean(axis=0)
    drawn, n = _resamples(len(off)), len(off)
    mean, square = drawn @ off / n, drawn @ off**2 / n
    error = np.sqrt(np.maximum(square - mean**2, 0.0) / (n - 1))
    error[error <= _ROUNDING * np.sqrt(square)] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, np.abs(mean) / error)
    return np.sort(t.max(axis=1))


@lru_cache(maxsize=2)
def _resamples(n: int) -> Floats:
    """How often each of n rows is in each resample, shape (draws, n)."""
    rng = np.random.default_rng(0)
    drawn = [np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(_DRAWS)]
    return np.array(drawn, np.float64)


def expected_skewness(
    of_class: Callable[[Floats], Floats],
    first: Floats,
    other: Floats,
    weights: Floats | None = None,
) -> float:
    """Return how skewed the mean difference of a score is expected to be.

    Parameters
    ----------
    of_class : callable
        From probabilities (n, K) to the score of each row had each class been the true one.
    first, other : ndarray of shape (n, K)
        Probabilities of two methods. The truth is taken to lie midway between them: a class that
        the one calls impossible and the other does not is expected half as often as the latter
        says, though none of these rows may show it.
    weights : ndarray of shape (n,), optional
        What each row counts for, of mean 1: its difference is as many times as large.

    Notes
    -----
    The third central moment of the n differences over the 3/2 power of the second, over √n. A
    Student-t interval rests on this being small: rare rows of a large difference, which a sample
    may well not hold, make the mean look surer than it is.
    """
    n, n_classes = first.shape
    sums = np.zeros(3)
    step = max(1, _CHUNK // n_classes)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        weight = (first[rows] + other[rows]) / 2
        apart = of_class(other[rows]) - of_class(first[rows])
        apart = weighed(apart, chosen_weights(weights, rows))
        expected = weight * apart
        square = apart * apart
        sums += [expected.sum(), np.vdot(expected, apart), np.vdot(expected, square)]
    mean, square, cube = sums / n
    spread = square - mean**2
    if spread <= 1e-15 * max(square, 1e-300):
        return 0.0
    return float((cube - 3 * mean * square + 2 * mean**3) / spread**1.5 / np.sqrt(n))
