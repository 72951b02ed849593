"""The distribution of the local error over rows, beside the one number it hides behind."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from lore_core.figures.style import (
    ACCENT,
    INK,
    NEUTRAL,
    Chart,
    Mode,
    apply_frame,
    escape,
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
    mode, height, title
        Look.
    """
    figure = go.Figure()
    tables = []
    single = len(errors) == 1
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
            _mark(figure, float(finite.mean()), "mean LCE", INK[mode], "dash")
    if global_error is not None:
        _mark(figure, global_error, "bin's global error", NEUTRAL[mode], "dot")
    apply_frame(figure, mode, title=title, subtitle=rows, height=height, legend=not single)
    figure.update_xaxes(title="local calibration error (LCE)", rangemode="tozero", tickformat=".0%")
    figure.update_yaxes(title="share of rows", range=[0, 1.02], tickformat=".0%")
    figure.update_layout(
        legend={"x": 1, "xanchor": "right", "y": 0.04, "yanchor": "bottom", "orientation": "v"}
    )
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
        ),
        alt=f"Cumulative distribution of the local calibration error; mean in points: {means}",
        name="lce-cdf",
    )


def _mark(figure: go.Figure, x: float, name: str, color: str, dash: str) -> None:
    """Draw a labelled vertical line; written along it, so that it fits a narrow chart too."""
    text = f"{name} {x * 100:.1f} points"
    figure.add_trace(
        go.Scatter(
            x=[x, x], y=[0, 1], mode="lines", name=text, hoverinfo="name",
            line={"color": color, "dash": dash, "width": 1.5},
        )
    )  # fmt: skip
    figure.add_annotation(
        x=x, y=0.03, text=text, textangle=-90, showarrow=False, xanchor="left", yanchor="bottom",
        font={"size": 11, "color": color},
    )  # fmt: skip
