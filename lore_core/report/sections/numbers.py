"""The numbers: every metric with its interval, and the two pictures they summarise."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from lore_core.comparison import Conclusion, conclude_bandwidths
from lore_core.comparison.tables import metric_table
from lore_core.figures.svg import Drawing
from lore_core.report.findings import Findings
from lore_core.report.rendering import missing, render


def numbers_section(findings: Findings, drawings: Mapping[str, Drawing]) -> Markup:
    """Write the metrics before recalibration, the reliability and the bandwidths."""
    summary = findings.summary
    if summary is None:
        return missing(findings.missing.get("summary", ""))
    no_map = findings.curve is None and findings.embedding is None
    return render(
        "numbers.html",
        values=metric_table(summary, findings.chance).to_dict("records"),
        n_rows=summary.n_rows,
        chance=findings.chance,
        why_no_chance=findings.missing.get("chance", ""),
        reliability=drawings["reliability"],
        curve=drawings.get("bandwidth"),
        bandwidths=_bandwidths(findings),
        has_band=findings.band is not None,
        why_no_curve=missing(findings.missing.get("map", "")) if no_map else "",
    )


def _bandwidths(findings: Findings) -> Conclusion | None:
    if findings.curve is None:
        return None
    return conclude_bandwidths(findings.curve, findings.band, on=findings.view.map_name)
