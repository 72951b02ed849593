"""Figures of a report: those of the dashboard, drawings for print and the live landscape."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from lore_core import figures
from lore_core.comparison.methods import Comparison
from lore_core.data.defaults import STORED_GAMMAS
from lore_core.data.progress import Progress, tell
from lore_core.embedding import Embedding
from lore_core.figures.drawing import Drawing
from lore_core.figures.export import chart_html, is_flat, plotly_script
from lore_core.figures.pictures.dot_plots import ranking_picture
from lore_core.figures.pictures.landscape import landscape_figure
from lore_core.figures.pictures.landscape_picture import LandscapePicture, Layer
from lore_core.figures.pictures.picture import shared_limit
from lore_core.metrics.catalogue import MIN_BIN_ROWS
from lore_core.metrics.global_metrics import ReliabilityTable
from lore_core.metrics.local_error import LocalErrors
from lore_core.regions.field import Field, rows_outline
from lore_core.report.findings import Findings
from lore_core.view import View
from lore_core.view.scene import RESOLUTION, Scene, preview_rows
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
            of_bin.append(
                field_of(
                    at,
                    errors,
                    bin_index=number,
                    on=drawn.on,
                    resolution=RESOLUTION,
                    min_effective_size=drawn.min_effective_size,
                )
            )
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
