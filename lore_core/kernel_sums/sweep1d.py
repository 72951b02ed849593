"""Exact sums on a line in O(n): one running sum up, one down, each decaying with the gaps."""

import numpy as np

from lore_core.kernel_sums.compiled import compiled
from lore_core.kernel_sums.pairs import decays


@compiled
def line_sweep(lo, hi, rows, grid, exclude_self):
    """Add the sums within rows [lo, hi), sorted by x; ``rows`` are (x, weights, sums)."""
    x, weights, sums = rows
    rate, squared, start, column = grid
    n = hi - lo
    step = np.zeros(n + 1)
    xn = x[lo:hi]
    for b in range(len(squared)):
        decays(xn, rate[0, b], rate[1, b], squared[b], step)
        for q in range(start[b], start[b + 1]):
            weight = weights[column[q], lo:hi]
            out = sums[q, lo:hi]
            up = 0.0
            down = 0.0
            # Two independent walks in one loop hide each other's latency.
            for i in range(n):
                j = n - 1 - i
                up *= step[i]
                out[i] += up
                up += weight[i]
                down *= step[j + 1]
                out[j] += down
                down += weight[j]
            if not exclude_self:
                for i in range(n):
                    out[i] += weight[i]
