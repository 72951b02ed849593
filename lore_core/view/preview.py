"""Fields of a view while γ moves: coarser, and of very many rows from a sample of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.weights import chosen_weights
from lore_core.embedding.result import Embedding
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, LocalErrors, local_errors
from lore_core.regions.field import Field, error_field, smoothed_field
from lore_core.view.view import BinOptions, View

_QUANTILES = 64
#: Nodes along each side, and rows that a field is made of at most.
RESOLUTION, MAX_ROWS = 128, 100_000
#: Enough effective neighbours in a sample, if they stand for the usual number.
_MIN_EFFECTIVE_SIZE_OF_SAMPLE = 5.0


@dataclass(frozen=True)
class PreviewField:
    """Picture of one γ while the slider moves."""

    #: The error over a flat map; in space that of the rows, NaN with too few neighbours.
    field: Field | Floats
    #: (64,); quantiles of the LCE at even shares from 0 to 1; None without such rows.
    lce: Floats | None


@dataclass(frozen=True, eq=False)
class PreviewRows:
    """Rows that the fields of all γ are made of while the slider moves."""

    confidence: Floats  #: (m,)
    outcome: Floats  #: (m,)
    points: Floats  #: (m, d); where the kernel works
    at: Floats  #: (m, 2 or 3); places on the map
    rows: Ints | None  #: (m,); numbers of the rows; None: all of the view
    bins: BinOptions  #: Confidence bins
    bin_index: int | None  #: The one that is shown; None for all
    is_own_map: bool  #: Whether the kernel works on the map itself
    min_effective_size: float  #: Nodes with fewer neighbours are hidden
    weights: Floats | None  #: (m,)

    def at_gamma(self, gamma: float) -> PreviewField:
        """Compute the picture of a γ."""
        errors = self._errors(gamma)
        inside = self._inside(errors)
        lce = errors.absolute if inside is None else errors.absolute[inside]
        # A sample may have no row of a rare bin.
        quantiles = np.quantile(lce, np.linspace(0, 1, _QUANTILES)) if len(lce) else None
        if self.at.shape[1] == 2:
            return PreviewField(self._field(gamma, errors, inside), quantiles)
        known = errors.effective_size >= self.min_effective_size
        return PreviewField(np.where(known, errors.signed, np.nan), quantiles)

    def field(self, gamma: float) -> Field:
        """Signed local error over a flat map, as :func:`~lore_core.view.where.field_of`, sooner."""
        errors = self._errors(gamma)
        return self._field(gamma, errors, self._inside(errors))

    def _errors(self, gamma: float) -> LocalErrors:
        return local_errors(
            self.confidence,
            self.outcome,
            self.points,
            gamma=gamma,
            **self.bins,
            weights=self.weights,
        )

    def _inside(self, errors: LocalErrors) -> Mask | None:
        return None if self.bin_index is None else errors.bin_index == self.bin_index

    def _field(self, gamma: float, errors: LocalErrors, inside: Mask | None) -> Field:
        look: dict[str, Any] = {
            "rows": inside,
            "resolution": RESOLUTION,
            "min_effective_size": self.min_effective_size,
        }
        if inside is not None and self.is_own_map:
            c, a, z = self.confidence, self.outcome, self.points
            return error_field(c, a, z, gamma=gamma, **look, weights=self.weights)
        return smoothed_field(errors.signed, errors.effective_size, self.at, **look)


def preview_rows(
    view: View, *, bin_index: int | None = None, on: Embedding, max_rows: int = MAX_ROWS
) -> PreviewRows:
    """Take the rows of a view, whichever its γ: of more than ``max_rows`` a random sample."""
    c, a, z, at = (
        view.target_rows.confidence,
        view.target_rows.outcome,
        view.points(),
        view.points(on=on),
    )
    least, rows, weights = MIN_EFFECTIVE_SIZE, None, view.target_rows.weights
    if len(c) > max_rows:
        drawn = np.random.default_rng(view.seed).choice(len(c), max_rows, replace=False)
        # The outermost rows cover what the exact field covers.
        rows = np.unique(np.concatenate([drawn, at.argmin(axis=0), at.argmax(axis=0)]))
        least = max(_MIN_EFFECTIVE_SIZE_OF_SAMPLE, least * len(rows) / len(c))
        c, a, z, at = c[rows], a[rows], z[rows], at[rows]
        weights = chosen_weights(weights, rows)
    is_own_map = on is view.embedding
    return PreviewRows(c, a, z, at, rows, view.bins, bin_index, is_own_map, least, weights)
