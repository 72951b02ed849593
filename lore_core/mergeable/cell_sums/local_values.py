"""Local errors from sums over cells, each between bounds that surely hold it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from lore_core.data.arrays import Floats, Mask
from lore_core.data.binning import ConfidenceBins
from lore_core.data.progress import Progress, part_of
from lore_core.mergeable.cell_sums.cells import Cells
from lore_core.mergeable.cell_sums.dense import Boxes
from lore_core.mergeable.cell_sums.kernel_bounds import Bounded, CellSums, Factors, Targets
from lore_core.mergeable.cell_sums.totals import Total

#: Confidences are summed in units of this.
UNIT = 2.0**-30


class Weight(IntEnum):
    """What is summed of each row.

    In bins of high confidence ``OTHER`` is 1 for a wrong row and ``LIFT`` the confidence above the
    lower edge; in the others ``OTHER`` is 1 for a right one and ``LIFT`` that below the upper edge.
    Both are small where confidences are good, and so is what a relative error makes of them.
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
            anywhere.value,
            np.maximum(anywhere.low, nearest),
            np.minimum(anywhere.high, furthest),
        )


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
    """Local errors at targets.

    ``width``: of a cell. ``boxes``: given where the targets are the cells themselves; bounds then
    hold in the whole cell of a target, and not only at its place.
    """
    d = cells.n_dimensions
    scale = d * gamma
    one, half = Factors(width / scale, d), Factors(2 * width / scale, d)
    totals: dict[tuple[Weight, Factors], Total] = {}
    wanted = [
        (Weight.ROWS, [one, half]),
        (Weight.OTHER, [one]),
        (Weight.LIFT, [one]),
        (Weight.VARIANCE, [half]),
    ]
    for step, (weight, factors) in enumerate(wanted):
        text = part_of(progress, step / len(wanted), (step + 1) / len(wanted))
        of_boxes = boxes if boxes is not None and boxes.are_small else None
        sums = CellSums(cells, width, targets, of_boxes, text)
        scales = [width / factor.length for factor in factors]
        corners, slabs = sums.at_corners(weight, scales), sums.in_slabs(weight, scales)
        for g, factor in enumerate(factors):
            totals[weight, factor] = Total.of(
                corners[g], [slab[g] for slab in slabs], factor, targets, boxes is not None
            )
    # Where no row is near enough to be seen, nothing is known.
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
    excess = other + lift.scaled(UNIT)
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
