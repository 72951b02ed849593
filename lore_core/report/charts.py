"""The figures of a report, as the dashboard shows them: for interactive files and static images."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from lore_core.data.progress import Progress, tell
from lore_core.data.validation import InputError
from lore_core.figures import (
    Chart,
    bandwidth_figure,
    cdf_figure,
    group_figure,
    isotonic_figure,
    reliability_figure,
    reward_figure,
)
from lore_core.figures.chart import LandscapeChart
from lore_core.figures.export import chart_html, chart_image, plotly_script, why_no_static_images
from lore_core.report.findings import Findings
from lore_core.report.landscape import rows_and_kernel
from lore_core.view.where import isotonic_of

#: The script all interactive figures share.
_LIBRARY = "plotly.min.js"


def report_charts(findings: Findings, landscape: LandscapeChart | None) -> dict[str, Chart]:
    """Show what was found as the dashboard does; charts by the name of their files."""
    summary, settings, result = findings.summary, findings.settings, findings.comparison
    rows, gamma = findings.view.rows, findings.view.gamma
    on = findings.view.map_name
    binned = f"{rows}, {findings.view.bins_in_words}"
    charts: dict[str, Chart] = {}
    if summary is not None:
        charts["reliability"] = reliability_figure(summary.reliability, rows=binned)
        charts["reliability_isotonic"] = isotonic_figure(isotonic_of(findings.view), rows=rows)
        if summary.local is not None:
            charts["local_error_distribution"] = cdf_figure(
                {"LCE": summary.local.absolute},
                rows=rows_and_kernel(findings),
                null=findings.chance,
                global_error=summary.reliability.expected_calibration_error,
            )
    if landscape is not None:
        charts["landscape"] = landscape
    if findings.curve is not None:
        null = None if findings.band is None else (on, findings.band)
        charts["bandwidth"] = bandwidth_figure(
            {on: findings.curve}, rows=binned, gamma=gamma, null=null
        )
    if result is not None:
        for label in dict.fromkeys([next(iter(result.summaries)), result.ranking[0]]):
            name = "".join(c if c.isalnum() else "_" for c in label.lower())
            table, title = result.summaries[label].reliability, f"Reliability: {label}"
            charts[f"reliability_after_{name}"] = reliability_figure(
                table, rows=binned, title=title
            )
    if findings.method_curves:
        charts["bandwidth_by_method"] = bandwidth_figure(
            findings.method_curves, rows=binned, gamma=gamma
        )
    if findings.group_reports:
        by = f"{findings.group_column}, {rows}"
        charts["groups"] = group_figure(findings.group_reports, rows=by)
    if findings.rewards:
        ratio = settings.wrong_cost / settings.unsure_cost
        charts["decisions"] = reward_figure(
            findings.rewards,
            rows=rows,
            baseline=next(iter(findings.rewards)),
            ratio=ratio if 1 <= ratio <= 100 else None,
        )
    return charts


def figure_files(
    charts: Mapping[str, Chart], *, images: bool, progress: Progress | None = None
) -> tuple[dict[str, bytes], str | None]:
    """Write the figures as files: interactive pages that share one script, and SVG.

    ``images``: whether SVG is wanted; it needs Chrome or Chromium. Returns the files by path in the
    bundle, and why there are no static images, in words.
    """
    missing = why_no_static_images() if images else "Static images were not asked for."
    files: dict[str, bytes] = {}
    for position, (name, chart) in enumerate(charts.items()):
        tell(progress, position / len(charts), f"figure {name}")
        files[f"figures/{name}.html"] = chart_html(chart, script=_LIBRARY)
        if missing is None:
            try:
                # (Kaleido warns that options it was not given are ignored.)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)
                    files[f"figures/{name}.svg"] = chart_image(chart, "svg")
            except InputError as error:  # the browser failed: go on without
                missing = f"Static images could not be made here ({error})."
    if charts:
        files[f"figures/{_LIBRARY}"] = plotly_script()
    return files, missing
