"""Two sets of sums side by side: every metric, and on how many rows an error must differ."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from lore_core.data.defaults import GAMMA
from lore_core.data.progress import Progress, part_of
from lore_core.mergeable.cell_sums.local_values import Weight
from lore_core.mergeable.cell_sums.summaries import metrics_of_sums
from lore_core.mergeable.cell_sums.sums import LocalErrorSums


@dataclass(frozen=True)
class SumsComparison:
    """How the local errors of other rows, or of another model, differ."""

    #: ``metric, value, other, difference, at_least, at_most``; the last two bound other − value.
    table: pd.DataFrame
    #: Share of the first rows in cells at whose mean coordinates the other's LCE is certainly
    #: larger, or smaller.
    larger: float
    smaller: float
    gamma: float


def compare_sums(
    first: LocalErrorSums,
    other: LocalErrorSums,
    *,
    gamma: float = GAMMA,
    progress: Progress | None = None,
) -> SumsComparison:
    """Hold the sums of some rows against those of others, on one map and in the same bins.

    The bounds are those of the approximation by cells, not of chance. Raises InputError if the sums
    are of different maps or bins, or ``gamma`` is less than they allow.
    """
    first.check_comparable(other)
    tables = [
        metrics_of_sums(
            sums, gamma=gamma, progress=part_of(progress, step / 3, (step + 1) / 3)
        ).set_index("metric")
        for step, sums in enumerate((first, other))
    ]
    one, two = tables[0], tables[1].reindex(tables[0].index)
    table = pd.DataFrame(
        {
            "value": one["value"],
            "other": two["value"],
            "difference": two["value"] - one["value"],
            "at_least": two["at_least"] - one["at_most"],
            "at_most": two["at_most"] - one["at_least"],
        }
    ).reset_index()
    fine = first.at_least_as_fine(gamma)
    own = fine.cell_mean_coordinates
    middle = (fine.bins.edges[:-1] + fine.bins.edges[1:]) / 2
    confidence = middle[fine.cells.bin_index]
    text = part_of(progress, 2 / 3, 1.0)
    here, there = (
        sums.at_least_as_fine(gamma).local_values(confidence, own, gamma=gamma, progress=text)
        for sums in (first, other)
    )
    rows = fine.cells.table[Weight.ROWS]
    # (Where the other has no row near, nothing is known.)
    larger, smaller = (
        float(rows[np.nan_to_num(one.low, nan=-1.0) > np.nan_to_num(two.high, nan=2.0)].sum())
        for one, two in ((there.absolute, here.absolute), (here.absolute, there.absolute))
    )
    return SumsComparison(table, larger / rows.sum(), smaller / rows.sum(), gamma)
