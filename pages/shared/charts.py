"""Put a chart on a page: the picture, one line on how to read it, and its exports."""

import shlex
from collections.abc import Callable
from dataclasses import replace
from mimetypes import types_map
from typing import Any, Literal

import pandas as pd
import streamlit as st

from lore_core.data.export_text import csv_text
from lore_core.data.number_text import unbroken
from lore_core.figures import Chart, isotonic_figure, reliability_figure
from lore_core.figures.drawing import PRINTED
from lore_core.figures.export import COLUMN_WIDTHS, exported, latex, markdown
from lore_core.metrics import IsotonicReliability, ReliabilityTable
from pages.shared.controls import current_page, linked, one_of, shown_view
from pages.shared.live import live_chart
from pages.shared.session import origin

#: Of pages that show other data than those that are loaded, from a folder.
_COMMANDS = {"runs": "compare", "watch": "watch"}
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
    chart: Chart, key: str, *, as_seen: Callable[[], Chart], narrow: bool = False, caption: str = ""
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
            on_change="rerun",
        ) as exports:
            if exports.open:
                _exports(chart.name, lambda: replace(as_seen(), mode="light"), key)


def _exports(name: str, chart: Callable[[], Chart], key: str) -> None:
    """Offer a chart as it is seen: for print, to look closer, its numbers, its caption."""
    last = st.session_state.get("print_width", next(iter(COLUMN_WIDTHS)))
    st.session_state.setdefault(f"width_{key}", last)  # (What was chosen for any figure.)
    column = st.selectbox("Width for print", [*COLUMN_WIDTHS, "other"], key=f"width_{key}")
    st.session_state["print_width"] = column
    width, file = COLUMN_WIDTHS.get(column, 0.0), f"lore-lens-{name}"
    if not width:
        width = float(st.number_input("Millimetres", 30.0, 500.0, 100.0, 1.0, key=f"mm_{key}"))

    printed = f"{file}-{width:g}mm"

    def download(label: str, kind: str) -> None:
        st.download_button(
            label,
            lambda: exported(chart(), kind, width_mm=width),
            f"{printed if kind in PRINTED else file}.{kind}",
            types_map[f".{kind}"],
            key=f"{kind}_{key}",
            on_click="ignore",
            width="stretch",
        )

    with st.container(horizontal=True, gap="small"):
        for kind in PRINTED:
            download(kind.upper(), kind)
    download("Interactive HTML", "html")
    download("Numbers as CSV", "csv")
    if st.button("Caption and command", key=f"caption_{key}", width="stretch"):
        _captions(chart(), printed, width)


@st.dialog("Caption and command", width="large")
def _captions(chart: Chart, file: str, width_mm: float) -> None:
    from lore_core.report.charts import with_basis  # (It takes its time.)
    from lore_core.report.files import figures_command

    view, page, command = shown_view(), current_page(), ""
    if view is not None:
        (chart,) = with_basis(view, {"": chart}).values()
        command = figures_command(view, *origin(), width_mm=width_mm)
    elif page in _COMMANDS and (folder := st.session_state.get(f"{page}_path")):
        command = f"lore {_COMMANDS[page]} {shlex.quote(folder)}"
    texts = {
        "LaTeX": latex(chart, f"{file}.pdf", width_mm),
        "Markdown": markdown(chart, f"{file}.svg"),
        "Command for the figures of these data and settings": command,
    }
    for name, text in texts.items():
        if text:
            st.caption(name)
            st.code(text, language=None, wrap_lines=True)


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
