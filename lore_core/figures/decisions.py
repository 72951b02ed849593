"""What a better confidence earns when being unsure is cheap and being wrong is not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from lore_core.figures.style import (
    INK,
    NEUTRAL,
    Chart,
    Mode,
    apply_frame,
    escape,
    mark_gamma,
    rgba,
    series_color,
)
from lore_core.metrics.rewards import RewardCurve

__all__ = ["reward_figure"]


def reward_figure(
    curves: Mapping[str, RewardCurve],
    *,
    rows: str,
    baseline: str,
    ratio: float | None = None,
    mode: Mode = "light",
    height: int = 560,
) -> Chart:
    """Gain over the baseline against the cost ratio, above the share of rows answered.

    Parameters
    ----------
    curves : mapping of str to RewardCurve
        By method.
    rows : str
        Which rows these are, in words.
    baseline : str
        The method the others are held against.
    ratio : float, optional
        The reader's own cost ratio, marked.
    mode, height
        Look.
    """
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, row_heights=[0.66, 0.34], vertical_spacing=0.06
    )
    for position, (label, curve) in enumerate(curves.items()):
        color = series_color(label, position, mode)
        name = escape(label)
        if label != baseline:
            figure.add_trace(
                go.Scatter(
                    x=np.concatenate([curve.ratio, curve.ratio[::-1]]),
                    y=np.concatenate([curve.gain_high, curve.gain_low[::-1]]),
                    fill="toself", fillcolor=rgba(color, 0.15), line={"width": 0},
                    hoverinfo="skip", showlegend=False, legendgroup=name, name=f"{name}, 95 %",
                ),
                row=1, col=1,
            )  # fmt: skip
        figure.add_trace(
            go.Scatter(
                x=curve.ratio, y=curve.gain, mode="lines", name=name, legendgroup=name,
                line={"color": color, "width": 2.2},
                customdata=np.column_stack([curve.gain_low, curve.gain_high]),
                hovertemplate=(
                    f"<b>{name}</b><br>w/u %{{x:.3g}}<br>gain %{{y:+.3f}} u a row "
                    "(%{customdata[0]:+.3f} to %{customdata[1]:+.3f})<extra></extra>"
                ),
            ),
            row=1, col=1,
        )  # fmt: skip
        figure.add_trace(
            go.Scatter(
                x=curve.ratio, y=curve.answered, mode="lines", name=name, legendgroup=name,
                showlegend=False, line={"color": color, "width": 1.8},
                hovertemplate=f"<b>{name}</b><br>answers %{{y:.1%}} of the rows<extra></extra>",
            ),
            row=2, col=1,
        )  # fmt: skip
    apply_frame(
        figure, mode, title=f"Reward gained over “{baseline}”", subtitle=rows, height=height,
        legend=True,
    )  # fmt: skip
    figure.add_hline(y=0, line={"color": NEUTRAL[mode], "width": 1}, row=1, col=1)
    if ratio is not None:
        mark_gamma(figure, ratio, f"your w/u = {ratio:g}", mode)
        figure.add_vline(
            x=ratio, line={"color": INK[mode], "dash": "dash", "width": 1.2}, row=2, col=1
        )
    figure.update_xaxes(type="log", dtick=1)
    figure.update_xaxes(title="cost of wrong ÷ cost of unsure, w/u (log scale)", row=2, col=1)
    figure.update_yaxes(title="gain a row, in units of u", row=1, col=1)
    figure.update_yaxes(title="answered", tickformat=".0%", range=[0, 1.02], row=2, col=1)
    return Chart(
        figure=figure,
        table=pd.concat(
            [curve.frame().assign(method=label) for label, curve in curves.items()],
            ignore_index=True,
        ),
        how_to_read=(
            "A row is answered where the confidence reaches 1 − u/w, else it costs u. Above zero a "
            "method saves more than the baseline at that cost ratio; bands are paired 95 % "
            "intervals."
        ),
        alt=f"Reward against cost ratio for {', '.join(curves)}, relative to {baseline}",
        name="reward-vs-cost-ratio",
    )
