"""Put a chart on a page: the picture, one line on how to read it, and its exports."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from lore_core.figures import Chart
from lore_core.figures.export import (
    STATIC_FORMATS,
    chart_csv,
    chart_html,
    chart_image,
    plot_config,
    why_no_static_images,
)

__all__ = ["next_step", "show_chart"]

_MIME = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}


def show_chart(chart: Chart, key: str, *, narrow: bool = False, **plot: Any) -> Any:
    """Draw a chart and everything around it.

    Parameters
    ----------
    chart : Chart
        What to draw.
    key : str
        Unique on the page; also names the export buttons.
    narrow : bool
        The chart stands in a narrow column: only an icon leads to its exports.
    **plot
        Further arguments of ``st.plotly_chart`` (``on_select``, ``selection_mode``).

    Returns
    -------
    The selection event, where ``on_select`` was given.
    """
    event = st.plotly_chart(
        chart.figure,
        width="stretch",
        height="content",
        theme=None,
        key=key,
        config=plot_config(chart),
        alt=chart.alt,
        **plot,
    )
    with st.container(horizontal=True, wrap=False, vertical_alignment="top", gap="small"):
        st.caption(chart.how_to_read, width="stretch")
        with st.popover(
            ":material/download:" if narrow else ":material/download: Export",
            type="tertiary",
            key=f"export_{key}",
            help="Export this chart",
        ):
            _exports(chart, key)
    return event


def _exports(chart: Chart, key: str) -> None:
    name = f"lore-lens-{chart.name}"
    st.download_button(
        "Interactive HTML",
        partial(chart_html, chart),
        f"{name}.html",
        "text/html",
        key=f"html_{key}",
        on_click="ignore",
        width="stretch",
    )
    st.download_button(
        "Numbers as CSV",
        partial(chart_csv, chart),
        f"{name}.csv",
        "text/csv",
        key=f"csv_{key}",
        on_click="ignore",
        width="stretch",
    )
    missing = why_no_static_images()
    if missing is None:
        for kind in STATIC_FORMATS:
            st.download_button(
                kind.upper(),
                partial(chart_image, chart, kind),
                f"{name}.{kind}",
                _MIME[kind],
                key=f"{kind}_{key}",
                on_click="ignore",
                width="stretch",
            )
    else:
        st.caption(f"{missing} Until then the camera button over the chart saves an SVG.")


def next_step(page: str, label: str) -> None:
    """End a page with the next one on the reader's path."""
    st.space("small")
    st.page_link(page, label=f"Next: {label}", icon=":material/arrow_forward:")
