"""Places beyond chance: listed, explained, outlined, and chosen for a closer look."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import streamlit as st

from lore_core import Embedding, describe_composition
from lore_core.data.dataset import TOP_LABEL
from lore_core.data.number_text import share_words, unbroken
from lore_core.regions import telling_rows
from lore_core.regions.subgroups.average import Against
from lore_core.regions.subgroups.find import Place, PlaceSearch
from lore_core.regions.subgroups.verdict import describe_place, evidence_of
from lore_core.view import View, where
from pages.shared import compute
from pages.shared.charts import csv_button
from pages.shared.controls import linked, one_of
from pages.shared.header import plain
from pages.shared.places import AUTOMATIC, choose_place
from pages.shared.rows import thumbnail_urls

_EXAMPLES = 6
#: What a place is compared with, as the reader chooses it.
_AGAINST: dict[str, Against] = {
    "nothing wrong": "zero",
    "the average": "average",
    "rows of the same confidence": "same confidence",
}


def search_places(view: View) -> PlaceSearch:
    """Find the places that are worse than what the reader compares them with."""
    wanted = st.session_state.get("against", AUTOMATIC)
    # Without the argument it is the very search behind the headline.
    how = {"against": _AGAINST[wanted]} if wanted in _AGAINST else {}
    search: PlaceSearch = compute.places(view, **how)
    return search


def against_control() -> None:
    """Choose what a place must be worse than."""
    with st.popover("How places are found", icon=":material/tune:"):
        one_of(
            "Worse than",
            [AUTOMATIC, *_AGAINST],
            **linked("against"),
            help="nothing wrong: every place whose confidence is off. the average: places further "
            "off than all rows together. rows of the same confidence: what is left after the best "
            "recalibration that looks at the confidence only. automatic: the average where that is "
            "itself beyond chance, else nothing wrong; the headline of Overview is this one.",
        )
        st.caption(
            "Values and ranges of columns, pairs of columns, and regions of the map are looked for "
            "on one half of the rows. The best twelve are tried on the other half, and the other "
            "way round; only what holds there is listed."
        )


def list_places(
    view: View,
    on_map: Embedding,
    search: PlaceSearch,
    key: tuple[Hashable, ...],
    chosen: int | None,
) -> None:
    """Say in words where the confidence is wrong, the most important place first."""
    if not search.places:
        st.success(search.sentence, icon=":material/check_circle:")
        return
    outlined = {str(number + 1) for number in range(len(search.places))}
    if view.points(on=on_map).shape[1] == 2:
        outlined = {name for name, _ in compute.outlines(view.dataset, on_map, key, search)}
    for number, place in enumerate(search.places):
        # A worse part of another place stands under it.
        into = st.container() if place.within is None else st.columns([0.04, 0.96])[1]
        scattered = str(number + 1) not in outlined
        with into:
            _show(view, search, number, key, is_chosen=number == chosen, is_scattered=scattered)
    st.caption(search.sentence)
    csv_button("Places as CSV", search.frame, "places", key="places_csv")


def held_out_note(place: Place, search: PlaceSearch) -> str:
    """Say what a place's own gap is worth."""
    return (
        "Half of these rows were chosen because of their outcomes, which flatters the gap above. "
        f"Fairer: {evidence_of(place, search)[0].lower()}{evidence_of(place, search)[1:]}"
    )


def _show(
    view: View,
    search: PlaceSearch,
    number: int,
    key: tuple[Hashable, ...],
    *,
    is_chosen: bool,
    is_scattered: bool,
) -> None:
    dataset, target, place = view.evaluation, view.aimed, search.places[number]
    said = [evidence_of(place, search)]
    if place.is_region:
        everything = np.ones(len(dataset), dtype=bool)
        made_of = compute.made_of(view, (*key, number), search.mask(number), everything)
        said.append(f"It is {describe_composition(made_of)}.")
    if words := where.retraining_words(place, compute.taught(view)):
        said.append(words)
    if place.within is not None:
        said.append(f"A worse part of place {place.within + 1}.")
    if is_scattered:
        said.append("Its rows lie scattered on this map, so it has no outline.")
    with st.container(border=True):
        text, button = st.columns([6, 1.2], vertical_alignment="center")
        color = "red" if place.sign > 0 else "blue"
        sentence = describe_place(place, top_label=view.target == TOP_LABEL)
        text.markdown(
            f":{color}-badge[**{number + 1}**] **{plain(sentence)}**  \n{plain(' '.join(said))}"
        )
        button.button(
            "Look closer",
            icon=":material/search:",
            key=f"place_{number}",
            width="stretch",
            disabled=is_chosen,
            on_click=choose_place,
            args=(key, number),
        )
        if dataset.images is not None:
            rows = telling_rows(
                target.confidence, target.outcome, place.rows, place.sign, n_rows=_EXAMPLES
            )
            with st.container(horizontal=True, gap="small"):
                for row, url in zip(rows, thumbnail_urls(dataset.images, rows), strict=True):
                    st.image(
                        url,
                        width=56,
                        caption=unbroken(share_words(target.confidence[row])),
                        alt=f"row {row}",
                    )
