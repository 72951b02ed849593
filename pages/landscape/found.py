"""Regions that find themselves: listed, explained, and chosen for a closer look."""

from __future__ import annotations

import numpy as np
import streamlit as st

from lore_core import Embedding, describe_composition
from lore_core.data.dataset import CALIBRATION
from lore_core.regions import MiscalibratedRegion, Outline, RegionSearch, describe_excess, rows_like
from lore_core.view import View
from pages.landscape.region import choose_found, chosen_found
from pages.shared import compute
from pages.shared.controls import linked
from pages.shared.header import plain
from pages.shared.thumbnails import has_image, thumbnail_urls

#: Regions listed and outlined.
_LISTED = 8
_EXAMPLES = 6
_POOLED = "all confidences together"
#: False discovery rate until the reader says otherwise.
DEFAULT_Q = 0.05


def found_regions(view: View) -> tuple[RegionSearch | None, tuple[object, ...]]:
    """Search with the reader's settings, drawn here; the key names the search.

    Many rows are searched only on demand: each move of γ would wait for it.
    """
    n_rows = len(view.evaluation)
    if n_rows > compute.REGIONS_AT_ONCE and not st.toggle(
        f"Look for regions among {n_rows:,} rows", **linked("look")
    ):
        return None, ()
    with st.popover("How regions are found", icon=":material/tune:"):
        q = st.select_slider(
            "False discovery rate q",
            [0.01, 0.02, DEFAULT_Q, 0.1, 0.2],
            value=DEFAULT_Q,
            **linked("q"),
            help="Of the significant rows at most this share is there by chance, in expectation.",
        )
        edge = st.select_slider(
            "A region ends at this share of its height",
            [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
            value=0.5,
            **linked("edge"),
            help="½ recovers a sharp edge that the kernel blurred; more picks out the worst part "
            "of a wide slope.",
        )
        evidence = st.segmented_control(
            "Evidence from",
            [_POOLED, "each confidence bin"],
            default=_POOLED,
            required=True,
            **linked("evidence"),
            help="Together: the most evidence. Each bin: finds places where high and low "
            "confidences are wrong in opposite directions, and needs more rows.",
        )
    each_bin = evidence != _POOLED
    searched = view if each_bin else view.with_(n_bins=1)
    search = compute.regions(searched, q=float(q), edge=float(edge), each_bin=each_bin)
    return search, (searched.key(), q, edge)


def outlines(
    view: View, on_map: Embedding, search: RegionSearch, key: tuple[object, ...], only: int | None
) -> tuple[tuple[str, Outline], ...]:
    """Where the listed regions, or one of them, lie on the map."""
    wanted = range(min(len(search.regions), _LISTED)) if only is None else [only]
    return tuple(
        (
            str(i + 1),
            compute.region_outline(view.dataset, on_map, (*key, i), search.label == i),
        )
        for i in wanted
    )


def held_out_note(region: MiscalibratedRegion) -> str:
    """Say what a region's own gap is worth."""
    return (
        "These rows were chosen because of their outcomes, which flatters this gap. "
        + ("Fairer: " if region.held_out is not None else "")
        + f"{region.sentence}."
    )


def calibration_rows(view: View, inside: np.ndarray) -> np.ndarray:
    """Return which calibration rows lie in a found region: where their nearest row does."""
    if view.calibration is None:
        return np.zeros(0, dtype=bool)
    return rows_like(view.points(), inside, view.points(CALIBRATION))


def list_regions(view: View, search: RegionSearch, key: tuple[object, ...]) -> None:
    """Say in words where the confidence is wrong, worst place first."""
    tests = search.significance
    masked = (
        f" {tests.masked_share:.0%} of the rows have too few effective neighbours to be tested."
        if tests.masked_share > 0.005
        else ""
    )
    n_significant = int(tests.significant(search.q).sum())
    if not search.regions:
        st.success(
            f"No region is beyond chance at {view.kernel_in_words} "
            f"(q = {search.q:g}; {n_significant:,} significant rows).{masked}",
            icon=":material/check_circle:",
        )
        return
    chosen = chosen_found(key, len(search.regions))
    for number, region in enumerate(search.regions[:_LISTED]):
        _show(view, region, number, key, number == chosen)
    hidden = len(search.regions) - _LISTED
    st.caption(
        f"{n_significant:,} of {len(tests.signed):,} evaluation rows are significant "
        f"(Benjamini–Yekutieli, q = {search.q:g}).{masked} Gaps are those of held-out rows: found "
        "on one half of the rows, measured on the other, both ways; confirmed where p is at most "
        "0.05 over the number of regions."
        + (f" {hidden} smaller regions are not listed." if hidden > 0 else "")
    )
    st.download_button(
        "Regions as CSV",
        lambda: search.frame().to_csv(index=False).encode(),
        "lore-lens-regions.csv",
        "text/csv",
        icon=":material/download:",
        on_click="ignore",
        key="regions_csv",
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _show(
    view: View,
    region: MiscalibratedRegion,
    number: int,
    key: tuple[object, ...],
    is_chosen: bool,
) -> None:
    dataset = view.evaluation
    inside = np.zeros(len(dataset), dtype=bool)
    inside[region.rows] = True
    made_of = compute.made_of(
        view.dataset, (*key, number), inside, np.ones(len(dataset), dtype=bool)
    )
    target = view.aimed
    names = np.array(dataset.class_names)[dataset.predictions]
    with st.container(border=True):
        text, button = st.columns([6, 1.2], vertical_alignment="center")
        mark = ":material/verified:" if region.confirmed else ":material/help:"
        color = "red" if region.sign > 0 else "blue"
        excess = f"{abs(region.excess):,.0f} {'more' if region.sign > 0 else 'fewer'} mistakes"
        text.markdown(
            f":{color}-badge[**{number + 1}**] {mark} **{_sentence(region.sentence)}** · "
            f"{excess} than promised  \n{plain(_sentence(describe_composition(made_of)))}. "
            f"{plain(describe_excess(names, target.confidence, target.outcome, inside))}"
        )
        button.button(
            "Look closer",
            icon=":material/search:",
            key=f"found_{number}",
            width="stretch",
            disabled=is_chosen,
            on_click=choose_found,
            args=(key, number),
        )
        if has_image(dataset):
            rows = region.examples(target.confidence, target.outcome, _EXAMPLES)
            with st.container(horizontal=True, gap="small"):
                for row, url in zip(rows, thumbnail_urls(dataset, rows), strict=True):
                    st.image(url, width=56, caption=f"{target.confidence[row]:.0%}")
