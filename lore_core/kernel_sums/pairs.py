"""Steps that all algorithms share: kernel values, terms of a few sources, sort orders, merges.

The kernels pass two tuples around, so that each has exactly one compiled signature:

``rows``
    What belongs to each row: coordinates, original row number (int32), ``weights`` of shape
    (m, N) and the results so far, ``sums`` of shape (q, N).
``grid``
    ``rate`` (2, B) float64: the kernel is 2^(−distance · rate[0] · rate[1]), in two factors
    because one alone could overflow; ``squared`` (B,) bool: this bandwidth is half the previous
    one, so its kernel is the square of the previous kernel; ``start`` (B + 1,) int64: the rows
    of ``sums`` that belong to each bandwidth; ``column`` (q,) int64: the weight column of each.

``exclude_self`` leaves out the pair (i, i). Orders are int32, codes uint8. A constant that a kernel
hands to another would be part of the signature, and have that compiled for it alone.
"""

import numpy as np

from lore_core.kernel_sums.compiled import compiled, compiled_sums
from lore_core.kernel_sums.exponential import half_power, square


@compiled
def kernel_values(distance, n, lift, rate, squared, k):
    """Write 2^(−distance·lift·rate) into ``k``; if ``squared``, square what ``k`` holds."""
    if squared:
        for i in range(n):
            k[i] = square(k[i])
    else:
        for i in range(n):
            k[i] = half_power(distance[i] * lift * rate)


@compiled_sums
def _add_products(k, count, n, weight, out):
    """Add to ``out[t]`` the sum of ``weight[s] * k[t * n + s]`` over s < n, for t < count."""
    # Four targets at once, which share the loads of the weights.
    for t in range(0, count - 3, 4):
        k0 = k[t * n : t * n + n]
        k1 = k[t * n + n : t * n + 2 * n]
        k2 = k[t * n + 2 * n : t * n + 3 * n]
        k3 = k[t * n + 3 * n : t * n + 4 * n]
        t0 = t1 = t2 = t3 = 0.0
        for s in range(n):
            t0 += weight[s] * k0[s]
            t1 += weight[s] * k1[s]
            t2 += weight[s] * k2[s]
            t3 += weight[s] * k3[s]
        out[t] += t0
        out[t + 1] += t1
        out[t + 2] += t2
        out[t + 3] += t3
    for t in range(count - count % 4, count):
        k0 = k[t * n : t * n + n]
        t0 = 0.0
        for s in range(n):
            t0 += weight[s] * k0[s]
        out[t] += t0


@compiled
def add_terms(first, count, lo, n, distance, weights, sums, grid, k):
    """Add the terms of sources lo … lo + n − 1 to a few targets.

    The targets are rows first … first + count − 1; ``distance`` holds that of target t to
    source s at t · n + s, inf where the pair is left out; ``k``, as large, is scratch.
    """
    rate, squared, start, column = grid
    for b in range(len(squared)):
        kernel_values(distance, count * n, rate[0, b], rate[1, b], squared[b], k)
        for q in range(start[b], start[b + 1]):
            out = sums[q, first : first + count]
            _add_products(k, count, n, weights[column[q], lo : lo + n], out)


@compiled
def factors(x, split, lift, slope, squared, factor):
    """Write the kernel of each distance to a split; the previous bandwidth's, if ``squared``."""
    if squared:
        for i in range(len(x)):
            factor[i] = square(factor[i])
    else:
        for i in range(len(x)):
            factor[i] = half_power(abs(x[i] - split) * lift * slope)


@compiled
def decays(x, lift, slope, squared, step):
    """Write the kernel of each gap to the row before, from row 1 on, as :func:`factors`."""
    if squared:
        for i in range(1, len(x)):
            step[i] = square(step[i])
    else:
        for i in range(1, len(x)):
            step[i] = half_power((x[i] - x[i - 1]) * lift * slope)


@compiled
def tree_bounds(lo, hi, leaf):
    """Halve rows [lo, hi) until no part has more than ``leaf``; return where parts begin and end.

    The parts are 2^levels. Their first rows, read before any row moves, are the splits.
    """
    n = hi - lo
    levels = 0
    while ((n - 1) >> levels) + 1 > leaf:
        levels += 1
    bounds = np.empty((1 << levels) + 1, np.int64)
    for k in range(len(bounds)):
        bounds[k] = lo + ((n * k) >> levels)
    return bounds


@compiled
def rank_order(lo, hi, v, order):
    """Write the row numbers lo … hi − 1 of a few rows, sorted by v, stably."""
    # (To count smaller ones takes no branches on the data.)
    x = v[lo:hi]
    for i in range(len(x)):
        rank = 0
        for j in range(len(x)):
            rank += x[j] < x[i]
        for j in range(i):
            rank += x[j] == x[i]
        order[rank] = lo + i


@compiled
def merge_order(lo, mid, hi, v, order, code):
    """Write the row numbers of two sorted parts, merged by v; code 1: from the right part."""
    # From both ends at once: each choice waits for the one before it, but not for the other end's.
    # As many steps as the shorter part has rows need no look at the ends; the rest is the middle.
    # Without branches on the data: which part comes next cannot be predicted.
    n = hi - lo
    i = lo
    j = mid
    i_end = mid - 1
    j_end = hi - 1
    common = min(mid - lo, hi - mid)
    for p in range(common):
        right = v[j] < v[i]
        order[p] = j if right else i
        code[p] = 1 if right else 0
        j += 1 if right else 0
        i += 0 if right else 1
        left = v[j_end] < v[i_end]
        order[n - 1 - p] = i_end if left else j_end
        code[n - 1 - p] = 0 if left else 1
        i_end -= 1 if left else 0
        j_end -= 0 if left else 1
    p = common
    while i <= i_end or j <= j_end:
        right = i > i_end or (j <= j_end and v[j] < v[i])
        order[p] = j if right else i
        code[p] = 1 if right else 0
        j += 1 if right else 0
        i += 0 if right else 1
        p += 1


@compiled
def reorder(lo, hi, array, order, scratch):
    """Sort array[lo:hi] by an order of row numbers."""
    n = hi - lo
    for i in range(n):
        scratch[i] = array[order[i]]
    for i in range(n):
        array[lo + i] = scratch[i]


@compiled
def reorder_rows(lo, hi, rows, order):
    """Bring everything but the sums into the given order."""
    first, second, third, index, weights, _ = rows
    n = hi - lo
    buffer = np.empty(n)
    reorder(lo, hi, first, order, buffer)
    reorder(lo, hi, second, order, buffer)
    for c in range(len(weights)):
        reorder(lo, hi, weights[c], order, buffer)
    reorder(lo, hi, index, order, np.empty(n, np.int32))
    if len(third):
        reorder(lo, hi, third, order, buffer)


@compiled
def finish_leaf(lo, hi, rows, grid, distance, k, order, exclude_self):
    """Sum pairs of a few rows whose distances are known, then sort the rows by their second array.

    ``distance``, ``k``: as in :func:`add_terms`.
    """
    n = hi - lo
    if exclude_self:
        for s in range(n):
            distance[s * n + s] = np.inf
    _, second, _, _, weights, sums = rows
    rank_order(lo, hi, second, order)
    if weights[:, lo:hi].any():
        add_terms(lo, n, lo, n, distance, weights, sums, grid, k)
        for q in range(len(sums)):
            reorder(lo, hi, sums[q], order, distance)
    reorder_rows(lo, hi, rows, order)


@compiled
def join_order(lo, mid, hi, rows, order, code):
    """Join the orders of two finished parts by the second array; bring all but the sums into it.

    The parts are rows [lo, mid) and [mid, hi). Written: ``order``, the row each place is taken
    from, and ``code``, 1 = from the right part.
    """
    merge_order(lo, mid, hi, rows[1], order, code)
    reorder_rows(lo, hi, rows, order)
