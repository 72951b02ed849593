"""A chart in the browser, as a component whose element stays: what is zoomed stays zoomed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import plotly
import plotly.graph_objects as go
import streamlit as st

from lore_core.figures import Chart
from lore_core.figures.export import plot_config, plotly_script
from pages.shared.controls import theme_mode
from pages.shared.requests import offer, offer_script

_SHOWN = "_charts"
_EYE = ("eye", "up", "center")
_CHART = st.components.v2.component(
    "lore_lens.chart",
    js=offer_script(f"plotly-{plotly.__version__}", plotly_script)
    + (Path(__file__).parent / "chart.js").read_text("utf-8"),
    isolate_styles=False,  # Plotly's own rules are those of the page
)


@dataclass
class _Shown:
    chart: Chart
    seen: dict[str, Any] = field(default_factory=dict)  #: Ranges of axes, a camera, hidden traces
    of: str = ""  #: The axes this was seen on
    address: str = ""  #: At which the browser asks

    def answer(self, asked: Mapping[str, Any]) -> bytes | None:
        """Draw the chart in another theme, or take what is seen."""
        if asked.get("mode") in ("light", "dark"):
            return str(replace(self.chart, mode=asked["mode"]).figure.to_json()).encode()
        if isinstance(asked.get("seen"), dict):
            self.seen, self.of = asked["seen"], _revision(self.chart.figure)
        return None

    def as_seen(self) -> Chart:
        chart = self.chart
        if not self.seen or self.of != _revision(chart.figure):
            return chart
        return replace(chart, lay_out=lambda figure: _turned(figure, self.seen))


def live_chart(
    chart: Chart, key: str, *, on_pick: Callable[[int], None] | None = None, still: bool = False
) -> Callable[[], Chart]:
    """Draw a chart (``still``: no zoom); return what makes it as the reader sees it.

    ``on_pick`` is given the number of the bar that is clicked.
    """
    chart = chart if still else replace(chart, mode=theme_mode())
    charts: dict[str, _Shown] = st.session_state.setdefault(_SHOWN, {})
    shown = charts.setdefault(key, _Shown(chart))
    shown.chart = chart
    shown.address = shown.address or offer(shown)
    message = {
        "ask": shown.address,
        "mode": chart.mode,
        "alt": chart.alt,
        "picks": on_pick is not None,
        "settings": {"staticPlot": True} if still else plot_config(chart),
    }
    content = f'{{"figure":{chart.figure.to_json()},{json.dumps(message)[1:]}'.encode()

    def picked() -> None:
        number = st.session_state[key].get("picked")
        if on_pick is not None and isinstance(number, int):
            on_pick(number)

    # (Its height is said before Plotly is there, so that nothing moves when it comes.)
    _CHART(key=key, data=content, height=chart.figure.layout.height, on_picked_change=picked)
    return shown.as_seen


def _revision(figure: go.Figure) -> str:
    return str(figure.layout.uirevision)


def _turned(figure: go.Figure, seen: Mapping[str, Any]) -> go.Figure:
    """Show of a figure what a browser said is seen; what it cannot have said is passed over."""
    for name, ends in (seen.get("axes") or {}).items():
        if ends is not None and name in figure.layout and _are_numbers(ends, 2):
            figure.layout[name].update(range=ends, autorange=False)
    camera = seen.get("camera")
    if camera is not None and all(_are_numbers(list(camera[part].values()), 3) for part in _EYE):
        figure.layout.scene.camera.update({part: camera[part] for part in _EYE})
    for at in seen.get("hidden") or ():
        if at in range(len(figure.data)):
            figure.data[at].visible = "legendonly"
    return figure


def _are_numbers(values: list[Any], n: int) -> bool:
    return len(values) == n and all(
        isinstance(value, int | float) and math.isfinite(value) for value in values
    )
