"""The distribution of the local error over rows, beside the one number it hides behind."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from lore_core.chance.simulation import NullErrors
from lore_core.figures.style import (
    ACCENT,
    INK,
    NEUTRAL,
    Chart,
    Mode,
    apply_frame,
    escape,
    rgba,
    series_color,
)

__all__ = ["cdf_figure"]

#: Steps drawn at most; the exported table holds as many.
_POINTS = 400


def cdf_figure(
    errors: Mapping[str, NDArray[np.float64]],
    *,
    rows: str,
    global_error: float | None = None,
    null: NullErrors | None = None,
    mode: Mode = "light",
    height: int = 300,
    title: str = "How much of the data is off by how much",
) -> Chart:
    """Cumulative distribution of the LCE (Luo et al. 2022, fig. 2).

    Parameters
    ----------
    errors : mapping of str to ndarray
        LCE of the rows, by method; with one entry its mean is marked too.
    rows : str
        Which rows these are, in words.
    global_error : float, optional
        |conf(B) − acc(B)| of the bin, drawn as a line.
    null : NullErrors, optional
        What calibrated rows would show, drawn as a band.
    mode, height, title
        Look.
    """
    figure = go.Figure()
    tables = []
    marks: list[tuple[float, str, str, str]] = []
    single = len(errors) == 1
    if null is not None:
        low, high = null.band()
        figure.add_trace(
            go.Scatter(
                x=np.concatenate([high, low[::-1]]),
                y=np.concatenate([null.share, null.share[::-1]]),
                fill="toself", fillcolor=rgba(NEUTRAL[mode], 0.28), line={"width": 0},
                mode="lines", hoverinfo="skip", name="if calibrated (5–95 %)",
            )
        )  # fmt: skip
        tables.append(
            pd.DataFrame(
                {
                    "method": "if calibrated",
                    "lce_low": low,
                    "lce_high": high,
                    "share_of_rows": null.share,
                }
            )
        )
    for position, (name, values) in enumerate(errors.items()):
        finite = np.sort(values[np.isfinite(values)])
        if finite.size == 0:
            continue
        take = np.unique(np.linspace(0, len(finite) - 1, min(_POINTS, len(finite))).astype(int))
        x, share = finite[take], (take + 1) / len(finite)
        color = ACCENT[mode] if single else series_color(name, position, mode)
        figure.add_trace(
            go.Scatter(
                x=x, y=share, mode="lines", name=escape(name),
                line={"color": color, "width": 2, "shape": "hv"},
                hovertemplate="%{y:.0%} of the rows have LCE ≤ %{x:.3f}<extra></extra>",
            )
        )  # fmt: skip
        tables.append(pd.DataFrame({"method": name, "lce": x, "share_of_rows": share}))
        if single:
            marks.append((float(finite.mean()), "mean LCE", INK[mode], "dash"))
    if global_error is not None:
        marks.append((global_error, "bin's global error", NEUTRAL[mode], "dot"))
    # Two lines may lie close together: each is written on its outer side, if there is room.
    widest = max(float(v[np.isfinite(v)].max(initial=0.0)) for v in errors.values())
    first = min(marks)[0] if len(marks) == 2 else np.nan
    for mark in marks:
        outer = mark[0] == first and first > 0.08 * widest
        _mark(figure, *mark, anchor="right" if outer else "left")
    apply_frame(figure, mode, title=title, subtitle=rows, height=height)
    figure.update_xaxes(
        title="local calibration error (LCE)", rangemode="tozero", tickformat=".1~%"
    )
    figure.update_yaxes(title="share of rows", range=[0, 1.02], tickformat=".0%")
    # A distribution leaves this corner free.
    corner = {"x": 1, "xanchor": "right", "y": 0.04, "yanchor": "bottom", "orientation": "v"}
    figure.update_layout(showlegend=not single, legend=corner)
    means = ", ".join(
        f"{name} {values[np.isfinite(values)].mean() * 100:.1f}"
        for name, values in errors.items()
        if np.isfinite(values).any()
    )
    return Chart(
        figure=figure,
        table=(
            pd.concat(tables, ignore_index=True)
            if tables
            else pd.DataFrame(columns=["method", "lce", "share_of_rows"])
        ),
        how_to_read=(
            "The further left a curve, the smaller the local errors."
            + (
                " Rows right of the dotted line are worse off than the bin's average error says."
                if global_error is not None
                else ""
            )
            + (
                ""
                if null is None
                else f" Grey: the middle 90 % of {null.n_draws} simulations in which every "
                "confidence is right."
            )
        ),
        alt=f"Cumulative distribution of the local calibration error; mean in points: {means}",
        name="lce-cdf",
    )


def _mark(figure: go.Figure, x: float, name: str, color: str, dash: str, *, anchor: str) -> None:
    """Draw a labelled vertical line; written along it, so that it fits a narrow chart too."""
    text = f"{name} {x * 100:.1f} points"
    figure.add_trace(
        go.Scatter(
            x=[x, x], y=[0, 1], mode="lines", name=text, hoverinfo="name",
            line={"color": color, "dash": dash, "width": 1.5},
        )
    )  # fmt: skip
    figure.add_annotation(
        x=x, y=0.03, text=text, textangle=-90, showarrow=False, xanchor=anchor, yanchor="bottom",
        font={"size": 11, "color": color},
    )  # fmt: skip
