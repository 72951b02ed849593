"""Fields of a view while γ moves: coarser, and of very many rows from a sample of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lore_core.data.arrays import Floats
from lore_core.data.weights import chosen_weights
from lore_core.embedding.result import Embedding
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, local_errors
from lore_core.regions.field import Field, error_field, smoothed_field
from lore_core.view.view import BinOptions, View

_QUANTILES = 64
#: Nodes along each side, and rows that a field is made of at most.
RESOLUTION, MOST_ROWS = 128, 100_000
#: Of a sample so many effective neighbours are enough, if they stand for as many as ever.
_LEAST_OF_SAMPLE = 5.0
#: Bandwidths of a slider behind which there is no server.
GAMMAS = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 4.0, 20.0)


@dataclass(frozen=True)
class PreviewField:
    """What is shown of one γ while it passes."""

    field: Field
    #: (64,); the LCE of the rows it is made of: quantiles at even shares from 0 to 1. None where no
    #: such row is among those looked at.
    lce: Floats | None


@dataclass(frozen=True, eq=False)
class PreviewRows:
    """Rows of a view that its fields are made of while γ moves: the same at every γ."""

    confidence: Floats  #: (m,)
    outcome: Floats  #: (m,)
    points: Floats  #: (m, d); where the kernel works
    at: Floats  #: (m, 2); places on the map
    bins: BinOptions  #: Confidence bins
    bin_index: int | None  #: The one that is shown; None for all
    is_own_map: bool  #: Whether the kernel works on the map itself
    min_effective_size: float  #: Nodes with fewer neighbours are hidden
    weights: Floats | None  #: (m,)

    def field(self, gamma: float) -> PreviewField:
        """Signed local error over the map, as :func:`~lore_core.view.where.field_of`, sooner."""
        c, a, z, least = self.confidence, self.outcome, self.points, self.min_effective_size
        errors = local_errors(c, a, z, gamma=gamma, **self.bins, weights=self.weights)
        inside = None if self.bin_index is None else errors.bin_index == self.bin_index
        lce = errors.absolute if inside is None else errors.absolute[inside]
        # Of a rare bin no row may be in the sample.
        quantiles = np.quantile(lce, np.linspace(0, 1, _QUANTILES)) if len(lce) else None
        if inside is not None and self.is_own_map:
            field = error_field(
                c,
                a,
                z,
                gamma=gamma,
                rows=inside,
                resolution=RESOLUTION,
                min_effective_size=least,
                weights=self.weights,
            )
        else:
            field = smoothed_field(
                errors.signed,
                errors.effective_size,
                self.at,
                rows=inside,
                resolution=RESOLUTION,
                min_effective_size=least,
            )
        return PreviewField(field, quantiles)


def preview_rows(
    view: View, *, bin_index: int | None = None, on: Embedding, most_rows: int = MOST_ROWS
) -> PreviewRows:
    """Take the rows of a view, whichever its γ.

    ``bin_index``, ``on``: see :func:`~lore_core.view.where.field_of`. ``most_rows``: of more rows a
    random sample is taken.
    """
    c, a, z, at = view.aimed.confidence, view.aimed.outcome, view.points(), view.points(on=on)
    least, weights = MIN_EFFECTIVE_SIZE, view.aimed.weights
    if len(c) > most_rows:
        drawn = np.random.default_rng(view.seed).choice(len(c), most_rows, replace=False)
        # With the outermost rows it covers what the exact field covers.
        rows = np.unique(np.concatenate([drawn, at.argmin(axis=0), at.argmax(axis=0)]))
        least = max(_LEAST_OF_SAMPLE, least * len(rows) / len(c))
        c, a, z, at = c[rows], a[rows], z[rows], at[rows]
        weights = chosen_weights(weights, rows)
    is_own_map = on is view.embedding
    return PreviewRows(c, a, z, at, view.bins, bin_index, is_own_map, least, weights)
