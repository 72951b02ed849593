"""Fields of a view while γ moves: coarser, and of very many rows from a sample of them."""

from dataclasses import dataclass, replace

import numpy as np

from lore_core.data.arrays import Floats, Ints
from lore_core.data.dataset import EVALUATION
from lore_core.embedding.result import Embedding
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, LocalErrors
from lore_core.regions.field import Field
from lore_core.view.view import View
from lore_core.view.where import errors_of, field_of

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

    view: View  #: Of these rows
    on: Embedding  #: The map, of them
    bin_index: int | None  #: The confidence bin that is shown; None for all
    rows: Ints | None = None  #: (m,); their numbers; None: all of the view
    min_effective_size: float = MIN_EFFECTIVE_SIZE  #: Nodes with fewer neighbours are hidden

    def at_gamma(self, gamma: float) -> PreviewField:
        """Compute the picture of a γ."""
        view = self.view.with_(gamma=gamma)
        errors = errors_of(view)
        lce = errors.absolute
        if self.bin_index is not None:
            lce = lce[errors.bin_index == self.bin_index]
        # A sample may have no row of a rare bin.
        quantiles = np.quantile(lce, np.linspace(0, 1, _QUANTILES)) if len(lce) else None
        if self.on.n_components == 2:
            return PreviewField(self._field(view, errors), quantiles)
        known = errors.effective_size >= self.min_effective_size
        return PreviewField(np.where(known, errors.signed, np.nan), quantiles)

    def field(self, gamma: float) -> Field:
        """Signed local error over a flat map, as :func:`~lore_core.view.where.field_of`, sooner."""
        view = self.view.with_(gamma=gamma)
        return self._field(view, errors_of(view))

    def _field(self, view: View, errors: LocalErrors) -> Field:
        return field_of(
            view,
            errors,
            bin_index=self.bin_index,
            on=self.on,
            resolution=RESOLUTION,
            min_effective_size=self.min_effective_size,
        )


def preview_rows(
    view: View, *, bin_index: int | None = None, on: Embedding, max_rows: int = MAX_ROWS
) -> PreviewRows:
    """Take the rows of a view, whichever its γ: of more than ``max_rows`` a random sample."""
    n, at = len(view.evaluation), view.points(on=on)
    if n <= max_rows:
        return PreviewRows(view, on, bin_index)
    drawn = np.random.default_rng(view.seed).choice(n, max_rows, replace=False)
    # The outermost rows cover what the exact field covers.
    rows = np.unique(np.concatenate([drawn, at.argmin(axis=0), at.argmax(axis=0)]))
    chosen = np.flatnonzero(view.dataset.in_split(EVALUATION))[rows]
    kernel, drawn_on = (
        replace(item, coordinates=item.coordinates[chosen]) for item in (view.embedding, on)
    )
    sample = view.with_(
        dataset=view.evaluation.predictions_only().rows(rows), maps={view.map_name: kernel}
    )
    least = max(_MIN_EFFECTIVE_SIZE_OF_SAMPLE, MIN_EFFECTIVE_SIZE * len(rows) / n)
    return PreviewRows(sample, kernel if on is view.embedding else drawn_on, bin_index, rows, least)
