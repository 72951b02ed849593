"""The look that all figures of Plotly share, and figures of plain options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
import plotly.io as pio

from lore_core.figures.style import ACCENT, GRID, INK, NEUTRAL, PAPER, Mode, escape

if TYPE_CHECKING:
    from lore_core.figures.chart import Chart
    from lore_core.figures.pictures.picture import Hover

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
    legend: Options = {**_LEFT_EDGE, "yanchor": "bottom", "y": 0.0}
    if n_names > 0:
        height += _FOOT
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
        "height": height,
        "paper_bgcolor": PAPER[mode],
        "plot_bgcolor": PAPER[mode],
        "font": {"color": ink, "size": 12, "family": FONT},
        "hoverlabel": {"font": {"size": 12}, "align": "left"},
        "showlegend": n_names > 0,
        "legend": {"orientation": "h", "bgcolor": "rgba(0,0,0,0)", **legend},
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
    head = [f"<b>{breaking(hover.head)}</b>{escape(hover.beside)}"] if hover.head else []
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
