"""Put a chart on a page: the picture, one line on how to read it, and its exports."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import pandas as pd
import streamlit as st

from lore_core.data.export_text import csv_text
from lore_core.data.number_text import unbroken
from lore_core.figures import Chart, export, isotonic_figure, reliability_figure
from lore_core.metrics import IsotonicReliability, ReliabilityTable
from pages.shared.controls import linked, one_of, theme_mode
from pages.shared.live import live_chart

_MIME = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}
Diagram = Literal["bins", "isotonic"]


def show_chart(
    chart: Chart,
    key: str,
    *,
    narrow: bool = False,
    caption: str = "",
    on_pick: Callable[[int], None] | None = None,
) -> None:
    """Draw a chart, its line and exports (``narrow``: an icon); ``on_pick`` gets a bar's number."""
    as_seen = live_chart(chart, key, on_pick=on_pick)
    chart_line(chart, key, narrow=narrow, caption=caption, as_seen=as_seen)


def chart_line(
    chart: Chart,
    key: str,
    *,
    narrow: bool = False,
    caption: str = "",
    as_seen: Callable[[], Chart] | None = None,
) -> None:
    """Say how to read a chart, or ``caption``; offer its exports, ``as_seen`` on the screen."""
    row = st.container(
        horizontal=True, wrap=False, vertical_alignment="top", gap="small", key=f"line_{key}"
    )
    with row:
        st.caption(unbroken(caption or chart.how_to_read), width="stretch")
        with st.popover(
            ":material/download:" if narrow else ":material/download: Export",
            type="tertiary",
            key=f"export_{key}",
            help="Export this chart",
        ):
            mode, made = theme_mode(), as_seen or (lambda: chart)
            _exports(chart.name, lambda: replace(made(), mode=mode), key)


def _exports(name: str, chart: Callable[[], Chart], key: str) -> None:
    def download(label: str, made: Callable[[Chart], str | bytes], suffix: str, mime: str) -> None:
        st.download_button(
            label,
            lambda: made(chart()),
            f"lore-lens-{name}.{suffix}",
            mime,
            key=f"{suffix}_{key}",
            on_click="ignore",
            width="stretch",
        )

    download("Interactive HTML", export.chart_html, "html", "text/html")
    download("Numbers as CSV", export.chart_csv, "csv", "text/csv")
    download(
        "Numbers as Parquet", export.chart_parquet, "parquet", "application/vnd.apache.parquet"
    )
    missing = export.why_no_static_images()
    if st.button("For a paper …", key=f"paper_{key}", width="stretch", icon=":material/article:"):
        _for_a_paper(chart(), f"lore-lens-{name}", missing)
    if missing is None:
        for kind in export.STATIC_FORMATS:
            download(
                kind.upper(), partial(export.chart_image, image_format=kind), kind, _MIME[kind]
            )
    else:
        st.caption(f"{missing} Until then the camera button over the chart saves an SVG.")


@st.dialog("For a paper", width="large")
def _for_a_paper(chart: Chart, name: str, missing: str | None) -> None:
    first, second, third, fourth = st.columns([2, 1, 1, 1], vertical_alignment="bottom")
    column = first.selectbox("Width", [*export.COLUMN_WIDTHS, "other"], key="paper_column")
    width = export.COLUMN_WIDTHS.get(column) or float(
        first.number_input("Width, mm", 30.0, 500.0, 100.0, 1.0, key="paper_width")
    )
    height = second.number_input("Height, mm", 20.0, 500.0, 63.0, 1.0, key="paper_height")
    font = third.number_input("Type, pt", 4.0, 24.0, 8.0, 0.5, key="paper_font")
    title = fourth.toggle("Title", key="paper_title")
    laid = export.paper_chart(
        chart, width_mm=width, height_mm=float(height), font_pt=float(font), title=title
    )
    size = laid.figure.layout
    live_chart(laid, "paper_preview", still=True)
    if missing is not None:
        st.caption(f"{missing} Until then take the interactive HTML and print it.")
        return
    with st.container(horizontal=True):
        for kind in export.STATIC_FORMATS:
            st.download_button(
                f"{kind.upper()}, 300 dpi" if kind == "png" else kind.upper(),
                partial(
                    export.chart_image,
                    laid,
                    kind,
                    width=size.width,
                    height=size.height,
                    scale=export.paper_scale(300.0) if kind == "png" else 1.0,
                ),
                f"{name}-{width:g}mm.{kind}",
                _MIME[kind],
                key=f"paper_{kind}",
                on_click="ignore",
                icon=":material/download:",
            )
    st.caption(
        f"{width:g} × {height:g} mm on white. The colours differ in lightness too, and blue and "
        "red are told apart by colour-blind readers."
    )


def csv_button(label: str, made: Callable[[], pd.DataFrame], name: str, **more: Any) -> None:
    """Offer a table as CSV, made when it is asked for; ``**more``: of ``st.download_button``."""
    st.download_button(
        label,
        lambda: csv_text(made()).encode(),
        f"lore-lens-{name}.csv",
        "text/csv",
        icon=":material/download:",
        on_click="ignore",
        **more,
    )


def next_step(page: str, label: str) -> None:
    """End a page with the next one on the reader's path."""
    st.space("small")
    st.page_link(page, label=f"Next: {label}", icon=":material/arrow_forward:")


def end_page(page: str, label: str, info: str = "", icon: str = "info") -> None:
    """End a page that has no more to show, with why and a way on."""
    if info:
        st.info(info, icon=f":material/{icon}:")
    next_step(page, label)
    st.stop()


def diagram_choice() -> Diagram:
    """Let the reader choose how reliability is drawn; in the link."""
    chosen: Diagram = one_of(
        "Reliability by",
        ["bins", "isotonic"],
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
    """Draw reliability as chosen; ``rows``, ``bins``, ``of`` say in words what it is of."""
    of = of and f": {of}"
    if chosen == "bins":
        title = f"Reliability{of}"
        chart = reliability_figure(table, rows=f"{rows}, {bins}", height=height, title=title)
        show_chart(chart, key)
        return
    found = isotonic()
    title = f"Reliability without bins{of}"
    show_chart(isotonic_figure(found, rows=rows, height=height, title=title), key)
    st.caption(found.sentence)
