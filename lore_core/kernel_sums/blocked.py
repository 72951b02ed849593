"""Sums over all pairs for more than three dimensions, by tiles that fit the processor's cache.

Trees are mostly slower (docs/decisions.md). Rows lie dimension by dimension.
"""

import numpy as np

from lore_core.kernel_sums.compiled import compiled, compiled_sums
from lore_core.kernel_sums.pairs import add_terms, kernel_values

#: Sources of a tile, and targets whose distances to them are computed before all their kernel
#: values. The kernel values, of 8 bytes each, should stay in the L1 cache.
TILE = 192
_ROWS = 16


@compiled
def distances(points, first, count, columns, lo, n, out):
    """Write the L1 distances of a few points to rows lo … lo + n − 1 of ``columns`` (d, N).

    That of ``points[first + s]`` to row lo + i goes to ``out[s * n + i]``; of int32 it is exact.
    """
    d = len(columns)
    gap = out.dtype.type  # (of int32 as well, which numba would widen to int64)
    for i in range(count * n):
        out[i] = 0
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
            row = out[s * n : s * n + n]
            for i in range(n):
                near = row[i] + abs(gap(c0[i] - p0)) + abs(gap(c1[i] - p1))
                row[i] = near + abs(gap(c2[i] - p2)) + abs(gap(c3[i] - p3))
    for j in range(d - d % 4, d):
        c0 = columns[j, lo : lo + n]
        for s in range(count):
            p0 = points[first + s, j]
            row = out[s * n : s * n + n]
            for i in range(n):
                row[i] += abs(gap(c0[i] - p0))


@compiled
def _distances(first, count, lo, n, rows, scratch):
    columns, points, whole_columns, whole_points, unit, _, _ = rows
    distance, _, whole = scratch
    if unit > 0.0:
        distances(whole_points, first, count, whole_columns, lo, n, whole)
        for i in range(count * n):
            distance[i] = whole[i] * unit
    else:
        distances(points, first, count, columns, lo, n, distance)


@compiled_sums
def _add_both_ways(k, count, n, source_weights, target_weights, out, source_sums):
    """Add the terms of ``count`` sources to targets, and those of the targets to the sources."""
    # Four sources at once, which share the loads and stores of the targets.
    for s in range(0, count - 3, 4):
        k0 = k[s * n : s * n + n]
        k1 = k[s * n + n : s * n + 2 * n]
        k2 = k[s * n + 2 * n : s * n + 3 * n]
        k3 = k[s * n + 3 * n : s * n + 4 * n]
        w0 = source_weights[s]
        w1 = source_weights[s + 1]
        w2 = source_weights[s + 2]
        w3 = source_weights[s + 3]
        t0 = t1 = t2 = t3 = 0.0
        for i in range(n):
            out[i] += (w0 * k0[i] + w1 * k1[i]) + (w2 * k2[i] + w3 * k3[i])
            t0 += target_weights[i] * k0[i]
            t1 += target_weights[i] * k1[i]
            t2 += target_weights[i] * k2[i]
            t3 += target_weights[i] * k3[i]
        source_sums[s] += t0
        source_sums[s + 1] += t1
        source_sums[s + 2] += t2
        source_sums[s + 3] += t3
    for s in range(count - count % 4, count):
        k0 = k[s * n : s * n + n]
        w0 = source_weights[s]
        t0 = 0.0
        for i in range(n):
            out[i] += w0 * k0[i]
            t0 += target_weights[i] * k0[i]
        source_sums[s] += t0


@compiled
def _tile_both_ways(lo, n, first, last, rows, grid, scratch):
    """Add the terms between rows lo … lo + n − 1 and later rows [first, last), both ways."""
    _, _, _, _, _, weights, sums = rows
    rate, squared, start, column = grid
    distance, k, _ = scratch
    for a in range(first, last, _ROWS):
        count = min(_ROWS, last - a)
        _distances(a, count, lo, n, rows, scratch)
        for b in range(len(squared)):
            kernel_values(distance, count * n, rate[0, b], rate[1, b], squared[b], k)
            for q in range(start[b], start[b + 1]):
                weight, row = weights[column[q]], sums[q]
                sources, targets = weight[a : a + count], weight[lo : lo + n]
                _add_both_ways(k, count, n, sources, targets, row[lo : lo + n], row[a : a + count])


@compiled
def _tile_one_way(first, last, lo, n, rows, grid, scratch, exclude_self):
    """Add to targets [first, last) the terms of sources lo … lo + n − 1."""
    _, _, _, _, _, weights, sums = rows
    distance, k, _ = scratch
    for a in range(first, last, _ROWS):
        count = min(_ROWS, last - a)
        _distances(a, count, lo, n, rows, scratch)
        if exclude_self:
            for t in range(count):
                if lo <= a + t < lo + n:
                    distance[t * n + a + t - lo] = np.inf
        add_terms(a, count, lo, n, distance, weights, sums, grid, k)


@compiled
def block(lo, hi, first, last, rows, grid, both_ways, exclude_self):
    """Add to rows [lo, hi) the terms of rows [first, last), and the reverse if asked for.

    ``both_ways``: each pair's kernel serves two terms; the rows are either the same or others.

    ``rows`` are (columns, points, whole_columns, whole_points, unit, weights, sums): coordinates as
    (d, N) and (N, d), in float64 (read if ``unit`` is 0) and as int32 multiples of ``unit``.
    """
    size = _ROWS * TILE
    scratch = np.empty(size), np.empty(size), np.empty(size, np.int32)
    if not both_ways:
        for a in range(first, last, TILE):
            _tile_one_way(lo, hi, a, min(TILE, last - a), rows, grid, scratch, exclude_self)
        return
    for a in range(lo, hi, TILE):
        n, begin = min(TILE, hi - a), first
        if first == lo:
            begin = a + n
            _tile_one_way(a, begin, a, n, rows, grid, scratch, exclude_self)
        _tile_both_ways(a, n, begin, last, rows, grid, scratch)
