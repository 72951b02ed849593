"""Exact sums over pairs in space, O(n log² n): split by x, then solve plane problems on (y, z)."""

import numpy as np

from lore_core.kernel_sums.compiled import compiled
from lore_core.kernel_sums.pairs import factors, finish_leaf, join_order, reorder, tree_bounds
from lore_core.kernel_sums.sweep2d import plane_tree

#: Up to so many rows pairs are summed directly.
LEAF = 64


@compiled
def _leaf(lo, hi, rows, grid, exclude_self):
    """Sum the pairs of a few rows directly, then sort them by y."""
    x, y, z, _, _, _ = rows
    n = hi - lo
    distance = np.empty(n * n)
    xn, yn, zn = x[lo:hi], y[lo:hi], z[lo:hi]
    for s in range(n):
        for i in range(n):
            distance[s * n + i] = abs(xn[i] - xn[s]) + abs(yn[i] - yn[s]) + abs(zn[i] - zn[s])
    k, order = np.empty(n * n), np.empty(n, np.int32)
    finish_leaf(lo, hi, rows, grid, distance, k, order, exclude_self)


@compiled
def space_split(lo, hi, at, split, rows, grid, order, code, plane_rows):
    """Bring the sums into the joint order, and pose the plane problem of two joined parts.

    Row i of the space is row i − ``at`` of the plane; ``split`` is the first x of the right part,
    ``order`` and ``code`` as :func:`~.pairs.join_order` left them.

    ``plane_rows`` are (y, z, side, index, weights, sums): y and z are those of ``rows``, which the
    plane's sweep will reorder; the others are written. The factors exp(−|x − split|/h) differ by
    bandwidth, so each of these bandwidths' sums has its own column of weights.
    """
    x, _, _, _, weights, sums = rows
    _, _, side, index, plane_weights, plane_sums = plane_rows
    rate, squared, start, column = grid
    n = hi - lo
    buffer = np.empty(n)
    factor = np.empty(n)
    xn = x[lo:hi]
    first = lo - at
    last = hi - at
    for i in range(n):
        side[first + i] = code[i]
        index[first + i] = i
    for b in range(len(squared)):
        factors(xn, split, rate[0, b], rate[1, b], squared[b], factor)
        for q in range(start[b], start[b + 1]):
            reorder(lo, hi, sums[q], order, buffer)
            weight = weights[column[q], lo:hi]
            posed = plane_weights[q - start[0], first:last]
            answer = plane_sums[q - start[0], first:last]
            for i in range(n):
                posed[i] = weight[i] * factor[i]
                answer[i] = 0.0


@compiled
def space_collect(lo, hi, at, split, rows, grid, plane_rows):
    """Add the answers of the plane problem to the sums, and bring y and z back into their order.

    Parameters as in :func:`space_split`.
    """
    x, y, z, _, _, sums = rows
    _, _, _, index, _, plane_sums = plane_rows
    rate, squared, start, _ = grid
    n = hi - lo
    factor = np.empty(n)
    position = index[lo - at : hi - at]
    for moved in (y[lo:hi], z[lo:hi]):
        for i in range(n):
            factor[i] = moved[i]
        for i in range(n):
            moved[position[i]] = factor[i]
    for b in range(len(squared)):
        factors(x[lo:hi], split, rate[0, b], rate[1, b], squared[b], factor)
        for q in range(start[b], start[b + 1]):
            row = sums[q, lo:hi]
            answer = plane_sums[q - start[0], lo - at : hi - at]
            for i in range(n):
                p = position[i]
                row[p] += factor[p] * answer[i]


@compiled
def space_tree(lo, hi, rows, grid, exclude_self):
    """Add the sums within rows [lo, hi), at least one, sorted by x; leave them sorted by y."""
    x, y, z, _, _, _ = rows
    rate, squared, start, column = grid
    plane_grid = (rate, squared, start, np.arange(len(column)))
    n = hi - lo
    order = np.empty(n, np.int32)
    code = np.empty(n, np.uint8)
    index = np.empty(n, np.int32)
    shape = len(column), n
    plane = (y[lo:hi], z[lo:hi], np.empty(n), index, np.empty(shape), np.empty(shape))
    bounds = tree_bounds(lo, hi, np.int64(LEAF))
    edge = x[bounds[:-1]]
    for leaf in range(len(edge)):
        _leaf(bounds[leaf], bounds[leaf + 1], rows, grid, exclude_self)
        # Every subtree that ends with this leaf is complete now: merge upwards, cache-warm.
        done = leaf + 1
        width = 1
        while done % (2 * width) == 0:
            a, b, c = bounds[done - 2 * width], bounds[done - width], bounds[done]
            split = edge[done - width]
            join_order(a, b, c, rows, order, code)
            space_split(a, c, lo, split, rows, grid, order, code, plane)
            plane_tree(a - lo, c - lo, plane, plane_grid, exclude_self)
            space_collect(a, c, lo, split, rows, grid, plane)
            width *= 2
