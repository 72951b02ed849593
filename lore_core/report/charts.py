"""The dashboard's own figures of a report, for interactive files and static images."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from lore_core.chance.significance import MIN_EFFECTIVE_SIZE
from lore_core.data.progress import Progress
from lore_core.figures import (
    bandwidth_figure,
    cdf_figure,
    group_figure,
    landscape_figure,
    reliability_figure,
    reward_figure,
    shared_limit,
)
from lore_core.figures.export import (
    chart_html,
    chart_image,
    plotly_script,
    why_no_static_images,
)
from lore_core.figures.style import Chart
from lore_core.regions.field import rows_outline, smoothed_field
from lore_core.regions.row_tables import class_places, row_table, worst_rows
from lore_core.report.findings import Findings

__all__ = ["figure_files", "report_charts"]

_OUTLINED = 8
_RINGS = 30
#: The script all interactive figures share.
_LIBRARY = "plotly.min.js"


def report_charts(found: Findings) -> Iterator[tuple[str, Chart]]:
    """Draw the figures of a report, with the name of their files.

    Parameters
    ----------
    found : Findings
        What the report is about.
    """
    rows, summary, settings = found.rows, found.summary, found.settings
    bins = f"{found.view.bins_in_words}"
    if summary is not None:
        yield "reliability", reliability_figure(summary.reliability, rows=f"{rows}, {bins}")
        if summary.local is not None:
            about = f"{rows}, γ = {found.view.gamma:g} on {_map_name(found)}"
            yield (
                "local_error_distribution",
                cdf_figure(
                    {"LCE": summary.local.absolute}, rows=about, null=found.chance,
                    global_error=summary.reliability.expected_calibration_error,
                ),
            )  # fmt: skip
            if found.drawn_on is not None:
                yield "landscape", _landscape(found, about)
    if found.curve is not None:
        yield (
            "bandwidth",
            bandwidth_figure(
                {_map_name(found): found.curve}, rows=f"{rows}, {bins}", gamma=found.view.gamma,
                null=None if found.band is None else (_map_name(found), found.band),
            ),
        )  # fmt: skip
    result = found.comparison
    if result is not None:
        for label in dict.fromkeys([next(iter(result.summaries)), result.ranking[0]]):
            yield (
                f"reliability_after_{_file_name(label)}",
                reliability_figure(
                    result.summaries[label].reliability, rows=f"{rows}, {bins}",
                    title=f"Reliability: {label}",
                ),
            )  # fmt: skip
    if found.method_curves:
        yield (
            "bandwidth_by_method",
            bandwidth_figure(
                found.method_curves, metric="mlce_supported", rows=f"{rows}, {bins}",
                gamma=found.view.gamma,
            ),
        )  # fmt: skip
    if found.group_reports:
        yield (
            "groups",
            group_figure(found.group_reports, rows=f"{found.group_column}, {rows}"),
        )
    if found.rewards:
        ratio = settings.wrong_cost / settings.unsure_cost
        yield (
            "decisions",
            reward_figure(
                found.rewards, rows=rows, baseline=next(iter(found.rewards)),
                ratio=ratio if 1 <= ratio <= 100 else None,
            ),
        )  # fmt: skip


def _map_name(found: Findings) -> str:
    assert found.embedding is not None
    return found.embedding.label.partition(",")[0]


def _file_name(label: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in label.lower())


def _landscape(found: Findings, about: str) -> Chart:
    local, points = found.summary.local, found.points(found.drawn_on)  # type: ignore[union-attr]
    assert local is not None
    assert points is not None
    assert found.drawn_on is not None
    field = smoothed_field(
        local.signed, local.effective_size, points, min_effective_size=MIN_EFFECTIVE_SIZE
    )
    worst = worst_rows(local, n_rows=_RINGS, min_effective_size=MIN_EFFECTIVE_SIZE)
    search = found.search
    outlines = [] if search is None else [
        (str(i + 1), rows_outline(points, search.label == i))
        for i in range(min(len(search.regions), _OUTLINED))
    ]  # fmt: skip
    everything = np.ones(len(points), dtype=bool)
    return landscape_figure(
        field,
        points,
        worst=row_table(found.evaluation, worst, local, extra=3),
        n_total=len(points),
        limit=shared_limit(field.signed),
        rows=about,
        axes=found.drawn_on.label.partition(",")[0],
        found=outlines,
        places=class_places(found.evaluation, points, everything),
    )


def figure_files(
    found: Findings, *, images: bool, progress: Progress | None = None
) -> tuple[dict[str, bytes], str | None]:
    """Write the figures as files: interactive pages that share one script, and SVG.

    Parameters
    ----------
    found : Findings
        What the report is about.
    images : bool
        Whether SVG is wanted; it needs Chrome or Chromium.
    progress : callable, optional
        Called with the share done; may raise to cancel.

    Returns
    -------
    files : dict of str to bytes
        By path in the bundle.
    missing : str or None
        Why there are no static images, in words.
    """
    missing = why_no_static_images() if images else "Static images were not asked for."
    files: dict[str, bytes] = {}
    charts = list(report_charts(found))
    for position, (name, chart) in enumerate(charts):
        if progress is not None:
            progress(position / len(charts), f"figure {name}")
        page = chart_html(chart, script=_LIBRARY)
        files[f"figures/{name}.html"] = page
        if missing is None:
            try:
                # (Kaleido warns that options it was not given are ignored.)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)
                    files[f"figures/{name}.svg"] = chart_image(chart, "svg")
            except Exception as error:  # a browser can fail in any way: go on without
                missing = f"Static images could not be made here ({error})."
    if charts:
        files[f"figures/{_LIBRARY}"] = plotly_script()
    return files, missing
