"""The look that all figures of Plotly share, and panels of lines, bands, bars, dots and rules."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
from plotly.subplots import make_subplots

from lore_core.data.arrays import Floats
from lore_core.figures.pictures.picture import (
    Axis,
    Band,
    Bars,
    Cells,
    Dots,
    Hover,
    Line,
    Mark,
    Rule,
    Tint,
    spread_apart,
    truncate,
)
from lore_core.figures.style import (
    ACCENT,
    GRID,
    INK,
    NEUTRAL,
    PAPER,
    Mode,
    diverging,
    escape,
    palette,
    rgba,
)

if TYPE_CHECKING:
    from lore_core.figures.chart import Chart, PanelPicture, Seen


#: The dashboard's own font where it is at hand.
FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", "Open Sans", Arial, sans-serif'
#: Pixels for a legend at the foot: two lines. Where it needs more, the plot yields them.
_FOOT = 44
_LEFT_EDGE = {"xref": "container", "xanchor": "left", "x": 0.0, "yref": "container"}

Options = dict[str, Any]


def frame(picture: Chart, n_names: int = 0) -> Options:
    """Return the layout of a figure: title, rows shown, the shared look, a legend of some names."""
    mode, height = picture.mode, picture.height
    ink, quiet = INK[mode], NEUTRAL[mode]
    # Beside the title names would run into it; at the foot they take the lines they need.
    foot: Options = {**_LEFT_EDGE, "yanchor": "bottom", "y": 0.0}
    return {
        "title": {
            "text": f"<b>{escape(picture.title)}</b>",
            "subtitle": {"text": escape(picture.subtitle), "font": {"size": 12, "color": quiet}},
            "font": {"size": 15, "color": ink},
            "pad": {"l": 8, "t": 10},
            "automargin": False,
            **_LEFT_EDGE,
            "yanchor": "top",
            "y": 1.0,
        },
        "margin": {"l": 8, "r": 8, "t": 62, "b": 8},
        "height": height + _FOOT * (n_names > 0),
        "paper_bgcolor": PAPER[mode],
        "plot_bgcolor": PAPER[mode],
        "font": {"color": ink, "size": 12, "family": FONT},
        "hoverlabel": {"font": {"size": 12}, "align": "left"},
        "showlegend": n_names > 0,
        "legend": {"orientation": "h", "bgcolor": "rgba(0,0,0,0)", **foot},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": quiet, "activecolor": ACCENT[mode]},
        "dragmode": "pan",
        "xaxis": axis(mode),
        "yaxis": axis(mode),
    }


def axis(mode: Mode) -> Options:
    """Return how axes look."""
    grid = GRID[mode]
    return {"gridcolor": grid, "linecolor": grid, "zeroline": False, "automargin": True}


def breaking(text: str) -> str:
    """Write plain text of one or more lines as Plotly reads it."""
    return escape(text).replace("\n", "<br>")


def hover_text(hover: Hover) -> str:
    """Write what is said about an item as Plotly reads it."""
    head = [f"<b>{breaking(hover.head)}</b>{escape(hover.suffix)}"] if hover.head else []
    return "<br>".join([*head, *map(escape, hover.lines)])


def color_bar(
    title: str, ticks: Iterable[tuple[float, str]], *, length: float, **more: Any
) -> Options:
    """Options of the bar beside a picture that says which colour is which number."""
    at, words = zip(*ticks, strict=True)
    return {
        "thickness": 12,
        "len": length,
        "outlinewidth": 0,
        "tickvals": list(at),
        "ticktext": [breaking(text) for text in words],
        "title": {"text": title, "font": {"size": 11}, "side": "right"},
        **more,
    }


def annotation(text: str, size: int, color: str, **where: Any) -> Options:
    """Options of a text in a figure."""
    return {"text": text, "showarrow": False, "font": {"size": size, "color": color}, **where}


def figure(traces: list[Options], layout: Options) -> go.Figure:
    """Make a figure of plain options, unchecked (checking is slow); None keeps Plotly's default."""
    options = _given({"data": traces, "layout": layout})
    options["layout"]["template"] = _template()
    made = go.Figure(**options, _validate=False)
    made._validate = True
    return made


def _given(options: Mapping[str, Any]) -> Options:
    found = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            value = _given(value) or None  # noqa: PLW2901
        elif isinstance(value, tuple):
            value = list(value)  # noqa: PLW2901
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            value = [_given(item) for item in value]  # noqa: PLW2901
        if value is not None:
            found[name] = value
    return found


@lru_cache(maxsize=1)
def _template() -> Options:
    # Plotly's own by name, because Streamlit sets another for every figure of the process.
    template: Options = pio.templates["plotly"].to_plotly_json()
    return template


def turned(drawn: go.Figure, seen: Seen) -> go.Figure:
    """Show of a figure what is looked at."""
    for name, ends in seen.axes.items():
        drawn.layout[name].update(range=ends, autorange=False)
    if seen.camera is not None:
        drawn.layout.scene.camera.update(seen.camera)
    for number in seen.hidden:
        drawn.data[number].visible = "legendonly"
    return drawn


_SHAPES = {"disc": None, "ring": "circle-open", "diamond": "diamond", "dash": "line-ew-open"}
_FIELD = re.compile(r"\{(?:(x|y|text)|(\d+))(:[^}]*)?\}")
#: Letters of a name at the end of a line, pixels of each, and of a line of text.
_MAX_LETTERS, _LETTER, _TEXT_LINE = 22, 6.4, 15.0
_CORNER = {"x": 1.0, "xanchor": "right", "y": 0.04, "yanchor": "bottom", "orientation": "v"}


def panels(picture: PanelPicture) -> go.Figure:
    """Draw panels one above the other."""
    mode = picture.mode
    shown = [panel.in_units() for panel in picture.panels]
    ends = ["", *map(str, range(2, len(shown) + 1))]  # of the names of each panel's axes
    placed = [(mark, end) for panel, end in zip(shown, ends, strict=True) for mark in panel.marks]
    groups = list(dict.fromkeys(mark.group for mark, _ in placed))
    traces = []
    for mark, end in sorted(placed, key=lambda item: groups.index(item[0].group)):
        axes = {"xaxis": f"x{end}", "yaxis": f"y{end}"} if len(shown) > 1 else {}
        if (drawn := trace(mark, mode)) is not None:
            traces.append(drawn | axes)
    named = _names_at_ends(picture, mode)
    for one in traces:
        if one["name"] in named:
            one["showlegend"] = False
    listed = [one for one in traces if one["showlegend"] is not False]
    layout = frame(picture, len(listed) if picture.legend and not picture.free_corner else 0)
    if named:
        longest = max(len(text["text"]) for text in named.values())
        layout["margin"] = layout["margin"] | {"r": round(14 + _LETTER * longest)}
    shares = tuple(panel.share for panel in shown)
    domains = _domains(shares, picture.gap) if len(shown) > 1 else {}
    look = axis(mode) | {"fixedrange": picture.static or None}
    rules = []
    for panel, end in zip(shown, ends, strict=True):
        marks = [mark for mark in panel.marks if isinstance(mark, Rule)]
        rules += [_rule(mark, end, mode, log=panel.x.log) for mark in marks]
        x, y = f"xaxis{end}", f"yaxis{end}"
        layout[x] = domains.get(x, {}) | look | _axis(panel.x, titled=panel is shown[-1])
        layout[y] = domains.get(y, {}) | look | _axis(panel.y, titled=True)
    if picture.free_corner:
        layout["legend"] |= _CORNER
        layout["showlegend"] = picture.legend
    if picture.static:
        layout["dragmode"] = False
    is_barred = any(isinstance(mark, Bars) for mark, _ in placed)
    headings = [escape(axis.heading) for panel in shown for axis in (panel.x, panel.y)]
    layout |= {
        "shapes": [shape for shape, _ in rules if shape] or None,
        "annotations": [*(text for _, text in rules if text["text"]), *named.values()] or None,
        "bargap": 0 if is_barred else None,
        "uirevision": " ".join([picture.name, *headings]),
    }
    return figure(traces, layout)


def _names_at_ends(picture: PanelPicture, mode: Mode) -> dict[str, Options]:
    """Write the names of a few lines beside their right ends, none over another."""
    lines = picture.lines_named_at_end()
    if not lines:
        return {}
    panel = picture.panels[0].in_units()
    points = [np.column_stack([line.x, line.y])[np.isfinite(line.y)] for line in lines]
    ends, (low, high) = np.array([own[-1] for own in points]), panel.spans()[1]
    pixels = 0.7 * picture.height * panel.share / sum(one.share for one in picture.panels)
    wanted = (ends[:, 1] - low) / ((high - low) or 1.0) * pixels
    order = np.argsort(wanted, kind="stable")
    moved = spread_apart(wanted[order], _TEXT_LINE) - wanted[order]
    return {
        escape(lines[k].name): annotation(
            escape(truncate(lines[k].name, _MAX_LETTERS)),
            11,
            _color(lines[k].tint, mode),
            x=1.0,
            xref="x domain",
            xanchor="left",
            xshift=5,
            y=ends[k, 1],
            yref="y",
            yshift=float(shift),
        )
        for k, shift in zip(order.tolist(), moved, strict=True)
    }


@cache  # it takes Plotly longer than all the rest
def _domains(shares: tuple[float, ...], gap: float) -> Options:
    laid = make_subplots(
        len(shares), 1, shared_xaxes=True, row_heights=list(shares), vertical_spacing=gap
    )
    layout: Options = laid.to_plotly_json()["layout"]
    return layout


def _axis(of: Axis, *, titled: bool) -> Options:
    return {
        "title": {"text": escape(of.heading)} if of.title and titled else None,
        "ticksuffix": of.suffix or None,
        "range": of.span,
        "tickvals": [at for at, _ in of.ticks] or None,
        "ticktext": [escape(words) for _, words in of.ticks] or None,
        "type": "log" if of.log else None,
        "dtick": 1 if of.log else None,
        "nticks": 3 if of.few_ticks else None,
        "rangemode": "tozero" if of.from_zero else None,
        "showgrid": None if of.grid else False,
    }


def _color(tint: Tint, mode: Mode) -> str:
    color = palette(mode)[tint.meaning]
    return color if tint.alpha == 1 else rgba(color, tint.alpha)


def _colors(tints: Tint | Sequence[Tint], mode: Mode) -> str | list[str]:
    if isinstance(tints, Tint):
        return _color(tints, mode)
    return [_color(tint, mode) for tint in tints]


def _line(mark: Line | Rule, mode: Mode) -> Options:
    dash = None if mark.dash == "solid" else mark.dash
    return {"color": _color(mark.tint, mode), "width": mark.width, "dash": dash}


def _hover(hover: Hover | Sequence[Hover] | None, columns: Sequence[Floats] = ()) -> Options:
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


def trace(mark: Mark, mode: Mode) -> Options | None:
    """Return the Plotly trace of a mark; None if it is a shape."""
    drawn: Options
    match mark:
        case Line():
            drawn = {
                "x": mark.x,
                "y": mark.y,
                "mode": "lines+markers" if mark.dots else "lines",
                "line": _line(mark, mode) | {"shape": "hv" if mark.steps else None},
                "marker": {"size": 5 if mark.dots else None},
                **_hover(mark.hover, mark.columns),
            }
        case Band():
            x, y = mark.outline
            fill = {"fill": "toself", "fillcolor": _color(mark.tint, mode), "line": {"width": 0}}
            drawn = {"x": x, "y": y, "mode": "lines", "hoverinfo": "skip", **fill}
        case Rule():
            if not mark.name:
                return None
            ends = {"x": [mark.at, mark.at], "y": [0, 1], "mode": "lines", "hoverinfo": "name"}
            drawn = ends | {"line": _line(mark, mode)}
        case Bars():
            drawn = {"type": "bar", **_bars(mark, mode), **_hover(mark.hover)}
        case Dots():
            drawn = _dots(mark, mode) | _hover(mark.hover)
        case Cells():
            drawn = {"type": "heatmap", **_cells(mark, mode)}
        case _:
            raise TypeError(f"no drawing of a {type(mark).__name__} is known")
    return {
        "type": "scatter",
        **drawn,
        "name": escape(mark.name) or None,
        "legendgroup": escape(mark.group) or None,
        "showlegend": None if mark.listed else False,
    }


def _bars(mark: Bars, mode: Mode) -> Options:
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
        along: mark.center,
        value: mark.length,
        f"error_{value}": whisker,
        "orientation": "h" if mark.sideways else None,
        "width": mark.width,
        "marker": {"color": _colors(mark.tints, mode), "line": edge},
        "customdata": mark.number,
    }


def _dots(mark: Dots, mode: Mode) -> Options:
    color = _colors(mark.tints, mode)
    spread = {"type": "data", "array": mark.spread, "thickness": 1.6, "width": 5, "color": color}
    return {
        "x": mark.x,
        "y": mark.y,
        "mode": "markers",
        "marker": {
            "size": mark.size,
            "color": color,
            "symbol": _SHAPES[mark.shape],
            "line": {"width": 2} if mark.shape in ("ring", "dash") else None,
        },
        "error_x": None if mark.spread is None else spread,
        "text": [escape(word) for word in mark.words] or None,
    }


def _cells(mark: Cells, mode: Mode) -> Options:
    n_rows, n_columns = mark.value.shape
    bold = np.char.add(np.char.add("<b>", mark.words), "</b>")
    is_bold = mark.bold & (mark.words != "")
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
        "text": np.where(is_bold, bold, mark.words).tolist(),
        "texttemplate": "%{text}",
        "textfont": {"size": 12},
        "hovertext": np.vectorize(hover_text, otypes=[object])(mark.hover),
        "hoverinfo": "text",
        "hoverongaps": True,
    }


def _rule(mark: Rule, end: str, mode: Mode, *, log: bool) -> tuple[Options | None, Options]:
    line, (start, stop), at = _line(mark, mode), mark.part, mark.at
    shape: Options = {"type": "line", "x0": at, "x1": at, "y0": at, "y1": at, "line": line}
    where: dict[str, Any]
    if mark.name:
        # Along the line, so that it fits a narrow chart too.
        beside = {"xanchor": "right" if mark.text_side == "left" else "left", "textangle": -90}
        where = {"x": at, "y": 0.03, "yanchor": "bottom", **beside}
        return None, annotation(mark.name, 11, line["color"], **where)
    if (start, stop) != (0.0, 1.0):
        # Beside the curve: from a limit at the left it falls, to one at the right, too.
        x, side, above = (0.0, "left", "bottom") if start == 0 else (1.0, "right", "top")
        where = {"x": x, "xref": "paper", "xanchor": side, "y": at, "yref": "y", "yanchor": above}
        text = annotation(mark.text, 11, NEUTRAL[mode], **where)
        return shape | {"x0": start, "x1": stop, "xref": "paper", "yref": "y"}, text
    if mark.level:
        across = {"x0": 0, "x1": 1, "xref": f"x{end} domain", "yref": f"y{end}"}
        return shape | across, annotation("", 0, "")
    # On a logarithmic axis annotations, unlike lines, are placed by exponent.
    x = math.log10(at) if log else at
    where = {"x": x, "xref": "x", "xanchor": "left", "xshift": 4, "y": 1, "yref": "paper"}
    text = annotation(mark.text, 12, INK[mode], yanchor="top", **where)
    return shape | {"y0": 0, "y1": 1, "xref": f"x{end}", "yref": f"y{end} domain"}, text
