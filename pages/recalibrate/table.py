"""Methods × metrics: values, intervals, and what is beyond chance."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from lore_core import Comparison
from lore_core.metrics.catalogue import MAX_GROUPWISE
from pages.shared.cells import METRICS, heading, marked, number
from pages.shared.header import plain
from pages.shared.methods import Grouping

__all__ = ["metrics_table"]


def _cell(result: Comparison, method: str, metric: str) -> str:
    text = number(metric, result.table.at[method, metric])
    if result.low is not None and result.high is not None and metric in result.low:
        low, high = result.low.at[method, metric], result.high.at[method, metric]
        text += f"  ({number(metric, low)}–{number(metric, high)})"
    return text


def metrics_table(result: Comparison, grouping: Grouping | None, measured_on: str) -> None:
    """Methods × metrics; tinted where the paired difference to the first is beyond chance."""
    metrics = [name for name in METRICS if name in result.table]
    text = pd.DataFrame(
        {m: [_cell(result, method, m) for method in result.table.index] for m in metrics},
        index=result.table.index,
    )

    def tint(column: pd.Series) -> list[str]:
        low, high = result.difference_low, result.difference_high
        if column.name == "accuracy" or low is None or high is None or column.name not in low:
            return [""] * len(column)
        return [
            marked(below, above)
            for below, above in zip(low[column.name], high[column.name], strict=True)
        ]

    st.dataframe(
        text.style.apply(tint),
        column_config={m: st.column_config.TextColumn(heading(m)) for m in metrics},
        height="content",
    )
    st.caption(" ".join(_notes(result, metrics, grouping, measured_on)))


def _notes(
    result: Comparison, metrics: list[str], grouping: Grouping | None, measured_on: str
) -> list[str]:
    """Say what the table shows, how sure it is, and which metrics have no interval and why."""
    summary = next(iter(result.summaries.values()))
    first, n = result.table.index[0], summary.n_rows
    if summary.draws is None:
        return [f"n = {n:,} evaluation rows; too many to resample them while you wait."]
    said = [
        f"n = {n:,} evaluation rows, 95 % intervals. Green: better than “{first}” beyond chance "
        f"(the paired interval of the difference over {len(summary.draws.values)} resamples "
        "excludes 0); amber: worse. What lies above its own interval is mostly chance."
    ]
    assert summary.intervals is not None  # as there are draws
    without = [name for name in metrics if name not in summary.intervals.index]
    if without:
        said.append(
            f"{' and '.join(without)} have no intervals: simulating the neighbours of {n:,} rows "
            f"on {measured_on} would take too long to wait for."
        )
    if MAX_GROUPWISE in metrics and grouping is not None:
        said.append(
            f"The {MAX_GROUPWISE} is the MCE of the worst group by {plain(grouping.column)} with "
            f"{grouping.min_group_size} rows or more, a maximum over noisy cells whose interval "
            "leans upwards."
        )
    said.append("Recalibration never changes the predicted class, so the accuracy stays.")
    return said
