"""Colours, number formats and the frame every figure shares."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go

__all__ = ["METHOD_COLORS", "Chart", "Mode", "apply_frame", "diverging", "escape", "sequential"]

Mode = Literal["light", "dark"]

#: Blue = underconfident, red = overconfident, everywhere.
UNDERCONFIDENT = {"light": "#2c6fb0", "dark": "#6aaeea"}
OVERCONFIDENT = {"light": "#c0392b", "dark": "#f0786a"}
NEUTRAL = {"light": "#5f6b7a", "dark": "#9aa5b1"}
INK = {"light": "#1f2933", "dark": "#e4e7eb"}
GRID = {"light": "#e4e7eb", "dark": "#2f3742"}
PAPER = {"light": "#ffffff", "dark": "#0f1419"}
ACCENT = {"light": "#0f766e", "dark": "#2dd4bf"}

#: The dashboard's own font where it is at hand.
FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", "Open Sans", Arial, sans-serif'

#: Okabe–Ito, without the two that could be read as over- and underconfident. What others are held
#: against (the first) keeps to the background.
METHOD_COLORS = {
    "light": [
        "#8a95a3",
        "#e69f00",
        "#009e73",
        "#7b4ea3",
        "#56b4e9",
        "#8c6d31",
        "#cc79a7",
        "#1f2933",
    ],
    "dark": [
        "#7b8794",
        "#f0b429",
        "#2fc79a",
        "#b48ae0",
        "#7cc8f5",
        "#c8a864",
        "#e79cc8",
        "#e4e7eb",
    ],
}

_DIVERGING: dict[str, list[tuple[float, str]]] = {
    "light": [
        (0.0, "#053a6e"), (0.2, "#2c6fb0"), (0.4, "#9cc4e4"), (0.5, "#f2f2f0"),
        (0.6, "#f2b6a4"), (0.8, "#c0392b"), (1.0, "#67001f"),
    ],
    "dark": [
        (0.0, "#a9d4ff"), (0.2, "#4f97dc"), (0.4, "#24507c"), (0.5, "#252b33"),
        (0.6, "#7c3028"), (0.8, "#e0604f"), (1.0, "#ffc2b5"),
    ],
}  # fmt: skip
_SEQUENTIAL: dict[str, list[tuple[float, str]]] = {
    "light": [
        (0.0, "#f4f1ea"), (0.25, "#f1d9a0"), (0.5, "#e2a14a"), (0.75, "#a85c22"), (1.0, "#4d2410"),
    ],
    "dark": [
        (0.0, "#252b33"), (0.25, "#5d4a2a"), (0.5, "#a8732a"), (0.75, "#e6ab4c"), (1.0, "#fff0c9"),
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Chart:
    """A figure with everything needed to show, read and export it.

    Attributes
    ----------
    figure : plotly Figure
        The picture.
    table : DataFrame
        The numbers it shows.
    how_to_read : str
        One line for under the picture.
    alt : str
        The same for a reader who cannot see it.
    name : str
        Stem of exported files.
    """

    figure: go.Figure
    table: pd.DataFrame
    how_to_read: str
    alt: str
    name: str
    config: dict[str, Any] = field(default_factory=dict)

    def _ipython_display_(self) -> None:
        """Show the figure in a notebook by Plotly's own renderer, and below it how to read it."""
        from IPython.display import display

        if find_spec("nbformat") is None:  # Plotly's renderer needs it
            display({"text/html": self._repr_html_(), "text/plain": self.alt}, raw=True)
            return
        self.figure.show(config=self.config)
        display({"text/markdown": self.how_to_read, "text/plain": self.how_to_read}, raw=True)

    def _repr_html_(self) -> str:
        """Return the figure and how to read it as HTML that needs no network."""
        picture = self.figure.to_html(full_html=False, include_plotlyjs=True, config=self.config)
        return f"{picture}<p>{escape(self.how_to_read)}</p>"


#: So many names fit beside a title, also in half a page.
_MOST_ON_TOP = 3
#: Pixels for a legend at the foot: two lines. Where it needs more, the plot yields them.
_FOOT = 44
#: A method keeps its colour on every page, whichever others it is compared with.
_METHOD_PLACES = {
    "No recalibration": 0,
    "Temperature scaling": 1,
    "Histogram binning": 2,
    "LoRe": 3,
    "Isotonic regression": 4,
    "Platt scaling": 5,
    "MMCE optimization": 6,
    "LoRe tuned": 7,
}


def series_place(label: str, position: int) -> int:
    """Place of a curve among the colours: a known method's own, else by its position."""
    return _METHOD_PLACES.get(label, position + 1) % len(METHOD_COLORS["light"])


def series_color(label: str, position: int, mode: Mode) -> str:
    """Colour of a curve."""
    return METHOD_COLORS[mode][series_place(label, position)]


def diverging(mode: Mode) -> list[tuple[float, str]]:
    """Colour scale of signed gaps: blue below zero, red above."""
    return _DIVERGING[mode]


def sequential(mode: Mode) -> list[tuple[float, str]]:
    """Colour scale of absolute errors: paper to brown."""
    return _SEQUENTIAL[mode]


def escape(text: object) -> str:
    """Make text from the user's data safe inside a figure, where Plotly would render tags."""
    return html.escape(str(text), quote=False)


def rgba(color: str, alpha: float) -> str:
    """``#rrggbb`` with an opacity."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


def mark_gamma(figure: go.Figure, gamma: float, text: str, mode: Mode) -> None:
    """Draw a labelled vertical line at a bandwidth on a logarithmic axis."""
    figure.add_vline(x=gamma, line={"color": INK[mode], "dash": "dash", "width": 1.2})
    # On a logarithmic axis annotations, unlike lines, are placed by exponent.
    figure.add_annotation(
        x=math.log10(gamma), xref="x", y=1, yref="paper", yanchor="top", xanchor="left", xshift=4,
        text=text, showarrow=False, font={"size": 12, "color": INK[mode]},
    )  # fmt: skip


def apply_frame(
    figure: go.Figure, mode: Mode, *, title: str, subtitle: str, height: int, legend: bool = False
) -> go.Figure:
    """Give a figure its title, what rows it shows, and the shared look."""
    ink, grid = INK[mode], GRID[mode]
    figure.update_layout(
        # Named, because Streamlit sets a default of its own for every figure of the process.
        template="plotly",
        title={
            "text": f"<b>{escape(title)}</b>",
            "subtitle": {
                "text": escape(subtitle), "font": {"size": 12, "color": NEUTRAL[mode]}
            },
            "font": {"size": 15, "color": ink},
            "x": 0.0, "xref": "container", "xanchor": "left", "pad": {"l": 8},
            "y": 1.0, "yref": "container", "yanchor": "top", "automargin": False,
        },
        margin={"l": 8, "r": 8, "t": 62, "b": 8},
        height=height,
        paper_bgcolor=PAPER[mode],
        plot_bgcolor=PAPER[mode],
        font={"color": ink, "size": 12, "family": FONT},
        hoverlabel={"font": {"size": 12}, "align": "left"},
        showlegend=legend,
        legend={
            "orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 1.0, "xanchor": "right",
            "bgcolor": "rgba(0,0,0,0)",
        },
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": NEUTRAL[mode], "activecolor": ACCENT[mode]},
        dragmode="pan",
    )  # fmt: skip
    figure.update_layout(title_pad_t=10)
    if legend and sum(trace.showlegend is not False for trace in figure.data) > _MOST_ON_TOP:
        # Beside the title they would run into it; at the foot they take the lines they need.
        foot = {"yref": "container", "y": 0.0, "yanchor": "bottom"}
        side = {"xref": "container", "x": 0.0, "xanchor": "left"}
        figure.update_layout(height=height + _FOOT, legend={**foot, **side})
    figure.update_xaxes(gridcolor=grid, linecolor=grid, zeroline=False, automargin=True)
    figure.update_yaxes(gridcolor=grid, linecolor=grid, zeroline=False, automargin=True)
    return figure
