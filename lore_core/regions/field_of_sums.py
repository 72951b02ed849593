"""The landscape of rows that are known by sums over cells, and the bounds of what it shows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.defaults import GAMMA
from lore_core.data.number_text import points_words, with_points
from lore_core.data.progress import Progress, part_of
from lore_core.data.validation import InputError, check_integer
from lore_core.mergeable.cell_sums.kernel_bounds import Bounded
from lore_core.mergeable.cell_sums.local_values import LocalValues, Weight
from lore_core.mergeable.cell_sums.summaries import LocalDistribution
from lore_core.mergeable.cell_sums.sums import LocalErrorSums
from lore_core.metrics.global_metrics import NORMAL_95
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, describe_gaps, scaled_bandwidth
from lore_core.regions.field import Field, field_at_nodes, grid_of, smoothed_field


@dataclass(frozen=True, eq=False)
class SumsLandscape:
    """What sums tell of a map: of the rows of one confidence bin, or of all.

    ``field`` is None on maps that are no plane.
    """

    sums: LocalErrorSums  #: In the cells that were looked at
    bin_index: int | None
    gamma: float
    values: LocalValues  #: (m,); of the rows of each cell of all bins
    field: Field | None  #: With bounds where it is of one bin; of all bins a node averages cells

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

        Of one bin the field is the SLCE at each node, between bounds. Of all bins it is the mean
        error of the cells nearby, like :func:`~lore_core.regions.field.smoothed_field`.

        Raises InputError if ``gamma`` is below :attr:`LocalErrorSums.least_gamma`, or no row has
        the bin.
        """
        resolution = check_integer(resolution, "resolution", minimum=2)
        fine = sums.at_least_as_fine(gamma)
        values = fine.cell_values(gamma=gamma, progress=part_of(progress, 0.0, 0.7))
        made = cls(fine, bin_index, gamma, values, None)
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
        else:
            field = made._exact_field(bin_index, resolution, part_of(progress, 0.7, 1.0))
        return replace(made, field=field)

    def _exact_field(self, bin_index: int, resolution: int, progress: Progress | None) -> Field:
        grid = grid_of(self.places, self.chosen, resolution, scaled_bandwidth(self.gamma, 2))
        middle = self.sums.bins.edges[bin_index : bin_index + 2].sum() / 2
        nodes = self.sums.local_values(
            np.full(len(grid.nodes), middle), grid.nodes, gamma=self.gamma, progress=progress
        )
        value, low, high = nodes.signed
        size = nodes.effective_size.value
        return field_at_nodes(grid, value, size, exact=True, bounds=(low, high))

    def change_since(self, earlier: SumsLandscape, *, resolution: int = 200) -> tuple[Field, Mask]:
        """Return the local error minus that of earlier rows, and at which nodes it is certain.

        Each cell is compared with the earlier rows around its place in its confidence bin; nodes
        average cells as where all bins are shown. It is certain where the pointwise 95 % interval
        leaves out 0. InputError if the map is no plane.
        """
        bins = self.sums.bins
        middle = (bins.edges[:-1] + bins.edges[1:]) / 2
        confidence = middle[self.sums.cells.bin_index]
        before = earlier.sums.local_values(confidence, self.places, gamma=self.gamma)
        now = self.values
        size = np.fmin(now.effective_size.value, np.nan_to_num(before.effective_size.value))
        change = now.mean_signed.value - before.signed.value
        error = np.hypot(now.standard_error, before.standard_error)
        of_change, of_error = (
            smoothed_field(part, size, self.places, resolution=resolution, weights=self.counts)
            for part in (change, error)
        )
        return of_change, np.abs(of_change.signed) > NORMAL_95 * of_error.signed

    @property
    def places(self) -> Floats:
        """Mean place of the rows of each cell, shape (m, d)."""
        return self.sums.cell_mean_coordinates

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
    def shown(self) -> Bounded[Floats]:
        """What is drawn, with guaranteed bounds: nodes of one bin, else means of cells' rows."""
        if self.field is None or self.field.bounds is None:
            return self.values.mean_signed.each(lambda end: np.asarray(end[self.supported]))
        known = np.isfinite(self.field.signed)
        return Bounded(self.field.signed, *self.field.bounds).each(lambda end: end[known])

    @cached_property
    def uncertainty(self) -> Floats:
        """How far at most the truth is from what is shown, shape (k,)."""
        value, low, high = self.shown
        return np.asarray(np.maximum(high - value, value - low))

    @property
    def spread(self) -> dict[str, Bounded[float]]:
        """The LCE that some shares of the rows do not exceed, by what these are called."""
        return LocalDistribution.of_values(self.values, self.counts, self.chosen).in_words

    @property
    def sentence(self) -> str:
        """Mean confidence and accuracy, and how far the gap differs across the map."""
        table, k = self.sums.reliability, self.bin_index
        count, got, promised = self.sums.n_rows, self.sums.accuracy, self.sums.mean_confidence
        if k is not None:
            count, got, promised = table.count[k], table.accuracy[k], table.confidence[k]
        return describe_gaps(
            self.bin_name,
            int(count),
            float(promised),
            float(got),
            self.values.mean_signed.value[self.supported],
            float(1 - self.counts[self.supported].sum() / count),
            gamma=self.gamma,
        )

    @property
    def bound_sentence(self) -> str:
        """Guaranteed bounds of what is shown."""
        if not self.uncertainty.size:
            return ""
        of_nodes = self.field is not None and self.field.bounds is not None
        what = "the error at a node" if of_nodes else "the mean error of a cell's rows"
        half, most = float(np.median(self.uncertainty)), float(self.uncertainty.max())
        return (
            f"Surely {what} is no more than {with_points(most, 1)} from what is shown, and of half "
            f"of them no more than {points_words(half, 2)}."
        )

    @property
    def pixel_sentence(self) -> str:
        """What a pixel of the field is."""
        if self.field is not None and self.field.bounds is not None:
            start = "Each pixel is the signed error there, from sums over cells."
        else:
            start = "Each pixel averages the mean errors of the cells near it, weighted by rows."
        return f"{start} {self.bound_sentence}".strip()
