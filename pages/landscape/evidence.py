"""Under one row: the rows that weigh most in what is said about it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from lore_core.data.dataset import TOP_LABEL
from lore_core.view import View
from pages.shared import compute
from pages.shared.cells import in_hundredths, share_column
from pages.shared.header import plain
from pages.shared.rows import thumbnail_urls

_ERROR, _ANSWER = "its local error", "LoRe's answer"


def show_evidence(view: View, row: int) -> None:
    """Show which rows are behind a row's local error, or behind what LoRe would say instead."""
    head, choice = st.columns([3, 1.4], vertical_alignment="bottom")
    head.markdown(f"**What speaks for row {row}**")
    # LoRe corrects the top label, from calibration rows; without those only the error is left.
    offered = [_ERROR]
    if view.target == TOP_LABEL and view.calibration is not None:
        offered.append(_ANSWER)
    wanted = choice.segmented_control(
        "Rows behind",
        offered,
        default=_ERROR,
        required=True,
        key="rows_behind",
        help="The local error is a weighted mean over evaluation rows; LoRe's answer is the "
        "weighted accuracy of calibration rows. Both only over rows in the same confidence bin.",
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
    if source.images is not None:
        table.insert(0, "image", thumbnail_urls(source.images, table["row"].to_numpy()))
        columns["image"] = st.column_config.ImageColumn("image", width="small")
    st.dataframe(
        table, hide_index=True, height="content", column_config=columns, key="evidence_rows"
    )
