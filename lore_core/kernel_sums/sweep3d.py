"""Exact sums over pairs in space in O(n log² n): split by x, then solve a plane problem on (y, z).

On rows sorted by x, a pair on the two sides of a split plane X has
|x_i − x_j| = |x_i − X| + |X − x_j|. With these factors moved into the weights of the sources and
the results of the targets, what is left is a sum in (y, z) over the pairs of opposite sides,
which :mod:`~lore_core.kernel_sums.sweep2d` does with its ``crossing`` rule.
"""

from __future__ import annotations

import numpy as np

from lore_core.kernel_sums.compiled import compiled
from lore_core.kernel_sums.exponential import decay, square
from lore_core.kernel_sums.pairs import insertion_order, merge_order, reorder, send, tree_levels
from lore_core.kernel_sums.sweep2d import plane_tree

__all__ = ["space_join", "space_tree"]

#: Up to so many rows pairs are summed directly.
LEAF = 64


@compiled
def _reorder_rows(lo, hi, rows, order, moved, buffer):
    x, y, z, index, weights, sums = rows
    reorder(lo, hi, x, order, buffer)
    reorder(lo, hi, y, order, buffer)
    reorder(lo, hi, z, order, buffer)
    reorder(lo, hi, index, order, moved)
    for c in range(len(weights)):
        reorder(lo, hi, weights[c], order, buffer)
    for q in range(len(sums)):
        reorder(lo, hi, sums[q], order, buffer)


@compiled
def _leaf(lo, hi, rows, grid, exclude_self):
    """Sum the pairs of a few rows directly, then sort them by y."""
    x, y, z, _, weights, sums = rows
    n = hi - lo
    order = np.empty(n, np.int64)
    moved = np.empty(n, np.int64)
    distance = np.empty(n * n)
    k = np.empty(n * n)
    xn = x[lo:hi]
    yn = y[lo:hi]
    zn = z[lo:hi]
    for s in range(n):
        for i in range(n):
            distance[s * n + i] = abs(xn[i] - xn[s]) + abs(yn[i] - yn[s]) + abs(zn[i] - zn[s])
        if exclude_self:
            distance[s * n + s] = np.inf
    send(lo, n, lo, n, distance, weights, sums, grid, k)
    insertion_order(lo, hi, y, order)
    _reorder_rows(lo, hi, rows, order, moved, distance)


@compiled
def space_join(lo, mid, hi, split, rows, grid):
    """Add the sums across x = split between two finished, y-ordered parts; join their order.

    Parameters
    ----------
    lo, mid, hi : int
        The parts are rows [lo, mid) and [mid, hi).
    split : float
        The first x of the right part.
    rows : (x, y, z, index, weights, sums)
        See :mod:`~lore_core.kernel_sums.pairs`.
    grid : (bandwidth, squared, start, column)
    """
    x, y, z, _, weights, sums = rows
    bandwidth, squared, start, column = grid
    n = hi - lo
    n_sums = len(sums)
    side = np.empty(n, np.uint8)
    order = np.empty(n, np.int64)
    position = np.empty(n, np.int64)
    merge_order(lo, mid, hi, y, order, side)
    _reorder_rows(lo, hi, rows, order, position, np.empty(n))
    factor = np.empty((len(bandwidth), n))
    plane_weights = np.empty((n_sums, n))
    for b in range(len(bandwidth)):
        if squared[b]:
            for i in range(n):
                factor[b, i] = square(factor[b - 1, i])
        else:
            h = bandwidth[b]
            for i in range(n):
                factor[b, i] = decay(abs(x[lo + i] - split) / h)
        for q in range(start[b], start[b + 1]):
            weight = weights[column[q], lo:hi]
            for i in range(n):
                plane_weights[q, i] = weight[i] * factor[b, i]
    for i in range(n):
        position[i] = i
    plane_sums = np.zeros((n_sums, n))
    # The factors differ by bandwidth, so in the plane each sum has its own column of weights.
    plane_rows = (y[lo:hi].copy(), z[lo:hi].copy(), side, position, plane_weights, plane_sums)
    plane_grid = (bandwidth, squared, start, np.arange(n_sums))
    plane_tree(0, n, plane_rows, plane_grid, True, False)
    for b in range(len(bandwidth)):
        for q in range(start[b], start[b + 1]):
            row = sums[q, lo:hi]
            for i in range(n):
                p = position[i]
                row[p] += factor[b, p] * plane_sums[q, i]


@compiled
def space_tree(lo, hi, rows, grid, exclude_self):
    """Add the sums within rows [lo, hi), which are sorted by x; leave them sorted by y.

    Parameters as in :func:`space_join`; ``exclude_self`` leaves out the pair (i, i).
    """
    x = rows[0]
    n = hi - lo
    levels = tree_levels(n, LEAF)
    n_leaves = 1 << levels
    # Where each leaf begins, before anything moves: these are the split planes.
    edge = np.empty(n_leaves)
    for leaf in range(n_leaves):
        edge[leaf] = x[lo + ((n * leaf) >> levels)]
    for leaf in range(n_leaves):
        a = lo + ((n * leaf) >> levels)
        c = lo + ((n * (leaf + 1)) >> levels)
        _leaf(a, c, rows, grid, exclude_self)
        # Every subtree that ends with this leaf is complete now: merge upwards, cache-warm.
        done = leaf + 1
        width = 1
        while width < n_leaves and done % (2 * width) == 0:
            a = lo + ((n * (done - 2 * width)) >> levels)
            b = lo + ((n * (done - width)) >> levels)
            space_join(a, b, c, edge[done - width], rows, grid)
            width *= 2
