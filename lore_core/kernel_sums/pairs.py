"""What every algorithm shares: one source sent to a run of targets, orders, merges.

The kernels pass two tuples around, so that each has exactly one compiled signature:

``rows``
    What belongs to each row: coordinates, original row number (int64), ``weights`` of shape
    (m, N) and the results so far, ``sums`` of shape (q, N).
``grid``
    ``bandwidth`` (B,) float64; ``squared`` (B,) bool: this bandwidth is half the previous one, so
    its kernel is the square of the previous kernel; ``start`` (B + 1,) int64: the rows of
    ``sums`` that belong to each bandwidth; ``column`` (q,) int64: the weight column of each.
"""

from __future__ import annotations

from lore_core.kernel_sums.compiled import compiled
from lore_core.kernel_sums.exponential import decay, square

__all__ = ["insertion_order", "merge_order", "reorder", "send", "tree_levels"]


@compiled
def kernel_values(distance, n, h, squared, k):
    """Write exp(−distance/h) into ``k``, which holds the previous bandwidth's if ``squared``."""
    if squared:
        for i in range(n):
            k[i] = square(k[i])
    else:
        for i in range(n):
            k[i] = decay(distance[i] / h)


@compiled
def send(first, n_sources, lo, n, distance, weights, sums, grid, k):
    """Add the terms of a few sources to targets lo … lo + n − 1.

    Parameters
    ----------
    first, n_sources : int
        The sources are rows first … first + n_sources − 1.
    lo, n : int
    distance : ndarray of at least n_sources · n
        Distance of source s to target i at s · n + i; inf leaves the pair out.
    weights, sums, grid
        As above.
    k : ndarray as large as ``distance``
        Scratch.

    Notes
    -----
    Several sources at once, because a call that passes arrays counts references: for one source
    that would cost more than its arithmetic.
    """
    bandwidth, squared, start, column = grid
    for b in range(len(bandwidth)):
        kernel_values(distance, n_sources * n, bandwidth[b], squared[b], k)
        for q in range(start[b], start[b + 1]):
            weight = weights[column[q], first : first + n_sources]
            row = sums[q, lo : lo + n]
            for s in range(n_sources):
                w = weight[s]
                if w != 0.0:
                    for i in range(n):
                        row[i] += w * k[s * n + i]


@compiled
def tree_levels(n, leaf):
    """Return how often n rows are halved until no part has more than ``leaf`` rows."""
    levels = 0
    while ((n - 1) >> levels) + 1 > leaf:
        levels += 1
    return levels


@compiled
def insertion_order(lo, hi, v, order):
    """Write the row numbers lo … hi − 1 in the order of v; earlier rows first among equals."""
    for i in range(hi - lo):
        key = v[lo + i]
        j = i
        while j > 0 and v[order[j - 1]] > key:
            order[j] = order[j - 1]
            j -= 1
        order[j] = lo + i


@compiled
def merge_order(lo, mid, hi, v, order, code):
    """Write the row numbers of two sorted parts in the order of v; code 1 = from the right part."""
    i = lo
    j = mid
    p = 0
    # Without branches on the data: which part comes next cannot be predicted.
    while i < mid and j < hi:
        right = v[j] < v[i]
        order[p] = j if right else i
        code[p] = 1 if right else 0
        j += 1 if right else 0
        i += 0 if right else 1
        p += 1
    while i < mid:
        order[p] = i
        code[p] = 0
        i += 1
        p += 1
    while j < hi:
        order[p] = j
        code[p] = 1
        j += 1
        p += 1


@compiled
def reorder(lo, hi, array, order, scratch):
    """Bring array[lo:hi] into the given order of row numbers."""
    n = hi - lo
    for i in range(n):
        scratch[i] = array[order[i]]
    array[lo:hi] = scratch[:n]
