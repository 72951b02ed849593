"""Inputs of a dataset's metrics, and intermediate results they share."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.binning import Binning
from lore_core.data.dataset import TOP_LABEL, Dataset, Target
from lore_core.data.defaults import GAMMA, N_BINS
from lore_core.data.units import mean_values, shuffled_halves
from lore_core.data.validation import InputError, Points, as_group_labels, as_placed_rows
from lore_core.data.weights import as_weights, weighed
from lore_core.kernel_sums import laplacian_means, laplacian_sums
from lore_core.metrics.catalogue import COMPARED, MIN_CELL_ROWS
from lore_core.metrics.global_metrics import (
    ReliabilityTable,
    counted_groups,
    gap_table,
    groupwise_calibration_error,
    largest_group_error,
    reliability_table,
    share_interval,
)
from lore_core.metrics.local_error import LocalErrors, scaled_bandwidth
from lore_core.metrics.metric import Metric, RowMean
from lore_core.metrics.proper_scores import row_brier, row_nll
from lore_core.metrics.without_bins import (
    Limits,
    calibration_line,
    multicalibration_error,
    smooth_calibration_error,
)

#: Halves have a seed of their own, so that all methods share them.
_SEED = 0


@dataclass(frozen=True, eq=False)
class Measured:
    """Rows, settings, and intermediate results of metrics, computed when first asked for."""

    dataset: Dataset  #: Rows to measure
    #: (n, d); None: no metric that needs features.
    embedding: Points | None = None
    target: str | int = TOP_LABEL
    gamma: float = GAMMA
    n_bins: int = N_BINS
    binning: Binning = "equal-width"
    groups: ArrayLike | None = None
    min_group_size: int = 1
    _by_row: dict[RowMean, Floats] = field(default_factory=dict, init=False, repr=False)
    #: Once they are known. (Before Python 3.12 a cached property locks all objects, and methods are
    #: measured side by side.)
    known_local: list[LocalErrors] = field(default_factory=list, repr=False)

    @cached_property
    def scores(self) -> Target:
        """Confidences, outcomes and weights of the rows."""
        return self.dataset.target(self.target)

    @property
    def binned(self) -> dict[str, Any]:
        """Rows and confidence bins, as the library's functions take them."""
        return self._rows | {"n_bins": self.n_bins, "binning": self.binning}

    @property
    def binned_by_unit(self) -> dict[str, Any]:
        """The same with the units of the rows, for functions that test."""
        return self.binned | {"units": self.scores.units}

    @property
    def _rows(self) -> dict[str, Any]:
        rows = self.scores
        return {"confidence": rows.confidence, "outcome": rows.outcome, "weights": rows.weights}

    @cached_property
    def right(self) -> Limits:
        """Share of right rows, by their weights, and the ends of Wilson's 95 % interval."""
        rows = self.scores
        return share_interval(rows.outcome, rows.weights, rows.units)

    def by_row(self, measure: RowMean) -> Floats:
        """Return a mean's values row by row, or unit by unit, linearised and cached."""
        if measure not in self._by_row:
            rows = self.scores
            self._by_row[measure] = mean_values(measure.of_row(self), rows.weights, rows.units)
        return self._by_row[measure]

    @property
    def row_nll(self) -> Floats:
        """−log p of the true class, shape (n,)."""
        return row_nll(self.dataset.probabilities, self.dataset.labels)

    @property
    def row_brier(self) -> Floats:
        """Brier score, shape (n,)."""
        return row_brier(self.dataset.probabilities, self.dataset.labels)

    @property
    def smooth_error(self) -> float:
        """Smooth ECE."""
        return smooth_calibration_error(**self._rows)

    @cached_property
    def line(self) -> tuple[Limits, Limits]:
        """Calibration intercept and slope."""
        return calibration_line(**self._rows, units=self.scores.units)

    @property
    def expected(self) -> float:
        """Mean confidence, by the rows' weights; NaN if 0."""
        return float(np.average(self.scores.confidence, weights=self.scores.weights)) or np.nan

    @property
    def multicalibration(self) -> float:
        """Multicalibration error in standard deviations; needs groups."""
        return multicalibration_error(**self._rows, groups=self._group_names)

    @cached_property
    def reliability(self) -> ReliabilityTable:
        """Confidence bins."""
        return reliability_table(**self.binned_by_unit)

    @property
    def local_errors(self) -> LocalErrors:
        """Local errors; needs an embedding."""
        if not self.known_local:
            self.held_out_gap(local=True)
        return self.known_local[0]

    @cached_property
    def counted_gaps(self) -> pd.DataFrame:
        """Gaps of the groups that count, with joint intervals; needs groups."""
        return self.of_groups[counted_groups(self.of_groups["rows"], self.min_group_size)]

    @cached_property
    def of_groups(self) -> pd.DataFrame:
        """Errors of all groups: :func:`groupwise_calibration_error`; needs groups."""
        return groupwise_calibration_error(**self.binned_by_unit, groups=self._group_names)

    @cached_property
    def _group_names(self) -> NDArray[np.object_]:
        if self.groups is None:
            raise InputError("'groups' must be given for errors of groups; got none.")
        return as_group_labels(self.groups)

    @property
    def largest_group_gap_interval(self) -> tuple[float, float]:
        """95 % interval of the largest |gap| of groups that count, from joint ones of all."""
        low, high = (self.counted_gaps[f"gap_{side}"].to_numpy() for side in ("low", "high"))
        surely = np.maximum(np.maximum(low, -high), 0.0)
        return float(surely.max()), float(np.maximum(-low, high).max())

    @property
    def largest_group_error(self) -> float:
        """Largest MCE over the groups of ``min_group_size`` rows or more; needs groups."""
        return largest_group_error(self.of_groups, self.min_group_size)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """``group, bin, rows, gap`` of the groups and cells that are large enough; needs groups."""
        names, member = np.unique(self._group_names.astype(str), return_inverse=True)
        n_bins = self.reliability.bins.n_bins
        code, size = member * n_bins + self.bin_index, len(names) * n_bins
        rows = self.scores
        table = gap_table(rows.confidence, rows.outcome, code, size, rows.weights)[["rows", "gap"]]
        table.insert(0, "group", np.repeat(names, n_bins))
        table.insert(1, "bin", np.tile(np.arange(n_bins), len(names)))
        large = np.repeat(np.bincount(member) >= self.min_group_size, n_bins)
        return table[large & (table["rows"] >= MIN_CELL_ROWS)]

    @cached_property
    def bin_index(self) -> Ints:
        """Confidence bin of every row, shape (n,)."""
        return self.reliability.bins.assign(self.scores.confidence)

    @cached_property
    def held_out(self) -> Mask:
        """The half of the rows that is measured, shape (n,); the other gives directions."""
        return shuffled_halves(self.scores.units, len(self.scores.confidence), _SEED)

    def held_out_gap(self, *, local: bool) -> Floats:
        """Return gaps in the direction the other half shows, 0 if none; NaN where not held out."""
        rows, held_out, index = self.scores, self.held_out, self.bin_index
        gap = rows.confidence - rows.outcome
        reported = np.where(held_out, 0.0, gap)
        if local:
            direction = self._local_means(gap, reported)
        else:
            counted = np.bincount(index, weighed(reported, rows.weights)).astype(np.float64)
            direction = counted[index[held_out]]
        gap[held_out] *= np.sign(np.nan_to_num(direction))
        return np.where(held_out, gap, np.nan)

    def _local_means(self, gap: Floats, reported: Floats) -> Floats:
        """Average near held-out rows what others report, in one pass with unknown local errors."""
        if self.embedding is None:
            raise InputError("'embedding' must be given for local errors; got none.")
        rows, index = self.scores, self.bin_index
        *_, z = as_placed_rows(rows.confidence, rows.outcome, self.embedding)
        h = scaled_bandwidth(self.gamma, z.shape[1])
        if self.known_local:
            held_out, others = self.held_out, ~self.held_out
            return laplacian_sums(
                z[held_out],
                z[others],
                weighed(reported, rows.weights)[others],
                bandwidth=h,
                target_groups=index[held_out],
                source_groups=index[others],
            )
        w, values = as_weights(rows.weights), np.column_stack([gap, reported])
        means = laplacian_means(z, None, values, w, bandwidth=h, target_groups=index)
        sizes, bins = (means.mass, means.effective_size), self.reliability.bins
        signed = means.mean[:, 0].copy()  # (The other column need not stay.)
        self.known_local.append(LocalErrors(signed, *sizes, index, bins, float(self.gamma), w))
        return np.asarray(means.mean[self.held_out, 1])

    def allows(self, metric: Metric) -> bool:
        """Whether all that a metric needs is known."""
        known = {
            "probabilities": self.dataset.complete,
            "features": self.embedding is not None,
            "groups": self.groups is not None,
        }
        return all(known[need] for need in metric.needs)

    def row_values(self) -> pd.DataFrame:
        """Metrics that are means of rows, linearised, one a row (or unit) and column."""
        return pd.DataFrame(
            {
                metric.name: self.by_row(metric.measure)
                for metric in COMPARED
                if isinstance(metric.measure, RowMean) and self.allows(metric)
            },
            index=pd.RangeIndex(self.dataset.n_units),
            copy=False,
        )
