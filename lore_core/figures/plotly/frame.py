"""Figures of Plotly from plain options, and the look they share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
from plotly.subplots import make_subplots

from lore_core.figures.pictures.picture import Hover, Picture
from lore_core.figures.style import ACCENT, GRID, INK, NEUTRAL, PAPER, Mode, escape

#: The dashboard's own font where it is at hand.
FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", "Open Sans", Arial, sans-serif'
#: So many names fit beside a title, also in half a page.
_MAX_ON_TOP = 3
#: Pixels for a legend at the foot: two lines. Where it needs more, the plot yields them.
_FOOT = 44


def frame(
    figure: Sheet, picture: Picture, mode: Mode, *, height: int, legend: bool = False
) -> None:
    """Give a figure its title, what rows it shows, and the shared look."""
    ink, grid, quiet = INK[mode], GRID[mode], NEUTRAL[mode]
    subtitle = {"text": escape(picture.subtitle), "font": {"size": 12, "color": quiet}}
    figure.update_layout(
        title={
            "text": f"<b>{escape(picture.title)}</b>",
            "subtitle": subtitle,
            "font": {"size": 15, "color": ink},
            "pad": {"l": 8, "t": 10},
            "automargin": False,
        },
        margin={"l": 8, "r": 8, "t": 62, "b": 8},
        height=height,
        paper_bgcolor=PAPER[mode],
        plot_bgcolor=PAPER[mode],
        font={"color": ink, "size": 12, "family": FONT},
        hoverlabel={"font": {"size": 12}, "align": "left"},
        showlegend=legend,
        legend={"orientation": "h", "bgcolor": "rgba(0,0,0,0)"},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": quiet, "activecolor": ACCENT[mode]},
        dragmode="pan",
    )
    figure.update_layout(title=_corner("container", "left", 0.0, "top", 1.0))
    if (
        legend
        and sum(trace.get("showlegend") is not False for trace in figure.traces) > _MAX_ON_TOP
    ):
        # Beside the title they would run into it; at the foot they take the lines they need.
        corner = _corner("container", "left", 0.0, "bottom", 0.0)
        figure.update_layout(height=height + _FOOT, legend=corner)
    else:
        figure.update_layout(legend={"x": 1.0, "xanchor": "right", "y": 1.0, "yanchor": "bottom"})
    figure.update_xaxes(gridcolor=grid, linecolor=grid, zeroline=False, automargin=True)
    figure.update_yaxes(gridcolor=grid, linecolor=grid, zeroline=False, automargin=True)


def _corner(of: str, xanchor: str, x: float, yanchor: str, y: float) -> dict[str, Any]:
    return {"xref": of, "xanchor": xanchor, "x": x, "yref": of, "yanchor": yanchor, "y": y}


def breaking(text: str) -> str:
    """Write plain text of one or more lines as Plotly reads it."""
    return escape(text).replace("\n", "<br>")


def hover_text(hover: Hover) -> str:
    """Write what is said about an item as Plotly reads it."""
    head = [f"<b>{breaking(hover.head)}</b>{escape(hover.beside)}"] if hover.head else []
    return "<br>".join([*head, *map(escape, hover.lines)])


def color_bar(
    title: str, ticks: Iterable[tuple[float, str]], *, length: float, **more: Any
) -> dict[str, Any]:
    """Options of the bar beside a picture that says which colour is which number."""
    named = list(ticks)
    return {
        "thickness": 12,
        "len": length,
        "outlinewidth": 0,
        "tickvals": [at for at, _ in named] or None,
        "ticktext": [breaking(words) for _, words in named] or None,
        "title": {"text": title, "font": {"size": 11}, "side": "right"},
        **more,
    }


class Sheet:
    """Traces and layout of a figure.

    Plotly looks up the path of every option it is given, one after the other, which took a quarter
    of the interpreter's time where many read. So options are collected here, and what is None is
    as Plotly has it by default.

    ``shares``: heights of panels one above the other, as shares; ``gap``: between them.
    """

    def __init__(self, shares: tuple[float, ...] = (1.0,), gap: float = 0.0) -> None:
        self.traces: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {} if len(shares) == 1 else _panels(shares, gap)
        self._rows = range(1, len(shares) + 1)

    def add_trace(self, trace: Mapping[str, Any], row: int = 1) -> None:
        """Add a trace; ``row``: of which panel, from 1."""
        axes = {} if len(self._rows) == 1 else {"xaxis": f"x{_n(row)}", "yaxis": f"y{_n(row)}"}
        self.traces.append(_merged({}, {**trace, **axes}))

    def update_layout(self, **options: Any) -> None:
        """Set options of the layout."""
        _merged(self.layout, options)

    def update_xaxes(self, row: int | None = None, **options: Any) -> None:
        """Set options of the x axis of one panel, or of all."""
        self._update("xaxis", row, options)

    def update_yaxes(self, row: int | None = None, **options: Any) -> None:
        """Set options of the y axis of one panel, or of all."""
        self._update("yaxis", row, options)

    def _update(self, axis: str, row: int | None, options: Mapping[str, Any]) -> None:
        for number in self._rows if row is None else (row,):
            _merged(self.layout.setdefault(f"{axis}{_n(number)}", {}), options)

    def add_shape(self, **options: Any) -> None:
        """Draw a shape."""
        self.layout.setdefault("shapes", []).append(_merged({}, options))

    def add_annotation(self, **options: Any) -> None:
        """Write a text."""
        self.layout.setdefault("annotations", []).append(_merged({}, options))

    def add_level(self, y: float, row: int, line: Mapping[str, Any]) -> None:
        """Draw a line from side to side of a panel."""
        ends = {"x0": 0, "x1": 1, "y0": y, "y1": y}
        refs = {"xref": f"x{_n(row)} domain", "yref": f"y{_n(row)}"}
        self.add_shape(type="line", **ends, **refs, line=line)

    def add_upright(self, x: float, row: int, line: Mapping[str, Any]) -> None:
        """Draw a line from the foot to the head of a panel."""
        ends = {"x0": x, "x1": x, "y0": 0, "y1": 1}
        refs = {"xref": f"x{_n(row)}", "yref": f"y{_n(row)} domain"}
        self.add_shape(type="line", **ends, **refs, line=line)

    def figure(self) -> go.Figure:
        """Return the figure; what is changed of it from now on is checked by Plotly."""
        layout = {**self.layout, "template": _template()}
        figure = go.Figure(self.traces, layout, _validate=False)
        figure._validate = True
        return figure


def _n(row: int) -> str:
    return "" if row == 1 else str(row)


def _merged(into: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in options.items():
        if value is None:
            into.pop(name, None)
        elif isinstance(value, Mapping):
            inner = into.get(name)
            if merged := _merged(inner if isinstance(inner, dict) else {}, value):
                into[name] = merged
        else:
            into[name] = _plain(value)
    return into


def _plain(value: Any) -> Any:
    if isinstance(value, pd.Series):
        return value.to_numpy()
    return list(value) if isinstance(value, tuple) else value


@lru_cache(maxsize=1)
def _template() -> dict[str, Any]:
    # Plotly's own by name, because Streamlit sets another for every figure of the process.
    template: dict[str, Any] = pio.templates["plotly"].to_plotly_json()
    return template


def _panels(shares: tuple[float, ...], gap: float) -> dict[str, Any]:
    laid = make_subplots(
        rows=len(shares), cols=1, shared_xaxes=True, row_heights=shares, vertical_spacing=gap
    )
    layout: dict[str, Any] = laid.to_plotly_json()["layout"]
    del layout["template"]
    return layout
