"""Figures of a report: those of pages, rows of them, drawings for print, the live landscape."""

from collections.abc import Mapping
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

import numpy as np
import pandas as pd

from lore_core import figures
from lore_core.comparison.methods import Comparison
from lore_core.data.arrays import Mask
from lore_core.data.defaults import STORED_GAMMAS, TRIED_BINS
from lore_core.data.progress import Progress, tell
from lore_core.embedding import Embedding
from lore_core.figures.chart import Chart
from lore_core.figures.drawing import Drawing
from lore_core.figures.export import chart_html, is_flat, plotly_script
from lore_core.figures.pictures.dot_plots import ranking_picture
from lore_core.figures.pictures.landscape import landscape_figure, maps_of_methods
from lore_core.figures.pictures.landscape_picture import LandscapePicture, Layer
from lore_core.figures.pictures.picture import shared_limit
from lore_core.metrics.catalogue import MIN_BIN_ROWS
from lore_core.metrics.global_metrics import ReliabilityTable
from lore_core.metrics.local_error import LocalErrors
from lore_core.regions.field import Field, rows_outline, smoothed_field
from lore_core.regions.rows import class_positions
from lore_core.report.findings import Findings
from lore_core.view import View, where
from lore_core.view.methods import abstention_of
from lore_core.view.scene import Scene, preview_rows
from lore_core.view.where import errors_of, field_of, isotonic_of, outlines_of, reliability_of

_SCRIPT = "plotly.min.js"
_MAX_GROUPS = 14
#: What else is drawn on the landscape.
_OUTLINED = "Outlined and numbered: significant subgroups; paler: what is in none of them. "
_MARKS = "Rings: the rows with the largest local errors. Names: where each class is predicted."
#: Subgroups that are listed and outlined.
MAX_SHOWN = 8


def report_charts(
    findings: Findings, landscape: LandscapePicture | None
) -> dict[str, figures.Chart]:
    """Return the dashboard's charts of the findings, by file name."""
    summary, settings, result = findings.summary, findings.settings, findings.comparison
    rows, gamma = findings.view.rows, findings.view.gamma
    on = findings.view.map_name
    binned = f"{rows}, {findings.view.bins_in_words}"
    charts: dict[str, figures.Chart] = {
        "reliability": figures.reliability_figure(summary.reliability, rows=binned),
        "reliability_isotonic": figures.isotonic_figure(isotonic_of(findings.view), rows=rows),
    }
    if summary.local is not None:
        charts["local_error_distribution"] = figures.cdf_figure(
            {"LCE": summary.local.absolute},
            rows=f"{findings.view.rows}, {findings.view.kernel_in_words}",
            null=findings.chance,
            global_error=summary.reliability.expected_calibration_error,
        )
    if landscape is not None:
        charts["landscape"] = landscape
    if findings.curve is not None:
        null = None if findings.band is None else (on, findings.band)
        charts["bandwidth"] = figures.bandwidth_figure(
            {on: findings.curve}, rows=binned, gamma=gamma, null=null
        )
    if result is not None:
        for label in dict.fromkeys([next(iter(result.summaries)), result.ranking[0]]):
            name = "".join(c if c.isalnum() else "_" for c in label.lower())
            table, title = result.summaries[label].reliability, f"Reliability: {label}"
            charts[f"reliability_after_{name}"] = figures.reliability_figure(
                table, rows=binned, title=title
            )
    if findings.method_curves:
        charts["bandwidth_by_method"] = figures.bandwidth_figure(
            findings.method_curves, rows=binned, gamma=gamma
        )
    if findings.group_reports:
        by = f"{findings.group_column}, {rows}"
        charts["groups"] = figures.group_figure(findings.group_reports, rows=by)
    ratio = settings.wrong_cost / settings.unsure_cost
    charts["decisions"] = figures.reward_figure(findings.rewards, rows=rows, ratio=ratio)
    return with_basis(findings.view, charts)


def with_basis(view: View, charts: Mapping[str, figures.Chart]) -> dict[str, figures.Chart]:
    """Return charts that say in their captions what they rest on, beside what is said there."""
    basis = [view.dataset.name, view.rows, view.bins_in_words, f"seed {view.seed}"]
    if view.is_local:
        basis.insert(2, view.kernel_in_words)
        basis.append(f"map with seed {view.embedding.random_state}: {view.embedding.description}")
    return {
        name: replace(chart, basis=", ".join(of for of in basis if of not in chart.subtitle))
        for name, chart in charts.items()
    }


def figure_files(
    charts: Mapping[str, figures.Chart], *, progress: Progress | None = None
) -> dict[str, bytes]:
    """Return figures as HTML that shares a script, and as SVG and PDF for print."""
    files: dict[str, bytes] = {}
    for position, (name, chart) in enumerate(charts.items()):
        tell(progress, position / len(charts), f"figure {name}")
        files[f"figures/{name}.html"] = chart_html(chart, script=_SCRIPT)
        drawing = chart.drawing()
        files[f"figures/{name}.svg"] = drawing.svg()
        files[f"figures/{name}.pdf"] = drawing.pdf()
    if charts:
        files[f"figures/{_SCRIPT}"] = plotly_script(is_flat=all(map(is_flat, charts.values())))
    return files


def report_drawings(
    findings: Findings, charts: Mapping[str, figures.Chart], landscape: LandscapePicture | None
) -> dict[str, Drawing]:
    """Draw the figures of the page for a narrow column, those that could be computed.

    ``charts``: of :func:`report_charts`; those that fit a column are drawn as they are.
    """
    rows = findings.view.rows
    made = {}
    if landscape is not None:
        made["landscape"] = landscape.drawing()
    result = findings.comparison
    if result is not None:
        made["recalibrators"] = ranking_chart(findings, result).drawing()
    if findings.group_reports:
        label, report = next(iter(findings.group_reports.items()))
        groups = figures.group_figure({label: report.head(_MAX_GROUPS)}, rows=rows, by_sign=True)
        made["groups"] = groups.drawing()
    as_shown = "reliability", "bandwidth", "bandwidth_by_method", "decisions"
    return made | {name: charts[name].drawing() for name in as_shown if name in charts}


def ranking_chart(findings: Findings, result: Comparison) -> figures.Chart:
    """Show what the methods are ranked by, the best first."""
    by = result.ranked_by
    frames = {"value": result.table, "low": result.low, "high": result.high}
    known = {name: of.reindex(columns=[by.name])[by.name] for name, of in frames.items()}
    values = pd.DataFrame(known).loc[result.ranking]
    return ranking_picture(values, by, rows=findings.view.rows)


def landscape_chart(findings: Findings) -> LandscapePicture | None:
    """Return the landscape at the report's bandwidth; None without a map to draw."""
    on, local = findings.picture_map, findings.summary.local
    if on is None or local is None:
        return None
    scene = scene_of(findings, local, on)
    found = outlines_of(findings.search, scene.points, MAX_SHOWN)
    picture = landscape_figure(
        field_of(findings.view, local, on=on),
        scene.points,
        worst=scene.table(scene.worst),
        n_total=scene.n_rows,
        limit=shared_limit(scene.supported),
        rows=f"{findings.view.rows}, {findings.view.kernel_in_words}",
        axes=scene.axes,
        found=found,
        labels=scene.classes,
    )
    words = f"{picture.how_to_read} {_OUTLINED if found else ''}{_MARKS}"
    vivid = rows_outline(scene.points, findings.search.inside())
    return replace(picture, vivid=vivid, how_to_read=words)


def scene_of(findings: Findings, errors: LocalErrors, on: Embedding) -> Scene:
    """Return the scene of all rows on the map ``on``; ``errors``: of the evaluation rows."""
    return Scene(findings.view, errors, reliability_of(findings.view), None, on, on.name.title)


def live_landscape(
    findings: Findings, still: LandscapePicture, progress: Progress | None = None
) -> LandscapePicture:
    """Add to a landscape the fields of all rows and of a few confidence bins at every γ.

    Of very many rows they are made of a random sample, as those under the dashboard's slider.
    """
    view, on = findings.view, findings.picture_map
    assert on is not None  # else there is no landscape
    drawn, table, n_rows = preview_rows(view, on=on), reliability_of(view), len(view.evaluation)
    names: dict[int | None, str] = {None: "all confidences together", **_notable_bins(table)}
    counts: dict[int | None, int] = {None: n_rows, **dict(enumerate(table.count.tolist()))}
    gammas = tuple(sorted({*STORED_GAMMAS, view.gamma}))
    fields: dict[int | None, list[Field]] = {number: [] for number in names}
    for k, gamma in enumerate(gammas):
        tell(progress, k / len(gammas), f"landscape at γ = {gamma:g}")
        at = drawn.view.with_(gamma=gamma)
        errors = errors_of(at)
        for number, of_bin in fields.items():
            of_bin.append(drawn.field(at, errors, number))
    layers = []
    for number, of_bin in fields.items():
        what = "averages the local errors of the rows on it"
        if of_bin[0].exact:
            what = "shows the exact signed error there"
        note = f"{counts[number]:,} evaluation rows, {names[number]}; each point {what}."
        if drawn.rows is not None:
            note += f" Drawn from a random sample of {len(drawn.rows):,} rows."
        layers.append(Layer(names[number], tuple(of_bin), note, counts[number]))
    return replace(still, layers=tuple(layers), gammas=gammas, start=gammas.index(view.gamma))


def _notable_bins(table: ReliabilityTable) -> dict[int | None, str]:
    """Return worst, best and fullest confidence bin with their labels, each once."""
    if np.count_nonzero(table.count) < 2:  # one bin is all rows
        return {}
    chosen: dict[int, list[str]] = {}
    for word, number in (
        ("worst", table.worst_bin(MIN_BIN_ROWS)),
        ("best", table.best_bin(MIN_BIN_ROWS)),
        ("fullest", int(np.argmax(table.count))),
    ):
        chosen.setdefault(number, []).append(word)
    return {
        number: f"confidence {table.bins.name(number)} ({' and '.join(words)} bin)"
        for number, words in chosen.items()
    }


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
