"""Cells of a grid with whole-number sums: additive over rows, the same in whatever order.

A row is in the cell of its confidence bin and place. A cell holds, of some weights, Σ w and, a
dimension, Σ w·o with o the row's offset from the cell's lower corner, in 2^−16 of the finest cell;
Σ w·o in two parts, of which the lower stays below 2^30, so that no sum of 2^31 rows overflows.

Level L joins 2^L finest cells a dimension. Which level a set of rows has, and the bounds of kernel
sums of such rows (h: width of a cell, s = d·γ, L = h/s, Λ = h/γ): docs/mergeable.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Generic, NamedTuple, TypeVar

import numpy as np

from lore_core.data.arrays import Floats, Ints
from lore_core.data.progress import Progress, tell
from lore_core.data.rules import Number, Values
from lore_core.data.validation import InputError
from lore_core.kernel_sums import laplacian_sums

#: Bits of an offset within a finest cell, and of the lower part of a moment.
OFFSET_BITS = 16
_LOW_BITS = 30
_LOW = (1 << _LOW_BITS) - 1
#: The key of a cell: its bin's number above one coordinate a dimension.
_COORDINATE_BITS = {1: 48, 2: 24, 3: 16}
#: Where a coordinate overflowed, or cells are too many, 2^L are joined, but no more than this.
HIGHEST_LEVEL = 14


@dataclass(frozen=True, eq=False)
class Cells:
    """Non-empty cells in the order of their keys."""

    n_dimensions: Annotated[int, Number(1, 3, whole=True)]
    level: Annotated[int, Number(0, HIGHEST_LEVEL, whole=True)]
    keys: Annotated[Ints, Values(("m",), 0, whole=True, rising=True)]
    #: (w + 2·w·d, m): Σ w of each weight, then of each weight and dimension the two parts of Σ w·o.
    table: Annotated[Ints, Values(("t", "m"), whole=True)]

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def n_weights(self) -> int:
        """Weights w that are summed."""
        return len(self.table) // (1 + 2 * self.n_dimensions)

    @property
    def bin_index(self) -> Ints:
        """Confidence bins, shape (m,)."""
        return self.keys >> (_COORDINATE_BITS[self.n_dimensions] * self.n_dimensions)

    @property
    def coordinates(self) -> Ints:
        """Whole-number places, shape (m, d); the cell reaches from there to one more."""
        return _unpacked(self.keys, self.n_dimensions)

    def mean_offset(self, weight: int) -> Floats:
        """Weighted mean place within each cell, shape (m, d), in [0, 1]; 1/2 without weight."""
        d = self.n_dimensions
        total = self.table[weight].astype(np.float64)
        first = self.n_weights + 2 * d * weight
        high, low = self.table[first : first + 2 * d : 2], self.table[first + 1 : first + 2 * d : 2]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (np.ldexp(high.astype(np.float64), _LOW_BITS) + low) / total + 0.5
        mean = np.where(total > 0, np.ldexp(mean, -OFFSET_BITS - self.level), 0.5)
        return np.asarray(mean.T)

    def at_level(self, level: int) -> Cells:
        """Return the same rows in cells 2^(``level`` − its own) times as wide."""
        return self if level <= self.level else joined([self], len(self), level)

    def lines_at(self, level: int) -> Iterator[Ints]:
        """Yield the lines of the table at a level, before cells that become one are added."""
        if level == self.level:
            yield from self.table
            return
        d, w = self.n_dimensions, self.n_weights
        yield from self.table[:w]
        # The offset grows by that of the cell in the wider one: Σ w·o, in two parts.
        within = self.coordinates.T & ((1 << (level - self.level)) - 1)
        within <<= OFFSET_BITS + self.level
        for k, weight in enumerate(self.table[:w]):
            high, low = weight >> _LOW_BITS, weight & _LOW
            for m, offset in enumerate(within):
                row, moved = w + 2 * (d * k + m), low * offset
                yield self.table[row] + high * offset + (moved >> _LOW_BITS)
                yield self.table[row + 1] + (moved & _LOW)


def packed(bin_index: Ints, coordinates: Ints) -> Ints:
    """Make keys of bins (m,) and whole-number places (m, d), which must fit."""
    d = coordinates.shape[1]
    bits = _COORDINATE_BITS[d]
    key = bin_index.astype(np.int64)
    for m in range(d):
        key = (key << bits) | (coordinates[:, m] + (1 << (bits - 1)))
    return key


def _unpacked(keys: Ints, d: int) -> Ints:
    bits = _COORDINATE_BITS[d]
    columns = [
        ((keys >> (bits * (d - 1 - m))) & ((1 << bits) - 1)) - (1 << (bits - 1)) for m in range(d)
    ]
    return np.stack(columns).T


def _sorted(
    bin_index: Ints, places: Ints, level: int, max_cells: int
) -> tuple[int, Ints, Ints, Ints]:
    """Sort rows, at ``places`` (d, n), by cell, at the least level of no more cells than allowed.

    Returns the level, the order of the rows, and of each cell the first in that order and its rows.
    """
    while True:
        shift, low = len(bin_index).bit_length(), places.min(axis=1, initial=0)
        bits = [int(size).bit_length() for size in places.max(axis=1, initial=0) - low]
        if int(bin_index.max(initial=0)).bit_length() + sum(bits) + shift < 64:
            # Numbers that hold cell and row are sorted several times as fast as rows by keys.
            keys = bin_index
            for size, least, column in zip(bits, low, places, strict=True):
                keys = (keys << size) | (column - least)
            keys = np.sort((keys << shift) | np.arange(len(keys)))
            order, keys = keys & ((1 << shift) - 1), keys >> shift
        else:
            keys = packed(bin_index, places.T)
            order = np.argsort(keys)
            keys = keys[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        if len(starts) <= max_cells:
            return level, order, order[starts], np.diff(starts, append=len(order))
        if level == HIGHEST_LEVEL:
            raise InputError(
                f"'max_cells' must be enough for rows this far apart; {len(starts):,} cells of the "
                f"largest width are filled, got {max_cells:,}."
            )
        level, places = level + 1, places >> 1


def _added(
    d: int, level: int, keys: Ints, cell: Ints, n_weights: int, lines: Iterable[Ints | int]
) -> Cells:
    """Add what is in one of the cells with ``keys``; ``lines`` of the table, one at a time."""
    table = np.zeros((n_weights * (1 + 2 * d), len(keys)), dtype=np.int64)
    for total, line in zip(table, lines, strict=True):
        if not np.isscalar(line) or line:
            np.add.at(total, cell, line)
    high, low = table[n_weights::2], table[n_weights + 1 :: 2]
    high += low >> _LOW_BITS
    low &= _LOW
    return Cells(d, level, keys, table)


def cells_of_rows(
    bin_index: Ints,
    points: Floats,
    weights: Sequence[Ints],
    finest: int,
    max_cells: int,
    at_least: int = 0,
) -> Cells:
    """Sum 1 and ``weights``, from 0 to 2^30, of rows in cells 2^(level − ``finest``) wide."""
    d = points.shape[1]
    half = 1 << (_COORDINATE_BITS[d] - 1)
    largest = float(np.abs(points).max(initial=0.0))
    reach = np.ldexp(float(half), HIGHEST_LEVEL - finest)
    if not largest < min(reach, np.ldexp(1.0, 62 - finest - OFFSET_BITS)):
        raise InputError(
            f"'embedding' must lie within ±{reach:.3g} of 0 to be summed in cells; got "
            f"{largest:.3g}. Divide the coordinates by their scale."
        )
    # Exact, as is its floor: a row is where its cell is.
    fine = np.floor(np.ldexp(points.T, finest + OFFSET_BITS, order="C")).astype(np.int64)
    level = at_least
    furthest = max(int(fine.max(initial=0)), ~int(fine.min(initial=0)))
    while furthest >> (OFFSET_BITS + level) >= half:
        level += 1
    # Counted before anything is summed, which costs more.
    places = fine >> (OFFSET_BITS + level)
    level, order, first, sizes = _sorted(bin_index, places, level, max_cells)
    places = fine.take(first, axis=1) >> (OFFSET_BITS + level)
    keys, cell = packed(bin_index[first], places.T), np.repeat(np.arange(len(sizes)), sizes)
    offset = fine.take(order, axis=1) & ((1 << (OFFSET_BITS + level)) - 1)
    lines = _lines(weights, order, offset, int(sizes.max(initial=0)) << (OFFSET_BITS + level))
    return _added(d, level, keys, cell, 1 + len(weights), lines)


def _lines(weights: Sequence[Ints], order: Ints, offset: Ints, most: int) -> Iterator[Ints | int]:
    """Yield the lines of the table of rows; no moment is above the largest weight × ``most``."""
    used: list[Ints | int] = [1, *(weight[order] for weight in weights)]
    yield from used
    for weight in used:
        is_small = int(np.max(weight, initial=0)) * most < 2**63
        for column in offset:
            product = weight * column
            yield 0 if is_small else product >> _LOW_BITS
            yield product if is_small else product & _LOW


def joined(parts: Sequence[Cells], max_cells: int, at_least: int = 0) -> Cells:
    """Add the rows of all parts, at the least level of no more cells than allowed."""
    before = max(at_least, *(part.level for part in parts))
    bins = np.concatenate([part.bin_index for part in parts])
    places = np.hstack([part.coordinates.T >> (before - part.level) for part in parts])
    level, order, first, sizes = _sorted(bins, places, before, max_cells)
    cell = np.empty_like(order)
    cell[order] = np.repeat(np.arange(len(sizes)), sizes)
    keys = packed(bins[first], places.take(first, axis=1).T >> (level - before))
    lines = map(np.concatenate, zip(*(part.lines_at(level) for part in parts), strict=True))
    return _added(len(places), level, keys, cell, parts[0].n_weights, lines)


#: Boxes of so many places, or of so many times their cells, are worth it.
_SMALL, _SPARSE = 2**22, 24
#: What rounding in the kernel sums may add, as a share of a sum (docs of `laplacian_sums`).
_ROUNDING = 1e-10


Value = TypeVar("Value")
_Other = TypeVar("_Other")


class Bounded(NamedTuple, Generic[Value]):
    """A number, or one a target, and the bounds that hold it."""

    value: Value
    low: Value
    high: Value

    def each(self, function: Callable[[Value], _Other]) -> Bounded[_Other]:
        """Map it and its bounds by a rising function."""
        return Bounded(function(self.value), function(self.low), function(self.high))


@dataclass(frozen=True, eq=False)
class Targets:
    """Points and bins where sums are wanted, and the cells they are in."""

    bin_index: Ints  #: (t,)
    coordinates: Ints  #: (t, d); their cells
    offset: Floats  #: (t, d); place within the cell, in [0, 1]

    def corners(self, axes: Sequence[int]) -> tuple[Ints, Ints, Ints]:
        """Return bins (c,) and coordinates (c, d) of the corners of cells in some dimensions.

        And which are whose, (t, 2^len(axes)); in other dimensions the coordinate is the cell's own.
        """
        sides = [(0, 1) if m in axes else (0,) for m in range(self.coordinates.shape[1])]
        corners = [self.coordinates + np.array(corner) for corner in itertools.product(*sides)]
        keys = np.concatenate([packed(self.bin_index, corner) for corner in corners])
        _, first, whose = np.unique(keys, return_index=True, return_inverse=True)
        n = len(self.bin_index)
        places = np.concatenate(corners)[first]
        return self.bin_index[first % n], places, whose.reshape(len(corners), n).T


@dataclass(frozen=True, eq=False)
class CellSums:
    """Kernel sums of ``cells`` at corners of the cells of targets, in some dimensions, ``axes``.

    Of the cells that share with a target the bin and the coordinates in the other dimensions.
    """

    cells: Cells
    width: float
    targets: Targets
    axes: Sequence[int]
    boxes: Boxes | None = None  #: Where the targets are the cells themselves, and fill boxes

    @cached_property
    def _corners(self) -> tuple[Ints, Ints, Ints]:
        return self.targets.corners(self.axes)

    def at(self, weight: int, scales: list[float], progress: Progress | None) -> list[Floats]:
        """Return sums (t, 2^len(axes)) of all rows in their cells at each of some scales s."""
        weights = self.cells.table[weight].astype(np.float64)
        offset = self.cells.mean_offset(weight)
        if self.boxes is not None:
            sums = self.boxes.sums
            return [sums(weights, offset, self.width / s, self.axes) for s in scales]
        used = np.flatnonzero(weights)
        cells, of_sources = self.cells.coordinates[used], self.cells.bin_index[used]
        of_targets, corners, whose = self._corners
        if other := [m for m in range(cells.shape[1]) if m not in self.axes]:
            keys = np.concatenate(
                [packed(of_targets, corners[:, other]), packed(of_sources, cells[:, other])]
            )
            group = np.unique(keys, return_inverse=True)[1]
            of_targets, of_sources = group[: len(corners)], group[len(corners) :]
        axes = list(self.axes)
        if not axes:
            total = np.bincount(of_sources, weights[used], int(of_targets.max(initial=0)) + 1)
            return [np.asarray(total[of_targets][whose], np.float64)] * len(scales)
        found = laplacian_sums(
            corners[:, axes] * self.width,
            (cells[:, axes] + offset[used][:, axes]) * self.width,
            weights[used],
            bandwidth=scales,
            target_groups=of_targets,
            source_groups=of_sources,
            progress=lambda share: tell(progress, share, "kernel sums of cells"),
        )
        return [of_scale[whose.T].T for of_scale in found]


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
    from scipy import signal  # takes longer to import than most commands do

    where = [slice(None)] * filled.ndim
    for m, side in sides.items():
        way = np.flip(filled, m) if side else filled
        summed = signal.lfilter([1.0], [1.0, -np.exp(-length)], way, axis=m)
        filled = np.flip(summed, m) if side else summed
        where[m] = slice(0, -1) if side else slice(1, None)
    total[tuple(where)] += filled
