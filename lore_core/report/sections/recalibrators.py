"""Whether recalibration helps: the methods ranked, and what sets each apart from the first."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from lore_core.comparison.methods import Comparison
from lore_core.comparison.most_probable import about_predictions
from lore_core.comparison.tables import beyond_chance
from lore_core.conclusions import conclude_recalibration
from lore_core.data.dataset import TOP_LABEL
from lore_core.data.validation import InputError
from lore_core.figures.style import method_color
from lore_core.figures.svg import Drawing
from lore_core.metrics.catalogue import MAX_GROUPWISE, REPORT_TABLE
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
    values = _measured(order, result.table, result.low, result.high)
    differences: dict[str, list[dict[str, object]]] = {}
    if result.difference_low is not None and result.difference_high is not None:
        differences = _measured(
            [name for name in order if name != first],
            result.table[list(result.difference_low)] - result.table.loc[first],
            result.difference_low,
            result.difference_high,
        )
    shown = _shown(result.table)
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
        headings=[metric.heading for metric in shown],
        values=values,
        without_interval=[
            metric.name
            for metric in shown
            if metric.has_interval and (result.low is None or metric.name not in result.low)
        ],
        groupwise=MAX_GROUPWISE if MAX_GROUPWISE in result.table else None,
        group_column=findings.group_column,
        min_group_size=findings.min_group_size,
        difference_headings=[metric.heading for metric in _shown(result.difference_low)],
        differences=differences,
        ranking=drawings["recalibrators"],
        curves=drawings.get("bandwidth_by_method"),
        colors=method_colors(list(findings.method_curves)),
    )


def _shown(table: pd.DataFrame | None) -> list[Metric]:
    return [] if table is None else [item for item in REPORT_TABLE if item.name in table]


def _measured(
    methods: list[str],
    values: pd.DataFrame,
    low: pd.DataFrame | None,
    high: pd.DataFrame | None,
) -> dict[str, list[dict[str, object]]]:
    """Bring the metrics of each method and their intervals together."""
    metrics = _shown(values)
    value, a, b = (_numbers(frame, methods, metrics) for frame in (values, low, high))
    return {
        method: [
            {
                "metric": metric,
                "value": value[i, j],
                "low": a[i, j],
                "high": b[i, j],
                "kind": beyond_chance(a[i, j], b[i, j]) if metric.proper else "",
            }
            for j, metric in enumerate(metrics)
        ]
        for i, method in enumerate(methods)
    }


def _numbers(
    frame: pd.DataFrame | None, methods: list[str], metrics: list[Metric]
) -> NDArray[np.float64]:
    """Numbers of these methods and metrics; NaN where there are none."""
    if frame is None:
        return np.full((len(methods), len(metrics)), np.nan)
    return frame.reindex(index=methods, columns=[m.name for m in metrics]).to_numpy(np.float64)


def _saved(result: Comparison) -> str:
    """Say what a file of the best method would hold; nothing where no file can hold it."""
    try:
        return describe(result.recalibrators[result.ranking[0]].to_bytes()).sentence
    except InputError:
        return ""
