"""Check the arguments once, and bring targets and sources into the one order all sweeps use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.validation import (
    InputError,
    Points,
    as_coordinates,
    check_lengths,
    check_positive,
    check_rows,
    in_memory,
)
from lore_core.kernel_sums.grid import snapped

#: Default tolerance of :func:`~lore_core.kernel_sums.laplacian_sums`.
TOLERANCE = 1e-6
#: Groups up to this many are sorted by radix sort.
_RADIX_LIMIT = 2**15
#: The order of the last many rows, from and up to so many: mostly, the next sums are of the same.
_HELD_ROWS = 2**16, 2**21
_held = [np.empty(0, np.int32)]


@dataclass(frozen=True)
class Problem:
    """Checked arguments."""

    targets: Floats  #: (n_t, d)
    sources: Floats  #: (n_s, d); the same object as ``targets`` if ``is_self``
    weights: Floats  #: (n_s, m)
    divisor: Floats  #: (m,); what the weights given were divided by
    bandwidths: Floats  #: (g,)
    target_groups: Ints  #: (n_t,); contiguous codes from 0; −1 = takes no part
    source_groups: Ints  #: (n_s,)
    n_groups: int
    is_self: bool  #: The targets are the sources
    exclude_self: bool
    tolerance: float


@dataclass(frozen=True)
class Layout:
    """Rows sorted by group, then by the first coordinate; targets and sources in one array."""

    coordinates: Floats  #: (d, N)
    weights: Floats  #: (m, N); 0 for rows that are targets only
    #: (N,); row number of a target; n_t + row number of a source that is no target.
    index: NDArray[np.int32]
    #: (lo, cut, hi) of each group. With ``apart``, [lo, cut) are its targets and [cut, hi) its
    #: sources; otherwise they are mixed and ``cut`` = ``lo``.
    segments: list[tuple[int, int, int]]


def as_problem(
    targets: Points,
    sources: Points | None,
    weights: ArrayLike,
    weights_name: str,
    *,
    bandwidth: ArrayLike,
    target_groups: ArrayLike | None = None,
    source_groups: ArrayLike | None = None,
    exclude_self: bool = False,
    tolerance: float = TOLERANCE,
) -> Problem:
    """Check every argument of the public functions, whose docstrings say what they must be."""
    is_self = sources is None or (sources is targets and source_groups is None)
    t = _as_points(targets, "targets")
    s = t if is_self else _as_points(sources, "sources")
    if t.shape[1] != s.shape[1]:
        raise InputError(
            f"'sources' must have as many dimensions as 'targets'; got {s.shape[1]} and "
            f"{t.shape[1]}. Embed both by the same map."
        )
    if exclude_self and not is_self:
        raise InputError(
            "'exclude_self' must be False when 'sources' are given; pass sources=None to leave "
            "each row out of its own sum."
        )
    w = _as_points(weights, weights_name)
    check_lengths(**{"targets" if is_self else "sources": s, weights_name: w})
    if not (isinstance(tolerance, (int, float)) and 0 <= tolerance <= 1):
        raise InputError(f"'tolerance' must be a number in [0, 1]; got {tolerance!r}.")
    codes = _as_group_codes(target_groups, source_groups, len(t), None if is_self else len(s))
    moderate, divisor = _moderate(w)
    return Problem(
        targets=t,
        sources=s,
        weights=moderate,
        divisor=divisor,
        bandwidths=snapped(_as_bandwidths(bandwidth)),
        target_groups=codes[0],
        source_groups=codes[1],
        n_groups=codes[2],
        is_self=is_self,
        exclude_self=bool(exclude_self),
        tolerance=float(tolerance),
    )


def _as_points(values: Any, name: str) -> Floats:
    """Return coordinates or weights (n, d) as ``as_coordinates``, but let no rows at all pass."""
    array = np.asarray(in_memory(getattr(values, "coordinates", values)))
    if array.shape == (0,):
        return np.empty((0, 1))
    if array.ndim == 2 and len(array) == 0 < array.shape[1]:
        return np.empty(array.shape)
    return as_coordinates(array, name)


def _moderate(weights: Floats) -> tuple[Floats, Floats]:
    """Return weight columns of moderate size, and their divisors (m,): exact powers of 2.

    Else products of very small weights and kernel values underflow, sums of very large ones
    overflow.
    """
    largest = np.abs(weights).max(axis=0, initial=0.0)
    extreme = (largest > 0) & ((largest < 1e-6) | (largest > 1e100))
    # No further than 2^±1000: 2^1024 is not a number.
    exponent = np.clip(np.frexp(largest)[1], -1000, 1000)
    divisor = np.where(extreme, np.ldexp(1.0, exponent), 1.0)
    return (weights / divisor if extreme.any() else weights), divisor


def _as_bandwidths(bandwidth: ArrayLike) -> Floats:
    array = np.asarray(bandwidth)
    if array.ndim > 1 or array.size == 0:
        raise InputError(
            "'bandwidth' must be a number above 0 or a vector of such numbers; got shape "
            f"{array.shape}."
        )
    return np.array([check_positive(h, "bandwidth") for h in np.atleast_1d(array)])


def _as_groups(values: ArrayLike, n: int, name: str, other: str) -> Ints:
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"'{name}' must be one-dimensional; got shape {array.shape}.")
    check_lengths(**{other: np.empty(n), name: array})
    if len(array) and not np.issubdtype(array.dtype, np.integer):
        raise InputError(
            f"'{name}' must be whole numbers, −1 or above; got {array.dtype} values. Pass the "
            "index of each row's group."
        )
    array = array.astype(np.int64, copy=False)
    check_rows(array < -1, name, "be whole numbers, −1 or above", lambda row: array[row])
    return array


def _as_group_codes(
    target_groups: ArrayLike | None, source_groups: ArrayLike | None, n_t: int, n_s: int | None
) -> tuple[Ints, Ints, int]:
    """Return group codes 0, 1, … for targets and sources (``n_s`` None: they are the same)."""
    if n_s is None and source_groups is not None:
        raise InputError(
            "'source_groups' must be left out where the targets are the sources; give "
            "'target_groups' alone."
        )
    if n_s is not None and (target_groups is None) != (source_groups is None):
        missing = "target_groups" if target_groups is None else "source_groups"
        raise InputError(
            "'target_groups' and 'source_groups' must be given together or not at all; "
            f"'{missing}' is missing."
        )
    if target_groups is None:
        n = n_t if n_s is None else n_s
        return np.broadcast_to(np.int64(0), (n_t,)), np.broadcast_to(np.int64(0), (n,)), 1
    codes = _as_groups(target_groups, n_t, "target_groups", "targets")
    if n_s is None or source_groups is None:
        codes, n_groups = _compact(codes)
        return codes, codes, n_groups
    of_sources = _as_groups(source_groups, n_s, "source_groups", "sources")
    codes, n_groups = _compact(np.concatenate([codes, of_sources]))
    return codes[:n_t], codes[n_t:], n_groups


def _compact(groups: Ints) -> tuple[Ints, int]:
    """Return codes 0 … n−1 for any group numbers, and n; −1 stays."""
    if len(groups) == 0:
        return groups, 0
    largest = int(groups.max())
    if largest < _RADIX_LIMIT:
        return groups, largest + 1
    taking_part = groups >= 0
    unique, inverse = np.unique(groups[taking_part], return_inverse=True)
    codes = np.full(len(groups), -1, dtype=np.int64)
    codes[taking_part] = inverse
    return codes, len(unique)


def _sorted_rows(groups: Ints, used: Mask, n_rows: int, x: Floats, apart: bool) -> NDArray[Any]:
    """Return the rows of used groups, ``n_rows`` in all, sorted by group, then, unless apart, by x.

    Of different numbers there is but one order: the last one is taken where it is theirs, too.
    """
    key = groups.astype(np.int16) if len(used) <= _RADIX_LIMIT else groups
    is_held = not apart and _HELD_ROWS[0] <= n_rows == len(x) <= _HELD_ROWS[1]
    (held,) = _held
    some_first = held[::1000], held
    if is_held and len(held) == n_rows and all(_is_rising(key[of], x[of]) for of in some_first):
        return held
    # A code of −1 reads the last entry, which stands for "takes no part".
    order = np.flatnonzero(np.append(used, False)[groups])
    if not apart:
        order = order[np.argsort(x[order])]
    if np.count_nonzero(used) > 1:
        order = order[np.argsort(key[order], kind="stable")]
    if is_held:
        _held[0] = order.astype(np.int32)
    return order


def _is_rising(group: NDArray[Any], x: Floats) -> bool:
    later = (group[1:] == group[:-1]) & (x[1:] > x[:-1])
    return bool((later | (group[1:] > group[:-1])).all())


def arrange(problem: Problem, *, apart: bool, ones: bool = False) -> Layout:
    """Sort the rows that take part by group, then by first coordinate (or targets, sources).

    Groups without a target or a source are left out. ``ones``: one more weight a source, 1.
    """
    n_t, d = problem.targets.shape
    groups, points, n = problem.target_groups, [problem.targets], problem.n_groups + 1
    targets_in = sources_in = size = np.bincount(groups + 1, minlength=n)[1:]
    if not problem.is_self:
        sources_in = np.bincount(problem.source_groups + 1, minlength=n)[1:]
        groups = np.concatenate([groups, problem.source_groups])
        points.append(problem.sources)
        size = targets_in + sources_in
    used = (targets_in > 0) & (sources_in > 0)
    # (With ``apart``: rows are numbered targets first, and the sort by group is stable.)
    first = np.concatenate([part[:, 0] for part in points])
    order = _sorted_rows(groups, used, int(size[used].sum()), first, apart)
    coordinates = np.empty((d, len(order)))
    for k, coordinate in enumerate(coordinates):
        np.concatenate([part[:, k] for part in points]).take(order, out=coordinate, mode="clip")
    m, nothing = problem.weights.shape[1], np.zeros(0 if problem.is_self else n_t)
    weights = np.empty((m + ones, len(order)))
    for column, weight in zip(problem.weights.T, weights, strict=False):
        np.concatenate([nothing, column]).take(order, out=weight, mode="clip")
    if ones:
        weights[m] = 1.0 if problem.is_self else order >= n_t
    segments = []
    lo = 0
    for g in np.flatnonzero(used):
        hi = lo + int(size[g])
        split = apart and not problem.is_self
        segments.append((lo, lo + int(targets_in[g]) if split else lo, hi))
        lo = hi
    return Layout(coordinates, weights, order.astype(np.int32), segments)
