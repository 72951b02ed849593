"""Below the map: the worst rows, and the rows behind an error."""

from typing import Any

import numpy as np
import streamlit as st

from lore_core.data.dataset import TOP_LABEL
from lore_core.metrics import LocalErrors
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE
from lore_core.view import View
from pages.landscape.region import Marked
from pages.shared import compute
from pages.shared.cells import in_hundredths, share_column
from pages.shared.controls import one_of
from pages.shared.header import plain
from pages.shared.rows import add_images, picked_row, show_row, show_rows

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
