"""For whom it is wrong: the groups before recalibration, and the worst one of every method."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from lore_core.comparison import conclude_groups
from lore_core.figures.svg import Drawing
from lore_core.report.findings import Findings
from lore_core.report.rendering import missing, render

_LISTED = 30


def groups_section(findings: Findings, drawings: Mapping[str, Drawing]) -> Markup:
    """Write the groups before recalibration, and the worst one under every method."""
    if findings.group_table is None or not findings.group_reports:
        return missing(findings.missing.get("groups", ""))
    first, report = next(iter(findings.group_reports.items()))
    methods = findings.group_table.rename_axis("method").reset_index().to_dict("records")
    return render(
        "groups.html",
        column=findings.group_column,
        n_groups=len(report),
        n_rows=len(findings.view.evaluation),
        drawing=drawings["groups"],
        groups=report.head(_LISTED).to_dict("records"),
        n_hidden=len(report) - _LISTED,
        first=first,
        methods=methods,
        min_group_size=findings.min_group_size,
        conclusion=conclude_groups(findings.group_reports, findings.min_group_size),
    )
