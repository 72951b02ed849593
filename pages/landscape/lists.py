"""Below the map: the worst rows one by one, and the rows divided by class or group."""

from __future__ import annotations

import numpy as np
import streamlit as st

from lore_core import Dataset
from lore_core.data import Target
from lore_core.metrics import LocalErrors
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE
from lore_core.regions import report_by
from lore_core.view import View
from pages.landscape.evidence import show_evidence
from pages.landscape.marked import BY, TRUE, VALUE, Marked, divided, divisions
from pages.shared.cells import in_hundredths, points_column, share_column
from pages.shared.rows import pick_table, picked_row, show_row, show_rows


def list_worst(view: View, errors: LocalErrors, worst: np.ndarray, marked: Marked | None) -> None:
    """List the worst rows, the picked one beside them, and below it the rows that speak for it."""
    dataset, gamma = view.evaluation, view.gamma
    if len(worst) == 0:
        st.caption(
            f"No row shown here has {MIN_EFFECTIVE_SIZE:g} effective neighbours at γ = {gamma:g}: "
            "raise γ, or switch off “Beyond chance”."
        )
        return
    listing, detail = st.columns([3, 1], gap="medium")
    with listing:
        known = None if marked is None else (marked.name, marked.rows)
        show_rows(dataset, worst, errors, "worst_rows", known)
        st.caption(
            f"The {len(worst)} rows with the largest local error among those with "
            f"{MIN_EFFECTIVE_SIZE:g} effective neighbours or more; ringed on the map."
        )
    with detail:
        picked = picked_row(dataset)
        shown = int(worst[0]) if picked is None else picked
        show_row(dataset, shown, errors)
    show_evidence(view, shown)


def list_by(dataset: Dataset, target: Target, rows: np.ndarray, sentence: str) -> None:
    """Divide the rows of the chosen bin by class or group: who was promised too much."""
    by = st.selectbox(
        "Divide by",
        divisions(dataset),
        key=BY,
        persist_state="session",
        width=260,
    )
    table = report_by(
        divided(dataset, by), target.confidence, target.outcome, rows, weights=target.weights
    )
    pick_table(
        in_hundredths(table, "confidence", "accuracy", "gap", "gap_low", "gap_high"),
        [(by, name) for name in table["name"]],
        VALUE,
        "divided",
        height="content" if len(table) <= 12 else 420,
        column_config={
            "name": by,
            "rows": st.column_config.NumberColumn("rows", format="localized"),
            "confidence": share_column("promised"),
            "accuracy": share_column("got"),
            "gap": points_column("gap, points", signed=True),
            "gap_low": points_column("95 % from", signed=True),
            "gap_high": points_column("to", signed=True),
            "excess": st.column_config.NumberColumn(
                "excess mistakes", format="%+.1f", help="Rows × gap: more mistakes than promised."
            ),
        },
    )
    note = (
        f"{sentence} Largest number of excess mistakes first; intervals are Wilson's. What is "
        "picked is marked in every picture."
    )
    if by == TRUE:
        note += (
            " The true class is part of the answer: divided by it, even a calibrated model looks "
            "wrong. Use the predicted class to judge."
        )
    st.caption(note)
