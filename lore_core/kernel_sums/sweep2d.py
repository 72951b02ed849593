"""Exact sums over pairs in the plane in O(n log n): split by one axis, sweep along the other.

On rows sorted by u, a pair on the two sides of a split line U has
|u_i − u_j| = |u_i − U| + |U − u_j|, so its kernel factorises. Sources enter a running sum with
their factor exp(−|u − U|/h); the sum decays by exp(−Δv/h) while it walks along v; targets of the
other side read it, times their own factor. Every factor is ≤ 1: nothing can overflow.

The rows of a node are physically kept in the order of v (a merge sort that carries the sums
along), so all memory access is sequential, and small nodes stay in the processor's cache.
"""

from __future__ import annotations

import numpy as np

from lore_core.kernel_sums.compiled import compiled
from lore_core.kernel_sums.exponential import decay, square
from lore_core.kernel_sums.pairs import insertion_order, merge_order, reorder, send, tree_levels

__all__ = ["plane_join", "plane_tree"]

#: Up to so many rows pairs are summed directly.
LEAF = 32


@compiled
def _walk(factor, step, code, weight, out):
    """Add to ``out`` what the rows of the other half send, both ways along v, for one column.

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
    up = np.zeros(4)
    down = np.zeros(4)
    for i in range(n):
        j = n - 1 - i
        d = step[i]
        c = code[i]
        up[0] *= d
        up[1] *= d
        up[2] *= d
        up[3] *= d
        out[i] += factor[i] * up[c ^ 3]
        up[c] += factor[i] * weight[i]
        d = step[j + 1]
        c = code[j]
        down[0] *= d
        down[1] *= d
        down[2] *= d
        down[3] *= d
        out[j] += factor[j] * down[c ^ 3]
        down[c] += factor[j] * weight[j]


@compiled
def _scratch(n):
    order = np.empty(n, np.int64)
    moved = np.empty(n, np.int64)
    code = np.empty(n, np.uint8)
    # Leaves keep the matrices of their pairs in the last two.
    size = max(n + 1, LEAF * LEAF)
    return order, moved, code, np.empty(n), np.empty(n), np.empty(size), np.empty(size)


@compiled
def _reorder_rows(lo, hi, rows, scratch, crossing):
    """Bring everything but the sums into the scratch's order."""
    u, v, side, index, weights, _ = rows
    order, moved, _, buffer, _, _, _ = scratch
    reorder(lo, hi, u, order, buffer)
    reorder(lo, hi, v, order, buffer)
    reorder(lo, hi, index, order, moved)
    for c in range(len(weights)):
        reorder(lo, hi, weights[c], order, buffer)
    if crossing:
        for i in range(hi - lo):
            moved[i] = side[order[i]]
        for i in range(hi - lo):
            side[lo + i] = moved[i]


@compiled
def _leaf(lo, hi, rows, grid, scratch, crossing, exclude_self):
    """Sum the pairs of a few rows directly, then sort them by v."""
    u, v, side, _, weights, sums = rows
    order, _, _, buffer, _, distance, k = scratch
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
    send(lo, n, lo, n, distance, weights, sums, grid, k)
    insertion_order(lo, hi, v, order)
    _reorder_rows(lo, hi, rows, scratch, crossing)
    for q in range(len(sums)):
        reorder(lo, hi, sums[q], order, buffer)


@compiled
def _merge(lo, mid, hi, split, rows, grid, scratch, crossing):
    """Add the sums across u = split between two finished, v-ordered halves; join their order."""
    u, v, side, _, weights, sums = rows
    order, _, code, buffer, second, factor, step = scratch
    bandwidth, squared, start, column = grid
    n = hi - lo
    merge_order(lo, mid, hi, v, order, code)
    _reorder_rows(lo, hi, rows, scratch, crossing)
    if crossing:
        for i in range(n):
            code[i] += 2 * side[lo + i]
    un = u[lo:hi]
    vn = v[lo:hi]
    step[0] = 0.0
    step[n] = 0.0
    for b in range(len(bandwidth)):
        if squared[b]:
            for i in range(n):
                factor[i] = square(factor[i])
            for i in range(1, n):
                step[i] = square(step[i])
        else:
            h = bandwidth[b]
            for i in range(n):
                factor[i] = decay(abs(un[i] - split) / h)
            for i in range(1, n):
                step[i] = decay((vn[i] - vn[i - 1]) / h)
        q = start[b]
        last = start[b + 1]
        while q < last:
            row = sums[q]
            weight = weights[column[q], lo:hi]
            out = buffer[:n]
            for i in range(n):
                out[i] = row[order[i]]
            if crossing:
                _walk_crossing(factor, step, code, weight, out)
            elif q + 1 == last:
                _walk(factor, step, code, weight, out)
            else:
                q += 1
                row_b = sums[q]
                out_b = second[:n]
                for i in range(n):
                    out_b[i] = row_b[order[i]]
                _walk_two(factor, step, code, weight, weights[column[q], lo:hi], out, out_b)
                row_b[lo:hi] = out_b
            row[lo:hi] = out
            q += 1


@compiled
def plane_tree(lo, hi, rows, grid, crossing, exclude_self):
    """Add the sums within rows [lo, hi), which are sorted by u; leave them sorted by v.

    Parameters
    ----------
    lo, hi : int
        At least one row.
    rows : (u, v, side, index, weights, sums)
        See :mod:`~lore_core.kernel_sums.pairs`. ``side`` (N,) uint8 is read only if ``crossing``.
    grid : (bandwidth, squared, start, column)
    crossing : bool
        Count only pairs of different ``side``.
    exclude_self : bool
        Leave out the pair (i, i).
    """
    u = rows[0]
    n = hi - lo
    scratch = _scratch(n)
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
            _merge(a, b, c, edge[done - width], rows, grid, scratch, crossing)
            width *= 2


@compiled
def plane_join(lo, mid, hi, split, rows, grid):
    """Add the sums across two neighbouring trees; ``split`` is the first u of the right one."""
    _merge(lo, mid, hi, split, rows, grid, _scratch(hi - lo), False)
