"""The look that all figures of Plotly share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lore_core.figures.pictures.picture import Hover, Picture
from lore_core.figures.plotly.sheet import Sheet
from lore_core.figures.style import ACCENT, GRID, INK, NEUTRAL, PAPER, Mode, escape

#: The dashboard's own font where it is at hand.
FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", "Open Sans", Arial, sans-serif'
#: So many names fit beside a title, also in half a page.
_MOST_ON_TOP = 3
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
        and sum(trace.get("showlegend") is not False for trace in figure.traces) > _MOST_ON_TOP
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
