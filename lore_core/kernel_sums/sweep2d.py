"""Exact sums over pairs in the plane in O(n log n): split by one axis, sweep along the other.

See docs/method.md, "Exact kernel sums". Every factor is ≤ 1: nothing can overflow. Rows of a node
lie in the order of v (a merge sort that carries the sums along): memory is read in sequence.
"""

import numpy as np

from lore_core.kernel_sums.compiled import compiled
from lore_core.kernel_sums.pairs import (
    decays,
    factors,
    finish_leaf,
    join_order,
    kernel_values,
    rank_order,
    reorder,
    reorder_rows,
    tree_bounds,
)

#: Up to so many rows pairs are summed directly.
LEAF, COLUMNS_LEAF = 32, 16


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
def _scratch(n):
    """Return arrays for the largest node of a tree: its order, and its sums."""
    # Leaves keep the matrices of their pairs in the last two.
    size = max(n + 1, LEAF * LEAF)
    return (np.empty(n, np.int32), np.empty(n, np.uint8)), (np.empty(size), np.empty(size))


@compiled
def _leaf(lo, hi, rows, grid, scratch, exclude_self):
    """Sum the pairs of a few rows directly, then sort them by v."""
    u, v, side, _, _, _ = rows
    (order, _), (distance, k) = scratch
    n = hi - lo
    un, vn = u[lo:hi], v[lo:hi]
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
def _add_sums(lo, hi, split, rows, grid, order, code, scratch):
    """Bring the sums of some bandwidths into the joint order and add those across u = split."""
    u, v, side, _, weights, sums = rows
    if not weights[:, lo:hi].any():  # then there are no sums yet either
        return
    factor, step = scratch
    rate, squared, start, column = grid
    n = hi - lo
    un, vn = u[lo:hi], v[lo:hi]
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
def plane_join(lo, hi, split, rows, grid, order, code):
    """Add the sums across two neighbouring trees, whose rows :func:`plane_order` has joined.

    ``split`` is the first u of the right tree.
    """
    n = hi - lo
    scratch = np.empty(n), np.empty(n + 1)
    _add_sums(lo, hi, split, rows, grid, order, code, scratch)


@compiled
def plane_tree(lo, hi, rows, grid, exclude_self):
    """Add the sums within rows [lo, hi), at least one, sorted by u; leave them sorted by v.

    ``rows`` are (u, v, side, index, weights, sums). Only pairs of different ``side``, (N,) float64
    of 0 and 1, count; all, if it is empty.
    """
    scratch = _scratch(hi - lo)
    (order, code), sums_scratch = scratch
    bounds = tree_bounds(lo, hi, np.int64(LEAF))
    edge = rows[0][bounds[:-1]]
    for leaf in range(len(edge)):
        _leaf(bounds[leaf], bounds[leaf + 1], rows, grid, scratch, exclude_self)
        # Every subtree that ends with this leaf is complete now: merge upwards, cache-warm.
        done = leaf + 1
        width = 1
        while done % (2 * width) == 0:
            a, b, c = bounds[done - 2 * width], bounds[done - width], bounds[done]
            split = edge[done - width]
            plane_order(a, b, c, rows, order, code)
            _add_sums(a, c, split, rows, grid, order, code, sums_scratch)
            width *= 2


@compiled
def _walk_columns(lo, code, factor, step, index, weight, out):
    """Like :func:`_walk` for columns side by side, (n, m), whose rows stay where ``index`` says."""
    n, m = len(code), weight.shape[1]
    running = np.empty((2, m))
    for way in range(2):
        running[:] = 0.0
        for p in range(n):
            i = n - 1 - p if way else p
            decay, f, half, row = step[i + way], factor[i], code[i], index[lo + i]
            for c in range(m):
                passing = running[1 - half, c] * decay
                running[half, c] = running[half, c] * decay + f * weight[row, c]
                running[1 - half, c] = passing
                out[row, c] += f * passing


@compiled
def plane_columns(lo, hi, first, last, rows, grid, exclude_self):
    """Add the sums of weight columns [first, last) within rows [lo, hi), at least one, sorted by u.

    Columns lie side by side, so that the processor takes several at once; no other row moves.
    """
    n, m = hi - lo, last - first
    rate, squared, start, _ = grid
    (order, code), (distance, k) = _scratch(n)
    u, v, index = rows[0][lo:hi].copy(), rows[1][lo:hi].copy(), np.arange(n).astype(np.int32)
    moving = u, v, np.empty(0), index, np.empty((0, n)), np.empty((0, n))
    weight, out = rows[4][first:last, lo:hi].T.copy(), np.zeros((len(squared), n, m))
    bounds = tree_bounds(0, n, np.int64(COLUMNS_LEAF))
    edge = u[bounds[:-1]]
    for leaf in range(len(edge)):
        a, c = bounds[leaf], bounds[leaf + 1]
        for i in range(a, c):
            for s in range(a, c):
                far = exclude_self and s == i
                distance[s - a] = np.inf if far else abs(u[i] - u[s]) + abs(v[i] - v[s])
            for b in range(len(squared)):
                kernel_values(distance, c - a, rate[0, b], rate[1, b], squared[b], k)
                for s in range(a, c):
                    for q in range(m):
                        out[b, i, q] += k[s - a] * weight[s, q]
        rank_order(a, c, v, order)
        reorder_rows(a, c, moving, order)
        done = leaf + 1
        width = 1
        while done % (2 * width) == 0:
            a, b, c = bounds[done - 2 * width], bounds[done - width], bounds[done]
            join_order(a, b, c, moving, order, code)
            factor, step = distance[: c - a], k[: c - a + 1]
            step[0] = step[c - a] = 0.0
            for b in range(len(squared)):
                at = rate[0, b], rate[1, b], squared[b]
                factors(u[a:c], edge[done - width], *at, factor)
                decays(v[a:c], *at, step)
                _walk_columns(a, code[: c - a], factor, step, index, weight, out[b])
            width *= 2
    for b in range(len(squared)):
        rows[5][start[b] + first : start[b] + last, lo:hi] = out[b].T
