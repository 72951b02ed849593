"""Kernel sums with numpy alone, over all pairs: O(n²), for processes that have no numba.

Applying a shipped recalibrator to some thousand rows needs no more, nor do rows far from others.
"""

import numpy as np

from lore_core.data.arrays import Floats, Ints
from lore_core.kernel_sums.grid import Pass
from lore_core.kernel_sums.prepare import Layout, Problem
from lore_core.kernel_sums.schedule import Phase, Plan, Step

#: Pairs of a block: 1 MB a matrix.
_BLOCK_PAIRS = 2**17
#: Scaling that keeps L1 distances of any two finite points finite.
_OVERFLOW_SCALE = 2.0**-64


def plan_plain(problem: Problem, layout: Layout, now: Pass, sums: Floats) -> Plan:
    """Sum over all pairs of each group, block by block of targets."""

    def add(a: int, b: int, c: int, e: int) -> None:
        """Add to targets [a, b) the terms of sources [c, e)."""
        distance = distances(layout.coordinates[:, a:b].T, layout.coordinates[:, c:e].T)
        if problem.exclude_self:
            distance[np.arange(b - a), np.arange(a, b) - c] = np.inf
        upto, k = 0, distance
        for (h, first), is_square in zip(now.wanted.items(), now.grid[1], strict=True):
            with np.errstate(under="ignore", over="ignore"):
                k = np.square(k) if is_square else np.exp(distance / -h)
            found = layout.weights[first:, c:e] @ k.T
            sums[upto : upto + len(found), a:b] = found
            upto += len(found)

    phase: Phase = []
    for lo, cut, hi in layout.segments:
        last, first = (hi, lo) if problem.is_self else (cut, cut)
        size = max(1, _BLOCK_PAIRS // (hi - first))
        starts = range(lo, last, size)
        phase += [Step(size, add, a, min(a + size, last), first, hi) for a in starts]
    return [phase], sum(step.cost for step in phase)


def distances(points: Floats, sources: Floats) -> Floats:
    """Return L1 distances (n_t, n_s)."""
    total = np.zeros((len(points), len(sources)))
    with np.errstate(over="ignore"):
        for k in range(points.shape[1]):
            total += np.abs(points[:, k, None] - sources[None, :, k])
    return total


def plain_means(
    points: Floats, own: Ints, sources: Floats, values: Floats, bandwidth: float
) -> tuple[Floats, Floats]:
    """Return means (m, t) of values (m, s) whose weights underflow, and effective sizes (t,).

    ``own`` (t,): position of the source to leave out, or −1; at least one is left.
    """
    means, effective = np.empty((len(values), len(points))), np.empty(len(points))
    count = max(1, _BLOCK_PAIRS // len(sources))
    for start in range(0, len(points), count):
        rows = slice(start, start + count)
        scale = 1.0
        distance = distances(points[rows], sources)
        if np.isinf(distance).any():
            scale = _OVERFLOW_SCALE
            distance = distances(points[rows] * scale, sources * scale)
        left_out = np.flatnonzero(own[rows] >= 0)
        distance[left_out, own[rows][left_out]] = np.inf
        distance -= distance.min(axis=1, keepdims=True)
        with np.errstate(under="ignore", over="ignore"):
            k = np.exp(distance / scale / -bandwidth)
            mass = k.sum(axis=1)
            means[:, rows] = (k @ values.T / mass[:, None]).T
            effective[rows] = mass**2 / (k**2).sum(axis=1)
    return means, effective
