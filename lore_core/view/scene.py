"""What of a view is seen on a map: rows, the worst of them, and fields while γ moves."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.dataset import EVALUATION
from lore_core.embedding.result import Embedding
from lore_core.metrics.global_metrics import ReliabilityTable
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, LocalErrors, describe_gaps
from lore_core.regions.field import Field
from lore_core.regions.rows import class_positions, drawn_rows, row_table, worst_rows
from lore_core.regions.selection import region_report
from lore_core.view.view import View
from lore_core.view.where import errors_of, field_of

#: Rows ringed, drawn over the field, and drawn without it: more slow a browser down.
_N_WORST = 30
_DRAWN, _DRAWN_ALONE = 1500, 4000


@dataclass(frozen=True, eq=False)
class Scene:
    """Rows of one confidence bin, or all of them, on a map."""

    view: View  #: What is looked at
    errors: LocalErrors  #: Its local errors
    reliability: ReliabilityTable  #: Its confidence bins
    bin_index: int | None  #: The chosen bin; None for all rows
    on: Embedding  #: The map, all rows
    axes: str  #: What the map is called
    #: (n,); mask of the rows that alone are shown: those of significant subgroups.
    only: Mask | None = None

    @cached_property
    def rows(self) -> Mask:
        """Mask of the rows in the bin, shape (n,)."""
        every, index = self.bin_index is None, self.errors.bin_index
        return np.ones(len(index), dtype=bool) if every else index == self.bin_index

    @property
    def n_rows(self) -> int:
        """Number of rows in the bin."""
        return int(self.rows.sum())

    @cached_property
    def shown(self) -> Mask:
        """Mask of the rows in the picture, shape (n,)."""
        return self.rows if self.only is None else self.rows & self.only

    @property
    def bin_name(self) -> str:
        """The bin in words: ``All confidences``, ``Confidence 0.87–0.93``."""
        if self.bin_index is None:
            return "All confidences"
        return f"Confidence {self.reliability.bins.name(self.bin_index)}"

    @cached_property
    def sentence(self) -> str:
        """Mean confidence and accuracy of the rows, and how far the gap differs across the map."""
        report, errors = region_report(**self.view.scored_by_unit, inside=self.rows), self.errors
        if report.n_rows == 0:
            return f"{self.bin_name}: no rows."
        left_out = 1 - len(self.supported) / report.n_rows
        means = report.n_rows, report.confidence, report.accuracy
        return describe_gaps(self.bin_name, *means, self.supported, left_out, gamma=errors.gamma)

    @property
    def in_words(self) -> str:
        """Rows shown and the kernel in words, for under a picture."""
        return f"{self.bin_name.lower()}, {self.view.kernel_in_words}, {self.view.rows}"

    @cached_property
    def points(self) -> Floats:
        """All evaluation rows on the map, shape (n, d)."""
        return self.view.points(on=self.on)

    @cached_property
    def worst(self) -> Ints:
        """Rows with the largest local errors among those with enough neighbours."""
        return worst_rows(
            self.errors, within=self.shown, n_rows=_N_WORST, min_effective_size=MIN_EFFECTIVE_SIZE
        )

    @cached_property
    def supported(self) -> Floats:
        """Signed errors of the rows with enough neighbours, shown or not: the colour scale."""
        return self.errors.signed[self.rows & self.errors.supported()]

    def table(self, rows: Ints) -> pd.DataFrame:
        """Return the hover table of some rows."""
        return row_table(self.view.evaluation, rows, self.errors, extra=5)

    def drawn(self, *, over_field: bool = False) -> pd.DataFrame:
        """Rows that are drawn one by one."""
        most = _DRAWN if over_field else _DRAWN_ALONE
        return self.table(drawn_rows(self.shown, self.worst, most))

    @cached_property
    def classes(self) -> pd.DataFrame:
        """Labels of the predicted classes on the map."""
        return class_positions(self.view.evaluation, self.points, self.rows)


_QUANTILES = 64
#: Nodes along each side, and rows that a field is made of at most.
RESOLUTION, MAX_ROWS = 128, 100_000
#: Enough effective neighbours in a sample, if they stand for the usual number.
_MIN_EFFECTIVE_SIZE_OF_SAMPLE = 5.0


@dataclass(frozen=True, eq=False)
class PreviewRows:
    """Rows that the fields of all γ are made of while the slider moves."""

    view: View  #: Of these rows
    on: Embedding  #: The map, of them
    bin_index: int | None  #: The confidence bin that is shown; None for all
    rows: Ints | None = None  #: (m,); their numbers; None: all of the view
    min_effective_size: float = MIN_EFFECTIVE_SIZE  #: Nodes with fewer neighbours are hidden

    def at_gamma(self, gamma: float) -> tuple[Field | Floats, Floats | None]:
        """Compute the picture of a γ, and 64 quantiles of its LCE at even shares from 0 to 1.

        On a flat map as :func:`~lore_core.view.where.field_of`, sooner; in space the errors of the
        rows, NaN with too few neighbours. The quantiles are None without such rows.
        """
        view = self.view.with_(gamma=gamma)
        errors = errors_of(view)
        lce = errors.absolute
        if self.bin_index is not None:
            lce = lce[errors.bin_index == self.bin_index]
        # A sample may have no row of a rare bin.
        quantiles = np.quantile(lce, np.linspace(0, 1, _QUANTILES)) if len(lce) else None
        if self.on.n_components == 2:
            return self.field(view, errors, self.bin_index), quantiles
        return np.where(errors.supported(self.min_effective_size), errors.signed, np.nan), quantiles

    def field(self, view: View, errors: LocalErrors, bin_index: int | None) -> Field:
        """Compute the error over a flat map; ``view``: at the γ of the errors."""
        how: dict[str, Any] = {"on": self.on, "resolution": RESOLUTION, "bin_index": bin_index}
        return field_of(view, errors, min_effective_size=self.min_effective_size, **how)


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
    maps = view.embedding, on
    kernel, drawn_on = (replace(one, coordinates=one.coordinates[chosen]) for one in maps)
    sample = view.with_(
        dataset=view.evaluation.predictions_only().rows(rows), maps={view.map_name: kernel}
    )
    least = max(_MIN_EFFECTIVE_SIZE_OF_SAMPLE, MIN_EFFECTIVE_SIZE * len(rows) / n)
    return PreviewRows(sample, kernel if on is view.embedding else drawn_on, bin_index, rows, least)
