"""A kernel sum at places or in cells: interpolated from corners, with what may be missing."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np

from lore_core.data.arrays import Floats
from lore_core.mergeable.cell_sums.cells import OFFSET_BITS
from lore_core.mergeable.cell_sums.kernel_bounds import Bounded, Factors, Targets


@dataclass(frozen=True, eq=False)
class Total:
    """A kernel sum at targets: interpolated from corners, and what rows nearby add to it."""

    corners: Floats  #: (t, 2^d); sums at the corners, of mean places
    shares: Floats  #: (t, 2^d); of the corners in the interpolation
    near: Floats  #: (t,); what rows in the same slabs add, usually
    near_most: Floats  #: (t,); and at most
    factors: Factors
    anywhere: bool

    @classmethod
    def of(
        cls,
        corners: Floats,
        slabs: list[Floats],
        factors: Factors,
        targets: Targets,
        anywhere: bool,
    ) -> Total:
        """Put together what was summed."""
        near = np.zeros(len(corners))
        near_most = np.zeros(len(corners))
        for m, slab in enumerate(slabs):
            shares = factors.interpolation(np.delete(targets.offset, m, axis=1))
            between = (shares * slab).sum(axis=1)
            near += factors.usual_excess(targets.offset[:, m]) * between
            near_most += slab.max(axis=1) if anywhere else between
        return cls(
            corners,
            factors.interpolation(targets.offset),
            near,
            near_most * factors.slab * factors.within,
            factors,
            anywhere,
        )

    def __add__(self, other: Total) -> Total:
        return replace(
            self,
            corners=self.corners + other.corners,
            near=self.near + other.near,
            near_most=self.near_most + other.near_most,
        )

    def scaled(self, unit: float) -> Total:
        """Return the sum times a number."""
        corners, near, near_most = (of * unit for of in (self.corners, self.near, self.near_most))
        return replace(self, corners=corners, near=near, near_most=near_most)

    @property
    def _between(self) -> Floats:
        return np.asarray((self.shares * self.corners).sum(axis=1))

    @property
    def value(self) -> Floats:
        """Return the sum itself, (t,)."""
        return np.asarray(self._between + self.near)

    @property
    def low(self) -> Floats:
        """Surely no more than the sum, (t,)."""
        if not self.anywhere:
            return self._between * self.factors.least
        # The shares of the corners add up to less than 1 within the cell.
        least_shares = np.cosh(self.factors.length / 2) ** -self.factors.dimensions
        return np.asarray(self.corners.min(axis=1) * least_shares * self.factors.least)

    @property
    def high(self) -> Floats:
        """Surely no less, (t,)."""
        far = self.corners.max(axis=1) if self.anywhere else self._between
        return np.asarray(far * self.factors.most + self.near_most)

    def over(self, rows: Total, largest: Floats) -> Bounded[Floats]:
        """Return the mean that this sum is of the rows, at most ``largest``; NaN far from all."""
        ratio = self.factors.most / self.factors.least
        if self.anywhere:
            # Between corners, numerator and denominator have the same shares: the mean is between
            # the means at the corners.
            at_corners = self.corners / rows.corners
            least, most = at_corners.min(axis=1), at_corners.max(axis=1)
        else:
            least = most = self._between / rows._between
        added = self.near_most / rows.low
        fewer = 1 + rows.near_most / rows.low
        return Bounded(
            np.clip(self.value / rows.value, 0.0, largest),
            least / ratio / fewer,
            np.minimum(most * ratio + added, largest),
        )

    def mean_over(self, rows: Total) -> Bounded[Floats]:
        """Return the mean of :meth:`over` over the rows of each cell, whose mean place is known.

        Only where bounds are to hold in whole cells. Section 5 of the bounds in
        ``docs/mergeable.md``.
        """
        d, length = self.factors.dimensions, self.factors.length
        rows_there = rows._between
        there = self._between / rows_there
        g = self.corners - there[:, None] * rows.corners
        size = np.abs(g).sum(axis=1)
        # Interpolation with hyperbolic sines against the straight one, and places in whole units.
        turn = np.arccosh(np.sinh(length) / length) / length
        bent = turn - np.sinh(length * turn) / np.sinh(length)
        curved = (2 * d * bent + 2.0**-OFFSET_BITS) * size
        grid = g.reshape(len(g), *[2] * d)
        for count in range(2, d + 1):
            for axes in itertools.combinations(range(1, d + 1), count):
                mixed = grid
                for axis in axes:
                    mixed = np.diff(mixed, axis=axis)
                curved = curved + np.abs(mixed).reshape(len(g), -1).max(axis=1) / 4
        spread = np.abs(self.corners / rows.corners - there[:, None]).max(axis=1)
        least = rows.corners.min(axis=1) * np.cosh(length / 2) ** -d / rows_there
        most = rows.corners.max(axis=1) / rows_there
        width = curved / rows_there + spread * np.maximum(most - 1, 1 - least)
        ratio = self.factors.most / self.factors.least
        fewer, added = 1 + rows.near_most / rows.low, self.near_most / rows.low
        return Bounded(there, (there - width) / ratio / fewer, (there + width) * ratio + added)
