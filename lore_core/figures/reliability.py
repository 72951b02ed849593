"""The reliability diagram: what each confidence promised and what it got."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from lore_core.figures.style import (
    ACCENT,
    INK,
    NEUTRAL,
    OVERCONFIDENT,
    UNDERCONFIDENT,
    Chart,
    Mode,
    apply_frame,
    rgba,
)
from lore_core.metrics.global_metrics import ReliabilityTable

__all__ = ["reliability_figure"]


def reliability_figure(
    table: ReliabilityTable,
    *,
    rows: str,
    chosen: int | None = None,
    mode: Mode = "light",
    height: int = 420,
    title: str = "Reliability",
) -> Chart:
    """Accuracy of each confidence bin with its 95 % interval, over the number of rows.

    Parameters
    ----------
    table : ReliabilityTable
        What to draw.
    rows : str
        Which rows these are, in words.
    chosen : int, optional
        Bin to outline; ``customdata`` of each bar is its bin index, for clicks.
    mode : {"light", "dark"}
        Theme.
    height : int
        Pixels.
    title : str
        Figure title.
    """
    full = np.flatnonzero(table.count > 0)
    edges, gap = table.bins.edges, table.gap
    middle = (edges[:-1] + edges[1:])[full] / 2
    width = np.diff(edges)[full]
    over = gap[full] > 0
    colors = np.where(over, OVERCONFIDENT[mode], UNDERCONFIDENT[mode])
    picked = full == chosen if chosen is not None else np.zeros(len(full), dtype=bool)
    shades = [rgba(color, 0.95 if on else 0.55) for color, on in zip(colors, picked, strict=True)]
    line = np.where(picked, INK[mode], "rgba(0,0,0,0)")
    names = [table.bins.name(int(i)) for i in full]
    hover = [
        f"<b>confidence {names[k]}</b><br>{table.count[i]:,} rows<br>"
        f"promised {table.confidence[i] * 100:.1f} %<br>"
        f"got {table.accuracy[i] * 100:.1f} % "
        f"({table.accuracy_low[i] * 100:.1f}–{table.accuracy_high[i] * 100:.1f})<br>"
        f"gap {gap[i] * 100:+.1f} points"
        for k, i in enumerate(full)
    ]
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, row_heights=[0.74, 0.26], vertical_spacing=0.05
    )
    figure.add_trace(
        go.Scatter(
            x=[0, 1], y=[0, 1], mode="lines", hoverinfo="skip", name="calibrated",
            line={"color": NEUTRAL[mode], "dash": "dot", "width": 1.5},
        ),
        row=1, col=1,
    )  # fmt: skip
    bar = {
        "x": middle,
        "width": width * 0.92,
        "customdata": full,
        "hovertext": hover,
        "hoverinfo": "text",
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }
    figure.add_trace(
        go.Bar(
            **bar,
            y=table.accuracy[full],
            name="accuracy",
            marker={
                "color": shades,
                "line": {"color": line, "width": 2},
            },
            error_y={
                "type": "data", "symmetric": False, "thickness": 1, "width": 2,
                "color": NEUTRAL[mode],
                "array": table.accuracy_high[full] - table.accuracy[full],
                "arrayminus": table.accuracy[full] - table.accuracy_low[full],
            },
        ),
        row=1, col=1,
    )  # fmt: skip
    figure.add_trace(
        go.Scatter(
            x=middle, y=table.confidence[full], mode="markers", name="mean confidence",
            hoverinfo="skip",
            marker={"symbol": "line-ew-open", "size": 10, "color": INK[mode],
                    "line": {"width": 2}},
        ),
        row=1, col=1,
    )  # fmt: skip
    figure.add_trace(
        go.Bar(
            **bar,
            y=table.count[full],
            name="rows",
            marker={
                "color": [ACCENT[mode] if on else rgba(NEUTRAL[mode], 0.5) for on in picked],
            },
        ),
        row=2,
        col=1,
    )
    apply_frame(figure, mode, title=title, subtitle=rows, height=height)
    low = max(0.0, float(edges[full[0]]) - 0.02)
    figure.update_xaxes(range=[low, 1.0], tickformat=".0%", fixedrange=True)
    figure.update_xaxes(title="confidence", row=2, col=1)
    figure.update_yaxes(
        title="accuracy", range=[0, 1.02], tickformat=".0%", row=1, col=1, fixedrange=True
    )
    figure.update_yaxes(title="rows", row=2, col=1, fixedrange=True, nticks=3)
    figure.update_layout(bargap=0, clickmode="event+select", dragmode=False)
    worst = table.worst_bin()
    return Chart(
        figure=figure,
        table=table.frame(),
        how_to_read=(
            "Bars are the accuracy of each confidence bin, whiskers its 95 % Wilson interval, the "
            "tick its mean confidence. Red: promised more than it got. Blue: got more."
        ),
        alt=(
            f"Reliability diagram, ECE {table.expected_calibration_error * 100:.1f} points; the "
            f"largest gap is {gap[worst] * 100:+.1f} points at confidence {table.bins.name(worst)}"
        ),
        name="reliability",
    )
