"""Many runs at a glance: one metric by method, and what goes with the worst group."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from lore_core.comparison.runs_result import RunsComparison
from lore_core.figures.style import (
    INK,
    NEUTRAL,
    Chart,
    Mode,
    apply_frame,
    escape,
    rgba,
    series_color,
)
from lore_core.metrics.catalogue import CATALOGUE, MAX_GROUPWISE, unit_of

__all__ = ["run_scatter_figure", "runs_figure"]

#: More dots than this become smaller.
_MANY = 100
#: Steps of the golden ratio never meet: dots of neighbouring runs lie apart.
_GOLDEN = 0.6180339887498949


def runs_figure(
    result: RunsComparison,
    metric: str,
    *,
    rows: str,
    lines: bool = False,
    mode: Mode = "light",
) -> Chart:
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
    place = np.arange(len(methods))[::-1]
    spread = np.asarray(((np.arange(len(values)) * _GOLDEN) % 1 - 0.5) * 0.46, dtype=np.float64)
    figure = go.Figure()
    if lines:
        figure.add_trace(_joined(values.to_numpy(np.float64), place, spread, mode))
    for position, method in enumerate(methods):
        color = series_color(method, position, mode)
        figure.add_trace(
            go.Scatter(
                x=values[method].to_numpy(), y=place[position] + spread, mode="markers",
                name=escape(method),
                marker={"size": 6 if len(values) <= _MANY else 4, "color": rgba(color, 0.55)},
                text=[escape(run) for run in values.index],
                hovertemplate=f"<b>{escape(method)}</b><br>%{{text}}<br>{_format(metric)}"
                "<extra></extra>",
            )
        )  # fmt: skip
    mean, sd = result.table[metric], result.sd[metric]
    figure.add_trace(
        go.Scatter(
            x=mean[methods].to_numpy(), y=place, mode="markers", name="mean ± sd",
            marker={"symbol": "diamond", "size": 10, "color": INK[mode]},
            error_x={
                "type": "data", "array": sd[methods].to_numpy(), "thickness": 1.6, "width": 5,
                "color": INK[mode],
            },
            text=[escape(method) for method in methods],
            hovertemplate=f"<b>%{{text}}</b><br>mean {_format(metric)}<extra></extra>",
        )
    )  # fmt: skip
    apply_frame(
        figure, mode, title=f"{metric} of every run", subtitle=rows,
        height=130 + max(44 * len(methods), 110),
    )  # fmt: skip
    figure.update_yaxes(
        tickvals=place, ticktext=[escape(method) for method in methods],
        range=[-0.5, len(methods) - 0.5],
    )  # fmt: skip
    _axis(figure, metric, "x")
    joined = " Lines join the dots of one run." if lines else ""
    return Chart(
        figure=figure,
        table=values.rename_axis("run").reset_index(),
        how_to_read=(
            "One dot a run, its height within the strip means nothing; the diamond is the mean, "
            f"the bar ± one standard deviation over runs.{joined} Overlapping strips can still "
            "differ beyond chance: every method saw the same runs, and the table compares in pairs."
        ),
        alt=f"{metric} of {result.n_runs} runs under {', '.join(methods)}",
        name=f"runs-{metric.lower().replace(' ', '-')}",
    )


def run_scatter_figure(
    result: RunsComparison,
    metric: str,
    *,
    of: str = MAX_GROUPWISE,
    rows: str,
    mode: Mode = "light",
    height: int = 480,
) -> Chart:
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
    figure = go.Figure()
    for position, method in enumerate(result.methods):
        color = series_color(method, position, mode)
        figure.add_trace(
            go.Scatter(
                x=across[method].to_numpy(), y=upwards[method].to_numpy(), mode="markers",
                name=escape(method), marker={"size": 6, "color": rgba(color, 0.6)},
                text=[escape(run) for run in across.index],
                hovertemplate=f"<b>{escape(method)}</b><br>%{{text}}<br>{metric} "
                f"{_format(metric)}<br>{of} {_format(of, 'y')}<extra></extra>",
            )
        )  # fmt: skip
    r = float(result.correlation(of)[metric])
    said = f"r = {r:.2f}".replace("-", "−") if np.isfinite(r) else f"{metric} does not vary"
    apply_frame(
        figure, mode, title=f"{metric} and {of}", subtitle=f"{rows}; {said}", height=height,
        legend=True,
    )  # fmt: skip
    _axis(figure, metric, "x")
    _axis(figure, of, "y")
    return Chart(
        figure=figure,
        table=result.runs[["run", "method", metric, of]],
        how_to_read=(
            "One dot a run and method. A metric that says something about the worst group rises "
            "with it."
        ),
        alt=f"{metric} against {of}, {result.n_runs} runs, correlation {r:.2f}",
        name=f"runs-{metric.lower()}-against-worst-group",
    )


def _joined(
    values: NDArray[np.float64],
    place: NDArray[np.int64],
    spread: NDArray[np.float64],
    mode: Mode,
) -> go.Scatter:
    """All runs as one broken line: one trace however many there are."""
    gap = np.full((len(values), 1), np.nan)
    x = np.concatenate([values, gap], axis=1).ravel()
    y = np.concatenate([place[None, :] + spread[:, None], gap], axis=1).ravel()
    # None, not NaN: a line breaks there in every reader of the figure.
    return go.Scatter(
        x=[None if np.isnan(v) else v for v in x], y=[None if np.isnan(v) else v for v in y],
        mode="lines", line={"color": rgba(NEUTRAL[mode], 0.25), "width": 0.8},
        connectgaps=False, hoverinfo="skip", name="same run",
    )  # fmt: skip


def _format(metric: str, axis: str = "x") -> str:
    unit = unit_of(metric)
    return f"%{{{axis}:.{unit.digits}{'%' if unit.is_share else 'f'}}}"


def _axis(figure: go.Figure, metric: str, axis: str) -> None:
    update = figure.update_xaxes if axis == "x" else figure.update_yaxes
    update(
        title=CATALOGUE[metric].axis if metric in CATALOGUE else metric,
        tickformat=".0%" if unit_of(metric).is_share else None,
    )
