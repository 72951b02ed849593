"""Overview: is the model calibrated, what would a global fix leave, and where?"""

from __future__ import annotations

from typing import Any

import streamlit as st

from lore_core import describe_maximum
from lore_core.comparison import Summary
from lore_core.comparison.tables import metric_table
from lore_core.data.number_text import unbroken
from lore_core.inference.intervals import ABOUT_INTERVALS
from lore_core.metrics.catalogue import GLOBAL_TILES, TILES
from lore_core.regions.subgroups.find import SubgroupSearch
from lore_core.regions.subgroups.overall import Overall
from lore_core.view import View
from pages.shared import compute
from pages.shared.cells import show_metrics, show_tile
from pages.shared.charts import csv_button, diagram_choice, end_page, next_step, show_reliability
from pages.shared.controls import asks_for_vector, linked, view_controls
from pages.shared.header import headline, plain, question
from pages.shared.live import hear
from pages.shared.maps import planar_maps
from pages.shared.session import current
from pages.shared.subgroups import choose_subgroup, is_searched, show_card, small_map
from pages.shared.tasks import await_result, is_ready
from pages.shared.vector import show_vector_overview
from pages.shared.whole import whole_metrics

_MAP = "overview_map"
#: Subgroups listed; the Landscape lists all.
_LISTED = 4
#: Seconds that the headline waits for its second line.
_WAIT_SECONDS = 0.3
_TESTING = "Testing what a global recalibration method would leave …"


def _see(number: int) -> None:
    choose_subgroup(view.evaluation, compute.subgroups(view).subgroups[int(number)])
    st.switch_page("pages/landscape/page.py", query_params=st.query_params.to_dict())


def _list_subgroups(view: View, search: SubgroupSearch) -> None:
    on_map = view.is_local and bool(planar_maps(view.dataset))
    for number in range(min(_LISTED, len(search.subgroups))):
        show_card(view, search, number, links_to_map=on_map)
    hidden = len(search.subgroups) - _LISTED
    if hidden > 0:
        st.caption(f"{hidden} more on the Landscape.")


def _asks_remaining(view: View, overall: Overall, search: SubgroupSearch | None) -> bool:
    """Whether anything is wrong that a global method could correct or leave."""
    if view.calibration is None or search is None:
        return False
    return overall.matters or bool(search.subgroups)


def _metrics(view: View, found: Summary) -> None:
    chance = compute.chance_errors(view) if found.local is not None else None
    table = metric_table(found, chance)
    show_metrics(table)
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


settings = question(
    "Is the model calibrated?",
    "Overall, in subgroups, and after the best global recalibration, all on the evaluation rows.",
)
hear(_MAP)
whole = asks_for_vector(current().dataset)
view = view_controls(settings, shows_vector=True)
if whole:
    show_vector_overview(view)
    end_page("pages/landscape/page.py", "where is it wrong? Landscape")
searched = is_searched(view)
verdict = compute.verdict(view, searched)
search = compute.subgroups(view) if searched else None
overall = compute.overall(view)
top = st.container(key="main_answer").empty()
request = None
if _asks_remaining(view, overall, search):
    request = compute.remaining_request(view)


def _head(more: str = "") -> None:
    with top.container():
        headline(verdict, more)


def _say_remaining(**how: Any) -> None:
    found = await_result(request, **how) if request is not None else None
    _head("" if found is None else found.sentence(overall))


known = request is None or is_ready(request, _WAIT_SECONDS)
if known:
    _say_remaining()
else:
    _head(_TESTING)
picture = st.container(key="main_picture")
has_list = search is not None and bool(search.subgroups)
left, right = picture.columns([1, 1.2], gap="medium") if has_list else (None, picture)
if left is not None and search is not None:
    with left:
        _list_subgroups(view, search)
if view.is_local:
    with right:
        small_map(view, search, _MAP, _see)
found = compute.summary(view)
with st.grid(len(TILES), min_column_width=150, gap="xsmall"):
    for metric in TILES if view.is_local else GLOBAL_TILES:
        show_tile(found, metric)

names = ["Reliability", "All metrics", "How sure is this?"]
tabs = st.tabs(names, **linked("overview_tab"))
if tabs[0].open:
    with tabs[0]:
        show_reliability(
            diagram_choice(),
            found.reliability,
            lambda: compute.isotonic(view),
            "reliability",
            rows=view.rows,
            bins=f"{found.reliability.bins.n_bins} {view.binning} bins",
        )
if tabs[1].open:
    with tabs[1]:
        _metrics(view, found)
if tabs[2].open:
    with tabs[2]:
        st.markdown(plain(verdict.evidence))
        if search is not None:
            st.markdown(plain(search.sentence))
whole_metrics(view)
next_step("pages/landscape/page.py", "where is it wrong? Landscape")
if not known:
    _say_remaining(container=st.container())
