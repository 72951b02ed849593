"""Panels of lines, bands, bars, dots and rules, as Plotly draws them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lore_core.data.arrays import Floats
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
from lore_core.figures.pictures.picture import Hover
from lore_core.figures.plotly.frame import Sheet, color_bar, frame, hover_text
from lore_core.figures.style import INK, NEUTRAL, Mode, diverging, escape, palette, rgba

_SHAPES = {"disc": None, "ring": "circle-open", "diamond": "diamond", "dash": "line-ew-open"}
#: What a hover says of each point: ``{x:.3g}``, ``{0:.2f}``.
_FIELD = re.compile(r"\{(?:(x|y|text)|(\d+))(:[^}]*)?\}")


def panels(picture: PanelPicture, mode: Mode, height: int) -> go.Figure:
    """Draw panels one above the other."""
    shown = [panel.in_units() for panel in picture.panels]
    figure = Sheet(tuple(panel.share for panel in shown), picture.gap)
    places = range(1, len(shown) + 1)
    placed = [
        (mark, place) for panel, place in zip(shown, places, strict=True) for mark in panel.marks
    ]
    groups = list(dict.fromkeys(mark.group for mark, _ in placed))
    for mark, place in sorted(placed, key=lambda item: groups.index(item[0].group)):
        if (drawn := trace(mark, mode)) is not None:
            figure.add_trace(drawn, place)
    beside_title = picture.legend and not picture.free_corner
    frame(figure, picture, mode, height=height, legend=beside_title)
    for panel, place in zip(shown, places, strict=True):
        for mark in panel.marks:
            if isinstance(mark, Rule):
                _add_rule(figure, mark, panel, place, mode)
        figure.update_xaxes(place, **_axis(panel.x, titled=panel is shown[-1]))
        figure.update_yaxes(place, **_axis(panel.y))
    if picture.free_corner:
        corner = {"x": 1.0, "xanchor": "right", "y": 0.04, "yanchor": "bottom", "orientation": "v"}
        figure.update_layout(showlegend=picture.legend, legend=corner)
    if picture.still:
        figure.update_layout(dragmode=False)
        figure.update_xaxes(fixedrange=True)
        figure.update_yaxes(fixedrange=True)
    bars = [mark for panel in shown for mark in panel.marks if isinstance(mark, Bars)]
    if bars:
        figure.update_layout(bargap=0)
    headings = [escape(axis.heading) for panel in shown for axis in (panel.x, panel.y)]
    figure.update_layout(uirevision=" ".join([picture.name, *headings]))
    return figure.figure()


# (What is None in the options below is as Plotly has it by default.)


def _axis(axis: Axis, *, titled: bool = True) -> dict[str, Any]:
    title = {"title": {"text": escape(axis.heading)}} if axis.title and titled else {}
    return {
        **title,
        "ticksuffix": axis.suffix or None,
        "range": axis.span,
        "tickvals": [at for at, _ in axis.ticks] or None,
        "ticktext": [escape(words) for _, words in axis.ticks] or None,
        "type": "log" if axis.log else None,
        "dtick": 1 if axis.log else None,
        "nticks": 3 if axis.few_ticks else None,
        "rangemode": "tozero" if axis.from_zero else None,
        "showgrid": None if axis.grid else False,
    }


def _color(tint: Tint, mode: Mode) -> str:
    color = palette(mode)[tint.meaning]
    return color if tint.alpha is None else rgba(color, tint.alpha)


def _colors(tints: Tint | Sequence[Tint], mode: Mode) -> str | list[str]:
    if isinstance(tints, Tint):
        return _color(tints, mode)
    return [_color(tint, mode) for tint in tints]


def _line(mark: Line | Rule, mode: Mode) -> dict[str, Any]:
    dash = None if mark.dash == "solid" else mark.dash
    return {"color": _color(mark.tint, mode), "width": mark.width, "dash": dash}


def _hover(hover: Hover | Sequence[Hover] | None, columns: Sequence[Floats] = ()) -> dict[str, Any]:
    """Options of a hover: one text for all points, or one each."""
    if not hover:
        return {"hoverinfo": "skip"}
    if not isinstance(hover, Hover):
        return {"hovertext": [hover_text(item) for item in hover], "hoverinfo": "text"}

    def field(named: re.Match[str]) -> str:
        own, column, form = named.groups()
        name = own or ("customdata" if len(columns) == 1 else f"customdata[{column}]")
        return f"%{{{name}{form or ''}}}"

    template = _FIELD.sub(field, hover_text(hover))
    together = columns[0] if len(columns) == 1 else np.column_stack(columns) if columns else None
    return {"hovertemplate": f"{template}<extra></extra>", "customdata": together}


def trace(mark: Mark, mode: Mode) -> dict[str, Any] | None:
    """Return what Plotly draws of a mark; None of what is a shape, not a trace."""
    legend = {
        "name": escape(mark.name) or None,
        "legendgroup": escape(mark.group) or None,
        "showlegend": None if mark.listed else False,
    }
    match mark:
        case Line():
            return dict(
                type="scatter",
                x=mark.x,
                y=mark.y,
                mode="lines+markers" if mark.dots else "lines",
                line=_line(mark, mode) | {"shape": "hv" if mark.steps else None},
                marker={"size": 5 if mark.dots else None},
                **_hover(mark.hover, mark.columns),
                **legend,
            )
        case Band():
            x, y = mark.outline
            fill = {"fill": "toself", "fillcolor": _color(mark.tint, mode), "line": {"width": 0}}
            return dict(type="scatter", x=x, y=y, mode="lines", hoverinfo="skip", **fill, **legend)
        case Rule():
            ends = {"x": [mark.at, mark.at], "y": [0, 1], "mode": "lines", "hoverinfo": "name"}
            return (
                dict(type="scatter", **ends, line=_line(mark, mode), **legend)
                if mark.name
                else None
            )
        case Bars():
            return dict(type="bar", **_bars(mark, mode), **_hover(mark.hover), **legend)
        case Dots():
            return dict(type="scatter", **_dots(mark, mode), **_hover(mark.hover), **legend)
        case Cells():
            return dict(type="heatmap", **_cells(mark, mode), **legend)
        case _:
            raise TypeError(f"no drawing of a {type(mark).__name__} is known")


def _bars(mark: Bars, mode: Mode) -> dict[str, Any]:
    whisker = None
    if mark.low is not None and mark.high is not None:
        whisker = {
            "type": "data",
            "symmetric": False,
            "array": mark.high - mark.length,
            "arrayminus": mark.length - mark.low,
            "thickness": mark.whisker,
            "width": round(2.5 * mark.whisker),
            "color": NEUTRAL[mode],
        }
    edge = None
    if mark.chosen is not None and mark.outlined:
        edge = {"color": np.where(mark.chosen, INK[mode], "rgba(0,0,0,0)"), "width": 2}
    along, value = ("y", "x") if mark.sideways else ("x", "y")
    return {
        along: mark.place,
        value: mark.length,
        f"error_{value}": whisker,
        "orientation": "h" if mark.sideways else None,
        "width": mark.width,
        "marker": {"color": _colors(mark.tints, mode), "line": edge},
        "customdata": mark.number,
    }


def _dots(mark: Dots, mode: Mode) -> dict[str, Any]:
    color = _colors(mark.tints, mode)
    stroke = {"width": 2} if mark.shape in ("ring", "dash") else None
    symbol, spread = _SHAPES[mark.shape], None
    if mark.spread is not None:
        spread = {"type": "data", "array": mark.spread, "thickness": 1.6, "width": 5}
        spread["color"] = color
    return {
        "x": mark.x,
        "y": mark.y,
        "mode": "markers",
        "marker": {"size": mark.size, "color": color, "symbol": symbol, "line": stroke},
        "error_x": spread,
        "text": [escape(word) for word in mark.words] or None,
    }


def _cells(mark: Cells, mode: Mode) -> dict[str, Any]:
    n_rows, n_columns = mark.value.shape
    bold = np.char.add(np.char.add("<b>", mark.words), "</b>")
    strong = mark.strong & (mark.words != "")
    return {
        "x": np.arange(n_columns),
        "y": np.arange(n_rows),
        "z": mark.value.astype(np.float32),
        "zmin": -mark.limit,
        "zmax": mark.limit,
        "colorscale": diverging(mode),
        "colorbar": color_bar(mark.scale_title, mark.scale, length=0.86),
        "xgap": 2,
        "ygap": 2,
        "text": np.where(strong, bold, mark.words).tolist(),
        "texttemplate": "%{text}",
        "textfont": {"size": 12},
        "hovertext": np.vectorize(hover_text, otypes=[object])(mark.hover),
        "hoverinfo": "text",
        "hoverongaps": True,
    }


def _add_rule(figure: Sheet, mark: Rule, panel: Panel, place: int, mode: Mode) -> None:
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
        figure.add_level(mark.at, place, line)
    else:
        figure.add_upright(mark.at, place, line)
        # On a logarithmic axis annotations, unlike lines, are placed by exponent.
        x = math.log10(mark.at) if panel.x.log else mark.at
        where = {"x": x, "xref": "x", "xanchor": "left", "xshift": 4, "y": 1, "yref": "paper"}
        _write(figure, mark.text, 12, INK[mode], yanchor="top", **where)


def _write(figure: Sheet, text: str, size: int, color: str, **where: Any) -> None:
    if text:
        font = {"size": size, "color": color}
        figure.add_annotation(text=text, showarrow=False, font=font, **where)
