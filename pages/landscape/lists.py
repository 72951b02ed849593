"""Below the map: the worst rows with their evidence, and rows by class or group."""

from typing import Any

import numpy as np
import streamlit as st

from lore_core import Dataset
from lore_core.data import Target
from lore_core.data.dataset import TOP_LABEL
from lore_core.metrics import LocalErrors
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE
from lore_core.regions import report_by
from lore_core.view import View
from pages.landscape.region import BY, TRUE, VALUE, Marked, divided, divisions
from pages.shared import compute
from pages.shared.cells import count_column, in_hundredths, share_column, with_interval
from pages.shared.controls import one_of
from pages.shared.header import plain
from pages.shared.rows import add_images, pick_table, picked_row, show_row, show_rows

_ERROR, _ANSWER = "its local error", "LoRe's answer"


def list_worst(view: View, errors: LocalErrors, worst: np.ndarray, marked: Marked | None) -> None:
    """List the worst rows, the picked one beside them, and below it the rows behind its error."""
    dataset, gamma = view.evaluation, view.gamma
    if len(worst) == 0:
        st.caption(
            f"No row shown here has {MIN_EFFECTIVE_SIZE:g} effective neighbours at γ = {gamma:g}: "
            "raise γ, or switch off “Significant only”."
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
    """Divide the rows of the chosen bin by class or group."""
    by = st.selectbox("Divide by", divisions(dataset), key=BY, persist_state="session", width=260)
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
            "rows": count_column("rows"),
            "confidence": share_column("confidence"),
            "accuracy": share_column("accuracy"),
            **with_interval("gap", "gap, points"),
            "excess": st.column_config.NumberColumn(
                "excess mistakes",
                format="%+.1f",
                help="Rows × gap: mistakes beyond those expected.",
            ),
        },
    )
    note = (
        f"{sentence} Largest number of excess mistakes first; intervals are Wilson's. What is "
        "picked is highlighted in every picture."
    )
    if by == TRUE:
        note += (
            " The true class is part of the answer: divided by it, even a calibrated model looks "
            "wrong. Use the predicted class to judge."
        )
    st.caption(note)


def show_evidence(view: View, row: int) -> None:
    """Show which rows are behind a row's local error, or behind what LoRe would say instead."""
    head, choice = st.columns([3, 1.4], vertical_alignment="bottom")
    head.markdown(f"**Evidence for row {row}**")
    # LoRe corrects the top label, from calibration rows; without those only the error is left.
    offered = [_ERROR]
    if view.target == TOP_LABEL and view.calibration is not None:
        offered.append(_ANSWER)
    wanted = one_of(
        "Rows behind",
        offered,
        key="rows_behind",
        help="The local error is a weighted mean over evaluation rows; LoRe's answer is the "
        "weighted accuracy of calibration rows. Both only over rows in the same confidence bin.",
        into=choice,
    )
    by_calibration = wanted == _ANSWER and _ANSWER in offered
    found = compute.evidence(view, row, by_calibration=by_calibration)
    st.markdown(plain(found.sentence))
    if found.n_rows == 0:
        return
    source = (view.calibration if by_calibration else None) or view.evaluation
    table = in_hundredths(found.neighbours, "share", "cumulative", "confidence")
    columns: dict[str, Any] = {
        "row": st.column_config.NumberColumn(
            "row", help=f"Row number among the {found.source} rows."
        ),
        "share": st.column_config.ProgressColumn(
            "weight",
            format="%.1f %%",
            min_value=0.0,
            max_value=max(float(table["share"].max()), 1e-7),
            help="Its share of all weight in this mean.",
        ),
        "cumulative": share_column("together", 0, help="The share of this row and all above it."),
        "distance": st.column_config.NumberColumn(
            "distance",
            format="%.3g",
            help=f"Mean absolute difference of the coordinates; over γ = {view.gamma:g} the weight "
            "falls to 37 %.",
        ),
        "confidence": share_column("confidence"),
        "right": st.column_config.CheckboxColumn("right"),
    }
    columns |= add_images(table, source, table["row"].to_numpy())
    st.dataframe(
        table, hide_index=True, height="content", column_config=columns, key="evidence_rows"
    )
