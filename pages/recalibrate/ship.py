"""One fitted recalibrator as a file: to apply it elsewhere, without this dashboard."""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st

from lore_core import Comparison, Embedding, InputError, Recalibrator
from lore_core.comparison import ConfidenceDifference, confidence_difference
from lore_core.shipping import FileContents, describe
from lore_core.view import View
from pages.shared.header import plain
from pages.shared.methods import preselected

_AS_MEASURED = "It does to new rows what was measured above."


@st.cache_resource(max_entries=6, show_spinner="Packing the recalibrator …")
def _packed(
    key: Hashable,  # noqa: ARG001 -- what the cache goes by
    _method: Recalibrator,
    rows: bool,
) -> tuple[bytes, FileContents]:
    """Return the file and what it holds."""
    content = _method.to_bytes(rows=rows)
    return content, describe(content)


@st.cache_resource(max_entries=6, show_spinner="Measuring what leaving the rows out changes …")
def _changed(
    key: Hashable,  # noqa: ARG001 -- what the cache goes by
    _view: View,
    _method: Recalibrator,
    _measured_on: Embedding | None,
) -> ConfidenceDifference:
    """Measure on the evaluation rows what leaving the calibration rows out changes."""
    points = None if _measured_on is None else _view.points(on=_measured_on)
    return confidence_difference(
        _method, _method.without_rows(), _view.evaluation, points, **_view.local
    )


def ship(view: View, result: Comparison, measured_on: Embedding | None) -> None:
    """Let the reader choose a method and download what was fitted.

    ``view``: what it was fitted on, and with which settings. ``result``: with the fitted methods.
    ``measured_on``: all rows on the map of the local metrics.
    """
    names = list(result.recalibrators)
    best = [name for name in ("LoRe smooth", "LoRe") if name in preselected(names)]
    row = st.container(horizontal=True, vertical_alignment="bottom")
    chosen = row.selectbox(
        "Fitted recalibrator",
        names,
        index=names.index(best[0]) if best else len(names) - 1,
        key="ship",
        persist_state="session",
        width=300,
        help="One file without pickle: lore_core.load_recalibrator reads it, "
        "lore_core.shipping.Predictor applies it with numpy alone, and so does the command "
        "lore recalibrate --model.",
    )
    confidential = row.toggle(
        "Without single rows",
        key="ship_without_rows",
        help="For confidential data: of the calibration rows the file then holds only means over "
        "ten or more. How far its confidences are from those measured above is said below.",
    )
    method = result.recalibrators[chosen]
    key = (view.key(), chosen)
    try:
        content, contents = _packed(key, method, not confidential)
        said = _AS_MEASURED
        if confidential:
            where = "" if measured_on is None else measured_on.digest
            said = _changed((*key, where), view, method, measured_on).sentence()
    except InputError as error:  # the rest of the page has nothing to do with it
        st.info(plain(str(error)), icon=":material/info:")
        return
    st.caption(plain(f"{contents.sentence} {said}"))
    with st.expander("What the file holds", icon=":material/inventory_2:"):
        widths = {"holds": st.column_config.TextColumn(width="large")}
        st.dataframe(contents.table(), hide_index=True, column_config=widths)
    row.download_button(
        f"Download the fitted recalibrator ({max(len(content) / 1e3, 0.1):,.1f} kB)",
        content,
        f"{''.join(c if c.isalnum() else '-' for c in chosen.lower())}.lore",
        "application/octet-stream",
        icon=":material/download:",
        on_click="ignore",
        key="ship_file",
    )
