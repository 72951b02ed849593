"""Dots: groups and ranked methods with their intervals, and many runs."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from lore_core.comparison.runs_result import RunsComparison
from lore_core.data.arrays import Floats
from lore_core.data.number_text import PERCENT, POINTS, Unit, percent, rows_words
from lore_core.figures.chart import Chart, PanelPicture
from lore_core.figures.pictures.picture import (
    Axis,
    Dots,
    Hover,
    Line,
    Mark,
    Numbers,
    Panel,
    Record,
    Rule,
    Tint,
    Unit as AxisUnit,
    segments,
)
from lore_core.figures.style import method_color
from lore_core.inference.intervals import ABOUT_INTERVALS
from lore_core.metrics.catalogue import CATALOGUE, ECE, MAX_GROUPWISE, MCE, unit_of, words_of
from lore_core.metrics.metric import Metric

GroupMetric = Literal["gap", "ece", "mce"]
_TITLES = {"gap": "Mean gap of each group", "ece": "ECE of each group", "mce": "MCE of each group"}
#: Steps of the golden ratio never meet: dots of neighbouring runs lie apart.
_GOLDEN = 0.6180339887498949
#: Height of a strip, of which neighbouring ones are 1 apart.
_STRIP = 0.46
#: More dots than this become smaller. Room at the ends of an axis of groups, as a share of it.
_MANY, _ROOM = 100, 0.04


def group_figure(
    reports: Mapping[str, pd.DataFrame],
    *,
    metric: GroupMetric = "gap",
    rows: str,
    by_sign: bool = False,
) -> Chart:
    """One line a group, one dot a method, with 95 % intervals; small groups are faint.

    ``reports``: :func:`~lore_core.comparison.effects.group_report` of the same groups, by method.
    ``metric``: "gap", "ece" or "mce". ``rows``: which these are, in words. ``by_sign``: colours
    show significant over- and underconfidence, not methods.
    """
    first = next(iter(reports.values()))
    groups = [str(name) for name in first["group"]]
    n, gap = len(groups), metric == "gap"
    spread = np.linspace(0.28, -0.28, len(reports)) if len(reports) > 1 else np.zeros(1)
    marks: list[Mark] = []
    tables = [report.assign(method=label) for label, report in reports.items()]
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
        "Right of zero: overconfident. The intervals hold for all groups at once."
        if gap
        else ABOUT_INTERVALS
    )
    order = ", methods in the order of the legend" if len(reports) > 1 else ""
    table = pd.concat(tables, ignore_index=True)
    # (Intervals of small groups, which may be as wide as can be, make no room.)
    counted = table if table["small"].all() else table[~table["small"]]
    ends = counted[[f"{metric}_low", f"{metric}_high"]].to_numpy()
    seen = np.concatenate([[0.0], table[metric], ends.ravel()])
    low, high = np.nanmin(seen), np.nanmax(seen)
    span = float(low - _ROOM * (high - low)), float(high + _ROOM * (high - low))
    x = Axis("confidence − accuracy" if gap else metric.upper(), "points", span=span)
    sizes = dict(zip(groups, first["rows"], strict=True))
    names = _named([f"{name} ({sizes[name]:,})" for name in groups])
    return PanelPicture(
        title=_TITLES[metric],
        subtitle=rows,
        how_to_read=(
            f"Numbers behind the names are rows; lines are 95 % intervals{order}. Small groups are "
            f"faint: mostly noise, and their intervals may end outside. {meaning}"
        ),
        alt=f"{_TITLES[metric]}, {n} groups, methods {', '.join(reports)}",
        name=f"groups-{metric}",
        table=table,
        panels=(Panel(x, names, [*marks, Rule(0, Tint("quiet"))]),),
        height=150 + max(n * (22 + 11 * len(reports)), 120),
        legend=len(reports) > 1,
    )


def ranking_picture(values: pd.DataFrame, metric: Metric, *, rows: str) -> PanelPicture:
    """Show one metric of methods, the first on top: ``value, low, high``, NaN where unknown."""
    n = len(values)
    place, tints = np.arange(n)[::-1], [Tint("accent", 1.0)] * n
    interval = values[["value", "low", "high"]].to_numpy(np.float64)
    x = metric_axis(metric)
    marks = _with_intervals(metric.name, interval, place, tints, bold=True)
    return PanelPicture(
        title=f"{metric.title} of every method",
        subtitle=rows,
        how_to_read="Lines are 95 % intervals. Methods share their rows: compare them in pairs.",
        alt=f"{metric_axis(metric).title} of {n} methods, best first, with 95 % intervals",
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


def _named(names: list[str], room: float = 0.6) -> Axis:
    return Axis(ticks=tuple(enumerate(names[::-1])), span=(-room, len(names) - 1 + room))


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
    looks = list(dict.fromkeys(tints))
    look = np.array([looks.index(tint) for tint in tints])
    # Lines of their own, not error bars: an ECE may lie above its interval.
    lines = [
        Line(
            segments(low[look == k], high[look == k]),
            np.repeat(place[look == k], 3),
            Tint(tint.meaning, tint.alpha * (1.0 if bold else 0.6)),
            name=f"{label}, 95 %",
            group=label,
            listed=False,
            width=2 if bold else 1.3,
        )
        for k, tint in enumerate(looks)
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
            f"confidence {percent(record['mean_confidence'])}, "
            f"accuracy {percent(record['accuracy'])}",
            f"ECE {ECE.text(record['ece'])}, MCE {MCE.text_alone(record['mce'])}",
        ),
    )


def runs_figure(result: RunsComparison, metric: str, *, rows: str) -> Chart:
    """One strip a method, one dot a run, with mean and standard deviation.

    ``metric``: column of the result's table. ``rows``: which runs and rows these are, in words.
    """
    values, methods = result.values(metric), result.methods
    runs = [str(run) for run in values.index]
    place = np.arange(len(methods))[::-1]
    spread = ((np.arange(len(values)) * _GOLDEN) % 1 - 0.5) * _STRIP
    text = _number_template(metric, "x")
    marks: list[Mark] = [
        Dots(
            values[method].to_numpy(),
            place[position] + spread,
            Tint(method_color(method, position), 0.55),
            6 if len(values) <= _MANY else 4,
            name=method,
            words=runs,
            hover=Hover(method, lines=("{text}", text)),
        )
        for position, method in enumerate(methods)
    ]
    mean = Dots(
        result.table[metric][methods].to_numpy(),
        place,
        Tint("ink"),
        10,
        "diamond",
        name="mean ± sd",
        spread=result.sd[metric][methods].to_numpy(),
        words=methods,
        hover=Hover("{text}", lines=(f"mean {text}",)),
    )
    return PanelPicture(
        title=f"{words_of(metric)[:1].upper()}{words_of(metric)[1:]} of every run",
        subtitle=rows,
        how_to_read=(
            "One dot a run, its height within the strip means nothing; the diamond is the mean, "
            "the bar ± one standard deviation over runs. Overlapping strips can still "
            "differ significantly: every method saw the same runs, and the table compares in pairs."
        ),
        alt=f"{words_of(metric)} of {result.n_runs} runs under {', '.join(methods)}",
        name=f"runs-{metric.lower().replace(' ', '-')}",
        table=values.rename_axis("run").reset_index(),
        panels=(Panel(_axis(metric), _named(methods, 0.5), [*marks, mean]),),
        height=130 + max(44 * len(methods), 110),
    )


def run_scatter_figure(
    result: RunsComparison, metric: str, *, of: str = MAX_GROUPWISE, rows: str
) -> Chart:
    """Two metrics of every run and method against each other (Luo et al. 2022, table 2).

    ``metric``, ``of``: columns of the result's table, across and upwards. ``rows``: which runs and
    rows these are, in words.
    """
    across, upwards = result.values(metric), result.values(of)
    called, other = words_of(metric), words_of(of)
    runs = [str(run) for run in across.index]
    text = (
        "{text}",
        f"{called} {_number_template(metric, 'x')}",
        f"{other} {_number_template(of, 'y')}",
    )
    r = float(result.correlation(of)[metric])
    correlation = f"r = {r:.2f}".replace("-", "−") if np.isfinite(r) else f"{called} does not vary"
    marks = [
        Dots(
            across[method].to_numpy(),
            upwards[method].to_numpy(),
            Tint(method_color(method, position), 0.6),
            6,
            name=method,
            words=runs,
            hover=Hover(method, lines=text),
        )
        for position, method in enumerate(result.methods)
    ]
    return PanelPicture(
        title=f"{called} and {other}",
        subtitle=f"{rows}; {correlation}",
        how_to_read=(
            "One dot a run and method. A metric that says something about the worst group rises "
            "with it."
        ),
        alt=f"{called} against {other}, {result.n_runs} runs, correlation {r:.2f}",
        name=f"runs-{metric.lower()}-against-worst-group",
        table=result.runs[["run", "method", metric, of]],
        panels=(Panel(_axis(metric), _axis(of), marks),),
        legend=True,
        height=480,
    )


def _number_template(metric: str, direction: str) -> str:
    unit = unit_of(metric)
    return f"{{{direction}:.{unit.digits}f}}{unit.word}"


def _axis(metric: str) -> Axis:
    return metric_axis(CATALOGUE[metric]) if metric in CATALOGUE else Axis(metric)
