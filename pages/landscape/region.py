"""Rows that are looked at: drawn on the map, of a subgroup, or asked for in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from lore_core import (
    Dataset,
    Embedding,
    InputError,
    describe_composition,
    region_report,
    reliability_table,
)
from lore_core.data.arrays import Mask
from lore_core.data.number_text import decimal, p_words, unbroken
from lore_core.figures import reliability_figure
from lore_core.figures.pictures.picture import truncate
from lore_core.metrics import LocalErrors
from lore_core.metrics.glossary import FISHER, GLOSSARY
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE
from lore_core.regions import Selection, row_table, worst_rows
from lore_core.view import View
from lore_core.view.scene import Scene
from lore_core.view.view import scored_by_unit
from pages.shared import compute
from pages.shared.cells import count_column, in_hundredths, share_column
from pages.shared.charts import csv_button, show_chart
from pages.shared.header import plain
from pages.shared.rows import pick_row, picked_row, show_row, show_rows
from pages.shared.session import name_in_link
from pages.shared.subgroups import Chosen, forget_subgroup

#: The tab that shows a row.
ROWS_TAB = "Worst rows"
_REGION, _PARAMETER = "_region", "region"
ASKED = "find"
#: Rows listed; the CSV holds all.
_LISTED = 200
#: Values listed in the composition; its toolbar saves them.
_COMPOSITION_ROWS = 9
#: Letters of a subgroup's name in a legend.
_MAX_LETTERS = 40
#: A region holds fewer rows than the map, so its reliability diagram has fewer bins.
_INSIDE_BINS = 10


def take_selection(parts: Sequence[Mapping[str, Any]] | None, map_name: str) -> None:
    """Keep what was drawn on a map; see :meth:`~lore_core.regions.Selection.from_parts`."""
    drawn = Selection.from_parts(parts or ())
    clear_region()
    if drawn:
        st.session_state[_REGION] = (map_name, drawn)


def take_row(row: float) -> None:
    """Show the row that was clicked on the map."""
    pick_row(int(row))
    st.session_state["below"] = ROWS_TAB


def drawn_region(map_name: str, on: Embedding) -> Selection:
    """Return what was drawn on this map, in this session or in the one a link is from."""
    named = st.query_params.get(_PARAMETER)
    if named is not None and _REGION not in st.session_state:
        try:
            st.session_state[_REGION] = (map_name, Selection.from_text(named))
        except InputError:
            name_in_link(_PARAMETER, None)
    name, drawn = st.session_state.get(_REGION, ("", Selection()))
    if name != map_name or not drawn or not drawn.fits(on.n_components):
        return Selection()
    name_in_link(_PARAMETER, drawn.text)
    return drawn


def clear_region() -> None:
    """Select nothing, and ask for nothing."""
    forget_region()
    st.session_state[ASKED] = ""


def forget_region() -> None:
    """Clear what was drawn, and the chosen subgroup."""
    st.session_state.pop(_REGION, None)
    name_in_link(_PARAMETER, None)
    forget_subgroup()


def region_panel(
    view: View,
    errors: LocalErrors,
    inside: np.ndarray,
    *,
    among: np.ndarray,
    key: tuple[Any, ...],
    title: str,
    note: str = "",
    titled: Sequence[str] = (),
) -> None:
    """Report on rows inside compared with ``among``; ``titled``: columns that are no news."""
    dataset, target = view.evaluation, view.target_rows
    report = region_report(**view.scored_by_unit, inside=inside)
    with st.container(border=True):
        head, button = st.columns([6, 1], vertical_alignment="center")
        head.markdown(f"**{title}** · {unbroken(report.sentence)}")
        button.button("Clear", on_click=clear_region, width="stretch", key="clear_region")
        if report.n_rows == 0:
            return
        composed = compute.region_composition(view, key, inside, among, tuple(titled))
        if note:
            head.caption(note)
        beside = "Beside that it is" if titled else "It is"
        head.markdown(f"{beside} {plain(describe_composition(composed))}.")
        left, right = st.columns([1.7, 1], gap="medium")
        with left:
            _show_composition(composed, int(among.sum()) - report.n_rows)
        with right:
            table = reliability_table(**scored_by_unit(target, inside), n_bins=_INSIDE_BINS)
            rows = f"{report.n_rows:,} selected rows"
            chart = reliability_figure(table, rows=rows, height=300, title="Reliability inside")
            show_chart(chart, "inside", narrow=True)
        _show_inside(dataset, errors, inside, report.n_rows)


def _show_composition(composed: pd.DataFrame, n_outside: int) -> None:
    looked_at = int(composed.attrs["looked_at"])
    st.markdown("**Composition compared with the rest**")
    if looked_at == 0:
        st.caption("Nothing to compare: no other rows are shown, or no columns are known.")
        return
    shown = composed[composed["p_adjusted"] < 0.05].head(_COMPOSITION_ROWS)
    if shown.empty:
        st.caption(
            f"None of the {looked_at:,} values tested is significantly more frequent inside than "
            f"among the {n_outside:,} other rows on the map."
        )
        return
    shares, text = ["share_inside", "share_outside"], st.column_config.TextColumn
    table = in_hundredths(shown[["attribute", "value", *shares]], *shares).assign(
        times=[
            "over 100"
            if lift >= 100
            else f"{decimal(lift, 1)} ({decimal(low, 1)} to {decimal(high, 1)})"
            for lift, low, high in shown[["lift", "lift_low", "lift_high"]].to_numpy()
        ],
        p=shown["p_adjusted"].map(p_words),
        rows=shown["rows_inside"],
    )
    st.dataframe(
        table,
        hide_index=True,
        height="content",
        column_config={
            "attribute": "column",
            "share_inside": share_column("inside", width=70),
            "share_outside": share_column("outside", width=70),
            "times": text("times", help="As frequent inside as outside, and its 95 % interval."),
            "p": text("p", width=70, help=f"{FISHER}, adjusted (Holm). {GLOSSARY[FISHER]}"),
            "rows": count_column("rows", width=60),
        },
    )
    st.caption(
        f"Significantly over-represented, of {looked_at:,} values tested; strongest evidence "
        f"first. Outside are the {n_outside:,} other rows on the map."
    )


def _show_inside(dataset: Dataset, errors: LocalErrors, inside: np.ndarray, n_rows: int) -> None:
    listed = worst_rows(errors, within=inside, n_rows=_LISTED)
    show_rows(dataset, listed, errors, "region_rows")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            f"{len(listed):,} of {n_rows:,} rows, largest local error first. A picked row is "
            "ringed on the map and explained under “Worst rows”.",
            width="stretch",
        )
        csv_button(
            "All of them as CSV",
            lambda: row_table(dataset, np.flatnonzero(inside), errors),
            "region",
            key="region_csv",
        )


@dataclass(frozen=True, eq=False)
class Marked:
    """Some evaluation rows and what they are called."""

    rows: Mask  #: (n,); mask
    name: str  #: In few words
    is_drawn: bool = False  #: Whether they are what was drawn on the map, which marks them itself


def marked_rows(scene: Scene, chosen: Chosen | None, words: str) -> Marked | None:
    """Return what is looked at: a subgroup, else what was drawn or asked for in words."""
    if chosen is not None:
        return Marked(chosen.mask & scene.rows, truncate(chosen.title, _MAX_LETTERS))
    region = drawn_region(scene.axes, scene.on)
    if region or words:
        name = "selected rows" if region else f"“{words}”"
        return Marked(asked_rows(scene, region or words), name, is_drawn=bool(region))
    return None


def asked_rows(scene: Scene, asked: Selection | str) -> Mask:
    """Return which of the evaluation rows shown are asked for."""
    if isinstance(asked, str):
        return np.asarray(compute.matching_rows(scene.view.evaluation, asked)) & scene.rows
    return asked.contains(scene.points.astype(np.float32)) & scene.rows  # as the browser has them


def list_worst(view: View, errors: LocalErrors, worst: np.ndarray, marked: Marked | None) -> None:
    """List the worst rows, and the picked one beside them."""
    dataset, gamma = view.evaluation, view.gamma
    if len(worst) == 0:
        st.caption(
            f"No row shown here has {MIN_EFFECTIVE_SIZE:g} effective neighbours at γ = {gamma:g}: "
            "raise γ, or switch off “Significant only”."
        )
        return
    listing, detail = st.columns([3, 1], gap="medium")
    with listing:
        known = None if marked is None else (marked.name, marked.rows)
        show_rows(dataset, worst, errors, "worst_rows", known)
        st.caption(
            f"The {len(worst)} rows with the largest local error among those with "
            f"{MIN_EFFECTIVE_SIZE:g} effective neighbours or more; ringed on the map."
        )
    with detail:
        picked = picked_row(dataset)
        shown = int(worst[0]) if picked is None else picked
        show_row(dataset, shown, errors)
