"""Kernel sums of rows that are known by their cells, and their guaranteed bounds.

``docs/mergeable.md`` derives them, with h the width of a cell, s = d·γ, L = h/s and Λ = h/γ.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from scipy import signal

from lore_core.data.arrays import Floats, Ints
from lore_core.data.progress import Progress, tell
from lore_core.kernel_sums import laplacian_sums
from lore_core.mergeable.cell_sums.cells import OFFSET_BITS, Cells, packed

#: Boxes of so many places, or of so many times their cells, are worth it.
_SMALL, _SPARSE = 2**22, 24
#: What rounding in the kernel sums may add, as a share of a sum (docs of `laplacian_sums`).
_ROUNDING = 1e-10


Number = TypeVar("Number")
_Other = TypeVar("_Other")


class Bounded(NamedTuple, Generic[Number]):
    """A number, or one a target, and the bounds that hold it."""

    value: Number
    low: Number
    high: Number

    def each(self, function: Callable[[Number], _Other]) -> Bounded[_Other]:
        """Map it and its bounds by a rising function."""
        return Bounded(function(self.value), function(self.low), function(self.high))


@dataclass(frozen=True, eq=False)
class Targets:
    """Points and bins where sums are wanted, and the corners of the cells they are in."""

    bin_index: Ints  #: (t,)
    coordinates: Ints  #: (t, d); their cells
    offset: Floats  #: (t, d); place within the cell, in [0, 1]

    @cached_property
    def _corners(self) -> list[Ints]:
        d = self.coordinates.shape[1]
        return [
            self.coordinates + np.array(corner) for corner in itertools.product((0, 1), repeat=d)
        ]

    @cached_property
    def corners(self) -> tuple[Ints, Ints, Ints]:
        """Return bins (c,) and coordinates (c, d) of the corners, and which are whose (t, 2^d)."""
        return _distinct(self.bin_index, self._corners)

    def slab_corners(self, m: int) -> tuple[Ints, Ints, Ints, Ints]:
        """Return bin, coordinate m and the others of corners in a slab, and which are whose."""
        d = self.coordinates.shape[1]
        others = [k for k in range(d) if k != m]
        # Where the m-th coordinate is the cell's own and not its upper neighbour's.
        own = [c for c, corner in enumerate(itertools.product((0, 1), repeat=d)) if not corner[m]]
        bins, places, whose = _distinct(self.bin_index, [self._corners[c] for c in own])
        return bins, places[:, m], places[:, others], whose


def _distinct(bin_index: Ints, corners: list[Ints]) -> tuple[Ints, Ints, Ints]:
    keys = np.concatenate([packed(bin_index, corner) for corner in corners])
    _, first, whose = np.unique(keys, return_index=True, return_inverse=True)
    n = len(bin_index)
    places = np.concatenate(corners)[first]
    return bin_index[first % n], places, whose.reshape(len(corners), n).T


@dataclass(frozen=True, eq=False)
class CellSums:
    """Kernel sums of ``cells`` at targets: of all rows in their cells, or at their places."""

    cells: Cells
    width: float
    targets: Targets
    boxes: Boxes | None = None  #: Where the targets are the cells themselves, and fill boxes
    progress: Progress | None = None

    def at_corners(self, weight: int, scales: list[float]) -> list[Floats]:
        """Return sums at the corners of each target's cell, (t, 2^d), at each of some scales s."""
        if self.boxes is not None:
            return self._in_boxes(self.boxes, weight, scales, range(self.cells.n_dimensions))
        bins, places, whose = self.targets.corners
        sources, weights, used = self._sources(weight)
        sums = laplacian_sums(
            places * self.width,
            sources,
            weights,
            bandwidth=scales,
            target_groups=bins,
            source_groups=self.cells.bin_index[used],
            progress=self._report,
        )
        return [of_scale[whose.T].T for of_scale in sums]

    def in_slabs(self, weight: int, scales: list[float]) -> list[list[Floats]]:
        """Return per dimension and scale sums over the target's slab at corners, (t, 2^(d − 1))."""
        d = self.cells.n_dimensions
        if self.boxes is not None:
            return [
                self._in_boxes(self.boxes, weight, scales, [k for k in range(d) if k != m])
                for m in range(d)
            ]
        sources, weights, used = self._sources(weight)
        cells, bins = self.cells.coordinates[used], self.cells.bin_index[used]
        return [self._slab(m, sources, weights, cells, bins, scales) for m in range(d)]

    def _in_boxes(
        self, boxes: Boxes, weight: int, scales: list[float], axes: Sequence[int]
    ) -> list[Floats]:
        weights = self.cells.table[weight].astype(np.float64)
        places = self.cells.mean_offset(weight)
        return [boxes.sums(weights, places, self.width / s, axes) for s in scales]

    def _slab(
        self, m: int, sources: Floats, weights: Floats, cells: Ints, bins: Ints, scales: list[float]
    ) -> list[Floats]:
        target_bins, slabs, places, whose = self.targets.slab_corners(m)
        both = np.column_stack(
            [np.concatenate([bins, target_bins]), np.concatenate([cells[:, m], slabs])]
        )
        _, group = np.unique(packed(both[:, 0], both[:, 1:]), return_inverse=True)
        of_sources, of_targets = group[: len(bins)], group[len(bins) :]
        others = [k for k in range(cells.shape[1]) if k != m]
        if not others:
            total = np.bincount(of_sources, weights=weights, minlength=int(group.max()) + 1)
            return [np.asarray(total[of_targets][whose], np.float64)] * len(scales)
        sums = laplacian_sums(
            places * self.width,
            sources[:, others],
            weights,
            bandwidth=scales,
            target_groups=of_targets,
            source_groups=of_sources,
            progress=self._report,
        )
        return [of_scale[whose.T].T for of_scale in sums]

    def _sources(self, weight: int) -> tuple[Floats, Floats, Ints]:
        weights = self.cells.table[weight]
        used = np.flatnonzero(weights)
        places = self.cells.coordinates[used] + self.cells.mean_offset(weight)[used]
        return places * self.width, weights[used].astype(np.float64), used

    def _report(self, share: float) -> None:
        tell(self.progress, share, "kernel sums of cells")


@dataclass(frozen=True)
class Factors:
    """How far sums are off at one scale; ``length``: L."""

    length: float
    dimensions: int

    @property
    def _rounded(self) -> float:
        # Places are known to half of 2^−16 of a finest cell.
        return self.length * self.dimensions * 2.0 ** -(OFFSET_BITS + 1) + _ROUNDING

    @property
    def least(self) -> float:
        """Least ratio of the true sum to that of the mean places, seen from a corner."""
        return float(np.exp(-self._rounded))

    @property
    def most(self) -> float:
        """Largest such ratio."""
        return float(np.exp((self.length * self.dimensions) ** 2 / 8 + self._rounded))

    @property
    def within(self) -> float:
        """Most that the kernel of a row in the same slab exceeds the interpolated one by."""
        return float(np.tanh(self.length / 2))

    @property
    def slab(self) -> float:
        """Largest ratio of the true sum in a slab, without its dimension, to the interpolated."""
        return float(self.most * ((1 + np.exp(self.length)) / 2) ** (self.dimensions - 1))

    def interpolation(self, offset: Floats) -> Floats:
        """Shares of the corners of a cell at places (t, d) within it: (t, 2^d)."""
        total = np.sinh(self.length)
        ends = [
            (np.sinh(self.length * (1 - column)) / total, np.sinh(self.length * column) / total)
            for column in offset.T
        ]
        shares = [np.ones(len(offset))]
        for end in ends:
            shares = [share * of_end for share in shares for of_end in end]
        return np.stack(shares).T

    def usual_excess(self, offset: Floats) -> Floats:
        """Return by how much kernels of evenly spread rows of a slab exceed the interpolation."""
        middle = np.cosh(self.length * (offset - 0.5)) / np.cosh(self.length / 2)
        return np.asarray(2 / self.length * (1 - middle))


@dataclass(frozen=True, eq=False)
class Boxes:
    """The boxes that the cells of each confidence bin fill, and sums at the corners of the cells.

    A first-order recursion along each dimension: the time is that of the box, not of its cells.
    """

    cells: Cells

    @cached_property
    def _of_bins(self) -> list[tuple[slice, Ints, tuple[int, ...]]]:
        """Return for each bin its cells, their coordinates within its box, and the size of that."""
        bins, places = self.cells.bin_index, self.cells.coordinates
        starts = np.flatnonzero(np.diff(bins, prepend=-1))
        found = []
        for start, stop in itertools.pairwise([*starts.tolist(), len(bins)]):
            own = places[start:stop]
            low = own.min(axis=0)
            size = tuple((own.max(axis=0) - low + 1).tolist())
            found.append((slice(start, stop), own - low, size))
        return found

    @property
    def are_small(self) -> bool:
        """Whether the recursions are the faster way."""
        places = sum(int(np.prod([one + 1.0 for one in size])) for _, _, size in self._of_bins)
        return places <= max(_SMALL, _SPARSE * len(self.cells))

    def sums(self, weights: Floats, places: Floats, length: float, axes: Sequence[int]) -> Floats:
        """Sum over the cells of each bin, in some dimensions, and in the others of one coordinate.

        ``weights`` (m,), ``places`` (m, d): what is summed, and where within the cell it is, in [0,
        1]. ``length``: L. ``axes``: dimensions the kernel works in. Returns sums at the corners of
        each cell in these dimensions, (m, 2^len(axes)).
        """
        found = np.empty((2 ** len(axes), len(weights)))
        corners = [
            dict(zip(axes, ends, strict=True))
            for ends in itertools.product((0, 1), repeat=len(axes))
        ]
        for rows, own, size in self._of_bins:
            total = np.zeros([one + (m in axes) for m, one in enumerate(size)])
            for sides in corners:
                toward = np.zeros(len(own))
                for m, side in sides.items():
                    toward += places[rows, m] if side else 1 - places[rows, m]
                filled = np.zeros(size)
                filled[tuple(own.T)] = weights[rows] * np.exp(-length * toward)
                _add(total, filled, length, sides)
            for k, corner in enumerate(corners):
                at = [own[:, m] + corner.get(m, 0) for m in range(len(size))]
                found[k, rows] = total[tuple(at)]
        return found.T


def _add(total: Floats, filled: Floats, length: float, sides: Mapping[int, int]) -> None:
    """Add what cells on one side of every corner give: below it (0) or above, a dimension."""
    where = [slice(None)] * filled.ndim
    for m, side in sides.items():
        way = np.flip(filled, m) if side else filled
        summed = signal.lfilter([1.0], [1.0, -np.exp(-length)], way, axis=m)
        filled = np.flip(summed, m) if side else summed
        where[m] = slice(0, -1) if side else slice(1, None)
    total[tuple(where)] += filled
