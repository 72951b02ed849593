"""Cells of a grid with whole-number sums: additive over rows, the same in whatever order.

A row is in the cell of its confidence bin and place. A cell holds, of some weights, Σ w and, a
dimension, Σ w·o with o the row's offset from the cell's lower corner, in 2^−16 of the finest cell;
Σ w·o in two parts, of which the lower stays below 2^30, so that no sum of 2^31 rows overflows.

Level L joins 2^L finest cells a dimension. The level of a set of rows is the lowest at which they
fill no more cells than allowed. Parts fill no more, so the order of joining does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lore_core.data.arrays import Floats, Ints
from lore_core.data.rules import Number, Values
from lore_core.data.validation import InputError

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
        if level <= self.level:
            return self
        d, w = self.n_dimensions, self.n_weights
        places, table = self.coordinates, self.table.copy()
        for step in range(self.level, level):
            # The offset grows by a cell's width where it was the upper of two: Σ w·2^(16 + L).
            shift = _LOW_BITS - OFFSET_BITS - step
            for m in range(d):
                upper = places[:, m] & 1
                for k in range(w):
                    added = table[k] * upper
                    row = w + 2 * (d * k + m)
                    table[row] += added >> shift
                    table[row + 1] += (added & ((1 << shift) - 1)) << (_LOW_BITS - shift)
            places >>= 1
        return _joined(d, level, packed(self.bin_index, places), table)


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
    return np.column_stack(columns)


def _joined(d: int, level: int, keys: Ints, columns: Iterable[Ints]) -> Cells:
    """Add what has one key; ``columns``: lines of the table, one at a time."""
    order = np.argsort(keys)
    keys = keys[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    none = np.empty(0, dtype=np.int64)
    added = np.stack(
        [np.add.reduceat(column[order], starts) if len(keys) else none for column in columns]
    )
    w = len(added) // (1 + 2 * d)
    high, low = added[w::2], added[w + 1 :: 2]
    high += low >> _LOW_BITS
    low &= _LOW
    return Cells(d, level, keys[starts], added)


def cells_of_rows(
    bin_index: Ints,
    points: Floats,
    weights: Sequence[Ints],
    finest: int,
    max_cells: int,
    at_least: int = 0,
) -> Cells:
    """Sum rows, weights from 0 to 2^30, into cells 2^(level − ``finest``) wide, the least level."""
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
    fine = np.floor(np.ldexp(points, finest + OFFSET_BITS)).astype(np.int64)
    level = at_least
    while len(fine) and (
        (fine.max() >> (OFFSET_BITS + level)) >= half
        or (fine.min() >> (OFFSET_BITS + level)) < -half
    ):
        level += 1
    # Counted before anything is summed, which costs more.
    keys = packed(bin_index, fine >> (OFFSET_BITS + level))
    while level < HIGHEST_LEVEL and len(keys) > max_cells and _distinct(keys) > max_cells:
        level += 1
        keys = packed(bin_index, fine >> (OFFSET_BITS + level))
    offset = fine & ((1 << (OFFSET_BITS + level)) - 1)
    return limited(_joined(d, level, keys, _lines(weights, offset)), max_cells)


def _lines(weights: Sequence[Ints], offset: Ints) -> Iterator[Ints]:
    """Yield the lines of the table of rows: of many rows one takes as much as their places."""
    yield from weights
    for weight in weights:
        for column in offset.T:
            product = weight * column
            yield product >> _LOW_BITS
            yield product & _LOW


def _distinct(keys: Ints) -> int:
    return 1 + int(np.count_nonzero(np.diff(np.sort(keys))))


def limited(cells: Cells, max_cells: int) -> Cells:
    """Raise the level until there are no more cells than allowed, or it is the highest."""
    level, filled = cells.level, len(cells)
    while filled > max_cells and level < HIGHEST_LEVEL:
        level += 1
        filled = _distinct(packed(cells.bin_index, cells.coordinates >> (level - cells.level)))
    if filled > max_cells:
        raise InputError(
            f"'max_cells' must be enough for rows this far apart; {filled:,} cells of the "
            f"largest width are filled, got {max_cells:,}."
        )
    return cells.at_level(level)


def joined(parts: Sequence[Cells], max_cells: int) -> Cells:
    """Add the rows of all parts."""
    level = max(part.level for part in parts)
    same = [part.at_level(level) for part in parts]
    keys = np.concatenate([part.keys for part in same])
    columns = (np.concatenate([part.table[k] for part in same]) for k in range(len(same[0].table)))
    return limited(_joined(same[0].n_dimensions, level, keys, columns), max_cells)
