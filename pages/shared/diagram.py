"""The reliability diagram, with bins or without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import streamlit as st

from lore_core.figures import isotonic_figure, reliability_figure
from lore_core.metrics import IsotonicReliability, ReliabilityTable
from pages.shared.charts import show_chart
from pages.shared.controls import linked, theme_mode

Diagram = Literal["bins", "isotonic"]


def diagram_choice() -> Diagram:
    """Let the reader choose how reliability is drawn; in the link."""
    chosen: Diagram = st.segmented_control(
        "Reliability by",
        ["bins", "isotonic"],
        default="bins",
        required=True,
        **linked("diagram"),
        help="bins: accuracy of each confidence bin. isotonic: no bins; how often rows of each "
        "confidence are right if that can only rise with it, and the error in three parts (CORP).",
    )
    return chosen


def show_reliability(
    chosen: Diagram,
    table: ReliabilityTable,
    isotonic: Callable[[], IsotonicReliability],
    key: str,
    *,
    rows: str,
    bins: str,
    height: int = 420,
    of: str = "",
) -> None:
    """Draw it.

    ``table``, ``isotonic``: what is drawn of which choice. ``key``: of the chart. ``rows``,
    ``bins``: in words. ``of``: whose reliability it is, where there are several.
    """
    mode, of = theme_mode(), of and f": {of}"
    if chosen == "bins":
        title = f"Reliability{of}"
        chart = reliability_figure(
            table, rows=f"{rows}, {bins}", mode=mode, height=height, title=title
        )
        show_chart(chart, key)
        return
    found = isotonic()
    title = f"Reliability without bins{of}"
    show_chart(isotonic_figure(found, rows=rows, mode=mode, height=height, title=title), key)
    st.caption(found.sentence)
