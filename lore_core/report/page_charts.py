"""Figures of pages that the report does not show, and rows of figures."""

from collections.abc import Mapping
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

import numpy as np

from lore_core import figures
from lore_core.comparison.methods import Comparison
from lore_core.data.arrays import Mask
from lore_core.data.defaults import TRIED_BINS
from lore_core.figures.chart import Chart
from lore_core.figures.pictures.landscape import maps_of_methods
from lore_core.figures.pictures.landscape_picture import LandscapePicture, Layer
from lore_core.figures.pictures.picture import shared_limit
from lore_core.metrics.local_error import LocalErrors
from lore_core.regions.field import smoothed_field
from lore_core.regions.rows import class_positions
from lore_core.report.charts import ranking_chart, scene_of, with_basis
from lore_core.report.findings import Findings
from lore_core.view import where
from lore_core.view.methods import abstention_of

#: Figures that show the whole, and how far the bandwidths of a row are apart.
_OVERVIEW, _TIMES = ("landscape", "local_error_distribution", "bandwidth"), 4.0
_SIDES = ("before", "after")
#: Parts of a column; the largest share of wrong answers.
_PARTS, _RISK = 12, 0.05


def page_charts(findings: Findings, landscape: LandscapePicture | None) -> dict[str, Chart]:
    """Return what pages show beside the report's charts, by file name."""
    view, result = findings.view, findings.comparison
    charts = _of_columns(findings) | _of_map(findings, landscape)
    tried = tuple(sorted({*TRIED_BINS, view.n_bins}))
    if view.is_local and (best := where.suggestion_of(view, tried)) is not None:
        rows = f"{best.n_rows:,} calibration rows, {view.map_name}"
        used = view.gamma, view.n_bins
        charts["bandwidth_recommended"] = figures.suggestion_figure(best, rows=rows, in_use=used)
    if result is not None:
        charts["recalibrators"] = ranking_chart(findings, result)
        if view.evaluation.is_simple_sample:
            found = abstention_of(view, result, _RISK)
            chart = figures.risk_figure(found.curves, found.thresholds, rows=view.rows)
            charts["abstention"] = chart
        if len(result.datasets) > 1:
            charts |= _before_and_after(findings, result)
    return with_basis(view, charts)


def _of_map(findings: Findings, landscape: LandscapePicture | None) -> dict[str, Chart]:
    view, local, on = findings.view, findings.summary.local, findings.picture_map
    if landscape is None or local is None or on is None:
        return {}
    scene, field = scene_of(findings, local, on), landscape.layers[0].fields[0]
    look: dict[str, Any] = {"rows": scene.in_words, "limit": landscape.scale.limit}
    height = figures.surface_figure(field, axes=scene.axes, **look)
    charts: dict[str, Chart] = {"landscape_height": height}
    if view.embedding.n_components == 3:
        space = scene_of(findings, local, view.embedding)
        look |= {"axes": space.axes, "n_total": space.n_rows, "labels": space.classes}
        worst = space.table(space.worst)
        charts["landscape_3d"] = figures.landscape_3d_figure(
            space.drawn(), space.points, worst=worst, **look
        )
    return charts


def _of_columns(findings: Findings) -> dict[str, Chart]:
    view, names = findings.view, findings.variables["variable"].tolist()
    charts: dict[str, Chart] = {}
    for name in names[:1]:
        (table, curve, _), of = where.along_of(view, name, _PARTS), view.target_rows
        overall = float(np.average(of.confidence - of.outcome, weights=of.weights))
        look: dict[str, Any] = {"name": name, "rows": view.rows, "curve": curve}
        charts["variable"] = figures.variable_figure(table, overall=overall, **look)
    for other in names[1:]:
        grid = where.grid_of(view, names[0], other, where.GRID_PARTS, where.GRID_MIN_ROWS)
        if grid["shown"].mean() >= where.GRID_SHARE:
            limit = shared_limit(grid.loc[grid["shown"], "gap"].to_numpy())
            look = {"rows": view.rows, "min_rows": where.GRID_MIN_ROWS, "limit": limit}
            pair = names[0], other
            charts["two_variables"] = figures.variable_grid_figure(grid, names=pair, **look)
            break
    return charts


def _before_and_after(findings: Findings, result: Comparison) -> dict[str, Chart]:
    """Compare the first and the best other method: errors, maps, and the worst group."""
    view, column, groups = findings.view, findings.group_column, findings.view.evaluation.groups
    first = next(iter(result.datasets))
    pair = first, next(name for name in result.ranking if name != first)
    known = {name: result.summaries[name].local for name in pair}
    errors = {name: of for name, of in known.items() if of is not None}
    after, title = where.isotonic_of(view, result.datasets[pair[1]]), "Reliability without bins"
    charts: dict[str, Chart] = {
        "reliability_isotonic_after": figures.isotonic_figure(
            after, rows=view.rows, title=f"{title}: {pair[1]}"
        )
    }
    if errors:
        rows = f"{view.rows}, {view.kernel_in_words}"
        absolute = {name: of.absolute for name, of in errors.items()}
        charts["local_error_before_and_after"] = figures.cdf_figure(absolute, rows=rows)
        everywhere = np.ones(len(view.evaluation), dtype=bool)
        charts |= _maps(findings, errors, everywhere, "landscape", rows)
    if groups is not None and findings.group_table is not None:
        group = str(findings.group_table["furthest_group"].iloc[0])
        inside = groups[column].astype(str).to_numpy() == group
        rows = f"{group}, {int(inside.sum()):,} evaluation rows"
        for name, side in zip(pair, _SIDES, strict=True):
            table = where.recalibrated_reliability_of(view, result.datasets[name], inside)
            title = f"Reliability: {name}"
            chart = figures.reliability_figure(table, rows=rows, title=title)
            charts[f"worst_group_{side}"] = chart
        charts |= _maps(findings, errors, inside, "worst_group_landscape", rows)
    return charts


def _maps(
    findings: Findings, errors: Mapping[str, LocalErrors], inside: Mask, name: str, rows: str
) -> dict[str, Chart]:
    view, on, known = findings.view, findings.picture_map, [*errors.values()]
    if on is None or not known:
        return {}
    points = view.points(on=on)
    fields = [smoothed_field(of.signed, of.effective_size, points, rows=inside) for of in known]
    labels = class_positions(view.evaluation, points, inside)
    look: dict[str, Any] = {"rows": rows, "axes": on.name.title, "labels": labels}
    titles = [f"Signed local error: {name}" for name in errors]
    made = maps_of_methods(points, known, fields, inside, titles=titles, **look)
    return {f"{name}_{side}": chart for side, chart in zip(_SIDES, made, strict=True)}


def figure_rows(findings: Findings, charts: Mapping[str, Chart]) -> dict[str, dict[str, Chart]]:
    """Choose charts that stand beside each other, by what is written over each."""
    view, on, picture = findings.view, findings.picture_map, charts.get("landscape")
    chosen: dict[str, tuple[str, ...]] = {
        "overview": _OVERVIEW,
        "before_and_after": ("landscape_before", "landscape_after"),
        "worst_group": ("worst_group_before", "worst_group_after"),
    }
    rows = {
        row: {charts[name].title: charts[name] for name in names if name in charts}
        for row, names in chosen.items()
    }
    if isinstance(picture, LandscapePicture) and on is not None:
        text = f"{view.rows}, {view.map_name}"
        bare = replace(picture, points=None, worst=None, regions=(), labels=(), vivid=None)
        gammas = view.gamma / _TIMES, view.gamma, view.gamma * _TIMES
        fields = zip(gammas, where.fields_of(view, gammas, on), strict=True)
        layers = [Layer(f"γ = {gamma:g}", (field,)) for gamma, field in fields]
        bare = replace(bare, subtitle=text)
        rows["bandwidths"] = {of.name: replace(bare, layers=(of,)) for of in layers}
    return {name: row for name, row in rows.items() if len(row) > 1}


def row_caption(row: Mapping[str, Chart]) -> Chart:
    """Return the first chart of a row with the caption of the whole."""
    first = next(iter(row.values()))
    names = [f"({letter}) {name}" for letter, name in zip(ascii_lowercase, row, strict=False)]
    if len({chart.how_to_read for chart in row.values()}) == 1:
        return replace(first, title=", ".join(names))
    words = (f"{name}. {of.how_to_read}" for name, of in zip(names, row.values(), strict=True))
    return replace(first, title=" ".join(words), how_to_read="")
