"""One fitted recalibrator as a file: to apply it elsewhere, without this dashboard."""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st

from lore_core import Comparison, InputError, Recalibrator
from lore_core.view import View
from pages.shared.header import plain
from pages.shared.methods import preselected


@st.cache_resource(max_entries=6, show_spinner="Packing the recalibrator …")
def _packed(
    key: Hashable,  # noqa: ARG001 -- what the cache goes by
    _method: Recalibrator,
) -> bytes:
    """Return the content of the file."""
    return _method.to_bytes()


def ship(view: View, result: Comparison) -> None:
    """Let the reader choose a method and download what was fitted.

    ``view``: what it was fitted on, and with which settings. ``result``: with the fitted methods.
    """
    names = list(result.recalibrators)
    best = [name for name in ("LoRe tuned", "LoRe") if name in preselected(names)]
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
    method = result.recalibrators[chosen]
    try:
        content = _packed((view.key(), chosen), method)
    except InputError as error:  # the rest of the page has nothing to do with it
        st.info(plain(str(error)), icon=":material/info:")
        return
    row.download_button(
        "Download the fitted recalibrator",
        content,
        f"{''.join(c if c.isalnum() else '-' for c in chosen.lower())}.lore",
        "application/octet-stream",
        icon=":material/download:",
        on_click="ignore",
        key="ship_file",
    )
    local = not method.is_global
    st.caption(
        f"Fitted on {method.n_rows_:,} calibration rows; {max(len(content) / 1e3, 0.1):,.1f} kB."
        + (
            " A local method consists of its calibration rows: their confidences, outcomes and "
            "coordinates are in the file. Treat it like those rows."
            if local
            else ""
        )
    )
