"""MLCE and ALCE against the bandwidth."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from lore_core.chance.simulation import NullBand
from lore_core.figures.style import (
    INK,
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
from lore_core.metrics.bandwidth import BandwidthCurve, BandwidthSpread
from lore_core.metrics.bandwidth_choice import BandwidthSuggestion
from lore_core.metrics.catalogue import CURVES
from lore_core.metrics.metric import CurveKey

__all__ = ["bandwidth_figure", "suggestion_figure"]


def bandwidth_figure(
    curves: Mapping[str, BandwidthCurve | BandwidthSpread],
    *,
    metric: CurveKey = "mlce",
    rows: str,
    gamma: float | None = None,
    null: tuple[str, NullBand] | None = None,
    mode: Mode = "light",
    height: int = 420,
) -> Chart:
    """One curve for each feature map or method, with both limits (Luo et al. 2022, fig. 1).

    Parameters
    ----------
    curves : mapping of str to BandwidthCurve or BandwidthSpread
        By name; of many runs the mean is drawn, in a band of one standard deviation.
    metric : {"mlce", "mlce_supported", "alce"}
        What to draw.
    rows : str
        Which rows these are, in words.
    gamma : float, optional
        The bandwidth in use, marked.
    null : (str, NullBand), optional
        Name of a curve, and what calibrated data with its confidences would show: drawn as a band.
    mode, height
        Look.
    """
    words = CURVES[metric]
    name = words.title
    figure = go.Figure()
    if null is not None:
        figure.add_trace(_null_band(null[1], metric, null[0] if len(curves) > 1 else "", mode))
    means = {
        label: item.mean if isinstance(item, BandwidthSpread) else item
        for label, item in curves.items()
    }
    for position, (label, curve) in enumerate(means.items()):
        color = series_color(label, position, mode)
        item = curves[label]
        if isinstance(item, BandwidthSpread):
            # Many bands on top of one another turn grey.
            alpha = 0.12 if len(curves) <= 4 else 0.07
            figure.add_trace(_band(item, metric, rgba(color, alpha), label))
        figure.add_trace(
            go.Scatter(
                x=curve.gamma, y=getattr(curve, metric), mode="lines+markers", name=escape(label),
                legendgroup=escape(label),
                line={"color": color, "width": 2.2}, marker={"size": 5},
                customdata=curve.median_effective_size,
                hovertemplate=(
                    f"<b>{escape(label)}</b><br>γ %{{x:.3g}}<br>{name} %{{y:.3f}}<br>"
                    "median n_eff %{customdata:.0f}<extra></extra>"
                ),
            )
        )  # fmt: skip
        for limit, what, side, anchor in (
            ("zero", words.at_zero, 0.0, "left"),
            ("infinity", words.at_infinity, 1.0, "right"),
        ):
            value = getattr(curve, f"{metric}_{limit}", float("nan"))
            if not what or not math.isfinite(value):
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
        legend=len(curves) > 1 or null is not None,
    )  # fmt: skip
    figure.update_xaxes(title="bandwidth γ (log scale)", type="log", dtick=1)
    figure.update_yaxes(title=name, rangemode="tozero")
    tops = [[*getattr(c, metric), getattr(c, f"{metric}_zero", math.nan)] for c in means.values()]
    n_runs = {item.n_runs for item in curves.values() if isinstance(item, BandwidthSpread)}
    known = [value for top in tops for value in top if np.isfinite(value)]
    figure.update_yaxes(range=[0, 1.1 * float(max(known, default=1.0))])
    return Chart(
        figure=figure,
        table=pd.concat(
            [_table(item, metric).assign(curve=label) for label, item in curves.items()]
            + ([] if null is None else [_null_table(null[1], metric, null[0])]),
            ignore_index=True,
        ),
        how_to_read=(
            f"{name}: {words.meaning}. Far left each row stands alone (its "
            "own right or wrong); far right all rows of a bin count alike. Read it in between; the "
            "dotted stubs are the two limits."
            + (
                f" Bands: mean ± one standard deviation over {max(n_runs):,} runs."
                if n_runs
                else ""
            )
            + (
                ""
                if null is None
                else f" Grey: the middle 90 % of {null[1].n_draws} simulations in which every "
                "confidence is right; inside it a curve is what chance makes."
            )
        ),
        alt=f"{name} against bandwidth for {', '.join(curves)}",
        name=f"{metric.replace('_', '-')}-vs-bandwidth",
    )


def _band(item: BandwidthSpread, metric: CurveKey, color: str, label: str) -> go.Scatter:
    """Mean ± one standard deviation over runs, no further than an error can go."""
    mean, sd = getattr(item.mean, metric), getattr(item.sd, metric)
    known = np.isfinite(mean)
    gamma = item.mean.gamma[known]
    high, low = np.minimum(mean + sd, 1.0)[known], np.maximum(mean - sd, 0.0)[known]
    return go.Scatter(
        x=np.concatenate([gamma, gamma[::-1]]), y=np.concatenate([high, low[::-1]]),
        fill="toself", fillcolor=color, line={"width": 0}, mode="lines",
        hoverinfo="skip", showlegend=False, legendgroup=escape(label),
        name=f"{escape(label)}, ± 1 SD",
    )  # fmt: skip


def _null_band(null: NullBand, metric: CurveKey, of: str, mode: Mode) -> go.Scatter:
    """Middle 90 % of what calibrated data show."""
    low, high = null.band(metric)
    known = np.isfinite(low)
    gamma, low, high = null.gamma[known], low[known], high[known]
    return go.Scatter(
        x=np.concatenate([gamma, gamma[::-1]]), y=np.concatenate([high, low[::-1]]),
        fill="toself", fillcolor=rgba(NEUTRAL[mode], 0.28), line={"width": 0}, mode="lines",
        hoverinfo="skip", name=escape(f"if calibrated{f', {of}' if of else ''} (5–95 %)"),
    )  # fmt: skip


def _null_table(null: NullBand, metric: CurveKey, of: str) -> pd.DataFrame:
    low, high = null.band(metric)
    return pd.DataFrame(
        {
            "gamma": null.gamma,
            f"{metric}_low": low,
            f"{metric}_high": high,
            "curve": f"{of}, if calibrated",
        }
    )


def _table(item: BandwidthCurve | BandwidthSpread, metric: CurveKey) -> pd.DataFrame:
    """One row a bandwidth; of many runs with the spread of what is drawn."""
    if isinstance(item, BandwidthCurve):
        return item.frame()
    return item.mean.frame().assign(**{f"{metric}_sd": getattr(item.sd, metric)})


def suggestion_figure(
    suggestion: BandwidthSuggestion,
    *,
    rows: str,
    in_use: tuple[float, int] | None = None,
    mode: Mode = "light",
    height: int = 320,
) -> Chart:
    """Leave-one-out NLL against γ, one line for each number of bins, the minimum marked.

    Parameters
    ----------
    suggestion : BandwidthSuggestion
        What to draw.
    rows : str
        Which rows it was chosen on, in words.
    in_use : (float, int), optional
        γ and number of bins in use, marked where they were tried.
    mode, height
        Look.
    """
    figure = go.Figure()
    tables = []
    for bins, loss in zip(suggestion.tried_bins, suggestion.loss, strict=True):
        best = bins == suggestion.n_bins
        name = "1 bin" if bins == 1 else f"{bins} bins"
        used = in_use is not None and bins == in_use[1]
        figure.add_trace(
            go.Scatter(
                x=suggestion.gammas, y=loss, mode="lines+markers" if best else "lines",
                name=name + (" (in use)" if used else ""),
                line={
                    "color": METHOD_COLORS[mode][2] if best else NEUTRAL[mode],
                    "width": 2.4 if best else 1.4,
                    "dash": "solid" if best or used else "dot",
                },
                marker={"size": 5}, opacity=1.0 if best or used else 0.75,
                hovertemplate=f"{name}<br>γ %{{x:.3g}}<br>NLL %{{y:.4f}}<extra></extra>",
            )
        )  # fmt: skip
        tables.append(pd.DataFrame({"n_bins": bins, "gamma": suggestion.gammas, "loo_nll": loss}))
    figure.add_trace(
        go.Scatter(
            x=[suggestion.gamma], y=[float(suggestion.loss.min())], mode="markers",
            showlegend=False, hoverinfo="skip",
            marker={"size": 11, "symbol": "circle-open", "color": INK[mode], "line": {"width": 2}},
        )
    )  # fmt: skip
    mark_gamma(figure, suggestion.gamma, f"best γ = {suggestion.gamma:.2g}", mode)
    apply_frame(
        figure, mode, title="Which settings predict best", subtitle=rows, height=height,
        legend=len(suggestion.tried_bins) > 1,
    )  # fmt: skip
    figure.update_xaxes(title="bandwidth γ (log scale)", type="log", dtick=1)
    figure.update_yaxes(title="leave-one-out NLL, nats")
    return Chart(
        figure=figure,
        table=pd.concat(tables, ignore_index=True),
        how_to_read=(
            "Each row's outcome is predicted from its neighbours without itself; lower is better. "
            "A dip in the middle means there is something local to learn."
        ),
        alt=(
            f"Leave-one-out likelihood against bandwidth, best at {suggestion.gamma:.2g} with "
            f"{suggestion.n_bins} bins"
        ),
        name="suggested-bandwidth",
    )
