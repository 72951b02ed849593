"""One metric as a tile, with its interval."""

from __future__ import annotations

import streamlit as st

from lore_core.comparison import Summary
from lore_core.metrics.metric import Metric


def show_tile(found: Summary, metric: Metric) -> None:
    """Show a metric of a summary, or that it is not known."""
    name = metric.name
    if name not in found.values:
        st.metric(
            metric.title, "—", border=True, help=f"{metric.explanation} Not known for these data."
        )
        return
    interval = None
    if name in found.intervals.index:
        low, high = (float(found.intervals[side][name]) for side in ("low", "high"))
        interval = f"95 %: {metric.interval_text(low, high)}"
    st.metric(
        metric.title,
        metric.text_alone(float(found.values[name])),
        delta=interval,
        delta_color="off",
        delta_arrow="off",
        border=True,
        help=metric.explanation,
    )
