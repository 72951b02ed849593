"""Fields: the signed error as a raster over a 2-D map, of rows or of sums; outlines of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats, Ints, Mask, take_rows
from lore_core.data.defaults import GAMMA
from lore_core.data.number_text import POINTS, points_words, with_points
from lore_core.data.progress import Progress, part_of
from lore_core.data.validation import (
    InputError,
    Points,
    as_coordinates,
    as_rows,
    check_integer,
    check_lengths,
)
from lore_core.data.weights import as_weights, chosen_weights
from lore_core.kernel_sums import laplacian_means
from lore_core.kernel_sums.schedule import one_thread_a_product
from lore_core.mergeable.cell_sums.cells import Bounded
from lore_core.mergeable.cell_sums.local_values import LocalValues, Weight
from lore_core.mergeable.cell_sums.summaries import LocalDistribution
from lore_core.mergeable.cell_sums.sums import LocalErrorSums
from lore_core.metrics.global_metrics import NORMAL_95
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, describe_gaps, scaled_bandwidth
from lore_core.regions.rows import nearest_rows

#: Nodes farther than this share of the map's width from any row stay empty, whatever γ is:
#: a colour there would be extrapolation.
REACH = 0.035
#: Width of the picture-level average of :func:`smoothed_field`, as a share of the map's width.
SMOOTHING = 0.012
#: Nodes along each side: of a field, and of an outline.
_RESOLUTION, _OUTLINE_NODES = 200, 120
#: Rows averaged at a time: arrays that stay in the processor's cache.
_BLOCK_ROWS = 2**15


@dataclass(frozen=True)
class Field:
    """A raster over the map; nodes that nothing supports hold NaN."""

    #: (r,); node coordinates on the map.
    x: Floats
    y: Floats
    signed: Floats  #: (r, r); signed local error at (y, x); positive = overconfident
    effective_size: Floats  #: (r, r); n_eff behind each node
    masked_share: float  #: Share of the nodes near rows that are hidden because n_eff is too small
    #: True: the SLCE itself, evaluated at each node. False: the rows' values averaged nearby.
    exact: bool
    context: Mask  #: (r, r); nodes near any row of the map, of this bin or another
    #: Share of nodes with support hidden because no wanted row is nearest; None: all are wanted.
    outside_share: float | None = None
    #: (r, r) each; guaranteed bounds of ``signed``, of rows known by sums; None: exact, or an
    #: average.
    bounds: tuple[Floats, Floats] | None = None

    def less(self, other: Field) -> Field:
        """Return this field less another of the same map."""
        return replace(
            self,
            signed=self.signed - other.signed,
            effective_size=np.fmin(self.effective_size, other.effective_size),
            bounds=None,
        )


@dataclass(frozen=True)
class Grid:
    """A raster over a map, and its nodes near the chosen rows."""

    points: Floats  #: (n, 2); the map
    rows: Mask  #: (n,); the chosen rows
    x: Floats
    y: Floats
    extent: float
    nearest: Ints  #: (n,); the node nearest to each point, counted row by row
    reach: float

    @cached_property
    def near(self) -> Mask:
        """Nodes near a chosen row, (r, r)."""
        return self.within(self.reach, self.rows)

    def within(self, reach: float, rows: Mask | slice = slice(None)) -> Mask:
        """Return the nodes that are so near to one of some rows, (r, r)."""
        empty = np.ones((len(self.y), len(self.x)), dtype=bool)
        empty.ravel()[take_rows(self.nearest, rows)] = False
        steps = self.y[1] - self.y[0], self.x[1] - self.x[0]  # may differ
        from scipy import ndimage  # only maps need it

        distance = ndimage.distance_transform_edt(empty, sampling=steps)
        return np.asarray(distance <= max(min(reach, REACH * self.extent), 1.5 * max(steps)))

    @property
    def nodes(self) -> Floats:
        """Coordinates of the nodes near a row, shape (m, 2)."""
        row, column = np.nonzero(self.near)
        return np.column_stack([self.x[column], self.y[row]])

    def averages(self, rows: Mask, values: Sequence[Any], weights: Floats | Ints) -> Floats:
        """Average each of some values (n,) over some rows (n,), at the nodes near a chosen row.

        By kernels that go on by the same factors beyond the four nodes around a point.
        """
        h, axes = SMOOTHING * self.extent, ((self.y, 1), (self.x, 0))
        at_node = np.zeros((2, 2, len(values) + 1, len(self.y), len(self.x)))
        for lo in range(0, len(rows), _BLOCK_ROWS):
            part = lo + np.flatnonzero(rows[lo : lo + _BLOCK_ROWS])
            points, weight = self.points[part], weights[part]
            columns = [*(value[part] * weight for value in values), weight]
            (row, from_row), (column, from_column) = (_around(x, points[:, k], h) for x, k in axes)
            for i, j in np.ndindex(2, 2):
                node, k = row[i] * len(self.x) + column[j], from_row[i] * from_column[j]
                for total, of_rows in zip(at_node[i, j], columns, strict=True):
                    np.add.at(total.ravel(), node, k * of_rows)
        kernels = (np.exp(-np.abs(x - x[:, None]) / h) for x, _ in axes)
        up, along = ((np.triu(kernel), np.tril(kernel)) for kernel in kernels)
        with one_thread_a_product():
            along_x = [of[0] @ along[0].T + of[1] @ along[1].T for of in at_node]
            near = (up[0] @ along_x[0] + up[1] @ along_x[1])[:, self.near]
        return np.asarray(near[:-1] / near[-1])


def _around(nodes: Floats, at: Floats, h: float) -> tuple[Ints, Floats]:
    """Return the nodes before and after places (n,) on an axis, (2, n), and kernels to these."""
    before = np.clip((at - nodes[0]) / (nodes[1] - nodes[0]), 0, len(nodes) - 2).astype(int)
    node = np.stack([before, before + 1])
    return node, np.exp(-np.abs(at - nodes[node]) / h)


def grid_of(z: Floats, rows: Mask, resolution: int, reach: float | None = None) -> Grid:
    """Lay a raster over the whole map and find its nodes near the chosen rows."""
    if z.shape[1] != 2:
        raise InputError(f"a map must have 2 dimensions; got {z.shape[1]}.")
    # (Along rows of two numbers, numpy is slow.)
    (left, right), (bottom, top) = ((column.min(), column.max()) for column in z.T)
    extent = float(max(right - left, top - bottom)) or 1.0
    pad = REACH * extent
    x = np.linspace(left - pad, right + pad, resolution)
    y = np.linspace(bottom - pad, top + pad, resolution)
    reach = 2 * SMOOTHING * extent if reach is None else reach  # where averages know them
    row, column = _nearest_nodes(x, y, z)
    return Grid(z, rows, x, y, extent, row * resolution + column, reach)


def _nearest_nodes(x: Floats, y: Floats, points: Floats) -> tuple[Ints, ...]:
    """Return row and column of the node nearest to each point (n, 2)."""
    return tuple(
        np.clip(np.rint((at - nodes[0]) / (nodes[1] - nodes[0])), 0, len(nodes) - 1).astype(int)
        for at, nodes in ((points[:, 1], y), (points[:, 0], x))
    )


def field_at_nodes(
    grid: Grid,
    signed: Floats,
    effective_size: Floats,
    *,
    exact: bool,
    min_effective_size: float = MIN_EFFECTIVE_SIZE,
    only: Mask | None = None,
    bounds: tuple[Floats, Floats] | None = None,
) -> Field:
    """Put values, and what bounds them, at the nodes of a grid near rows (m,) into a raster."""
    known = (effective_size >= min_effective_size) & np.isfinite(signed)
    shown, outside = known, None
    if only is not None:
        near = np.zeros(len(grid.nodes), dtype=bool)
        if grid.rows.any():
            _, nearest = nearest_rows(grid.points[grid.rows], grid.nodes, 1)
            near = np.asarray(only[grid.rows][nearest[:, 0]])
        shown = known & near
        outside = 1.0 - float(shown.sum() / max(known.sum(), 1))

    def raster(values: Floats) -> Floats:
        placed = np.full(grid.near.shape, np.nan)
        placed[grid.near] = values
        return placed

    if bounds is not None:
        low, high = (raster(np.where(shown, end, np.nan)) for end in bounds)
        bounds = low, high
    return Field(
        grid.x,
        grid.y,
        raster(np.where(shown, signed, np.nan)),
        raster(effective_size),
        float(1.0 - known.mean()) if known.size else 0.0,
        exact,
        grid.within(np.inf),
        outside,
        bounds,
    )


def error_field(
    confidence: ArrayLike,
    outcome: ArrayLike,
    coordinates: Points,
    *,
    gamma: float = GAMMA,
    rows: Mask | None = None,
    resolution: int = _RESOLUTION,
    min_effective_size: float = MIN_EFFECTIVE_SIZE,
    only: Mask | None = None,
    weights: ArrayLike | None = None,
) -> Field:
    """Exact signed local error at every node of a raster over the map.

    ``confidence, outcome`` (n,): confidences in [0, 1] and outcomes 0 or 1. ``coordinates`` (n, 2):
    the map, which is also the kernel's feature space. ``gamma``: bandwidth γ > 0. ``rows`` (n,):
    mask of the rows that count, such as one confidence bin; default: all. ``resolution``: nodes
    along each side. ``min_effective_size``: nodes with a smaller n_eff are hidden. ``only`` (n,):
    mask; nodes whose nearest row of ``rows`` is none of them are hidden too. ``weights`` (n,):
    above 0.
    """
    z = as_coordinates(coordinates, "coordinates")
    c, a = as_rows(confidence, outcome, coordinates=z)
    chosen = np.ones(len(c), dtype=bool) if rows is None else rows
    bandwidth = scaled_bandwidth(gamma, 2)
    grid = grid_of(z, chosen, check_integer(resolution, "resolution", minimum=2), bandwidth)
    w = chosen_weights(as_weights(weights, len(c)), chosen)
    means = laplacian_means(grid.nodes, z[chosen], (c - a)[chosen], w, bandwidth=bandwidth)
    return field_at_nodes(
        grid,
        means.mean,
        means.effective_size,
        exact=True,
        min_effective_size=min_effective_size,
        only=only,
    )


def smoothed_field(
    values: ArrayLike,
    effective_size: ArrayLike,
    coordinates: Points,
    *,
    rows: Mask | None = None,
    resolution: int = _RESOLUTION,
    min_effective_size: float = MIN_EFFECTIVE_SIZE,
    only: Mask | None = None,
    weights: Ints | None = None,
) -> Field:
    """Average the rows' own signed errors over a map they were not computed on.

    For kernels on other features than the map, for all bins at once, and after recalibration: each
    node shows the mean of the rows within about 1 % of the map's width.

    ``values, effective_size`` (n,): signed local error and n_eff of each row
    (:class:`~lore_core.metrics.local_error.LocalErrors`). ``coordinates`` (n, 2): the map. ``rows,
    resolution, min_effective_size, only``: see :func:`error_field`; rows with a smaller n_eff are
    left out. ``weights`` (n,): rows each value stands for; default 1. The field has
    ``exact=False``.
    """
    v, n_eff = np.asarray(values, np.float64), np.asarray(effective_size, np.float64)
    z = as_coordinates(coordinates, "coordinates")
    check_lengths(values=v, effective_size=n_eff, coordinates=z)
    chosen = np.ones(len(v), dtype=bool) if rows is None else rows
    good = chosen & np.isfinite(v) & (n_eff >= min_effective_size)
    resolution = check_integer(resolution, "resolution", minimum=2)
    grid = grid_of(z, chosen, resolution)
    if not good.any():
        nothing = np.full(len(grid.nodes), np.nan)
        return field_at_nodes(grid, nothing, np.zeros(len(nothing)), exact=False)
    w = np.broadcast_to(1.0, len(v)) if weights is None else weights
    signed, support = grid.averages(good, [v, n_eff], w)
    field = field_at_nodes(
        grid, signed, support, exact=False, min_effective_size=min_effective_size, only=only
    )
    # Nodes whose only nearby rows were left out would borrow a value from afar: hide them too.
    hidden = grid.near & ~grid.within(grid.reach, good)
    unknown = (support < min_effective_size) | hidden[grid.near]
    return replace(
        field, signed=np.where(hidden, np.nan, field.signed), masked_share=float(unknown.mean())
    )


@dataclass(frozen=True)
class Outline:
    """Where on the map a set of rows lies."""

    #: (r,); node coordinates on the map.
    x: Floats
    y: Floats
    #: (r, r); at (y, x): share of nearby rows in the set, 0 where none is near. ½ is the outline.
    inside: Floats

    def encloses(self, points: Floats) -> Mask:
        """Whether each point (n, 2) lies within it."""
        return np.asarray(self.inside[_nearest_nodes(self.x, self.y, points)] > 0.5)

    def holds_most(self, points: Floats) -> bool:
        """Whether more than half of a set's rows (n, 2) lie within it, not scattered."""
        return bool(len(points)) and bool(self.encloses(points).mean() > 0.5)


def rows_outline(coordinates: Points, inside: Mask) -> Outline:
    """Find the part of the map where most rows belong to a set.

    ``coordinates`` (n, 2): the map, all rows. ``inside`` (n,): mask of the set's rows.
    """
    z = as_coordinates(coordinates, "coordinates")
    check_lengths(inside=inside, coordinates=z)
    grid = grid_of(z, inside, _OUTLINE_NODES, np.inf)
    share = np.zeros(grid.near.shape)
    if inside.any():
        (share[grid.near],) = grid.averages(np.ones(len(z), bool), [inside], np.ones(len(z)))
    return Outline(grid.x, grid.y, share)


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
        progress: Progress | None = None,
    ) -> SumsLandscape:
        """Measure the cells, and in the plane the field between them.

        Of one bin the field is the SLCE at each node, between bounds. Of all bins it is the mean
        error of the cells nearby, like :func:`~lore_core.regions.field.smoothed_field`.

        Raises InputError if ``gamma`` is below :attr:`LocalErrorSums.width`, or no row has
        the bin.
        """
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
                weights=made.counts,
            )
        else:
            field = made._exact_field(bin_index, part_of(progress, 0.7, 1.0))
        return replace(made, field=field)

    def _exact_field(self, bin_index: int, progress: Progress | None) -> Field:
        grid = grid_of(self.places, self.chosen, _RESOLUTION, scaled_bandwidth(self.gamma, 2))
        middle = self.sums.bins.edges[bin_index : bin_index + 2].sum() / 2
        nodes = self.sums.local_values(
            np.full(len(grid.nodes), middle), grid.nodes, gamma=self.gamma, progress=progress
        )
        value, low, high = nodes.signed
        size = nodes.effective_size.value
        return field_at_nodes(grid, value, size, exact=True, bounds=(low, high))

    def change_since(self, earlier: SumsLandscape) -> tuple[Field, Mask]:
        """Return the local error minus that of earlier rows, and at which nodes it is certain.

        Each cell is compared with the earlier rows around its place in its confidence bin; nodes
        average cells as where all bins are shown. It is certain where the pointwise 95 % interval,
        wider by the :attr:`LocalErrorSums.error_ratio`, leaves out 0. InputError on no plane.
        """
        bins = self.sums.bins
        middle = (bins.edges[:-1] + bins.edges[1:]) / 2
        confidence = middle[self.sums.cells.bin_index]
        before = earlier.sums.local_values(confidence, self.places, gamma=self.gamma)
        now = self.values
        size = np.fmin(now.effective_size.value, np.nan_to_num(before.effective_size.value))
        change = now.mean_signed.value - before.signed.value
        error = np.hypot(
            now.standard_error * self.sums.error_ratio,
            before.standard_error * earlier.sums.error_ratio,
        )
        of_change, of_error = (
            smoothed_field(part, size, self.places, weights=self.counts) for part in (change, error)
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
    def spread_columns(self) -> dict[str, list[str]]:
        """:attr:`spread` as columns of a table for reading."""
        ends = self.spread.values()
        return {
            "share of the rows": [*self.spread],
            "LCE at most, points": [POINTS.text(of.value) for of in ends],
            "guaranteed": [POINTS.interval_text(of.low, of.high) for of in ends],
        }

    @property
    def sentence(self) -> str:
        """Mean confidence and accuracy, and how far the gap differs across the map."""
        table, k = self.sums.reliability, self.bin_index
        count, right, mean = self.sums.n_rows, self.sums.accuracy, self.sums.mean_confidence
        if k is not None:
            count, right, mean = table.count[k], table.accuracy[k], table.confidence[k]
        return describe_gaps(
            self.bin_name,
            int(count),
            float(mean),
            float(right),
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
            f"It is guaranteed that {what} is no more than {with_points(most, 1)} from what is "
            f"shown, and of half of them no more than {points_words(half, 2)}."
        )

    @property
    def pixel_sentence(self) -> str:
        """What a pixel of the field is."""
        if self.field is not None and self.field.bounds is not None:
            start = "Each pixel is the signed error there, from sums over cells."
        else:
            start = "Each pixel averages the mean errors of the cells near it, weighted by rows."
        return f"{start} {self.bound_sentence}".strip()
