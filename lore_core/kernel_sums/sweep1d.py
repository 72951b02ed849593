"""Exact sums on a line in O(n): one running sum up, one down, each decaying with the gaps."""

from __future__ import annotations

import numpy as np

from lore_core.kernel_sums.compiled import compiled
from lore_core.kernel_sums.exponential import decay, square

__all__ = ["line_sweep"]


@compiled
def line_sweep(lo, hi, rows, grid, exclude_self):
    """Add the sums within rows [lo, hi), which are sorted by x.

    Parameters
    ----------
    lo, hi : int
        The rows of one group.
    rows : (x, weights, sums)
        See :mod:`~lore_core.kernel_sums.pairs`.
    grid : (bandwidth, squared, start, column)
    exclude_self : bool
        Leave out the pair (i, i).
    """
    x, weights, sums = rows
    bandwidth, squared, start, column = grid
    n = hi - lo
    step = np.zeros(n + 1)
    xn = x[lo:hi]
    for b in range(len(bandwidth)):
        if squared[b]:
            for i in range(1, n):
                step[i] = square(step[i])
        else:
            h = bandwidth[b]
            for i in range(1, n):
                step[i] = decay((xn[i] - xn[i - 1]) / h)
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
