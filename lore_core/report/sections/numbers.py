"""The numbers: every metric with its interval, and the two pictures they summarise."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from lore_core.comparison.tables import metric_table
from lore_core.figures.svg import Drawing
from lore_core.report.findings import Findings
from lore_core.report.rendering import missing, render


def numbers_section(found: Findings, drawings: Mapping[str, Drawing]) -> Markup:
    """Write the metrics before recalibration, the reliability and the bandwidths.

    Parameters
    ----------
    found : Findings
        What the report is about.
    drawings : mapping of str to Drawing
        From :func:`~lore_core.report.drawings.report_drawings`.
    """
    summary = found.summary
    if summary is None:
        return missing(found.missing.get("summary", ""))
    no_map = found.curve is None and found.embedding is None
    return render(
        "numbers.html",
        values=metric_table(summary, found.chance).to_dict("records"),
        n_rows=summary.n_rows,
        chance=found.chance,
        why_no_chance=found.missing.get("chance", ""),
        reliability=drawings["reliability"],
        curve=drawings.get("bandwidth"),
        has_band=found.band is not None,
        why_no_curve=missing(found.missing.get("map", "")) if no_map else "",
    )
