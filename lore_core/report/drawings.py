"""The drawings of the page, which are files for print too: 84 mm wide, as SVG."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from lore_core.figures import Chart, bandwidth_figure
from lore_core.figures.pictures.dot_plots import group_picture, ranking_picture
from lore_core.figures.pictures.landscape_picture import LandscapePicture
from lore_core.figures.pictures.reliability import reliability_points
from lore_core.figures.svg import Drawing, drawing
from lore_core.report.findings import Findings

#: Groups drawn.
_GROUPS = 14
#: Drawings that are files too.
_PRINTED = ("reliability", "landscape", "bandwidth", "recalibrators", "groups")


def report_drawings(
    findings: Findings, charts: Mapping[str, Chart], landscape: LandscapePicture | None
) -> dict[str, Drawing]:
    """Draw for a narrow column what the page shows; what could not be computed has no drawing.

    ``charts`` show the same for a screen; those that fit a column are drawn as they are.
    """
    rows, made = findings.view.rows, {}
    if findings.summary is not None:
        points = reliability_points(findings.summary.reliability, rows=rows)
        made["reliability"] = drawing(points)
    if landscape is not None:
        made["landscape"] = drawing(landscape)
    if findings.curve is not None and findings.embedding is not None:
        name = findings.view.map_name
        null = None if findings.band is None else (name, findings.band)
        curve = bandwidth_figure(
            {name: findings.curve},
            rows=rows,
            gamma=findings.view.gamma,
            null=null,
        )
        made["bandwidth"] = drawing(curve.picture)
    result = findings.comparison
    if result is not None:
        by = result.ranked_by
        frames = {"value": result.table, "low": result.low, "high": result.high}
        known = {
            name: frame[by.name]
            for name, frame in frames.items()
            if frame is not None and by.name in frame
        }
        values = pd.DataFrame(known, index=result.ranking, columns=list(frames))
        made["recalibrators"] = drawing(ranking_picture(values, by, rows=rows))
    if findings.group_reports:
        label, report = next(iter(findings.group_reports.items()))
        groups = group_picture({label: report.head(_GROUPS)}, rows=rows, by_sign=True)
        made["groups"] = drawing(groups)
    if "bandwidth_by_method" in charts:
        made["bandwidth_by_method"] = drawing(charts["bandwidth_by_method"].picture)
    if "decisions" in charts:
        made["decisions"] = drawing(charts["decisions"].picture)
    return made


def print_files(drawings: Mapping[str, Drawing]) -> dict[str, bytes]:
    """Return drawings as files, by path in the bundle.

    ``drawings``: from :func:`report_drawings`.
    """
    return {
        f"figures/84mm/{name}.svg": drawings[name].file() for name in _PRINTED if name in drawings
    }
