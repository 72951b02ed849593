"""Names one below the other, each with a value and its interval: groups, and ranked methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from lore_core.data.arrays import Floats
from lore_core.data.number_text import PERCENT, POINTS, Unit, percent, rows_words
from lore_core.figures.chart import PanelChart
from lore_core.figures.pictures.marks import (
    Axis,
    Dots,
    Line,
    Mark,
    Panel,
    PanelPicture,
    Rule,
    Tint,
    Unit as AxisUnit,
    pieces,
)
from lore_core.figures.pictures.picture import Hover, Numbers, Record
from lore_core.figures.style import Mode, method_color
from lore_core.inference.intervals import ABOUT_INTERVALS
from lore_core.metrics.catalogue import ECE, MCE
from lore_core.metrics.metric import Metric

GroupMetric = Literal["gap", "ece", "mce"]
_TITLES = {"gap": "Mean gap of each group", "ece": "ECE of each group", "mce": "MCE of each group"}


def group_figure(
    reports: Mapping[str, pd.DataFrame],
    *,
    metric: GroupMetric = "gap",
    rows: str,
    mode: Mode = "light",
) -> PanelChart:
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
    return PanelChart(group_picture(reports, metric=metric, rows=rows), mode)


def group_picture(
    reports: Mapping[str, pd.DataFrame],
    *,
    metric: GroupMetric = "gap",
    rows: str,
    by_sign: bool = False,
) -> PanelPicture:
    """Show one metric of each group.

    ``reports``, ``metric``, ``rows``: see :func:`group_figure`. ``by_sign``: colours tell over-
    from underconfidence beyond chance, not one method from another.
    """
    first = next(iter(reports.values()))
    groups = [str(name) for name in first["group"]]
    n, gap = len(groups), metric == "gap"
    spread = np.linspace(0.28, -0.28, len(reports)) if len(reports) > 1 else np.zeros(1)
    marks: list[Mark] = []
    for position, (label, report) in enumerate(reports.items()):
        place = np.array([n - 1 - groups.index(str(name)) for name in report["group"]])
        colors = [method_color(label, position)] * n
        interval = report[[metric, f"{metric}_low", f"{metric}_high"]].to_numpy(np.float64)
        if by_sign:
            colors = [
                "over" if low > 0 else "under" if high < 0 else "quiet" for _, low, high in interval
            ]
        tints = [
            Tint(color, 0.35 if small else 1.0)
            for color, small in zip(colors, report["small"], strict=True)
        ]
        hover = [_hover(record, label) for record in report.to_dict("records")]
        place = place + spread[position]
        marks += _with_intervals(label, interval, place, tints, hover, bold=by_sign)
    meaning = (
        "Right of zero: promised too much. The intervals hold for all groups at once."
        if gap
        else ABOUT_INTERVALS
    )
    x = Axis("confidence − accuracy" if gap else metric.upper(), "points")
    sizes = dict(zip(groups, first["rows"], strict=True))
    names = _named([f"{name} ({sizes[name]:,})" for name in groups])
    tables = [report.assign(method=label) for label, report in reports.items()]
    return PanelPicture(
        title=_TITLES[metric],
        subtitle=rows,
        how_to_read=(
            "Numbers behind the names are rows; lines are 95 % intervals. Faint dots are small "
            f"groups, whose numbers are mostly noise. {meaning}"
        ),
        alt=f"{_TITLES[metric]}, {n} groups, methods {', '.join(reports)}",
        name=f"groups-{metric}",
        table=pd.concat(tables, ignore_index=True),
        panels=(Panel(x, names, [*marks, Rule(0, Tint("quiet"))]),),
        height=150 + max(n * (22 + 11 * len(reports)), 120),
        legend=len(reports) > 1,
    )


def ranking_picture(values: pd.DataFrame, metric: Metric, *, rows: str) -> PanelPicture:
    """Show one metric of some methods, the first on top.

    ``values``: by method ``value, low, high``, NaN where there is no interval. ``rows``: which rows
    these are, in words.
    """
    n = len(values)
    place, tints = np.arange(n)[::-1], [Tint("accent", 1.0)] * n
    interval = values[["value", "low", "high"]].to_numpy(np.float64)
    x = metric_axis(metric)
    marks = _with_intervals(metric.name, interval, place, tints, bold=True)
    return PanelPicture(
        title=f"{metric.title} of every method",
        subtitle=rows,
        how_to_read="Lines are 95 % intervals. Methods share their rows: compare them in pairs.",
        alt=f"{metric.axis} of {n} methods, best first, with 95 % intervals",
        name="ranking",
        table=values.rename_axis("method").reset_index(),
        panels=(Panel(x, _named([str(name) for name in values.index]), marks),),
        height=150 + max(33 * n, 120),
    )


def metric_axis(metric: Metric) -> Axis:
    """Return the axis of a metric."""
    units: dict[Unit, AxisUnit] = {PERCENT: "share", POINTS: "points"}
    unit = units.get(metric.unit, "number")
    return Axis(metric.heading if unit == "number" else metric.words, unit)


def _named(names: list[str]) -> Axis:
    """Write names from top to bottom."""
    return Axis(ticks=tuple(enumerate(names[::-1])), span=(-0.6, len(names) - 0.4))


def _with_intervals(
    label: str,
    interval: Floats,
    place: Numbers,
    tints: Sequence[Tint],
    hover: Sequence[Hover] = (),
    *,
    bold: bool = False,
) -> list[Mark]:
    value, low, high = interval.T
    colors = np.array([tint.meaning for tint in tints])
    # Lines of their own, not error bars: an ECE may lie above its interval.
    lines = [
        Line(
            pieces(low[colors == color], high[colors == color]),
            np.repeat(place[colors == color], 3),
            Tint(color, 1.0 if bold else 0.6),
            name=f"{label}, 95 %",
            group=label,
            listed=False,
            width=2 if bold else 1.3,
        )
        for color in dict.fromkeys(colors.tolist())
    ]
    dots = Dots(value, place, tints, 8, name=label, group=label, hover=hover)
    return [*lines, dots]


def _hover(record: Record, method: str) -> Hover:
    few = " (few: mostly noise)" if record["small"] else ""
    return Hover(
        str(record["group"]),
        f", {method}",
        (
            f"{rows_words(record['rows'])}{few}",
            f"promised {percent(record['mean_confidence'])}, got {percent(record['accuracy'])}",
            f"ECE {ECE.text(record['ece'])}, MCE {MCE.text_alone(record['mce'])}",
        ),
    )
