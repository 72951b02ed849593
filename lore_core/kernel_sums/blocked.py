"""Sums over all pairs for more than three dimensions, by tiles that fit the processor's cache.

No fast exact method is known there, so this is O(n² d). A tile of targets lies dimension by
dimension, so that distances to one source are computed for many targets at once.
"""

from __future__ import annotations

import numpy as np

from lore_core.kernel_sums.compiled import compiled
from lore_core.kernel_sums.pairs import kernel_values, send

__all__ = ["block_between", "block_within", "distances", "tile_rows"]

#: Sources whose distances to a tile are computed before the kernel values of all of them.
_SOURCES = 16


def tile_rows(n_dimensions: int) -> int:
    """Return how many targets make a tile of about 24 kB: it should stay in the L1 cache."""
    return max(16, min(256, 3072 // n_dimensions // 8 * 8))


@compiled
def distances(points, first, count, columns, lo, n, out):
    """Write the L1 distances of a few points to rows lo … lo + n − 1 of ``columns`` (d, N).

    That of ``points[first + s]`` to row lo + i goes to ``out[s * n + i]``.
    """
    d = len(columns)
    for i in range(count * n):
        out[i] = 0.0
    for j in range(0, d - 3, 4):
        c0 = columns[j, lo : lo + n]
        c1 = columns[j + 1, lo : lo + n]
        c2 = columns[j + 2, lo : lo + n]
        c3 = columns[j + 3, lo : lo + n]
        for s in range(count):
            p0 = points[first + s, j]
            p1 = points[first + s, j + 1]
            p2 = points[first + s, j + 2]
            p3 = points[first + s, j + 3]
            for i in range(n):
                near = abs(c0[i] - p0) + abs(c1[i] - p1)
                out[s * n + i] += near + (abs(c2[i] - p2) + abs(c3[i] - p3))
    for j in range(d - d % 4, d):
        c0 = columns[j, lo : lo + n]
        for s in range(count):
            p0 = points[first + s, j]
            for i in range(n):
                out[s * n + i] += abs(c0[i] - p0)


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
    distance = np.empty(_SOURCES * n)
    k = np.empty(_SOURCES * n)
    for a in range(first, last, _SOURCES):
        count = min(_SOURCES, last - a)
        distances(points, a, count, columns, lo, n, distance)
        send(a, count, lo, n, distance, weights, sums, grid, k)


@compiled
def block_within(lo, hi, last, rows, grid, exclude_self):
    """Add the terms of all pairs with one row in [lo, hi) and one in [lo, last), both ways.

    Called for every tile of a group with ``last`` = the group's end, each pair's kernel is
    computed once. Parameters as in :func:`block_between`.
    """
    columns, points, weights, sums = rows
    bandwidth, squared, start, column = grid
    n = hi - lo
    distance = np.empty(_SOURCES * n)
    k = np.empty(_SOURCES * n)
    for a in range(lo, hi, _SOURCES):
        count = min(_SOURCES, hi - a)
        distances(points, a, count, columns, lo, n, distance)
        if exclude_self:
            for s in range(count):
                distance[s * n + a + s - lo] = np.inf
        send(a, count, lo, n, distance, weights, sums, grid, k)
    for a in range(hi, last, _SOURCES):
        count = min(_SOURCES, last - a)
        distances(points, a, count, columns, lo, n, distance)
        for b in range(len(bandwidth)):
            kernel_values(distance, count * n, bandwidth[b], squared[b], k)
            for q in range(start[b], start[b + 1]):
                weight = weights[column[q]]
                own = weight[lo:hi]
                out = sums[q, lo:hi]
                for s in range(count):
                    w = weight[a + s]
                    # Four sums: one alone would wait for each addition.
                    t0 = 0.0
                    t1 = 0.0
                    t2 = 0.0
                    t3 = 0.0
                    at = s * n
                    whole = n - n % 4
                    for i in range(0, whole, 4):
                        t0 += k[at + i] * own[i]
                        t1 += k[at + i + 1] * own[i + 1]
                        t2 += k[at + i + 2] * own[i + 2]
                        t3 += k[at + i + 3] * own[i + 3]
                    for i in range(whole, n):
                        t0 += k[at + i] * own[i]
                    sums[q, a + s] += (t0 + t1) + (t2 + t3)
                    for i in range(n):
                        out[i] += w * k[at + i]
