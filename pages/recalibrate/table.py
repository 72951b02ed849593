"""Methods × metrics: values, intervals, and what is beyond chance."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from lore_core import Comparison
from lore_core.chance.intervals import ABOUT_INTERVALS
from lore_core.comparison.most_probable import about_predictions
from lore_core.data.number_text import unbroken
from lore_core.metrics.catalogue import CATALOGUE, MAX_GROUPWISE, METHOD_TABLE
from lore_core.metrics.metric import Metric
from lore_core.view.methods import Grouping
from pages.shared.cells import marked
from pages.shared.header import plain


def _column(result: Comparison, metric: Metric) -> pd.Series[str]:
    """Values of one metric with their intervals, as text."""
    name = metric.name
    text = result.table[name].map(metric.text)
    if result.low is None or result.high is None or name not in result.low:
        return text
    low, high = (frame[name].map(metric.text) for frame in (result.low, result.high))
    return text + "  (" + low + "–" + high + ")"


def metrics_table(result: Comparison, grouping: Grouping | None, measured_on: str) -> None:
    """Methods × metrics; tinted where a proper score differs from the first beyond chance."""
    metrics = [metric for metric in METHOD_TABLE if metric.name in result.table]
    text = pd.DataFrame({metric.name: _column(result, metric) for metric in metrics})

    def tint(column: pd.Series) -> list[str]:
        low, high = result.difference_low, result.difference_high
        name = str(column.name)
        if not CATALOGUE[name].proper or low is None or high is None:
            return [""] * len(column)
        return [marked(below, above) for below, above in zip(low[name], high[name], strict=True)]

    text.index = pd.Index(result.names.values(), name="method")
    st.dataframe(
        text.style.apply(tint),
        column_config={m.name: st.column_config.TextColumn(m.heading) for m in metrics},
        height="content",
    )
    st.caption(unbroken(" ".join(_notes(result, metrics, grouping, measured_on))))


def _notes(
    result: Comparison, metrics: list[Metric], grouping: Grouping | None, measured_on: str
) -> list[str]:
    """Say what the table shows, how sure it is, and which metrics have no interval and why."""
    summary = next(iter(result.summaries.values()))
    first, n = result.table.index[0], summary.n_rows
    predictions = plain(about_predictions(result.most_probable()))
    if summary.draws is None:
        few = f"n = {n:,} evaluation rows; too many to resample them while you wait."
        return [few, predictions]
    said = [
        f"n = {n:,} evaluation rows, 95 % intervals. Green: better than “{first}” beyond chance "
        "(paired, all methods taken together); amber: worse. Only NLL and Brier score are tested "
        "so: of the other metrics no interval of a difference can be relied on. "
        f"{ABOUT_INTERVALS}"
    ]
    assert summary.intervals is not None  # as there are draws
    known = summary.intervals.index
    without = [item.title for item in metrics if item.has_interval and item.name not in known]
    if without:
        said.append(
            f"{', '.join(without)} have no intervals: simulating the neighbours of {n:,} rows "
            f"on {measured_on} would take too long to wait for."
        )
    if MAX_GROUPWISE in result.table and grouping is not None:
        said.append(
            f"Groups by {plain(grouping.column)}, {grouping.min_group_size} rows or more. MCE, "
            f"MLCE and {MAX_GROUPWISE} are the paper's maxima over bins, rows and cells, however "
            "few rows they rest on: chance alone makes them large."
        )
    return [*said, predictions]
