"""Along which column the confidence of a view is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from lore_core.regions.variables.attributes import (
    attribute,
    columns,
    says_the_truth,
    telling_attributes,
)
from lore_core.regions.variables.cutting import Attribute
from lore_core.regions.variables.gaps import gap_along, gap_grid, rank_variables, smooth_gap
from lore_core.regions.variables.words import word_attributes
from lore_core.view.view import View


@dataclass(frozen=True)
class Along:
    """Gaps along one column."""

    table: pd.DataFrame  #: One row a part, see :func:`~lore_core.regions.variables.gaps.gap_along`.
    #: Of a number, the smoothed gap, see :func:`~lore_core.regions.variables.gaps.smooth_gap`.
    curve: pd.DataFrame | None
    #: Whether the column says the true class, along which any model looks wrong.
    tells_the_truth: bool


def ranking_of(view: View, n_parts: int = 12) -> pd.DataFrame:
    """Columns of the evaluation rows by the evidence that the gap differs along them."""
    return rank_variables(view.evaluation, target=view.target, n_bins=n_parts)


def telling_of(view: View) -> list[Attribute]:
    """Columns of the evaluation rows, and words, that may say what a set of rows is made of."""
    known = telling_attributes(view.evaluation, target=view.target)
    return [*known, *word_attributes(view.evaluation)]


def along_of(view: View, name: str, n_parts: int) -> Along:
    """Gaps along one column of the evaluation rows."""
    c, a, w = view.aimed.confidence, view.aimed.outcome, view.aimed.weights
    coded = attribute(view.evaluation, name, n_parts=n_parts)
    curve = None
    if coded.numeric:
        values = next(values for known, _, values in columns(view.evaluation) if known == name)
        if pd.api.types.is_numeric_dtype(values):
            curve = smooth_gap(c, a, values.to_numpy(np.float64), weights=w)
    table = gap_along(c, a, coded, weights=w)
    return Along(table, curve, says_the_truth(view.evaluation, coded))


def grid_of(view: View, across: str, up: str, n_parts: int, min_rows: int) -> pd.DataFrame:
    """Gaps on the combinations of two columns."""
    one, two = (attribute(view.evaluation, name, n_parts=n_parts) for name in (across, up))
    aimed = view.aimed
    return gap_grid(
        aimed.confidence, aimed.outcome, one, two, min_rows=min_rows, weights=aimed.weights
    )
