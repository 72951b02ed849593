"""Groups side by side: how far each one's confidence is from its accuracy."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from lore_core.figures.style import (
    NEUTRAL,
    Chart,
    Mode,
    apply_frame,
    escape,
    rgba,
    series_color,
)

__all__ = ["group_figure"]

GroupMetric = Literal["gap", "ece", "mce"]
_TITLES = {
    "gap": "Mean gap of each group",
    "ece": "ECE of each group",
    "mce": "MCE of each group",
}


def group_figure(
    reports: Mapping[str, pd.DataFrame],
    *,
    metric: GroupMetric = "gap",
    rows: str,
    mode: Mode = "light",
) -> Chart:
    """One line a group, one dot a method, with 95 % intervals; small groups are faint.

    Parameters
    ----------
    reports : mapping of str to DataFrame
        :func:`~lore_core.comparison.groups.group_report` of the same groups, by method.
    metric : {"gap", "ece", "mce"}
        What to draw.
    rows : str
        Which rows these are, in words.
    mode : {"light", "dark"}
        Theme.
    """
    figure = go.Figure()
    first = next(iter(reports.values()))
    order = [str(name) for name in first["group"]][::-1]
    spread = np.linspace(0.28, -0.28, len(reports)) if len(reports) > 1 else np.zeros(1)
    for position, (label, report) in enumerate(reports.items()):
        color = series_color(label, position, mode)
        place = np.array([order.index(str(name)) for name in report["group"]])
        # Lines of their own, not error bars: an ECE may lie above its interval.
        ends = np.full((len(report), 3), np.nan)  # the third parts one line from the next
        ends[:, :2] = report[[f"{metric}_low", f"{metric}_high"]]
        figure.add_trace(
            go.Scatter(
                x=ends.ravel(), y=np.repeat(place + spread[position], 3),
                mode="lines", line={"color": rgba(color, 0.6), "width": 1.3}, hoverinfo="skip",
                name=f"{escape(label)}, 95 %", showlegend=False, legendgroup=escape(label),
            )
        )  # fmt: skip
        figure.add_trace(
            go.Scatter(
                x=report[metric], y=place + spread[position], mode="markers", name=escape(label),
                legendgroup=escape(label),
                marker={
                    "size": 8,
                    "color": [rgba(color, 0.35 if small else 1.0) for small in report["small"]],
                },
                hovertext=[_hover(record, label) for record in report.to_dict("records")],
                hoverinfo="text",
            )
        )  # fmt: skip
    apply_frame(
        figure, mode, title=_TITLES[metric], subtitle=rows, legend=len(reports) > 1,
        height=150 + max(len(order) * (22 + 11 * len(reports)), 120),
    )  # fmt: skip
    sizes = dict(zip(map(str, first["group"]), map(int, first["rows"]), strict=True))
    figure.update_yaxes(
        tickvals=list(range(len(order))),
        ticktext=[f"{escape(name)} ({sizes[name]:,})" for name in order],
        range=[-0.6, len(order) - 0.4],
    )
    signed = metric == "gap"
    figure.update_xaxes(
        title="confidence − accuracy" if signed else f"{metric.upper()}",
        tickformat="+.0%" if signed else ".0%",
    )
    figure.add_vline(x=0, line={"color": NEUTRAL[mode], "width": 1})
    return Chart(
        figure=figure,
        table=pd.concat(
            [report.assign(method=label) for label, report in reports.items()], ignore_index=True
        ),
        how_to_read=(
            "Numbers behind the names are rows; lines are 95 % intervals. Faint dots are small "
            "groups, whose numbers are mostly noise. "
            + (
                "Right of zero: promised too much."
                if signed
                else "What lies above its own interval is mostly chance."
            )
        ),
        alt=f"{_TITLES[metric]}, {len(order)} groups, methods {', '.join(reports)}",
        name=f"groups-{metric}",
    )


def _hover(record: Mapping[Hashable, Any], method: str) -> str:
    few = " (few: mostly noise)" if record["small"] else ""
    return (
        f"<b>{escape(record['group'])}</b>, {escape(method)}<br>{record['rows']:,} rows{few}<br>"
        f"promised {record['mean_confidence']:.1%}, got {record['accuracy']:.1%}<br>"
        f"ECE {record['ece'] * 100:.1f}, MCE {record['mce'] * 100:.1f} points"
    )
