"""Kernel sums at the corners of filled cells by recursions over a box of cells.

exp(−|Δ|/s) is a product over dimensions and, from cell to cell, a power of one number. So what the
cells on one side of a corner add to it is a first-order recursion along each dimension in turn: the
time is that of the box, whatever the number of cells in it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import signal

from lore_core.data.arrays import Floats, Ints
from lore_core.mergeable.cell_sums.cells import Cells

#: Boxes of so many places, or of so many times their cells, are worth it.
_SMALL, _SPARSE = 2**22, 24


@dataclass(frozen=True, eq=False)
class Boxes:
    """The boxes that the cells of each confidence bin fill."""

    cells: Cells

    @cached_property
    def _of_bins(self) -> list[tuple[slice, Ints, tuple[int, ...]]]:
        """For each bin its cells, their coordinates within its box, and the size of that."""
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

        ``weights`` (m,), ``places`` (m, d): of the cells, what is summed, and where within the cell
        it is, in [0, 1]. ``length``: L, the width of a cell in units of the kernel. ``axes``:
        dimensions the kernel works in. Returns the sums at the corners of each cell in these
        dimensions, (m, 2^len(axes)).
        """
        # (Corner by corner in memory: what follows works on all cells at once.)
        found = np.empty((2 ** len(axes), len(weights)))
        corners = list(itertools.product((0, 1), repeat=len(axes)))
        for rows, own, size in self._of_bins:
            total = np.zeros([one + (m in axes) for m, one in enumerate(size)])
            for sides in corners:
                _add(total, own, size, weights[rows], places[rows], length, axes, sides)
            for k, corner in enumerate(corners):
                step = dict(zip(axes, corner, strict=True))
                at = [own[:, m] + step.get(m, 0) for m in range(len(size))]
                found[k, rows] = total[tuple(at)]
        return found.T


def _add(
    total: Floats,
    own: Ints,
    size: tuple[int, ...],
    weights: Floats,
    places: Floats,
    length: float,
    axes: Sequence[int],
    sides: tuple[int, ...],
) -> None:
    """Add what the cells on one side of every corner give: below it (0) or above, a dimension."""
    toward = sum(
        (places[:, m] if side else 1 - places[:, m] for m, side in zip(axes, sides, strict=True)),
        start=np.zeros(len(weights)),
    )
    running = np.zeros(size)
    running[tuple(own.T)] = weights * np.exp(-length * toward)
    where = [slice(None)] * len(size)
    for m, side in zip(axes, sides, strict=True):
        way = np.flip(running, m) if side else running
        summed = signal.lfilter([1.0], [1.0, -np.exp(-length)], way, axis=m)
        running = np.flip(summed, m) if side else summed
        where[m] = slice(0, -1) if side else slice(1, None)
    total[tuple(where)] += running
