"""The landscape of rows that are known by sums over cells, and the bounds of what it shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.defaults import GAMMA
from lore_core.data.number_text import (
    percent,
    points_words,
    share_words,
    signed_points,
    with_points,
)
from lore_core.data.progress import Progress, part_of
from lore_core.data.validation import InputError, check_integer
from lore_core.mergeable.cell_sums.kernel_bounds import Bounded
from lore_core.mergeable.cell_sums.local_values import LocalValues, Weight
from lore_core.mergeable.cell_sums.sums import LocalErrorSums
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, scaled_bandwidth
from lore_core.regions.field import Field, field_at_nodes, grid_of, smoothed_field


@dataclass(frozen=True, eq=False)
class SumsLandscape:
    """What sums tell of a map: of the rows of one confidence bin, or of all.

    Everything is of the rows in the cells of a bin; ``field`` is None on maps that are no plane.
    """

    sums: LocalErrorSums  #: In the cells that were looked at
    bin_index: int | None
    gamma: float
    values: LocalValues  #: (m,); of the rows of each cell of all bins
    field: Field | None
    #: (r, r); between what the signed error of each node of ``field`` surely lies. None for all
    #: bins, where a node averages cells.
    bounds: Bounded | None

    @classmethod
    def of(
        cls,
        sums: LocalErrorSums,
        *,
        gamma: float = GAMMA,
        bin_index: int | None = None,
        resolution: int = 200,
        progress: Progress | None = None,
    ) -> SumsLandscape:
        """Measure the cells, and in the plane the field between them.

        Of one bin the field is the SLCE at each node, between bounds. Of all bins each node
        averages the mean errors of the cells nearby, as
        :func:`~lore_core.regions.field.smoothed_field` does of rows.

        Raises InputError if ``gamma`` is below :attr:`LocalErrorSums.least_gamma`, or no row has
        the bin.
        """
        resolution = check_integer(resolution, "resolution", minimum=2)
        fine = sums.at_least_as_fine(gamma)
        values = fine.cell_values(gamma=gamma, progress=part_of(progress, 0.0, 0.7))
        made = cls(fine, bin_index, gamma, values, None, None)
        if not made.chosen.any():
            raise InputError("'bin_index' must be a confidence bin with rows; this one has none.")
        if fine.n_dimensions != 2:
            return made
        if bin_index is None:
            field = smoothed_field(
                values.mean_signed.value,
                values.effective_size.value,
                made.places,
                resolution=resolution,
                weights=made.counts,
            )
            return cls(fine, bin_index, gamma, values, field, None)
        grid = grid_of(made.places, made.chosen, resolution, scaled_bandwidth(gamma, 2))
        edges = fine.bins.edges
        middle = (edges[bin_index] + edges[bin_index + 1]) / 2
        nodes = fine.local_values(
            np.full(len(grid.nodes), middle),
            grid.nodes,
            gamma=gamma,
            progress=part_of(progress, 0.7, 1.0),
        )
        field = field_at_nodes(
            grid, nodes.signed.value, nodes.effective_size.value, made.places, made.chosen
        )
        ends = []
        for of_nodes in (nodes.signed.low, nodes.signed.high):
            raster = np.full(grid.near.shape, np.nan)
            raster[grid.near] = of_nodes
            ends.append(np.where(np.isfinite(field.signed), raster, np.nan))
        return cls(fine, bin_index, gamma, values, field, Bounded(field.signed, *ends))

    @property
    def places(self) -> Floats:
        """Mean place of the rows of each cell, shape (m, d)."""
        return self.sums.cell_mean_places

    @property
    def counts(self) -> Ints:
        """Rows of each cell, shape (m,)."""
        return np.asarray(self.sums.cells.table[Weight.ROWS])

    @cached_property
    def chosen(self) -> Mask:
        """Which cells are of the bin, shape (m,)."""
        index = self.sums.cells.bin_index
        every = np.ones(len(index), dtype=bool)
        return every if self.bin_index is None else index == self.bin_index

    @cached_property
    def supported(self) -> Mask:
        """Which of these have enough effective neighbours, shape (m,)."""
        return self.chosen & (self.values.effective_size.value >= MIN_EFFECTIVE_SIZE)

    @property
    def bin_name(self) -> str:
        """The bin in words."""
        if self.bin_index is None:
            return "All confidences"
        return f"Confidence {self.sums.bins.name(self.bin_index)}"

    @cached_property
    def uncertainty(self) -> Floats:
        """How far at most the truth is from what is shown, shape (k,).

        Of one bin for the nodes of the field; else for the mean error of the rows of each cell.
        """
        of = self.values.mean_signed if self.bounds is None else self.bounds
        known = self.supported if self.bounds is None else np.isfinite(of.value)
        return np.asarray(np.maximum(of.high - of.value, of.value - of.low)[known])

    @property
    def sentence(self) -> str:
        """What the rows promised, what they got, and how far that differs from place to place."""
        count, right, promised = self._totals()
        start = f"{self.bin_name}: {count:,} rows, promised {percent(promised)}, got "
        start += percent(right)
        if not self.supported.any():
            return (
                f"{start}. No row has {MIN_EFFECTIVE_SIZE:g} effective neighbours at γ = "
                f"{self.gamma:g}: too few to say where."
            )
        signed = self.values.mean_signed.value[self.supported]
        low, high = (signed_points(end, 0) for end in (signed.min(), signed.max()))
        left_out = 1 - self.counts[self.supported].sum() / count
        few = f"; {share_words(left_out)} of the rows have too few neighbours to say"
        return (
            f"{start}; from cell to cell the gap runs from {low} to {high} points"
            f"{few if left_out > 0.005 else ''}."
        )

    @property
    def bound_sentence(self) -> str:
        """How near the truth what is shown surely is."""
        if not self.uncertainty.size:
            return ""
        what = "the mean error of a cell's rows" if self.bounds is None else "the error at a node"
        half, most = float(np.median(self.uncertainty)), float(self.uncertainty.max())
        return (
            f"Surely {what} is no more than {with_points(most, 1)} from what is shown, and of half "
            f"of them no more than {points_words(half, 2)}."
        )

    @property
    def pixel_sentence(self) -> str:
        """What a pixel of the field is."""
        if self.bounds is None:
            start = "Each pixel averages the mean errors of the cells near it, weighted by rows."
        else:
            start = "Each pixel is the signed error there, from sums over cells."
        return f"{start} {self.bound_sentence}".strip()

    def _totals(self) -> tuple[int, float, float]:
        if self.bin_index is None:
            return self.sums.n_rows, self.sums.accuracy, self.sums.mean_confidence
        table, k = self.sums.reliability, self.bin_index
        return int(table.count[k]), float(table.accuracy[k]), float(table.confidence[k])
