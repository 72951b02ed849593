"""Make feature maps ahead of their use, with progress and cancel."""

from __future__ import annotations

import streamlit as st

from lore_core import Dataset
from pages.shared.maps import MAPS, available_maps, compute_map, duration, seconds
from pages.shared.store import store
from pages.shared.tasks import is_busy


def panel(dataset: Dataset) -> None:
    """List the maps that have to be learned, with their state."""
    if dataset.features is None:
        st.caption(
            "No features were loaded, so there is nothing to map: the Overview and Recalibrate "
            "pages still show everything global."
        )
        return
    learned = [name for name in available_maps(dataset) if MAPS[name].learned]
    others = [name for name in available_maps(dataset) if not MAPS[name].learned]
    st.caption(
        f"A map says which rows are neighbours. Ready at any time: {', '.join(others)}. Learned "
        "once, on calibration and evaluation rows together and without looking at labels:"
    )
    busy = is_busy()
    with st.grid(4, min_column_width=200, gap="small", border=True):
        for name in learned:
            _card(dataset, name, busy)


def _card(dataset: Dataset, name: str, busy: bool) -> None:
    with st.container():
        embedding = store().maps.get((dataset.digest, name))
        st.markdown(f"**{name}**")
        if embedding is not None:
            st.caption(f":material/check: ready · {embedding.description}")
            return
        first = ", up to half a minute more for the first" if MAPS[name].method == "umap" else ""
        st.caption(f"about {duration(seconds(dataset, name))}{first}")
        st.button(
            "Make",
            key=f"card_{name}",
            disabled=busy,
            on_click=compute_map,
            args=(dataset, name),
            help="One map is made at a time." if busy else None,
        )
