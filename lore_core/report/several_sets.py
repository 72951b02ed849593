"""Figures of several sets of rows: runs of one experiment, and batches over time."""

from dataclasses import replace
from typing import Any

import numpy as np

from lore_core.comparison.runs_result import RunsComparison
from lore_core.data.arrays import Mask
from lore_core.data.number_text import batches_words
from lore_core.figures.chart import Chart
from lore_core.figures.pictures.curves import movement_figure
from lore_core.figures.pictures.dot_plots import run_scatter_figure, runs_figure
from lore_core.figures.pictures.landscape import change_figure, sums_landscape_figure
from lore_core.figures.pictures.landscape_picture import LandscapePicture
from lore_core.figures.pictures.picture import shared_limit
from lore_core.mergeable import Change, SummedBatches, Watched, movement_frame
from lore_core.metrics.catalogue import MAX_GROUPWISE, MLCE, RUNS_TABLE, WORST_GROUP_GAP
from lore_core.regions.field import Field, Outline, SumsLandscape


def run_charts(result: RunsComparison, name: str, basis: str) -> dict[str, Chart]:
    """Return what the Runs page shows first, by file name.

    ``name``: what the runs are called. ``basis``: settings, for captions.
    """
    shown = [of.name for of in RUNS_TABLE if of.direction == "lower" and of.name in result.metrics]
    metric = WORST_GROUP_GAP.name if WORST_GROUP_GAP.name in shown else shown[0]
    rows = result.in_words
    charts = {"runs": runs_figure(result, metric, rows=f"{name}: {rows}")}
    if MAX_GROUPWISE in shown and MLCE.name in shown:
        charts["runs_worst_group"] = run_scatter_figure(result, MLCE.name, rows=rows)
    return {key: replace(chart, basis=basis) for key, chart in charts.items()}


def batch_charts(
    batches: SummedBatches, watched: list[Watched], *, gamma: float, seed: int, level: float = 0.01
) -> tuple[dict[str, Chart], dict[str, dict[str, Chart]]]:
    """Return what the Watch page shows first, by file name, and a row of it.

    Of the last batch that changed significantly, else of the last. ``level``: largest p of those.
    """
    axes, rows = batches.plan.embedding.name.title, dict[str, dict[str, Chart]]()
    on = f"{batches_words(len(watched))} on {axes}"
    charts = {"batches": movement_figure(movement_frame(watched), level=level, rows=on)}
    later = sorted(watched[:0:-1], key=lambda of: not of.is_marked(level))
    for of in later[:1]:
        before = batches.names[: batches.names.index(of.name)]
        earlier, now = (
            SumsLandscape.of(batches.joined(names), gamma=gamma) for names in (before, [of.name])
        )
        if now.field is not None and earlier.field is not None:
            change = now.change_since(earlier)
            charts["change"] = change_picture(now, change, of, len(before), axes=axes)
            pair = before_and_after(earlier, now, of, len(before), axes=axes)
            charts |= zip(("landscape_before", "landscape_after"), pair, strict=True)
            rows["before_and_after"] = {chart.title: chart for chart in pair}
    basis = f"γ = {gamma:g}, {batches.plan.note}, seed {seed}"
    return {name: replace(chart, basis=basis) for name, chart in charts.items()}, rows


def change_picture(
    now: SumsLandscape, change: tuple[Field, Mask], of: Watched, n_before: int, *, axes: str
) -> LandscapePicture:
    """Draw the local error of a batch minus that of all before it, uncertain parts pale.

    ``change``: of :meth:`~lore_core.regions.SumsLandscape.change_since`.
    """
    rows = f"{of.name} minus {batches_words(n_before)} before it, γ = {now.gamma:g}"
    return change_figure(now, change, axes=axes, rows=rows, found=_boxes(of.change))


def before_and_after(
    earlier: SumsLandscape, now: SumsLandscape, of: Watched, n_before: int, *, axes: str
) -> tuple[LandscapePicture, LandscapePicture]:
    """Draw the landscapes of a batch and of all before it, in one frame and scale."""
    signed = [item.values.mean_signed.value[item.supported] for item in (earlier, now)]
    look: dict[str, Any] = {
        "axes": axes,
        "limit": shared_limit(*signed),
        "found": _boxes(of.change),
        "height": 480,
    }
    first = sums_landscape_figure(earlier, title=f"{batches_words(n_before)} before it", **look)
    return first, sums_landscape_figure(now, title=of.name, frame=first.extent, **look)


def _boxes(change: Change | None) -> list[tuple[str, Outline]]:
    """Outline the place that changed most, where it is a part of a map in the plane."""
    if change is None or change.places.empty or not np.isfinite(change.places["from_1"].iloc[0]):
        return []
    most = change.places.iloc[0]
    inside = np.zeros((12, 12))
    inside[1:-1, 1:-1] = 1.0
    x, y = (
        low + (high - low) * (np.arange(12) - 0.5) / 10
        for low, high in ((most[f"from_{m}"], most[f"to_{m}"]) for m in (1, 2))
    )
    return [("1", Outline(x, y, inside))]
