"""Local errors from sums over cells, each between bounds that surely hold it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from lore_core.data.arrays import Floats, Mask
from lore_core.data.binning import ConfidenceBins
from lore_core.data.progress import Progress, part_of
from lore_core.mergeable.cell_sums.cells import (
    OFFSET_BITS,
    Bounded,
    Boxes,
    Cells,
    CellSums,
    Factors,
    Targets,
)

#: Confidences are summed in units of this.
UNIT = 2.0**-30


class Weight(IntEnum):
    """What is summed of each row.

    In bins of high confidence ``OTHER`` is 1 for a wrong row and ``LIFT`` the confidence above the
    lower edge, else 1 for a right one and that below the upper edge: both small if confidences are
    good.
    """

    ROWS = 0
    OTHER = 1
    LIFT = 2
    VARIANCE = 3


def turned(bins: ConfidenceBins) -> Mask:
    """Which bins are summed from their upper edge, (n_bins,): those of a middle below 1/2."""
    return np.asarray(bins.edges[:-1] + bins.edges[1:] < 1)


@dataclass(frozen=True, eq=False)
class LocalValues:
    """What sums over cells tell of some places, with what it may be wrong by at most.

    Bounds hold the value that :func:`~lore_core.metrics.local_error.local_errors` gives for the
    same rows.
    """

    signed: Bounded[Floats]  #: SLCE in [−1, 1]; positive = overconfident
    #: Mean of ``signed`` over the rows of a cell, with bounds of its own; ``signed`` for a place.
    mean_signed: Bounded[Floats]
    accuracy: Bounded[Floats]  #: Kernel mean of the outcomes: what LoRe tells a row there
    effective_size: Bounded[Floats]  #: n_eff
    #: Standard deviation of ``signed`` if every confidence were right; an estimate without bound.
    standard_error: Floats
    gamma: float  #: Bandwidth γ

    @property
    def absolute(self) -> Bounded[Floats]:
        """LCE = |SLCE|."""
        low, high = self.signed.low, self.signed.high
        nearest = np.maximum(np.maximum(low, -high), 0.0)
        return Bounded(np.abs(self.signed.value), nearest, np.maximum(-low, high))

    @property
    def mean_absolute(self) -> Bounded[Floats]:
        """LCE, averaged over the rows of a cell."""
        anywhere, mean = self.absolute, self.mean_signed
        nearest = np.maximum(mean.low, -mean.high)
        # Where no row of the cell has another sign, the mean of sizes is the size of the mean.
        furthest = np.where(anywhere.low > 0, np.maximum(-mean.low, mean.high), anywhere.high)
        return Bounded(
            anywhere.value, np.maximum(anywhere.low, nearest), np.minimum(anywhere.high, furthest)
        )


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
        slabs: Sequence[Floats],
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

    def plus(self, other: Total, unit: float) -> Total:
        """Return the sum of this and another times a number."""
        names = ("corners", "near", "near_most")
        return replace(self, **{of: getattr(self, of) + unit * getattr(other, of) for of in names})

    @property
    def _between(self) -> Floats:
        return np.asarray((self.shares * self.corners).sum(axis=1))

    @property
    def value(self) -> Floats:
        """Return the sum itself, (t,)."""
        return np.asarray(self._between + self.near)

    @property
    def low(self) -> Floats:
        """Guaranteed lower bound of the sum, (t,)."""
        if not self.anywhere:
            return self._between * self.factors.least
        # The shares of the corners add up to less than 1 within the cell.
        least_shares = np.cosh(self.factors.length / 2) ** -self.factors.dimensions
        return np.asarray(self.corners.min(axis=1) * least_shares * self.factors.least)

    @property
    def high(self) -> Floats:
        """Guaranteed upper bound, (t,)."""
        far = self.corners.max(axis=1) if self.anywhere else self._between
        return np.asarray(far * self.factors.most + self.near_most)

    def over(self, rows: Total, largest: Floats) -> Bounded[Floats]:
        """Return the mean that this sum is of the rows, at most ``largest``; NaN far from all."""
        ratio = self.factors.most / self.factors.least
        if self.anywhere:
            # Numerator and denominator have the same shares: the mean is between the corners'.
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
        """Return the mean of :meth:`over` over rows of each cell; bounds hold in whole cells."""
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


def values_at(
    cells: Cells,
    bins: ConfidenceBins,
    width: float,
    targets: Targets,
    gamma: float,
    *,
    boxes: Boxes | None = None,
    progress: Progress | None = None,
) -> LocalValues:
    """Return local errors at targets; ``boxes``: these are cells, and bounds hold in whole ones."""
    d = cells.n_dimensions
    scale = d * gamma
    one, half = Factors(width / scale, d), Factors(2 * width / scale, d)
    totals: dict[tuple[Weight, Factors], Total] = {}
    wanted = {
        Weight.ROWS: [one, half],
        Weight.OTHER: [one],
        Weight.LIFT: [one],
        Weight.VARIANCE: [half],
    }
    of_boxes = boxes if boxes is not None and boxes.are_small else None
    # At all corners; then in the slab of each dimension.
    several = [[m for m in range(d) if m != out] for out in (None, *range(d))]
    sums = [CellSums(cells, width, targets, axes, of_boxes) for axes in several]
    for step, (weight, factors) in enumerate(wanted.items()):
        text = part_of(progress, step / len(wanted), (step + 1) / len(wanted))
        scales = [width / factor.length for factor in factors]
        found = [of.at(weight, scales, text) for of in sums]
        for factor, (corners, *slabs) in zip(factors, zip(*found, strict=True), strict=True):
            totals[weight, factor] = Total.of(corners, slabs, factor, targets, boxes is not None)
    with np.errstate(invalid="ignore", divide="ignore"):
        return _means(totals, bins, targets, gamma, one, half)


def _means(
    totals: dict[tuple[Weight, Factors], Total],
    bins: ConfidenceBins,
    targets: Targets,
    gamma: float,
    one: Factors,
    half: Factors,
) -> LocalValues:
    rows = totals[Weight.ROWS, one]
    upper = bins.edges[1:][targets.bin_index]
    lower = bins.edges[:-1][targets.bin_index]
    flip = turned(bins)[targets.bin_index]
    other, lift = totals[Weight.OTHER, one], totals[Weight.LIFT, one]
    excess = other.plus(lift, UNIT)
    both = excess.over(rows, 1 + upper - lower)
    share = other.over(rows, np.ones(len(flip)))
    # Confidences and edges are rounded to units.
    edge = np.where(flip, upper, lower - 1)
    sign = np.where(flip, -1.0, 1.0)
    signed = _affine(both, edge, sign, 2 * UNIT)
    mean = signed
    if rows.anywhere:
        mean = _affine(excess.mean_over(rows), edge, sign, 2 * UNIT)
    square = totals[Weight.ROWS, half]
    return LocalValues(
        signed=signed,
        mean_signed=mean,
        accuracy=_affine(share, np.where(flip, 0.0, 1.0), -sign, 0.0),
        effective_size=Bounded(
            rows.value**2 / square.value, rows.low**2 / square.high, rows.high**2 / square.low
        ),
        standard_error=np.sqrt(totals[Weight.VARIANCE, half].value * UNIT) / rows.value,
        gamma=gamma,
    )


def _affine(share: Bounded[Floats], start: Floats, sign: Floats, slack: float) -> Bounded[Floats]:
    ends = start + sign * share.low, start + sign * share.high
    return Bounded(
        np.clip(start + sign * share.value, -1.0, 1.0),
        np.maximum(np.minimum(*ends) - slack, -1.0),
        np.minimum(np.maximum(*ends) + slack, 1.0),
    )
