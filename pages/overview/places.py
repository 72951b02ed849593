"""The places behind the headline, each with a way to the map."""

from __future__ import annotations

import streamlit as st

from lore_core.data.dataset import TOP_LABEL
from lore_core.data.number_text import interval_words, share_words, signed_points, unbroken
from lore_core.places.find import PlaceSearch
from lore_core.places.sentences import name_of_place
from lore_core.view import View
from pages.shared.header import plain
from pages.shared.maps import planar_maps
from pages.shared.places import SEEN

#: Places listed; the Landscape lists all.
_LISTED = 5
_WIDTHS = (2.6, 0.8, 1.1, 0.75, 1.6, 1.6, 2.3)


def list_places(view: View, search: PlaceSearch) -> None:
    """List the first places with what was promised, what came, and the evidence."""
    if not search.places:
        return
    came, was = ("got", "right") if view.target == TOP_LABEL else ("came", "of the class")
    on_map = view.is_local and bool(planar_maps(view.dataset))
    with st.container(border=True):
        heads = (
            ("Place", "Rows that are named alike, or lie together on the map."),
            ("rows", None),
            ("promised", None),
            (came, None),
            (
                "gap, held-out rows",
                "Promised less " + came + ", in points, on those of the rows "
                "that were not used to find the place, with its 95 % interval; + is too sure.",
            ),
            (
                "beyond same confidence",
                "How much of that gap rows of the same confidence elsewhere "
                "do not have, in points, 95 %: what recalibrating the confidence alone leaves.",
            ),
        )
        for cell, (head, tip) in zip(st.columns(_WIDTHS), heads, strict=False):
            cell.caption(head, help=tip)
        for number, place in enumerate(search.places[:_LISTED]):
            held = place.held
            cells = st.columns(_WIDTHS, vertical_alignment="center")
            part = "" if place.within is None else f"↳ in {place.within + 1}: "
            cells[0].markdown(f"**{number + 1}** · {part}{plain(name_of_place(place))}")
            for cell, text in zip(
                cells[1:],
                (
                    f"{place.n_rows:,}",
                    share_words(place.confidence),
                    share_words(place.accuracy),
                    _points(held.gap, held.gap_low, held.gap_high),
                    _points(held.beyond, held.beyond_low, held.beyond_high),
                ),
                strict=False,
            ):
                cell.markdown(unbroken(text))
            if on_map:
                # (A button that switches pages may not carry the settings in the link along.)
                cells[-1].page_link(
                    "pages/landscape/page.py",
                    label="See it on the map",
                    query_params={SEEN: str(number + 1)},
                )
        hidden = len(search.places) - _LISTED
        st.caption(
            f"promised: mean confidence; {came}: the share that was {was}. Gaps: the one less the "
            "other, in points."
            + (
                f" {hidden} more {'is' if hidden == 1 else 'are'} listed on the Landscape."
                if hidden > 0
                else ""
            )
        )


def _points(value: float, low: float, high: float) -> str:
    return f"{signed_points(value, 0)} ({interval_words(low, high)})"
