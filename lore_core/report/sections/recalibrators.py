"""Whether recalibration helps: the methods ranked, and what sets each apart from the first."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from lore_core.comparison import conclude_recalibration
from lore_core.comparison.effects import about_predictions
from lore_core.comparison.methods import Comparison
from lore_core.comparison.tables import beyond_chance
from lore_core.data.dataset import TOP_LABEL
from lore_core.data.validation import InputError
from lore_core.figures.style import method_color
from lore_core.figures.svg import Drawing
from lore_core.metrics.catalogue import REPORT_TABLE, WORST_CELL
from lore_core.metrics.metric import Metric
from lore_core.report.findings import Findings
from lore_core.report.rendering import missing, render
from lore_core.shipping import describe


def method_colors(names: list[str]) -> dict[str, str]:
    """Return each method's colour: the one it has in the dashboard.

    ``names``: of the methods.
    """
    return {name: method_color(name, position) for position, name in enumerate(names)}


def recalibrators_section(findings: Findings, drawings: Mapping[str, Drawing]) -> Markup:
    """Write the methods from best to worst, and what sets each apart from the first."""
    result = findings.comparison
    if result is None:
        return missing(findings.missing.get("recalibrators", ""))
    order, by, first = result.ranking, result.ranked_by, str(result.table.index[0])
    places = result.worst_places()
    best = next((name for name in order if name != first), first)
    shown = [item for item in REPORT_TABLE if item.name in result.table]
    paired = [item for item in shown if item.is_paired]
    calibration, top_label = findings.view.dataset.calibration, findings.view.target == TOP_LABEL
    return render(
        "recalibrators.html",
        n_calibration=0 if calibration is None else len(calibration),
        n_rows=len(findings.view.evaluation),
        target=None if top_label else findings.view.target_name,
        by=by,
        names=result.names,
        about_predictions=about_predictions(result.most_probable()),
        conclusion=conclude_recalibration(result, findings.search if top_label else None),
        saved=_saved(result),
        first=first,
        headings=[item.heading for item in shown],
        values={name: [(item, *_value(result, item, name)) for item in shown] for name in order},
        without_interval=[
            item.title for item in shown if item.has_interval and item.name not in result.low
        ],
        has_groups=WORST_CELL.name in result.table,
        group_column=findings.group_column,
        min_group_size=findings.min_group_size,
        paired=paired,
        differences={
            name: [(item, *_difference(result, item, name)) for item in paired]
            for name in order
            if name != first
        },
        best=best,
        places=places[places["method"] == best].to_dict("records"),
        ranking=drawings["recalibrators"],
        curves=drawings.get("bandwidth_by_method"),
        colors=method_colors(list(findings.method_curves)),
    )


def _value(result: Comparison, metric: Metric, method: str) -> tuple[float, float, float]:
    """Return the value of a metric with its interval; NaN where there is none."""
    frames = (result.table, result.low, result.high)
    value, low, high = (
        frame.reindex(columns=[metric.name]).loc[method].to_numpy(float).item() for frame in frames
    )
    return value, low, high


def _difference(result: Comparison, metric: Metric, method: str) -> tuple[float, float, float, str]:
    """Return a difference to the first method with its interval, and its colour."""
    found = result.differences[metric.name][["difference", "low", "high"]]
    value, low, high = (float(end) for end in found.loc[method].to_numpy(float))
    return value, low, high, beyond_chance(low, high)


def _saved(result: Comparison) -> str:
    """Say what a file of the best method would hold; nothing where no file can hold it."""
    try:
        return describe(result.recalibrators[result.ranking[0]].to_bytes()).sentence
    except InputError:
        return ""
