"""The places behind the headline, in words and on a map."""

from __future__ import annotations

import streamlit as st

from lore_core.data.dataset import TOP_LABEL
from lore_core.data.number_text import interval_words, share_words, signed_points, unbroken
from lore_core.regions.subgroups.find import PlaceSearch
from lore_core.regions.subgroups.verdict import name_of_place
from lore_core.view import View
from pages.shared.header import plain
from pages.shared.maps import planar_maps
from pages.shared.places import SEEN

#: Places listed; the Landscape lists all.
_LISTED = 5


def list_places(view: View, search: PlaceSearch) -> None:
    """List the first places with what was promised, what came, and the evidence."""
    came = "got" if view.target == TOP_LABEL else "came"
    on_map = view.is_local and bool(planar_maps(view.dataset))
    for number, place in enumerate(search.places[:_LISTED]):
        held = place.held
        part = "" if place.within is None else f"in {place.within + 1}: "
        name = f"{number + 1} · {part}{plain(name_of_place(place))}"
        with st.container(gap=None):
            if on_map:
                # (A button that switches pages may not carry the settings in the link along.)
                st.page_link(
                    "pages/landscape/page.py",
                    label=f"**{name}**",
                    query_params={SEEN: str(number + 1)},
                    help="See it on the map",
                )
            else:
                st.markdown(f"**{name}**")
            st.caption(
                f"{place.n_rows:,} rows · promised {share_words(place.confidence)}, {came} "
                f"{share_words(place.accuracy)} · held-out gap "
                f"{_points(held.gap, held.gap_low, held.gap_high)} points"
            )
    hidden = len(search.places) - _LISTED
    st.caption(
        f"Held-out gap: promised less {came}, on those of the rows that were not used to find the "
        + unbroken("place, with its 95 % interval; + is too sure.")
        + (
            f" {hidden} more {'is' if hidden == 1 else 'are'} listed on the Landscape."
            if hidden > 0
            else ""
        )
    )


def _points(value: float, low: float, high: float) -> str:
    return f"{signed_points(value, 0)} ({interval_words(low, high)})"
