"""Overview: is the model calibrated, what would a global fix leave, and where?"""

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lore_core import describe_maximum
from lore_core.comparison.tables import metric_table
from lore_core.data.dataset import ALL_CLASSES
from lore_core.data.number_text import unbroken
from lore_core.inference.intervals import ABOUT_INTERVALS
from lore_core.metrics.catalogue import GLOBAL_TILES, TILES
from lore_core.metrics.proper_scores import clip_note
from lore_core.metrics.tables import metric_columns
from pages.shared import compute
from pages.shared.cells import show_tile
from pages.shared.charts import csv_button, diagram_choice, end_page, next_step, show_reliability
from pages.shared.controls import show_tabs, view_controls
from pages.shared.header import headline, plain, question
from pages.shared.live import hear
from pages.shared.maps import planar_maps
from pages.shared.subgroups import choose_subgroup, is_searched, show_card, small_map
from pages.shared.tasks import await_result, is_ready
from pages.shared.vector import show_vector_overview
from pages.shared.whole import whole_metrics

_MAP = "overview_map"
#: Subgroups listed; the Landscape lists all.
_LISTED = 4
_TESTING = "Testing what a global recalibration method would leave …"


def _see(number: int) -> None:
    choose_subgroup(view.evaluation, compute.subgroups(view).subgroups[int(number)])
    st.switch_page("pages/landscape/page.py", query_params=st.query_params.to_dict())


settings = question(
    "Is the model calibrated?",
    "Overall, in subgroups, and after the best global recalibration, all on the evaluation rows.",
)
hear(_MAP)
view = view_controls(settings, shows_vector=True)
if view.target == ALL_CLASSES:
    show_vector_overview(view)
    end_page("pages/landscape/page.py", "where is it wrong? Landscape")
searched = is_searched(view)
verdict = compute.verdict(view, searched)
search = compute.subgroups(view) if searched else None
overall = compute.overall(view)
top = st.container(key="main_answer").empty()
# Whether anything is wrong that a global method could correct or leave.
found_any = search is not None and bool(search.subgroups)
request = None
if view.calibration is not None and search is not None and (overall.matters or found_any):
    request = compute.remaining(view)


def _head(container: DeltaGenerator) -> None:
    remaining = await_result(request, container) if request is not None else None
    with top.container():
        headline(verdict, "" if remaining is None else remaining.sentence(overall))


known = request is None or is_ready(request)
if known:
    _head(top)
else:
    with top.container():
        headline(verdict, _TESTING)
picture = st.container(key="main_picture")
if search is not None and found_any:
    left, picture = picture.columns([1, 1.2], gap="medium")
    with left:
        on_map = view.is_local and bool(planar_maps(view.dataset))
        for number in range(min(_LISTED, len(search.subgroups))):
            show_card(view, search, number, links_to_map=on_map)
        if (hidden := len(search.subgroups) - _LISTED) > 0:
            st.caption(f"{hidden} more on the Landscape.")
if view.is_local:
    with picture:
        small_map(view, search, _MAP, _see)
found = compute.summary(view)
with st.grid(len(TILES), min_column_width=150, gap="xsmall"):
    for metric in TILES if view.is_local else GLOBAL_TILES:
        show_tile(found, metric)
if clips := clip_note({"": found.unclipped_nll}):
    st.caption(clips)


def _reliability() -> None:
    bins = f"{found.reliability.bins.n_bins} {view.binning} bins"
    isotonic = partial(compute.isotonic, view)
    chosen, key = diagram_choice(), "reliability"
    show_reliability(chosen, found.reliability, isotonic, key, rows=view.rows, bins=bins)


def _metrics() -> None:
    chance = compute.chance_errors(view) if found.local is not None else None
    table = metric_table(found, chance)
    st.dataframe(metric_columns(table), hide_index=True, height="content")
    csv_button(
        "Metrics as CSV",
        lambda: table,
        "metrics",
        type="tertiary",
        help="Every metric with its unit, 95 % interval, p-value and number of rows.",
    )
    st.caption(unbroken(f"n = {found.n_rows:,} evaluation rows. {ABOUT_INTERVALS}"))
    if found.local is not None:
        st.caption(unbroken(describe_maximum(found.local, chance)))


def _how_sure() -> None:
    st.markdown(plain(verdict.evidence))
    if search is not None:
        st.markdown(plain(search.sentence))


show_tabs(
    "overview_tab",
    {"Reliability": _reliability, "All metrics": _metrics, "How sure is this?": _how_sure},
)
whole_metrics(view)
next_step("pages/landscape/page.py", "where is it wrong? Landscape")
if not known:
    _head(st.container())
