"""The numbers: every metric with its interval, and the two pictures they summarise."""

from __future__ import annotations

from markupsafe import Markup

from lore_core.comparison.tables import metric_table
from lore_core.report.drawings import curve_drawing, reliability_drawing
from lore_core.report.findings import Findings
from lore_core.report.rendering import missing, render

__all__ = ["numbers_section"]


def numbers_section(found: Findings) -> Markup:
    """Write the metrics before recalibration, the reliability and the bandwidths.

    Parameters
    ----------
    found : Findings
        What the report is about.
    """
    summary = found.summary
    if summary is None:
        return missing(found.missing.get("summary", ""))
    curve, why_no_curve = None, Markup()
    if found.curve is not None:
        curve = Markup(curve_drawing({"": found.curve}, gamma=found.view.gamma, band=found.band))
    elif found.embedding is None:
        why_no_curve = missing(found.missing.get("map", ""))
    return render(
        "numbers.html",
        values=metric_table(summary, found.chance).to_dict("records"),
        n_rows=summary.n_rows,
        chance=found.chance,
        why_no_chance=found.missing.get("chance", ""),
        reliability=Markup(reliability_drawing(summary.reliability)),
        curve=curve,
        has_band=found.band is not None,
        why_no_curve=why_no_curve,
    )
