"""Sums over all pairs for more than three dimensions, by tiles that fit the processor's cache.

No fast exact method is known there, so this is O(n² d). A tile of targets lies dimension by
dimension, so that distances to one source are computed for many targets at once.
"""

from __future__ import annotations

import numpy as np

from lore_core.kernel_sums.compiled import compiled
from lore_core.kernel_sums.pairs import kernel_values, send

__all__ = ["block_between", "block_within", "distances", "tile_rows"]


def tile_rows(n_dimensions: int) -> int:
    """Return how many targets make a tile of about 24 kB: it should stay in the L1 cache."""
    return max(16, min(256, 3072 // n_dimensions // 8 * 8))


@compiled
def distances(lo, n, columns, point, out):
    """Write the L1 distances of ``point`` to rows lo … lo + n − 1 of ``columns`` (d, N)."""
    d = len(point)
    for i in range(n):
        out[i] = 0.0
    for j in range(0, d - 3, 4):
        p0 = point[j]
        p1 = point[j + 1]
        p2 = point[j + 2]
        p3 = point[j + 3]
        c0 = columns[j, lo : lo + n]
        c1 = columns[j + 1, lo : lo + n]
        c2 = columns[j + 2, lo : lo + n]
        c3 = columns[j + 3, lo : lo + n]
        for i in range(n):
            out[i] += (abs(c0[i] - p0) + abs(c1[i] - p1)) + (abs(c2[i] - p2) + abs(c3[i] - p3))
    for j in range(d - d % 4, d):
        p0 = point[j]
        c0 = columns[j, lo : lo + n]
        for i in range(n):
            out[i] += abs(c0[i] - p0)


@compiled
def _dot(n, a, b):
    """Return Σ a_i b_i in four independent sums: one alone would wait for each addition."""
    s0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    whole = n - n % 4
    for i in range(0, whole, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(whole, n):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)


@compiled
def block_between(lo, hi, first, last, rows, grid):
    """Add to targets [lo, hi) the terms of sources [first, last), other rows than the targets.

    Parameters
    ----------
    lo, hi, first, last : int
        ``hi − lo`` is at most a tile.
    rows : (columns, points, weights, sums)
        Coordinates as (d, N) and (N, d); see :mod:`~lore_core.kernel_sums.pairs`.
    grid : (bandwidth, squared, start, column)
    """
    columns, points, weights, sums = rows
    n = hi - lo
    distance = np.empty(n)
    k = np.empty(n)
    for s in range(first, last):
        distances(lo, n, columns, points[s], distance)
        send(s, lo, n, distance, weights, sums, grid, k)


@compiled
def block_within(lo, hi, last, rows, grid, exclude_self):
    """Add the terms of all pairs with one row in [lo, hi) and one in [lo, last), both ways.

    Called for every tile of a group with ``last`` = the group's end, each pair's kernel is
    computed once. Parameters as in :func:`block_between`.
    """
    columns, points, weights, sums = rows
    bandwidth, _, start, column = grid
    n = hi - lo
    distance = np.empty(n)
    k = np.empty(n)
    for s in range(lo, hi):
        distances(lo, n, columns, points[s], distance)
        if exclude_self:
            distance[s - lo] = np.inf
        send(s, lo, n, distance, weights, sums, grid, k)
    for s in range(hi, last):
        distances(lo, n, columns, points[s], distance)
        for b in range(len(bandwidth)):
            kernel_values(distance, n, b, grid, k)
            for q in range(start[b], start[b + 1]):
                weight = weights[column[q]]
                out = sums[q, lo:hi]
                w = weight[s]
                for i in range(n):
                    out[i] += w * k[i]
                sums[q, s] += _dot(n, k, weight[lo:hi])
