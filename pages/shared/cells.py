"""Cells of tables, the same on every page: their tint, shares and points; one metric as a tile."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from lore_core.comparison import Summary
from lore_core.comparison.tables import beyond_chance
from lore_core.data.number_text import HUNDREDTHS
from lore_core.metrics.metric import Metric

TINTS = {
    "better": "background-color: rgba(0, 158, 115, 0.18)",
    "worse": "background-color: rgba(230, 159, 0, 0.22)",
    "": "",
}


def show_methods(
    text: pd.DataFrame, metrics: list[Metric], ends: Mapping[str, Any], *, explained: bool = False
) -> None:
    """Show methods × metrics as ``text``, tinted by the ``ends`` of intervals of differences."""
    tints = {
        name: [TINTS[beyond_chance(*pair)] for pair in zip(*of, strict=True)]
        for name, of in ends.items()
    }
    column = st.column_config.TextColumn
    config = {m.name: column(m.heading, help=m.explanation if explained else None) for m in metrics}
    show_tinted(text, tints, config)


def show_tinted(
    text: pd.DataFrame, tints: Mapping[str, list[str]], config: Mapping[str, Any]
) -> None:
    """Show a table with the background colours of some columns, row by row."""
    look = text.style.apply(lambda column: tints.get(str(column.name)) or [""] * len(column))
    st.dataframe(look, height="content", column_config=dict(config))


def in_hundredths(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return a table with shares as :func:`share_column` and :func:`points_column` show them."""
    return table.assign(**{name: table[name] * HUNDREDTHS for name in columns})


def share_column(label: str, **more: Any) -> Any:
    """Show a column of shares, in per cent."""
    return st.column_config.NumberColumn(label, format="%.1f %%", **more)


def points_column(label: str, *, signed: bool = False, **more: Any) -> Any:
    """Show a column of differences of shares, in points."""
    return st.column_config.NumberColumn(label, format="%+.1f" if signed else "%.1f", **more)


def count_column(label: str, **more: Any) -> Any:
    """Show a column of counts."""
    return st.column_config.NumberColumn(label, format="localized", **more)


def show_number(title: str, value: str, delta: str | None = None, about: str = "") -> None:
    """Show a number in a tile, below it in grey what it is held against."""
    look: dict[str, Any] = {"delta_color": "off", "delta_arrow": "off", "border": True}
    st.metric(title, value, delta, help=about, **look)


def show_tile(found: Summary, metric: Metric) -> None:
    """Show the estimate of a metric with its interval, or that it is not known."""
    name, about, delta = metric.name, metric.explanation, None
    if name not in found.values:
        show_number(metric.title, "—", about=f"{about} Not known for these data.")
        return
    value = raw = float(found.values[name])
    if name in found.intervals.index:
        value, low, high = (float(found.intervals[k][name]) for k in ("estimate", "low", "high"))
        delta = f"95 % CI {metric.interval_text(low, high)}"
        if metric.text(value) != metric.text(raw):
            about = f"{about} As observed, with its noise: {metric.text_alone(raw)}."
    show_number(metric.title, metric.text_alone(value), delta, about)
