"""Columns the error goes with."""

from __future__ import annotations

from markupsafe import Markup

from lore_core.report.findings import Findings
from lore_core.report.rendering import missing, render

_LISTED = 8


def variables_section(findings: Findings) -> Markup:
    """Write which columns the error goes with."""
    frame = findings.variables
    if frame is None or frame.empty:
        return missing(
            findings.missing.get("variables", "These data hold no column to look along.")
        )
    return render(
        "variables.html",
        variables=frame.head(_LISTED).to_dict("records"),
        n_variables=len(frame),
    )
