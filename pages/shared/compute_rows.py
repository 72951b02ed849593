"""What rows are made of and along which columns they fail, behind this server's cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from lore_core import (
    Dataset,
    Embedding,
    InputError,
    composition,
    gap_along,
    rank_variables,
    row_evidence,
)
from lore_core.data.dataset import CALIBRATION
from lore_core.regions import RegionRecalibration, RowEvidence, recalibrate_region
from lore_core.variables import gap_grid, smooth_gap
from lore_core.variables.attributes import PREDICTED, TRUE, attribute, columns, says_the_truth
from pages.shared.caching import HASH, Settings, Target, rows_of

__all__ = [
    "along",
    "evidence",
    "made_of",
    "mended",
    "on_grid",
    "ranking",
    "variable_names",
    "wider_first",
]


@st.cache_resource(max_entries=32, hash_funcs=HASH, show_spinner="Looking along every column …")
def ranking(dataset: Dataset, target: Target, n_parts: int) -> pd.DataFrame:
    """Columns of the evaluation rows by the evidence that the gap differs along them."""
    return rank_variables(dataset.evaluation, target=target, n_bins=n_parts)


@st.cache_resource(max_entries=32, hash_funcs=HASH, show_spinner=False)
def variable_names(dataset: Dataset) -> list[str]:
    """Every column of the evaluation rows."""
    return [PREDICTED, TRUE, *(name for name, _, _ in columns(dataset.evaluation))]


@st.cache_resource(max_entries=64, hash_funcs=HASH, show_spinner=False)
def along(
    dataset: Dataset, target: Target, name: str, n_parts: int
) -> tuple[pd.DataFrame, pd.DataFrame | None, bool]:
    """Gaps along one column, the smoothed curve of a number, and whether it tells the truth."""
    rows = dataset.evaluation
    aimed = rows.target(target)
    coded = attribute(rows, name, n_parts=n_parts)
    curve = None
    if coded.numeric:
        values = next(values for known, _, values in columns(rows) if known == name)
        if pd.api.types.is_numeric_dtype(values):
            curve = smooth_gap(aimed.confidence, aimed.outcome, values.to_numpy(np.float64))
    table = gap_along(aimed.confidence, aimed.outcome, coded)
    return table, curve, says_the_truth(rows, coded)


@st.cache_resource(max_entries=64, hash_funcs=HASH, show_spinner=False)
def wider_first(dataset: Dataset, one: str, two: str, n_parts: int) -> tuple[str, str]:
    """Two columns, the one of more parts first."""
    first, second = (
        len(attribute(dataset.evaluation, name, n_parts=n_parts).values) for name in (one, two)
    )
    return (one, two) if first >= second else (two, one)


@st.cache_resource(max_entries=64, hash_funcs=HASH, show_spinner=False)
def on_grid(
    dataset: Dataset, target: Target, across: str, up: str, n_parts: int, min_rows: int
) -> pd.DataFrame:
    """Gaps on the combinations of two columns."""
    rows = dataset.evaluation
    aimed = rows.target(target)
    one, two = (attribute(rows, name, n_parts=n_parts) for name in (across, up))
    return gap_grid(aimed.confidence, aimed.outcome, one, two, min_rows=min_rows)


@st.cache_resource(max_entries=32, hash_funcs=HASH, show_spinner=False)
def made_of(
    dataset: Dataset, key: tuple[Any, ...], _inside: np.ndarray, _among: np.ndarray
) -> pd.DataFrame:
    """Composition of a set of evaluation rows; ``key`` names the set for the cache."""
    return composition(dataset.evaluation, _inside, among=_among)


@st.cache_resource(max_entries=32, hash_funcs=HASH, show_spinner="Recalibrating the region …")
def mended(
    dataset: Dataset, key: tuple[Any, ...], _fitted_on: np.ndarray, _measured_on: np.ndarray
) -> RegionRecalibration | str:
    """Recalibrators fitted on a region's calibration rows, or why that cannot be done."""
    if dataset.calibration is None:
        return "These data have no calibration rows to fit on."
    try:
        return recalibrate_region(dataset.calibration, dataset.evaluation, _fitted_on, _measured_on)
    except InputError as error:
        return str(error)


@st.cache_resource(max_entries=64, hash_funcs=HASH, show_spinner=False)
def evidence(
    dataset: Dataset, embedding: Embedding, settings: Settings, row: int, by_calibration: bool
) -> RowEvidence:
    """Rows that weigh most behind one evaluation row."""
    calibration = dataset.calibration if by_calibration else None
    return row_evidence(
        dataset.evaluation,
        rows_of(dataset, embedding),
        row,
        calibration=calibration,
        calibration_embedding=(
            rows_of(dataset, embedding, CALIBRATION) if by_calibration else None
        ),
        target=settings.target,
        **settings.local,
    )
