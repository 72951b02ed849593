"""What of a view is seen on a map: which rows, the worst of them, and a sentence."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from lore_core.comparison.summary import describe_rows
from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.embedding.result import Embedding
from lore_core.metrics.global_metrics import ReliabilityTable
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, LocalErrors
from lore_core.regions.rows import class_positions, drawn_rows, row_table, worst_rows
from lore_core.view.view import View

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
        index = self.errors.bin_index
        return (
            np.ones(len(index), dtype=bool) if self.bin_index is None else index == self.bin_index
        )

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
        return describe_rows(
            self.bin_name, self.view.evaluation, self.errors, self.rows, target=self.view.target
        )

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
