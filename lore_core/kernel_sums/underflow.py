"""Kernel means where the kernel itself underflows: shift by the nearest source's distance.

A mean does not change when every weight is multiplied by exp(d_min/h). Then the nearest source
weighs 1, nothing is lost, and for h → 0 the mean becomes that of the nearest source (ties: their
average), as it must.
"""

import numpy as np

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.kernel_sums.blocked import distances
from lore_core.kernel_sums.compiled import HAS_NUMBA, compiled
from lore_core.kernel_sums.exponential import LOG2_E, half_power
from lore_core.kernel_sums.plain import plain_means
from lore_core.kernel_sums.prepare import Problem

try:
    from scipy.spatial import cKDTree
except ImportError:  # then every source is looked at, which is slower and as exact
    cKDTree = None  # noqa: N816 - scipy's name

#: What the neighbours beyond the last one asked for may add to a mean, relative to it.
_TAIL = 1e-13
_FIRST_NEIGHBOURS = 16
_LAST_NEIGHBOURS = 512
_SEARCHABLE = 1e150
#: Scaling that keeps L1 distances of any two finite points finite.
_OVERFLOW_SCALE = 2.0**-64


@compiled
def direct_means(points, own, columns, values, bandwidth, means, effective):
    """Fill in shifted means (m, t) and (Σk)² / Σk² of points (t, d), by a loop over all sources.

    ``own`` is the position of the source to leave out, or −1; ``columns`` (d, s) are the sources,
    at least one besides it.
    """
    n = columns.shape[1]
    distance = np.empty(n)
    k = np.empty(n)
    small_columns = np.empty((0, 0))
    small_points = points
    for t in range(len(points)):
        scale = 1.0
        distances(points, t, 1, columns, 0, n, distance)
        if own[t] >= 0:
            distance[own[t]] = np.inf
        nearest = np.inf
        for j in range(n):
            nearest = min(nearest, distance[j])
        if nearest == np.inf:
            # Even the nearest source is further away than float64 can say.
            if len(small_columns) == 0:
                small_columns = columns * _OVERFLOW_SCALE
                small_points = points * _OVERFLOW_SCALE
            scale = _OVERFLOW_SCALE
            distances(small_points, t, 1, small_columns, 0, n, distance)
            if own[t] >= 0:
                distance[own[t]] = np.inf
            for j in range(n):
                nearest = min(nearest, distance[j])
        mass = 0.0
        mass_half = 0.0
        for j in range(n):
            k[j] = half_power((distance[j] - nearest) / scale / bandwidth * LOG2_E)
            mass += k[j]
            mass_half += k[j] * k[j]
        effective[t] = mass * mass / mass_half
        for c in range(len(values)):
            total = 0.0
            for j in range(n):
                total += k[j] * values[c, j]
            means[c, t] = total / mass


class GroupSources:
    """The sources of one group, for targets so far from them that kernel sums underflow."""

    def __init__(self, problem: Problem, group: int) -> None:
        self._problem = problem
        self.members = np.flatnonzero(problem.source_groups == group)
        self._sources = problem.sources[self.members]
        self._values = np.ascontiguousarray(problem.weights[self.members].T)
        # A search pays in few dimensions; it subtracts bounds, so it must stay far from overflow.
        self._tree: cKDTree | None = None
        few = self._sources.shape[1] <= 3
        if cKDTree is not None and few and np.abs(self._sources).max() < _SEARCHABLE:
            # Sliding midpoints cope with many duplicates; medians do not.
            self._tree = cKDTree(self._sources, balanced_tree=False, compact_nodes=False)

    def repair(self, rows: Ints, bandwidth: float, mean: Floats, size: Floats | None) -> None:
        """Replace the means (m, n_t), of the last m values, and effective sizes of some targets."""
        points = self._problem.targets[rows]
        # The position of the source that is the target itself and is left out, or −1.
        own = np.full(len(rows), -1, dtype=np.int64)
        if self._problem.exclude_self:
            own = np.searchsorted(self.members, rows).astype(np.int64)
        count = _FIRST_NEIGHBOURS
        if self._tree is not None and np.abs(points).max() < _SEARCHABLE:
            while len(rows) and count <= _LAST_NEIGHBOURS:
                found = _nearest_means(self._tree, self._values, points, own, count, bandwidth)
                settled = found[0]
                _write(rows[settled], found[1][:, settled], found[2][settled], mean, size)
                rows, points, own = rows[~settled], points[~settled], own[~settled]
                count *= 4
        if len(rows):
            means, effective = np.empty((len(self._values), len(rows))), np.empty(len(rows))
            loop = direct_means if HAS_NUMBA else plain_means
            columns = np.ascontiguousarray(self._sources.T)
            loop(points, own, columns, self._values, bandwidth, means, effective)
            _write(rows, means, effective, mean, size)


def _write(rows: Ints, means: Floats, effective: Floats, mean: Floats, size: Floats | None) -> None:
    mean[:, rows] = means[len(means) - len(mean) :]
    if size is not None:
        size[rows] = effective


def _nearest_means(
    tree: cKDTree, values: Floats, points: Floats, own: Ints, count: int, bandwidth: float
) -> tuple[Mask, Floats, Floats]:
    """Return which targets their ``count`` nearest sources settle, their means and sizes."""
    n = tree.n
    distance, neighbour = tree.query(points, k=np.arange(1, min(count, n) + 1), p=1)
    last = distance[:, -1].copy()
    distance[neighbour == own[:, None]] = np.inf
    nearest = distance.min(axis=1)
    with np.errstate(over="ignore", under="ignore"):
        k = np.exp((nearest[:, None] - distance) / bandwidth)
        tail = n * np.exp((nearest - last) / bandwidth)
        mass = k.sum(axis=1)
        effective = mass**2 / (k**2).sum(axis=1)
        means = (k * values[:, neighbour]).sum(axis=2) / mass
    settled = (tail < _TAIL) | (count >= n)
    return settled, means, effective
