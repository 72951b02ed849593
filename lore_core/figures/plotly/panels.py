"""Panels of lines, bands, bars, dots and rules, as Plotly draws them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from lore_core.figures.pictures.marks import (
    Axis,
    Band,
    Bars,
    Cells,
    Dots,
    Line,
    Mark,
    Panel,
    PanelPicture,
    Rule,
    Tint,
)
from lore_core.figures.pictures.picture import Floats, Hover
from lore_core.figures.plotly.frame import breaking, frame, hover_text
from lore_core.figures.style import INK, NEUTRAL, Mode, diverging, escape, palette, rgba

_TICKS = {"number": None, "share": ".0%", "fine share": ".1~%", "gap": "+.0%"}
_SHAPES = {"disc": None, "ring": "circle-open", "diamond": "diamond", "dash": "line-ew-open"}
#: What a hover says of each point: ``{x:.3g}``, ``{0:.2f}``.
_FIELD = re.compile(r"\{(?:(x|y|text)|(\d+))(:[^}]*)?\}")


def panels(picture: PanelPicture, mode: Mode, height: int) -> go.Figure:
    """Draw panels one above the other."""
    shown = picture.panels
    several = len(shown) > 1
    figure = go.Figure()
    if several:
        figure = make_subplots(
            rows=len(shown),
            cols=1,
            shared_xaxes=True,
            row_heights=[panel.share for panel in shown],
            vertical_spacing=picture.gap,
        )
    places = [{"row": row, "col": 1} if several else {} for row in range(1, len(shown) + 1)]
    placed = [
        (mark, place) for panel, place in zip(shown, places, strict=True) for mark in panel.marks
    ]
    groups = list(dict.fromkeys(mark.group for mark, _ in placed))
    for mark, place in sorted(placed, key=lambda item: groups.index(item[0].group)):
        for trace in traces(mark, mode):
            figure.add_trace(trace, **place)
    beside_title = picture.legend and not picture.free_corner
    frame(figure, picture, mode, height=height, legend=beside_title)
    for panel, place in zip(shown, places, strict=True):
        for mark in panel.marks:
            if isinstance(mark, Rule):
                _add_rule(figure, mark, panel, place, mode)
        figure.update_xaxes(_axis(panel.x, titled=panel is shown[-1]), **place)
        figure.update_yaxes(_axis(panel.y), **place)
    if picture.free_corner:
        corner = {"x": 1, "xanchor": "right", "y": 0.04, "yanchor": "bottom", "orientation": "v"}
        figure.update_layout(showlegend=picture.legend, legend=corner)
    if picture.still:
        figure.update_layout(dragmode=False)
        figure.update_xaxes(fixedrange=True)
        figure.update_yaxes(fixedrange=True)
    bars = [mark for panel in shown for mark in panel.marks if isinstance(mark, Bars)]
    if bars:
        figure.update_layout(bargap=0)
    if any(mark.chosen is not None for mark in bars):
        figure.update_layout(clickmode="event+select")
    return figure


def _axis(axis: Axis, *, titled: bool = True) -> dict[str, Any]:
    said: dict[str, Any] = {"tickformat": _TICKS[axis.unit], "range": axis.span}
    if axis.title and titled:
        said["title"] = escape(axis.title)
    if axis.ticks:
        at, words = zip(*axis.ticks, strict=True)
        said |= {"tickvals": at, "ticktext": [escape(word) for word in words]}
    if axis.log:
        said |= {"type": "log", "dtick": 1}
    if axis.from_zero:
        said["rangemode"] = "tozero"
    if not axis.grid:
        said["showgrid"] = False
    if axis.few_ticks:
        said["nticks"] = 3
    return said


def _color(tint: Tint, mode: Mode) -> str:
    color = palette(mode)[tint.meaning]
    return color if tint.alpha is None else rgba(color, tint.alpha)


def _colors(tints: Tint | Sequence[Tint], mode: Mode) -> str | list[str]:
    if isinstance(tints, Tint):
        return _color(tints, mode)
    return [_color(tint, mode) for tint in tints]


def _mark(mark: Mark) -> dict[str, Any]:
    """Options that every trace has."""
    said: dict[str, Any] = {"name": escape(mark.name)} if mark.name else {}
    if mark.group:
        said["legendgroup"] = escape(mark.group)
    if not mark.listed:
        said["showlegend"] = False
    return said


def _hover(hover: Hover | Sequence[Hover] | None, columns: Sequence[Floats] = ()) -> dict[str, Any]:
    """Options of a hover: one text for all points, or one each."""
    if not hover:
        return {"hoverinfo": "skip"}
    if not isinstance(hover, Hover):
        return {"hovertext": [hover_text(item) for item in hover], "hoverinfo": "text"}

    def field(found: re.Match[str]) -> str:
        own, column, form = found.groups()
        name = own or ("customdata" if len(columns) == 1 else f"customdata[{column}]")
        return f"%{{{name}{form or ''}}}"

    said: dict[str, Any] = {
        "hovertemplate": _FIELD.sub(field, hover_text(hover)) + "<extra></extra>"
    }
    if columns:
        said["customdata"] = columns[0] if len(columns) == 1 else np.column_stack(columns)
    return said


@singledispatch
def traces(mark: Mark, mode: Mode) -> list[Any]:  # noqa: ARG001 -- of each kind of mark
    """Return what Plotly draws of a mark."""
    raise TypeError(f"no drawing of a {type(mark).__name__} is known")


@traces.register
def _(mark: Line, mode: Mode) -> list[go.Scatter]:
    line: dict[str, Any] = {"color": _color(mark.tint, mode), "width": mark.width}
    if mark.dash != "solid":
        line["dash"] = mark.dash
    if mark.steps:
        line["shape"] = "hv"
    dots = {"marker": {"size": 5}} if mark.dots else {}
    drawn = "lines+markers" if mark.dots else "lines"
    ends = {"x": mark.x, "y": mark.y, "mode": drawn, "line": line, **dots}
    return [go.Scatter(**ends, **_mark(mark), **_hover(mark.hover, mark.columns))]


@traces.register
def _(mark: Band, mode: Mode) -> list[go.Scatter]:
    shape: dict[str, Any] = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    x, y = mark.outline
    fill = {"fill": "toself", "fillcolor": _color(mark.tint, mode)}
    return [go.Scatter(x=x, y=y, **fill, **shape, **_mark(mark))]


@traces.register
def _(mark: Bars, mode: Mode) -> list[go.Bar]:
    marker: dict[str, Any] = {"color": _colors(mark.tints, mode)}
    said: dict[str, Any] = {"width": mark.width, "marker": marker}
    if mark.sideways:
        said |= {"x": mark.length, "y": mark.place, "orientation": "h"}
    else:
        said |= {"x": mark.place, "y": mark.length}
    if mark.low is not None and mark.high is not None:
        said["error_x" if mark.sideways else "error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": mark.high - mark.length,
            "arrayminus": mark.length - mark.low,
            "thickness": mark.whisker,
            "width": round(2.5 * mark.whisker),
            "color": NEUTRAL[mode],
        }
    if mark.number is not None:
        said["customdata"] = mark.number
    if mark.chosen is not None:
        if mark.outlined:
            edge = np.where(mark.chosen, INK[mode], "rgba(0,0,0,0)")
            marker["line"] = {"color": edge, "width": 2}
        solid = {"marker": {"opacity": 1}}
        said |= {"selected": solid, "unselected": solid}
    return [go.Bar(**said, **_mark(mark), **_hover(mark.hover))]


@traces.register
def _(mark: Dots, mode: Mode) -> list[go.Scatter]:
    marker: dict[str, Any] = {"size": mark.size, "color": _colors(mark.tints, mode)}
    if mark.shape != "disc":
        marker["symbol"] = _SHAPES[mark.shape]
    if mark.shape in ("ring", "dash"):
        marker["line"] = {"width": 2}
    said: dict[str, Any] = {"x": mark.x, "y": mark.y, "mode": "markers", "marker": marker}
    if mark.spread is not None:
        bar = {"type": "data", "array": mark.spread, "thickness": 1.6, "width": 5}
        said["error_x"] = bar | {"color": marker["color"]}
    if mark.words:
        said["text"] = [escape(word) for word in mark.words]
    return [go.Scatter(**said, **_mark(mark), **_hover(mark.hover))]


@traces.register
def _(mark: Cells, mode: Mode) -> list[go.Heatmap]:
    n_rows, n_columns = mark.value.shape
    at, words = zip(*mark.scale, strict=True)
    bar = {
        "thickness": 12,
        "len": 0.86,
        "outlinewidth": 0,
        "tickvals": at,
        "ticktext": [breaking(word) for word in words],
        "title": {"text": mark.scale_title, "font": {"size": 11}, "side": "right"},
    }
    written = [
        [f"<b>{word}</b>" if word and strong else word for word, strong in zip(*line, strict=True)]
        for line in zip(mark.words.tolist(), mark.strong, strict=True)
    ]
    return [
        go.Heatmap(
            x=np.arange(n_columns),
            y=np.arange(n_rows),
            z=mark.value.astype(np.float32),
            zmin=-mark.limit,
            zmax=mark.limit,
            colorscale=diverging(mode),
            colorbar=bar,
            xgap=2,
            ygap=2,
            text=written,
            texttemplate="%{text}",
            textfont={"size": 12},
            hovertext=np.vectorize(hover_text, otypes=[object])(mark.hover),
            hoverinfo="text",
            hoverongaps=True,
            **_mark(mark),
        )
    ]


@traces.register
def _(mark: Rule, mode: Mode) -> list[go.Scatter]:
    if not mark.name:  # only what is listed is a trace
        return []
    ends = {"x": [mark.at, mark.at], "y": [0, 1], "mode": "lines", "hoverinfo": "name"}
    return [go.Scatter(**ends, line=_line(mark, mode), **_mark(mark))]


def _line(mark: Rule, mode: Mode) -> dict[str, Any]:
    line: dict[str, Any] = {"color": _color(mark.tint, mode), "width": mark.width}
    return line if mark.dash == "solid" else line | {"dash": mark.dash}


def _add_rule(
    figure: go.Figure, mark: Rule, panel: Panel, place: dict[str, int], mode: Mode
) -> None:
    """Draw a rule, and write what it is."""
    line, (start, end) = _line(mark, mode), mark.part
    if mark.name:
        # Along the line, so that it fits a narrow chart too.
        beside = {"xanchor": "right" if mark.text_side == "left" else "left", "textangle": -90}
        where = {"x": mark.at, "y": 0.03, "yanchor": "bottom", **beside}
        _write(figure, mark.name, 11, line["color"], **where)
    elif (start, end) != (0.0, 1.0):
        ends = {"x0": start, "x1": end, "y0": mark.at, "y1": mark.at}
        figure.add_shape(type="line", xref="paper", yref="y", **ends, line=line)
        x, anchor = (0.0, "left") if start == 0 else (1.0, "right")
        where = {"x": x, "xref": "paper", "xanchor": anchor, "y": mark.at, "yref": "y"}
        _write(figure, mark.text, 11, NEUTRAL[mode], yanchor="bottom", **where)
    elif mark.level:
        figure.add_hline(y=mark.at, line=line, **place)
    else:
        figure.add_vline(x=mark.at, line=line, **place)
        # On a logarithmic axis annotations, unlike lines, are placed by exponent.
        x = math.log10(mark.at) if panel.x.log else mark.at
        where = {"x": x, "xref": "x", "xanchor": "left", "xshift": 4, "y": 1, "yref": "paper"}
        _write(figure, mark.text, 12, INK[mode], yanchor="top", **where)


def _write(figure: go.Figure, text: str, size: int, color: str, **where: Any) -> None:
    if text:
        font = {"size": size, "color": color}
        figure.add_annotation(text=text, showarrow=False, font=font, **where)
