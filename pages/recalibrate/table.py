"""Methods × metrics: estimates, intervals, and which differences are significant."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from lore_core import Comparison
from lore_core.comparison.conclusions import nothing_done, subgroup_gaps
from lore_core.comparison.effects import about_predictions
from lore_core.comparison.tables import beyond_chance
from lore_core.data.number_text import POINTS, unbroken
from lore_core.inference.intervals import ABOUT_INTERVALS
from lore_core.metrics.catalogue import (
    ECE,
    METHOD_TABLE,
    MLCE_SUPPORTED,
    WORST_CELL,
    WORST_GROUP_GAP,
)
from lore_core.metrics.metric import Metric
from lore_core.regions import Subgroup
from lore_core.view.methods import Grouping
from pages.shared.cells import TINTS, show_methods
from pages.shared.header import plain
from pages.shared.subgroups import title_of


def _column(result: Comparison, metric: Metric) -> pd.Series[str]:
    name = metric.name
    text = result.estimates[name].map(metric.text)
    if name not in result.low:
        return text
    low, high = (frame[name].map(metric.text) for frame in (result.low, result.high))
    return text + "  (" + low + "–" + high + ")"


#: What the short table shows of each method, besides the score they are ranked by.
_SHORT = (ECE, MLCE_SUPPORTED, WORST_GROUP_GAP)


def short_table(result: Comparison) -> None:
    """List the methods, the best first, by the tested score and what they cost elsewhere."""
    by = result.ranked_by
    names = [name for name in result.ranking if name in result.table.index]
    estimates = result.estimates.loc[names]
    text = pd.DataFrame({by.heading: estimates[by.name].map(by.text)}, index=names)
    tint: dict[str, str] = {}
    tested: list[str] = []
    if by.is_paired and len(names) > 1:
        apart = result.difference(by).reindex(names)
        tested = ["difference (95 % CI)"]
        text[tested[0]] = [
            by.unit.estimate_text(*row, signed=True) if row[0] == row[0] else "–"
            for row in apart[["difference", "low", "high"]].to_numpy()
        ]
        tint = {
            name: TINTS[beyond_chance(low, high)]
            for name, low, high in apart[["low", "high"]].itertuples()
        }
    for metric in _SHORT:
        if metric.name in result.table:
            text[metric.heading] = _column(result, metric).loc[names]
    text.index = pd.Index([result.names[name] for name in names], name="method")
    first = str(result.table.index[0])
    st.dataframe(
        text.style.apply(lambda _: [tint.get(name, "") for name in names], subset=pd.Index(tested)),
        height="content",
        column_config={
            m.heading: st.column_config.TextColumn(m.heading, help=m.explanation)
            for m in (by, *_SHORT)
        },
    )
    n = next(iter(result.summaries.values())).n_rows
    st.caption(
        unbroken(
            f"Best {by.words} first; n = {n:,} evaluation rows, 95 % CI. Green: significantly "
            f"better than {plain(nothing_done(first))}; amber: significantly worse."
        )
    )


def metrics_table(
    result: Comparison, grouping: Grouping | None, measured_on: str, *, pending: bool = False
) -> None:
    """Methods × metrics; ``pending``: whether intervals are still being simulated."""
    metrics = [metric for metric in METHOD_TABLE if metric.name in result.table]
    text = pd.DataFrame({metric.name: _column(result, metric) for metric in metrics})
    text.index = pd.Index(result.names.values(), name="method")
    found = {name: f.reindex(result.table.index) for name, f in result.differences.items()}
    ends = {name: (item["low"], item["high"]) for name, item in found.items()}
    show_methods(text, metrics, ends, explained=True)
    st.caption(unbroken(" ".join(_notes(result, metrics, grouping, measured_on, pending=pending))))


def _notes(
    result: Comparison,
    metrics: list[Metric],
    grouping: Grouping | None,
    measured_on: str,
    *,
    pending: bool,
) -> list[str]:
    first, n = result.table.index[0], next(iter(result.summaries.values())).n_rows
    predictions = plain(about_predictions(result.most_probable))
    paired = ", ".join(item.words for item in result.paired if item in metrics)
    text = [
        f"n = {n:,} evaluation rows, 95 % intervals. Green: significantly better than “{first}” "
        f"(paired, all methods taken together); amber: worse. Only {paired} are tested so, which "
        "are means of rows: of the other metrics no interval of a difference can be relied on. "
        f"{ABOUT_INTERVALS}"
    ]
    without = [item.title for item in metrics if item.has_interval and item.name not in result.low]
    if without and pending:
        text.append(f"Not simulated yet: the intervals of {', '.join(without)}.")
    elif without:
        on = f" on {measured_on}" if measured_on else ""
        text.append(
            f"Without one: {', '.join(without)}; simulating {n:,} rows{on} would take too long "
            "to wait for."
        )
    text.append(
        "The paper's unfiltered maxima, MLCE and group-wise MCE, rest on single rows and cells: "
        "they are in the CSV."
    )
    if grouping is not None and WORST_CELL.name in result.table:
        text.append(f"Groups by {plain(grouping.column)}, {grouping.min_group_size} rows or more.")
    return [*text, predictions]


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
    tints = pd.DataFrame([one["change"].map(colors).tolist() for one in gaps], names, shown)
    text.insert(0, "held-out rows", [len(item.held_out) for item in found])
    st.dataframe(
        text.style.apply(lambda _: tints, axis=None, subset=pd.Index(shown)),
        height="content",
        column_config={"subgroup": st.column_config.TextColumn(pinned=True, width=260)},
    )
    st.caption(
        "Gap in points with its 95 % CI, on held-out rows. Green: significantly nearer to zero "
        f"than {plain(nothing_done(methods[0]))}; amber: significantly further off."
    )
