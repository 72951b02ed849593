"""Landscape: where is the confidence wrong?"""

from collections.abc import Hashable
from dataclasses import replace

import numpy as np
import streamlit as st

from lore_core.data.number_text import unbroken
from lore_core.figures import cdf_figure, reliability_figure
from lore_core.figures.pictures.landscape_picture import Value
from lore_core.metrics.catalogue import MIN_BIN_ROWS
from lore_core.view.where import reliability_of
from pages.landscape import picture as pictures, region
from pages.landscape.subgroups import AGAINST, against_control, chosen_note, list_subgroups
from pages.shared import compute, controls
from pages.shared.charts import end_page, next_step, show_chart
from pages.shared.controls import linked, one_of
from pages.shared.header import headline_in_a_line, plain, question
from pages.shared.live import hear, is_mapped
from pages.shared.maps import planar_maps
from pages.shared.session import export_selection
from pages.shared.subgroups import SUBGROUPS_TAB, chosen_subgroup, is_searched, search_key
from pages.shared.whole import whole_landscape

#: What colours of the local error mean.
_ERRORS: dict[str, Value] = {"signed error": "signed", "absolute error": "absolute"}


settings = question(
    "Where is the confidence wrong?",
    "The signed local calibration error of the evaluation rows on a map of their features.",
)
hear(pictures.KEY)
menu = controls.settings_menu(settings)
view = controls.view_controls(menu)
if not view.is_local:
    end_page("pages/data/page.py", "load features on the Data page")
if not planar_maps(view.dataset):
    end_page(
        "pages/bandwidth/page.py",
        "MLCE against bandwidth",
        "A map needs at least two features; these data have one. The Overview and Bandwidth "
        "pages work on it all the same.",
    )
table = compute.reliability(view)
errors = compute.errors(view)

answer = st.container(key="main_answer", gap="xsmall")
picture, side = st.container(key="main_picture").columns([2.3, 1], gap="medium")
with side.container(key="toolbar", gap="small"):
    layer = one_of(
        "Picture",
        ["field", "rows", "both", "3-D"],
        **linked("picture"),
        help="field: the error everywhere on the map. rows: each row as a point. 3-D: the LCE as "
        "height. On a 3-D map the rows are always drawn.",
    )
    # (They stand one below the other where the window is narrow.)
    pair = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    by = pair.selectbox(
        "Colour by",
        [*_ERRORS, *pictures.color_choices(view.evaluation)],
        width=152,
        **linked("color"),
        help="signed error: red is overconfident, blue underconfident. absolute error: the LCE. "
        "By anything else the rows are drawn one by one.",
    )
    chosen = controls.bin_control(
        pair.container(width=152),
        table,
        ["all", "worst", "best"],
        "bin",
        f"worst, best: largest and smallest |gap| of the bins with {MIN_BIN_ROWS} rows or more. "
        "Or click a bar of the diagram.",
    )
    words = st.text_input(
        "Find rows",
        **linked(region.ASKED),
        placeholder="predicted: Shirt; confidence < 0.7",
        icon=":material/search:",
        on_change=region.forget_region,
        help="Highlights rows on the map and in the charts, and reports on them. A word of any "
        "column, or conditions with commas between them, which must all hold. Columns: predicted, "
        "true, confidence, groups and metadata.",
    ).strip()
    beyond = st.toggle(
        "Significant only",
        **linked("beyond"),
        help="Colour only the subgroups listed below, each tested on held-out rows, and show "
        "beside the LCE what a calibrated model has.",
    )
map_name, on_map = controls.map_control(view, menu[1])

scene = compute.scene(view, chosen, on_map, map_name)
rows, sentence = scene.rows, scene.sentence
headline, way = answer.columns([4.3, 1.7], vertical_alignment="center")
answer.container(key="said").caption(unbroken(sentence))
details = st.container()
below = st.container()
tabs = below.tabs([SUBGROUPS_TAB, region.ROWS_TAB], **linked("below"))
# The search comes before the picture that outlines what it found, though it stands below.
search = chosen_one = None
key: tuple[Hashable, ...] = ()
# What is significant is drawn stronger, whichever list is open.
with tabs[0]:
    searched = is_searched(view)
    listing, foot = st.container(), st.container()
    if searched:
        with foot:
            against_control()
        # By default it is the very search behind the headline.
        search = compute.subgroups(view, AGAINST.get(st.session_state.get("against")))


def _answer() -> None:
    verdict = compute.verdict(view, searched)
    with headline:
        headline_in_a_line(verdict)
    if verdict.level != "good":
        way.page_link(
            "pages/recalibrate/page.py", label="Does recalibration fix it?", icon=":material/tune:"
        )


# A changed picture does not wait for what the headline tests; the first would be moved by it.
if not (was_mapped := is_mapped(pictures.KEY)):
    _answer()
if search is not None:
    key = search_key(view, search)
    chosen_one = chosen_subgroup(view, search, answer)
    if beyond:
        scene = replace(scene, only=search.inside())
# Not at every move of γ: simulations take their time.
chance = compute.chance_errors(view, bin_index=chosen) if beyond else None
marked = region.marked_rows(scene, chosen_one, words)
export_selection(None if marked is None else marked.rows)
colors = None if by in _ERRORS else pictures.colors_of(scene, by)
with picture:
    value = _ERRORS.get(by, "signed")
    pictures.show_picture(scene, search, chosen_one, marked, value, layer, colors)
if was_mapped:
    _answer()
with details:
    if search is not None and chosen_one is not None:
        region.region_panel(
            view,
            errors,
            chosen_one.mask,
            among=np.ones_like(chosen_one.mask),
            key=(*key, chosen_one.saved.id),
            title=plain(chosen_one.title),
            note=plain(chosen_note(chosen_one, search)),
            titled=[part.column for part in chosen_one.saved.conditions],
        )
    elif layer != "3-D" or on_map.n_components == 3:
        pictures.show_asked(scene, words)
if tabs[0].open and search is not None:
    with listing:
        list_subgroups(view, on_map, search, key, chosen_one)
if tabs[1].open:
    with tabs[1]:
        region.list_worst(view, errors, scene.worst, marked)


def _choose_bin(number: int) -> None:
    if number in np.flatnonzero(table.count):
        st.session_state["bin"] = table.bins.name(number)


def _bins() -> None:
    highlighted = None if marked is None else (marked.name, reliability_of(view, marked.rows))
    chart = reliability_figure(
        table,
        rows=f"{view.rows}; click a bar",
        chosen=chosen,
        highlighted=highlighted,
        height=330,
        title="Confidence bins",
    )
    show_chart(chart, "chooser", narrow=True, on_pick=_choose_bin)


def _distribution() -> None:
    curves = {"LCE" if marked is None else "all": errors.absolute[rows]}
    if marked is not None:
        curves[marked.name] = errors.absolute[marked.rows]
    chart = cdf_figure(
        curves,
        rows=f"{scene.bin_name.lower()}, {scene.n_rows:,} evaluation rows",
        global_error=None if chosen is None else float(abs(table.gap[chosen])),
        null=chance,
        highlighted="" if marked is None else marked.name,
        title="LCE over rows",
    )
    show_chart(chart, "cdf", narrow=True)


# After all else: Plotly, as it loads and draws, would hold up what the map paints.
with side.container(key="side_charts"):
    controls.show_tabs("beside", {"Confidence bins": _bins, "LCE over rows": _distribution})
whole_landscape(view, chosen)
next_step("pages/recalibrate/page.py", "does recalibration fix it? Recalibrate")
