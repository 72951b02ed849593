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
#: Of a sample so many effective neighbours are enough, if they stand for as many as ever.
_MIN_EFFECTIVE_SIZE_OF_SAMPLE = 5.0


@dataclass(frozen=True)
class PreviewField:
    """What is shown of one γ while it passes."""

    #: The error over the map; in space that of the rows it is made of, NaN of those with too few
    #: neighbours.
    field: Field | Floats
    #: (64,); the LCE of the rows it is made of: quantiles at even shares from 0 to 1. None where no
    #: such row is among those looked at.
    lce: Floats | None


@dataclass(frozen=True, eq=False)
class PreviewRows:
    """Rows of a view that its fields are made of while γ moves: the same at every γ."""

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
        """Return what is shown of a γ."""
        errors = self._errors(gamma)
        inside = self._inside(errors)
        lce = errors.absolute if inside is None else errors.absolute[inside]
        # Of a rare bin no row may be in the sample.
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
        # With the outermost rows it covers what the exact field covers.
        rows = np.unique(np.concatenate([drawn, at.argmin(axis=0), at.argmax(axis=0)]))
        least = max(_MIN_EFFECTIVE_SIZE_OF_SAMPLE, least * len(rows) / len(c))
        c, a, z, at = c[rows], a[rows], z[rows], at[rows]
        weights = chosen_weights(weights, rows)
    is_own_map = on is view.embedding
    return PreviewRows(c, a, z, at, rows, view.bins, bin_index, is_own_map, least, weights)
