"""What a comparison shows: tables of methods, landscapes and reliability before and after."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from lore_core import Comparison, region_report
from lore_core.comparison.conclusions import nothing_done, subgroup_gaps
from lore_core.comparison.effects import about_predictions
from lore_core.comparison.tables import beyond_chance
from lore_core.data.arrays import Mask
from lore_core.data.number_text import POINTS, unbroken
from lore_core.figures import cdf_figure
from lore_core.figures.browser.landscape import LiveLandscape, SecondField
from lore_core.inference.intervals import ABOUT_INTERVALS
from lore_core.metrics import catalogue
from lore_core.metrics.metric import Metric
from lore_core.regions import Subgroup, class_positions
from lore_core.view import View
from lore_core.view.methods import Grouping
from lore_core.view.view import scored_by_unit
from pages.shared import cells, compute
from pages.shared.cells import TINTS
from pages.shared.charts import chart_line, diagram_choice, show_chart, show_reliability
from pages.shared.controls import bin_control, linked, map_control, one_of
from pages.shared.header import plain
from pages.shared.live import live_landscape, map_as_seen, map_key
from pages.shared.maps import plane_of
from pages.shared.methods import pair_controls, pair_of_maps
from pages.shared.subgroups import title_of

_SIDES = ("before", "after")
#: Each method in its own map, or both in one.
_BESIDE, _SWIPED = "two", "one"
#: What the short table shows of each method, besides the score they are ranked by.
_SHORT = (catalogue.ECE, catalogue.MLCE_SUPPORTED, catalogue.WORST_GROUP_GAP)
Pair = tuple[str, str]


def compare_maps(view: View, result: Comparison, measured_on: str) -> tuple[Pair, Mask, str]:
    """Draw two methods' landscapes; return the methods, the rows shown and their bin."""
    pictures = st.container()
    head = st.columns([2, 2, 1.5, 1.7, 1.8], vertical_alignment="bottom")
    pair = before, _ = pair_controls(result, head[0], head[1])
    local, table = result.summaries[before].local, result.summaries[before].reliability
    assert local is not None
    about = f"The rows of this bin before (by “{before}”); the same rows are shown after."
    index = bin_control(head[2], table, ["all", "worst"], "compare_bin", about)
    rows, bin_name = np.ones(len(local.signed), dtype=bool), "all confidences"
    if index is not None:
        rows, bin_name = local.bin_index == index, f"confidence {table.bins.name(index)}"
    on = map_control(view, head[3])
    if on[1].n_components != 2:
        on = plane_of(view) or on
    points = view.points(on=on[1])
    if points.shape[1] != 2:
        pictures.info(
            f"Landscapes before and after are drawn on a 2-D map; {on[0]} is not one. Choose "
            "another under “Draw on”.",
            icon=":material/map:",
        )
        return pair, rows, bin_name
    about = f"{bin_name}, γ = {view.gamma:g} on {measured_on}"
    key = (measured_on, bin_name, before)
    labels = class_positions(view.evaluation, points, rows)
    fields, charts = pair_of_maps(
        view, result, pair, on, rows, key, about, pair, labels=labels, height=380
    )
    about = "two: side by side. one: a handle divides before from after."
    maps = one_of("Maps", [_BESIDE, _SWIPED], **linked("maps"), help=about, into=head[4])
    is_swiped = maps == _SWIPED
    with pictures:
        if is_swiped:
            live = LiveLandscape(
                picture=charts[0],
                field=fields[0],
                against=SecondField(pair, fields[1]),
                n_shown=int(rows.sum()),
                map_key=map_key(view.dataset, on[1]),
                gamma=view.gamma,
            )
            live_landscape(live, "swipe")
            st.caption(f"Before is left of the handle, after right of it. {charts[0].how_to_read}")
        columns = st.columns(2, gap="medium")
        for column, side, name, chart in zip(columns, _SIDES, pair, charts, strict=True):
            sentence = region_report(**scored_by_unit(result.datasets[name]), inside=rows).sentence
            with column:
                if is_swiped:
                    words = f"{plain(name)}: {sentence}"
                    as_seen = map_as_seen(chart, live.map_key)
                    chart_line(chart, f"landscape_{side}", caption=words, as_seen=as_seen)
                else:
                    show_chart(chart, f"landscape_{side}", caption=sentence)
    return pair, rows, bin_name


def compare_reliability(view: View, result: Comparison, pair: Pair) -> None:
    """Show reliability before and after."""
    diagram = diagram_choice()
    for column, side, name in zip(st.columns(2), _SIDES, pair, strict=True):
        with column:
            show_reliability(
                diagram,
                result.summaries[name].reliability,
                partial(compute.isotonic, view, result.datasets[name]),
                f"reliability_{side}",
                rows=f"{len(view.evaluation):,} evaluation rows",
                bins=view.bins_in_words,
                height=360,
                of=name,
            )


def compare_distributions(
    view: View, result: Comparison, pair: Pair, rows: Mask | None, bin_name: str, measured_on: str
) -> None:
    """Show the local errors of some rows before and after; nothing where none are compared."""
    if rows is None:
        return
    local = {name: result.summaries[name].local for name in pair}
    show_chart(
        cdf_figure(
            {name: item.absolute[rows] for name, item in local.items() if item is not None},
            rows=f"{bin_name}, γ = {view.gamma:g} on {measured_on}, "
            f"{int(rows.sum()):,} evaluation rows",
        ),
        "cdf_compare",
    )


def _column(result: Comparison, metric: Metric) -> pd.Series[str]:
    name = metric.name
    text = result.estimates[name].map(metric.text)
    if name not in result.low:
        return text
    low, high = (frame[name].map(metric.text) for frame in (result.low, result.high))
    return text + "  (" + low + "–" + high + ")"


def short_table(result: Comparison, pending: Sequence[str] = ()) -> None:
    """List the methods, the best first, by the tested score and what they cost elsewhere.

    ``pending``: methods that are not measured yet.
    """
    by = result.ranked_by
    names = [name for name in result.ranking if name in result.table.index]
    estimates = result.estimates.loc[names]
    text = pd.DataFrame({by.heading: estimates[by.name].map(by.text)}, index=names)
    tints: dict[str, list[str]] = {}
    tested = "difference (95 % CI)"
    if pending:
        text[tested] = "…"
    elif by.is_paired and len(names) > 1:
        apart = result.difference(by).reindex(names)[["difference", "low", "high"]].to_numpy()
        text[tested] = [
            by.unit.estimate_text(*row, signed=True) if row[0] == row[0] else "–" for row in apart
        ]
        tints[tested] = [TINTS[beyond_chance(*row[1:])] for row in apart]
    for metric in _SHORT:
        if metric.name in result.table:
            text[metric.heading] = _column(result, metric).loc[names]
    text.index = pd.Index([result.names[name] for name in names], name="method")
    text = text.reindex([*text.index, *pending], fill_value="…")
    first = str(result.table.index[0])
    column = st.column_config.TextColumn
    config = {m.heading: column(m.heading, help=m.explanation) for m in (by, *_SHORT)}
    cells.show_tinted(text, tints, config)
    n = next(iter(result.summaries.values())).n_rows
    st.caption(
        unbroken(
            f"Best {by.words} first; n = {n:,} evaluation rows, 95 % CI. Green: significantly "
            f"better than {plain(nothing_done(first))}; amber: significantly worse. "
            f"{plain(result.note_on_nll)}"
        )
    )


def metrics_table(
    result: Comparison, grouping: Grouping | None, measured_on: str, *, pending: bool = False
) -> None:
    """Methods × metrics; ``pending``: whether intervals are still being simulated."""
    metrics = [metric for metric in catalogue.METHOD_TABLE if metric.name in result.table]
    text = pd.DataFrame({metric.name: _column(result, metric) for metric in metrics})
    text.index = pd.Index(result.names.values(), name="method")
    found = {name: f.reindex(result.table.index) for name, f in result.differences.items()}
    ends = {name: (item["low"], item["high"]) for name, item in found.items()}
    cells.show_methods(text, metrics, ends, explained=True)
    first, n = result.table.index[0], next(iter(result.summaries.values())).n_rows
    paired = ", ".join(item.words for item in result.paired if item in metrics)
    notes = [
        f"n = {n:,} evaluation rows, 95 % intervals. Green: significantly better than “{first}” "
        f"(paired, all methods taken together); amber: worse. Only means of rows ({paired}) can "
        f"be tested so. {ABOUT_INTERVALS}"
    ]
    without = [item.title for item in metrics if item.has_interval and item.name not in result.low]
    if without and pending:
        notes.append(f"Not simulated yet: the intervals of {', '.join(without)}.")
    elif without:
        on = f" on {measured_on}" if measured_on else ""
        notes.append(
            f"Without one: {', '.join(without)}; simulating {n:,} rows{on} would take too long "
            "to wait for."
        )
    notes.append(
        "The paper's unfiltered maxima, MLCE and group-wise MCE, rest on single rows and cells: "
        "they are in the CSV."
    )
    if grouping is not None and catalogue.WORST_CELL.name in result.table:
        notes.append(f"Groups by {plain(grouping.column)}, {grouping.min_group_size} rows or more.")
    notes += [plain(about_predictions(result.most_probable)), plain(result.note_on_nll)]
    st.caption(unbroken(" ".join(notes)))


def subgroups_table(result: Comparison, found: Sequence[Subgroup]) -> None:
    """Show the gap of each subgroup under every method, on rows that had no part in finding it."""
    if not found:
        st.caption("No subgroup is significantly miscalibrated.")
        return
    methods = list(dict.fromkeys([next(iter(result.datasets)), *result.ranking]))
    gaps = [subgroup_gaps(result, item).loc[methods] for item in found]
    names = pd.Index([title_of(item, k) for k, item in enumerate(found)], name="subgroup")
    shown = [result.names.get(name, name) for name in methods]
    text = pd.DataFrame(
        [
            [POINTS.estimate_text(*row, signed=True) for row in one[["gap", "low", "high"]].values]
            for one in gaps
        ],
        columns=shown,
        index=names,
    )
    colors = {1: TINTS["better"], -1: TINTS["worse"], 0: ""}
    tints = {k: [colors[one["change"].iloc[m]] for one in gaps] for m, k in enumerate(shown)}
    text.insert(0, "held-out rows", [len(item.held_out) for item in found])
    config = {"subgroup": st.column_config.TextColumn(pinned=True, width=260)}
    cells.show_tinted(text, tints, config)
    st.caption(
        "Gap in points with its 95 % CI, on held-out rows. Green: significantly nearer to zero "
        f"than {plain(nothing_done(methods[0]))}; amber: significantly further off."
    )
