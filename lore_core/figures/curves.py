"""MLCE and ALCE against the bandwidth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from lore_core.bandwidth import BandwidthCurve, BandwidthSuggestion
from lore_core.figures.style import (
    METHOD_COLORS,
    NEUTRAL,
    Chart,
    Mode,
    apply_frame,
    escape,
    mark_gamma,
    rgba,
    series_color,
)

__all__ = ["bandwidth_figure", "suggestion_figure"]

CurveMetric = Literal["mlce", "mlce_supported", "alce"]

_NAMES = {"mlce": "MLCE", "mlce_supported": "MLCE, supported rows", "alce": "ALCE"}
_MEANINGS = {
    "mlce": "the largest local error over rows",
    "mlce_supported": "the largest local error over rows with enough effective neighbours",
    "alce": "the mean local error over rows",
}
#: What the limits are; the supported MLCE has none at zero, where no row has neighbours.
_LIMITS = {
    ("mlce", "zero"): "γ → 0: single rows, max |c − a|",
    ("alce", "zero"): "γ → 0: single rows, mean |c − a|",
    ("mlce", "infinity"): "γ → ∞: MCE",
    ("mlce_supported", "infinity"): "γ → ∞: MCE of bins with enough rows",
    ("alce", "infinity"): "γ → ∞: ECE",
}


def bandwidth_figure(
    curves: Mapping[str, BandwidthCurve],
    *,
    metric: CurveMetric = "mlce",
    rows: str,
    gamma: float | None = None,
    mode: Mode = "light",
    height: int = 420,
) -> Chart:
    """One curve for each feature map or method, with both limits (Luo et al. 2022, fig. 1).

    Parameters
    ----------
    curves : mapping of str to BandwidthCurve
        By name.
    metric : {"mlce", "mlce_supported", "alce"}
        What to draw.
    rows : str
        Which rows these are, in words.
    gamma : float, optional
        The bandwidth in use, marked.
    mode, height
        Look.
    """
    name = _NAMES[metric]
    figure = go.Figure()
    for position, (label, curve) in enumerate(curves.items()):
        color = series_color(label, position, mode)
        figure.add_trace(
            go.Scatter(
                x=curve.gamma, y=getattr(curve, metric), mode="lines+markers", name=escape(label),
                line={"color": color, "width": 2.2}, marker={"size": 5},
                customdata=curve.median_effective_size,
                hovertemplate=(
                    f"<b>{escape(label)}</b><br>γ %{{x:.3g}}<br>{name} %{{y:.3f}}<br>"
                    "median n_eff %{customdata:.0f}<extra></extra>"
                ),
            )
        )  # fmt: skip
        for limit, side, anchor in (("zero", 0.0, "left"), ("infinity", 1.0, "right")):
            what = _LIMITS.get((metric, limit))
            value = getattr(curve, f"{metric}_{limit}", float("nan"))
            if what is None or not math.isfinite(value):
                continue
            figure.add_shape(
                type="line", xref="paper", yref="y", y0=value, y1=value,
                x0=0.0 if side == 0 else 0.85, x1=0.15 if side == 0 else 1.0,
                line={"color": rgba(color, 0.8), "dash": "dot", "width": 1.5},
            )  # fmt: skip
            if len(curves) == 1:
                figure.add_annotation(
                    x=side, xref="paper", y=value, yref="y", xanchor=anchor, yanchor="bottom",
                    text=f"{what} = {value:.3f}", showarrow=False,
                    font={"size": 11, "color": NEUTRAL[mode]},
                )  # fmt: skip
    if gamma is not None:
        mark_gamma(figure, gamma, f"γ = {gamma:g}", mode)
    apply_frame(
        figure, mode, title=f"{name} against bandwidth", subtitle=rows, height=height,
        legend=len(curves) > 1,
    )  # fmt: skip
    figure.update_xaxes(title="bandwidth γ (log scale)", type="log", dtick=1)
    figure.update_yaxes(title=name, rangemode="tozero")
    tops = [[*getattr(c, metric), getattr(c, f"{metric}_zero", math.nan)] for c in curves.values()]
    figure.update_yaxes(range=[0, 1.1 * max((float(np.nanmax(t)) for t in tops), default=1.0)])
    return Chart(
        figure=figure,
        table=pd.concat(
            [curve.frame().assign(curve=label) for label, curve in curves.items()],
            ignore_index=True,
        ),
        how_to_read=(
            f"{name}: {_MEANINGS[metric]}. Far left each row stands alone (its "
            "own right or wrong); far right all rows of a bin count alike. Read it in between; the "
            "dotted stubs are the two limits."
        ),
        alt=f"{name} against bandwidth for {', '.join(curves)}",
        name=f"{metric.replace('_', '-')}-vs-bandwidth",
    )


def suggestion_figure(
    suggestion: BandwidthSuggestion, *, rows: str, mode: Mode = "light", height: int = 300
) -> Chart:
    """Leave-one-out NLL against γ, its minimum marked.

    Parameters
    ----------
    suggestion : BandwidthSuggestion
        What to draw.
    rows : str
        Which rows it was chosen on, in words.
    mode, height
        Look.
    """
    figure = go.Figure(
        go.Scatter(
            x=suggestion.gammas, y=suggestion.negative_log_likelihood, mode="lines+markers",
            line={"color": METHOD_COLORS[mode][2], "width": 2.2}, marker={"size": 5},
            hovertemplate="γ %{x:.3g}<br>NLL %{y:.4f}<extra></extra>",
        )
    )  # fmt: skip
    mark_gamma(figure, suggestion.gamma, f"best γ = {suggestion.gamma:.2g}", mode)
    apply_frame(figure, mode, title="Which γ predicts best", subtitle=rows, height=height)
    figure.update_xaxes(title="bandwidth γ (log scale)", type="log", dtick=1)
    figure.update_yaxes(title="leave-one-out NLL, nats")
    return Chart(
        figure=figure,
        table=pd.DataFrame(
            {"gamma": suggestion.gammas, "loo_nll": suggestion.negative_log_likelihood}
        ),
        how_to_read=(
            "Each row's outcome is predicted from its neighbours without itself; lower is better. "
            "A dip in the middle means there is something local to learn."
        ),
        alt=f"Leave-one-out likelihood against bandwidth, best at {suggestion.gamma:.2g}",
        name="suggested-bandwidth",
    )
