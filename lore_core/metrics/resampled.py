"""What the metrics of many resamples are computed from: counts of rows, and sums they share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.kernel_sums import laplacian_sums
from lore_core.metrics.metric import Metric


@dataclass(frozen=True, eq=False)
class Resampled:
    """Rows drawn with replacement, b times."""

    #: (n,); of the rows drawn from.
    confidence: Floats
    outcome: Floats
    weights: Floats  #: (n, b); how often each was drawn
    bin_index: Ints  #: (n,); their confidence bins: a resample is not binned anew.
    members: sparse.csr_array  #: (bins, n); the same as ones
    #: (groups, n); which rows lie in which group, of the groups whose gap counts: none without.
    groups: sparse.csr_array
    #: (cells, n); which rows lie in which cell of group and bin, of the groups that count: none
    #: without.
    cells: sparse.csr_array
    supported: Mask  #: (n,); which rows have enough effective neighbours, before resampling
    coordinates: Floats  #: (n, d); their places; d = 0 without features
    bandwidth: float  #: d·γ

    @property
    def n_rows(self) -> int:
        """n, the size of every resample."""
        return len(self.confidence)

    @cached_property
    def _weighted_gap(self) -> Floats:
        return self.weights * (self.confidence - self.outcome)[:, None]

    @cached_property
    def bin_gap(self) -> Floats:
        """|Σ (c − a)| of every bin in every resample, shape (bins, b)."""
        return np.asarray(abs(self.members @ self._weighted_gap))

    def largest_gap(self, members: sparse.csr_array) -> Floats:
        """Largest |mean (c − a)| over some sets of rows, in every resample.

        ``members`` (sets, n): which rows lie in which set.
        """
        size = np.maximum(members @ self.weights, 1)  # 1 where none was drawn
        return np.asarray((abs(members @ self._weighted_gap) / size).max(axis=0))

    @cached_property
    def local_error(self) -> Floats:
        """LCE of every row among the drawn ones, 0 for one not drawn; shape (n, b)."""
        size = self.weights.shape[1]
        sums = laplacian_sums(
            self.coordinates,
            None,
            np.concatenate([self._weighted_gap, self.weights], axis=1),
            bandwidth=self.bandwidth,
            target_groups=self.bin_index,
            source_groups=self.bin_index,
        )
        drawn = self.weights > 0
        # A drawn row weighs at least 1 in its own mean, so no denominator is small.
        error = np.abs(sums[:, :size]) / np.where(drawn, sums[:, size:], 1.0)
        return np.where(drawn, error, 0.0)

    @property
    def largest_supported_error(self) -> Floats:
        """Largest LCE of the supported rows, shape (b,); NaN where there are none."""
        if not self.supported.any():
            return np.full(self.weights.shape[1], np.nan)
        return np.asarray(self.local_error[self.supported].max(axis=0))

    def mean(self, values: Floats) -> Floats:
        """Mean of one value a row, in every resample."""
        return np.asarray(values @ self.weights / self.n_rows)

    def allows(self, metric: Metric) -> bool:
        """Whether all that a metric needs is known."""
        known = {
            "probabilities": False,
            "features": self.coordinates.shape[1] > 0,
            "groups": self.cells.shape[0] > 0,
        }
        return all(known[need] for need in metric.needs)
