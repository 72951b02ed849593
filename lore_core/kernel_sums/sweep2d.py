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
from lore_core.kernel_sums.exponential import half_power, square
from lore_core.kernel_sums.pairs import (
    add_terms,
    insertion_order,
    merge_order,
    reorder,
    tree_levels,
)

#: Up to so many rows pairs are summed directly.
LEAF = 32


@compiled
def _walk(factor, step, code, weight, out):
    """Add to ``out`` what the rows of the other half add_terms, both ways along v, for one column.

    ``step[i]`` is the decay from row i − 1 to row i. The upward and the downward walk are
    independent, so running them in one loop hides the latency of both.
    """
    n = len(out)
    up_left = 0.0
    up_right = 0.0
    down_left = 0.0
    down_right = 0.0
    for i in range(n):
        j = n - 1 - i
        d = step[i]
        f = factor[i]
        w = f * weight[i]
        right = code[i] != 0
        up_left *= d
        up_right *= d
        out[i] += f * (up_left if right else up_right)
        up_left += 0.0 if right else w
        up_right += w if right else 0.0
        d = step[j + 1]
        f = factor[j]
        w = f * weight[j]
        right = code[j] != 0
        down_left *= d
        down_right *= d
        out[j] += f * (down_left if right else down_right)
        down_left += 0.0 if right else w
        down_right += w if right else 0.0


@compiled
def _walk_two(factor, step, code, weight_a, weight_b, out_a, out_b):
    """Like :func:`_walk` for two columns, in two thirds of the time of two walks."""
    n = len(out_a)
    up_left_a = up_right_a = up_left_b = up_right_b = 0.0
    down_left_a = down_right_a = down_left_b = down_right_b = 0.0
    for i in range(n):
        j = n - 1 - i
        d = step[i]
        f = factor[i]
        a = f * weight_a[i]
        b = f * weight_b[i]
        right = code[i] != 0
        up_left_a *= d
        up_right_a *= d
        up_left_b *= d
        up_right_b *= d
        out_a[i] += f * (up_left_a if right else up_right_a)
        out_b[i] += f * (up_left_b if right else up_right_b)
        up_left_a += 0.0 if right else a
        up_right_a += a if right else 0.0
        up_left_b += 0.0 if right else b
        up_right_b += b if right else 0.0
        d = step[j + 1]
        f = factor[j]
        a = f * weight_a[j]
        b = f * weight_b[j]
        right = code[j] != 0
        down_left_a *= d
        down_right_a *= d
        down_left_b *= d
        down_right_b *= d
        out_a[j] += f * (down_left_a if right else down_right_a)
        out_b[j] += f * (down_left_b if right else down_right_b)
        down_left_a += 0.0 if right else a
        down_right_a += a if right else 0.0
        down_left_b += 0.0 if right else b
        down_right_b += b if right else 0.0


@compiled
def _walk_crossing(factor, step, code, weight, out):
    """Like :func:`_walk` for pairs that differ in the half (bit 0) and in the side (bit 1)."""
    n = len(out)
    up_0 = up_1 = up_2 = up_3 = 0.0
    down_0 = down_1 = down_2 = down_3 = 0.0
    for i in range(n):
        j = n - 1 - i
        d = step[i]
        f = factor[i]
        w = f * weight[i]
        right = (code[i] & 1) != 0
        far = (code[i] & 2) != 0
        up_0 *= d
        up_1 *= d
        up_2 *= d
        up_3 *= d
        out[i] += f * ((up_0 if right else up_1) if far else (up_2 if right else up_3))
        left_w = 0.0 if right else w
        right_w = w if right else 0.0
        up_0 += 0.0 if far else left_w
        up_1 += 0.0 if far else right_w
        up_2 += left_w if far else 0.0
        up_3 += right_w if far else 0.0
        d = step[j + 1]
        f = factor[j]
        w = f * weight[j]
        right = (code[j] & 1) != 0
        far = (code[j] & 2) != 0
        down_0 *= d
        down_1 *= d
        down_2 *= d
        down_3 *= d
        out[j] += f * ((down_0 if right else down_1) if far else (down_2 if right else down_3))
        left_w = 0.0 if right else w
        right_w = w if right else 0.0
        down_0 += 0.0 if far else left_w
        down_1 += 0.0 if far else right_w
        down_2 += left_w if far else 0.0
        down_3 += right_w if far else 0.0


@compiled
def _scratch(n):
    """Return arrays for the largest node of a tree: its order, and its sums."""
    # Leaves keep the matrices of their pairs in the last two.
    size = max(n + 1, LEAF * LEAF)
    return (np.empty(n, np.int32), np.empty(n, np.uint8)), (np.empty(size), np.empty(size))


@compiled
def _reorder_rows(lo, hi, rows, order, crossing):
    """Bring everything but the sums into the given order."""
    u, v, side, index, weights, _ = rows
    n = hi - lo
    buffer = np.empty(n)
    moved = np.empty(n, np.int32)
    reorder(lo, hi, u, order, buffer)
    reorder(lo, hi, v, order, buffer)
    for c in range(len(weights)):
        reorder(lo, hi, weights[c], order, buffer)
    reorder(lo, hi, index, order, moved)
    if crossing:
        for i in range(n):
            moved[i] = side[order[i]]
        for i in range(n):
            side[lo + i] = moved[i]


@compiled
def _leaf(lo, hi, rows, grid, scratch, crossing, exclude_self):
    """Sum the pairs of a few rows directly, then sort them by v."""
    u, v, side, _, weights, sums = rows
    (order, _), (distance, k) = scratch
    n = hi - lo
    un = u[lo:hi]
    vn = v[lo:hi]
    for s in range(n):
        for i in range(n):
            distance[s * n + i] = abs(un[i] - un[s]) + abs(vn[i] - vn[s])
        if crossing:
            for i in range(n):
                if side[lo + i] == side[lo + s]:
                    distance[s * n + i] = np.inf
        elif exclude_self:
            distance[s * n + s] = np.inf
    add_terms(lo, n, lo, n, distance, weights, sums, grid, k)
    insertion_order(lo, hi, v, order)
    _reorder_rows(lo, hi, rows, order, crossing)
    for q in range(len(sums)):
        reorder(lo, hi, sums[q], order, distance)


@compiled
def plane_order(lo, mid, hi, rows, order, code, crossing):
    """Join the v-orders of two finished halves: everything but the sums is brought into it.

    The halves are rows [lo, mid) and [mid, hi). Written: ``order``, the row each place is taken
    from, and ``code``, bit 0 = from the right half, bit 1 = its side.
    """
    merge_order(lo, mid, hi, rows[1], order, code)
    _reorder_rows(lo, hi, rows, order, crossing)
    if crossing:
        side = rows[2]
        for i in range(hi - lo):
            code[i] += 2 * side[lo + i]


@compiled
def _add_sums(lo, hi, split, rows, grid, b_first, b_last, order, code, scratch, crossing):
    """Bring the sums of some bandwidths into the joint order and add those across u = split."""
    u, v, _, _, weights, sums = rows
    factor, step = scratch
    rate, squared, start, column = grid
    n = hi - lo
    un = u[lo:hi]
    vn = v[lo:hi]
    for q in range(start[b_first], start[b_last]):
        reorder(lo, hi, sums[q], order, factor)
    step[0] = 0.0
    step[n] = 0.0
    for b in range(b_first, b_last):
        if squared[b]:
            for i in range(n):
                factor[i] = square(factor[i])
            for i in range(1, n):
                step[i] = square(step[i])
        else:
            lift = rate[0, b]
            slope = rate[1, b]
            for i in range(n):
                factor[i] = half_power(abs(un[i] - split) * lift * slope)
            for i in range(1, n):
                step[i] = half_power((vn[i] - vn[i - 1]) * lift * slope)
        q = start[b]
        last = start[b + 1]
        while q < last:
            weight = weights[column[q], lo:hi]
            out = sums[q, lo:hi]
            if crossing:
                _walk_crossing(factor, step, code, weight, out)
            elif q + 1 == last:
                _walk(factor, step, code, weight, out)
            else:
                q += 1
                weight_b = weights[column[q], lo:hi]
                _walk_two(factor, step, code, weight, weight_b, out, sums[q, lo:hi])
            q += 1


@compiled
def plane_join(lo, hi, split, rows, grid, b_first, b_last, order, code, crossing):
    """Add the sums across two neighbouring trees, whose rows :func:`plane_order` has joined.

    ``split`` is the first u of the right tree.
    """
    n = hi - lo
    scratch = np.empty(n), np.empty(n + 1)
    _add_sums(lo, hi, split, rows, grid, b_first, b_last, order, code, scratch, crossing)


@compiled
def plane_tree(lo, hi, rows, grid, crossing, exclude_self):
    """Add the sums within rows [lo, hi), at least one, sorted by u; leave them sorted by v.

    ``rows`` are (u, v, side, index, weights, sums). If ``crossing``, only pairs of different
    ``side``, (N,) uint8, count; else it is not read.
    """
    u = rows[0]
    n_bandwidths = len(grid[1])
    n = hi - lo
    scratch = _scratch(n)
    (order, code), sums_scratch = scratch
    levels = tree_levels(n, LEAF)
    n_leaves = 1 << levels
    # Where each leaf begins, before anything moves: these are the split lines.
    edge = np.empty(n_leaves)
    for leaf in range(n_leaves):
        edge[leaf] = u[lo + ((n * leaf) >> levels)]
    for leaf in range(n_leaves):
        a = lo + ((n * leaf) >> levels)
        c = lo + ((n * (leaf + 1)) >> levels)
        _leaf(a, c, rows, grid, scratch, crossing, exclude_self)
        # Every subtree that ends with this leaf is complete now: merge upwards, cache-warm.
        done = leaf + 1
        width = 1
        while width < n_leaves and done % (2 * width) == 0:
            a = lo + ((n * (done - 2 * width)) >> levels)
            b = lo + ((n * (done - width)) >> levels)
            split = edge[done - width]
            plane_order(a, b, c, rows, order, code, crossing)
            _add_sums(a, c, split, rows, grid, 0, n_bandwidths, order, code, sums_scratch, crossing)
            width *= 2
