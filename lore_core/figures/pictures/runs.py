"""Many runs at a glance: one metric by method, and what goes with the worst group."""

from __future__ import annotations

import numpy as np

from lore_core.comparison.runs_result import RunsComparison
from lore_core.figures.chart import PanelChart
from lore_core.figures.pictures.intervals import metric_axis
from lore_core.figures.pictures.marks import (
    Axis,
    Dots,
    Line,
    Mark,
    Panel,
    PanelPicture,
    Tint,
)
from lore_core.figures.pictures.picture import Hover
from lore_core.figures.style import Mode, method_color
from lore_core.metrics.catalogue import CATALOGUE, MAX_GROUPWISE, unit_of, words_of

#: Steps of the golden ratio never meet: dots of neighbouring runs lie apart.
_GOLDEN = 0.6180339887498949
#: Height of a strip, of which neighbouring ones are 1 apart.
_STRIP = 0.46
#: More dots than this become smaller.
_MANY = 100


def runs_figure(
    result: RunsComparison, metric: str, *, rows: str, lines: bool = False, mode: Mode = "light"
) -> PanelChart:
    """One strip a method, one dot a run, with mean and standard deviation.

    Parameters
    ----------
    result : RunsComparison
        What to show.
    metric : str
        Column of its table.
    rows : str
        Which runs and rows these are, in words.
    lines : bool
        Join the dots of each run.
    mode : {"light", "dark"}
        Theme.
    """
    values, methods = result.values(metric), result.methods
    runs = [str(run) for run in values.index]
    place = np.arange(len(methods))[::-1]
    spread = ((np.arange(len(values)) * _GOLDEN) % 1 - 0.5) * _STRIP
    said = _said(metric, "x")
    marks: list[Mark] = []
    if lines:
        gap = np.full((len(values), 1), np.nan)
        x = np.hstack([values.to_numpy(np.float64), gap]).ravel()
        y = np.hstack([place + spread[:, None], gap]).ravel()
        marks.append(Line(x, y, Tint("quiet", 0.25), name="same run", width=0.8))
    marks += [
        Dots(
            values[method].to_numpy(),
            place[position] + spread,
            Tint(method_color(method, position), 0.55),
            6 if len(values) <= _MANY else 4,
            name=method,
            words=runs,
            hover=Hover(method, lines=("{text}", said)),
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
        hover=Hover("{text}", lines=(f"mean {said}",)),
    )
    strips = Axis(
        ticks=tuple(zip(place.tolist(), methods, strict=True)), span=(-0.5, len(methods) - 0.5)
    )
    joined = " Lines join the dots of one run." if lines else ""
    picture = PanelPicture(
        title=f"{words_of(metric)} of every run",
        subtitle=rows,
        how_to_read=(
            "One dot a run, its height within the strip means nothing; the diamond is the mean, "
            f"the bar ± one standard deviation over runs.{joined} Overlapping strips can still "
            "differ beyond chance: every method saw the same runs, and the table compares in pairs."
        ),
        alt=f"{words_of(metric)} of {result.n_runs} runs under {', '.join(methods)}",
        name=f"runs-{metric.lower().replace(' ', '-')}",
        table=values.rename_axis("run").reset_index(),
        panels=(Panel(_axis(metric), strips, [*marks, mean]),),
        height=130 + max(44 * len(methods), 110),
    )
    return PanelChart(picture, mode)


def run_scatter_figure(
    result: RunsComparison,
    metric: str,
    *,
    of: str = MAX_GROUPWISE,
    rows: str,
    mode: Mode = "light",
    height: int = 480,
) -> PanelChart:
    """Two metrics of every run and method against each other (Luo et al. 2022, table 2).

    Parameters
    ----------
    result : RunsComparison
        What to show.
    metric, of : str
        Columns of its table: across and upwards.
    rows : str
        Which runs and rows these are, in words.
    mode, height
        Look.
    """
    across, upwards = result.values(metric), result.values(of)
    called, other = words_of(metric), words_of(of)
    runs = [str(run) for run in across.index]
    said = ("{text}", f"{called} {_said(metric, 'x')}", f"{other} {_said(of, 'y')}")
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
            hover=Hover(method, lines=said),
        )
        for position, method in enumerate(result.methods)
    ]
    picture = PanelPicture(
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
    )
    return PanelChart(picture, mode, height)


def _said(metric: str, direction: str) -> str:
    unit = unit_of(metric)
    return f"{{{direction}:.{unit.digits}f}}{unit.word}"


def _axis(metric: str) -> Axis:
    return metric_axis(CATALOGUE[metric]) if metric in CATALOGUE else Axis(metric)
