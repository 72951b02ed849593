"""What the reader draws or clicks on the map: kept as geometry, reported over all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from lore_core import Dataset, LocalErrors, Region, Target, region_report, row_table, worst_rows
from pages.shared.rows import show_rows

__all__ = ["drawn_region", "picked_row", "region_panel", "take_selection"]

_REGION, _ROW = "_region", "_row"
#: Rows listed; the CSV holds all.
_LISTED = 200


def point_number(point: Any) -> int | None:
    """Row or bin number a point carries as its ``customdata``."""
    carried = point.get("customdata")
    if isinstance(carried, (list, tuple)):
        carried = carried[0] if carried else None
    return None if carried is None else int(carried)


def take_selection(key: str, map_name: str) -> None:
    """Keep a lasso, a box or a clicked row of the chart ``key``."""
    event: Any = st.session_state[key].selection
    if event.lasso:
        corners = event.lasso[-1]
        region = Region(tuple(map(float, corners["x"])), tuple(map(float, corners["y"])))
        st.session_state[_REGION] = (map_name, region)
    elif event.box:
        region = Region.box(event.box[-1]["x"], event.box[-1]["y"])
        st.session_state[_REGION] = (map_name, region)
    elif len(event.points) == 1:
        row = point_number(event.points[0])
        if row is not None:
            st.session_state[_ROW] = row


def drawn_region(map_name: str) -> Region | None:
    """Return the region drawn on this map, if any."""
    kept = st.session_state.get(_REGION)
    return kept[1] if kept is not None and kept[0] == map_name else None


def picked_row(default: int) -> int:
    """Return the row clicked last, else the default."""
    return int(st.session_state.get(_ROW, default))


def _clear() -> None:
    st.session_state.pop(_REGION, None)


def region_panel(
    dataset: Dataset,
    target: Target,
    errors: LocalErrors,
    inside: np.ndarray,
) -> None:
    """Report on the rows inside: promised, got, the rows themselves, and all of them as CSV."""
    report = region_report(target.confidence, target.outcome, inside)
    with st.container(border=True):
        head, button = st.columns([6, 1], vertical_alignment="center")
        head.markdown(f"**Selected region** · {report.sentence}")
        button.button("Clear", on_click=_clear, width="stretch", key="clear_region")
        if report.n_rows == 0:
            return
        listed = worst_rows(errors, within=inside, n_rows=_LISTED)
        picked = show_rows(dataset, listed, errors, "region_rows")
        if picked is not None:
            st.session_state[_ROW] = picked
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(
                f"{len(listed):,} of {report.n_rows:,} rows, largest local error first.",
                width="stretch",
            )
            st.download_button(
                "All of them as CSV",
                lambda: (
                    row_table(dataset, np.flatnonzero(inside), errors).to_csv(index=False).encode()
                ),
                "lore-lens-region.csv",
                "text/csv",
                on_click="ignore",
                icon=":material/download:",
                key="region_csv",
            )
