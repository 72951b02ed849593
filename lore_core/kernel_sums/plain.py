"""The same sums with numpy alone, over all pairs: O(n²), for processes that have no numba.

Applying a shipped recalibrator to some thousand rows needs no more.
"""

import numpy as np

from lore_core.data.arrays import Floats, Ints
from lore_core.kernel_sums.prepare import Problem
from lore_core.kernel_sums.schedule import Workers

#: Pairs of a block: 8 MB a matrix.
_BLOCK_PAIRS = 2**20
#: Scaling that keeps L1 distances of any two finite points finite.
_OVERFLOW_SCALE = 2.0**-64


def plain_sums(
    problem: Problem, wanted: dict[float, int], workers: Workers, share: float, *, ones: bool
) -> dict[float, Floats]:
    """Return what :func:`~.compute.compute_sums` does, without numba."""
    weights = problem.weights
    if ones:
        weights = np.column_stack([weights, np.ones(len(weights))])
    n_t, m = len(problem.targets), weights.shape[1]
    results = {h: np.zeros((m - first, n_t)) for h, first in wanted.items()}
    workers.section(share, float(n_t))
    for group in range(problem.n_groups):
        targets = np.flatnonzero(problem.target_groups == group)
        members = np.flatnonzero(problem.source_groups == group)
        if len(members):
            sources, own_weights = problem.sources[members], weights[members]
            count = max(1, _BLOCK_PAIRS // len(members))
            for start in range(0, len(targets), count):
                rows = targets[start : start + count]
                distance = _distances(problem.targets[rows], sources)
                if problem.exclude_self:
                    distance[np.arange(len(rows)), np.searchsorted(members, rows)] = np.inf
                for h, first in wanted.items():
                    with np.errstate(under="ignore", over="ignore"):
                        k = np.exp(distance / -h)
                    results[h][:, rows] = (k @ own_weights[:, first:]).T
        workers.add(float(len(targets)))
    return results


def _distances(points: Floats, sources: Floats) -> Floats:
    total = np.abs(points[:, 0, None] - sources[None, :, 0])
    with np.errstate(over="ignore"):
        for k in range(1, points.shape[1]):
            total += np.abs(points[:, k, None] - sources[None, :, k])
    return total


def plain_means(
    points: Floats,
    own: Ints,
    columns: Floats,
    values: Floats,
    bandwidth: float,
    means: Floats,
    effective: Floats,
) -> None:
    """Fill in means whose weights underflow, like :func:`~.underflow.direct_means`."""
    sources = columns.T
    count = max(1, _BLOCK_PAIRS // len(sources))
    for start in range(0, len(points), count):
        rows = slice(start, start + count)
        scale = 1.0
        distance = _distances(points[rows], sources)
        if np.isinf(distance).any():
            scale = _OVERFLOW_SCALE
            distance = _distances(points[rows] * scale, sources * scale)
        left_out = np.flatnonzero(own[rows] >= 0)
        distance[left_out, own[rows][left_out]] = np.inf
        distance -= distance.min(axis=1, keepdims=True)
        with np.errstate(under="ignore", over="ignore"):
            k = np.exp(distance / scale / -bandwidth)
            mass = k.sum(axis=1)
            means[:, rows] = (k @ values.T / mass[:, None]).T
            effective[rows] = mass**2 / (k**2).sum(axis=1)
