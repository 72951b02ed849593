"""Exact sums over pairs in the plane in O(n log n): split by one axis, sweep along the other.

On rows sorted by u, a pair on the two sides of a split line U has
|u_i − u_j| = |u_i − U| + |U − u_j|, so its kernel factorises. Sources enter a running sum with
their factor exp(−|u − U|/h); the sum decays by exp(−Δv/h) while it walks along v; targets of the
other side read it, times their own factor. Every factor is ≤ 1: nothing can overflow.

The rows of a node are physically kept in the order of v (a merge sort that carries the sums
along), so all memory access is sequential, and small nodes stay in the processor's cache.
"""

import numpy as np

from lore_core.kernel_sums.compiled import compiled
from lore_core.kernel_sums.pairs import (
    decays,
    factors,
    finish_leaf,
    join_order,
    reorder,
    tree_bounds,
)

#: Up to so many rows pairs are summed directly.
LEAF = 32


@compiled
def _pass(decay, factor, weight, right, of_left, of_right):
    """Return what a row reads of the other half, and both running sums with its own weight."""
    of_left *= decay
    of_right *= decay
    sent = factor * weight
    read = factor * (of_left if right else of_right)
    return read, of_left + (0.0 if right else sent), of_right + (sent if right else 0.0)


@compiled
def _walk(factor, step, code, weight, out):
    """Add to ``out`` what the rows of the other half send, both ways along v, for one column.

    ``step[i]`` is the decay from row i − 1 to row i. The upward and the downward walk are
    independent, so running them in one loop hides the latency of both.
    """
    n = len(out)
    up_0 = up_1 = down_0 = down_1 = 0.0
    for i in range(n):
        j = n - 1 - i
        read, up_0, up_1 = _pass(step[i], factor[i], weight[i], code[i] != 0, up_0, up_1)
        out[i] += read
        right = code[j] != 0
        read, down_0, down_1 = _pass(step[j + 1], factor[j], weight[j], right, down_0, down_1)
        out[j] += read


@compiled
def _walk_crossing(factor, step, code, weight, out):
    """Like :func:`_walk` for pairs that differ in the half (bit 0) and in the side (bit 1)."""
    n = len(out)
    up_0 = up_1 = up_2 = up_3 = 0.0
    down_0 = down_1 = down_2 = down_3 = 0.0
    for i in range(n):
        j = n - 1 - i
        d, f, w = step[i], factor[i], weight[i]
        right, far = (code[i] & 1) != 0, (code[i] & 2) != 0
        near_read, up_0, up_1 = _pass(d, f, 0.0 if far else w, right, up_0, up_1)
        far_read, up_2, up_3 = _pass(d, f, w if far else 0.0, right, up_2, up_3)
        out[i] += near_read if far else far_read
        d, f, w = step[j + 1], factor[j], weight[j]
        right, far = (code[j] & 1) != 0, (code[j] & 2) != 0
        near_read, down_0, down_1 = _pass(d, f, 0.0 if far else w, right, down_0, down_1)
        far_read, down_2, down_3 = _pass(d, f, w if far else 0.0, right, down_2, down_3)
        out[j] += near_read if far else far_read


@compiled
def _leaf(lo, hi, rows, grid, distance, k, order, exclude_self):
    """Sum the pairs of a few rows directly, then sort them by v."""
    u, v, side, _, _, _ = rows
    n = hi - lo
    un = u[lo:hi]
    vn = v[lo:hi]
    for s in range(n):
        for i in range(n):
            distance[s * n + i] = abs(un[i] - un[s]) + abs(vn[i] - vn[s])
        if len(side):
            for i in range(n):
                if side[lo + i] == side[lo + s]:
                    distance[s * n + i] = np.inf
    finish_leaf(lo, hi, rows, grid, distance, k, order, exclude_self)


@compiled
def plane_order(lo, mid, hi, rows, order, code):
    """Join the v-orders of two finished halves, as :func:`~.pairs.join_order`.

    Of ``code`` bit 1 is the side of the row.
    """
    join_order(lo, mid, hi, rows, order, code)
    side = rows[2]
    if len(side):
        for i in range(hi - lo):
            code[i] |= 2 if side[lo + i] else 0


@compiled
def plane_join(lo, hi, split, rows, grid, order, code):
    """Bring sums of some bandwidths into the joint order and add those across u = ``split``.

    This is the first u of the right one of two neighbouring trees, whose rows :func:`plane_order`
    has joined.
    """
    u, v, side, _, weights, sums = rows
    rate, squared, start, column = grid
    n = hi - lo
    factor, step = np.empty(n), np.empty(n + 1)
    un = u[lo:hi]
    vn = v[lo:hi]
    for q in range(start[0], start[-1]):
        reorder(lo, hi, sums[q], order, factor)
    step[0] = 0.0
    step[n] = 0.0
    for b in range(len(squared)):
        factors(un, split, rate[0, b], rate[1, b], squared[b], factor)
        decays(vn, rate[0, b], rate[1, b], squared[b], step)
        for q in range(start[b], start[b + 1]):
            weight = weights[column[q], lo:hi]
            if len(side):
                _walk_crossing(factor, step, code, weight, sums[q, lo:hi])
            else:
                _walk(factor, step, code, weight, sums[q, lo:hi])


@compiled
def plane_tree(lo, hi, rows, grid, exclude_self):
    """Add the sums within rows [lo, hi), at least one, sorted by u; leave them sorted by v.

    ``rows`` are (u, v, side, index, weights, sums). Only pairs of different ``side``, (N,) float64
    of 0 and 1, count; all, if it is empty.
    """
    order, code = np.empty(hi - lo, np.int32), np.empty(hi - lo, np.uint8)
    distance, k = np.empty(LEAF * LEAF), np.empty(LEAF * LEAF)
    bounds = tree_bounds(lo, hi, np.int64(LEAF))
    edge = rows[0][bounds[:-1]]
    for leaf in range(len(edge)):
        _leaf(bounds[leaf], bounds[leaf + 1], rows, grid, distance, k, order, exclude_self)
        # Every subtree that ends with this leaf is complete now: merge upwards, cache-warm.
        done = leaf + 1
        width = 1
        while done % (2 * width) == 0:
            a, b, c = bounds[done - 2 * width], bounds[done - width], bounds[done]
            split = edge[done - width]
            plane_order(a, b, c, rows, order, code)
            plane_join(a, c, split, rows, grid, order, code)
            width *= 2
