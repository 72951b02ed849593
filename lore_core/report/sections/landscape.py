"""Where it is wrong: the landscape, and a still picture of it for where no script runs."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from lore_core.data.number_text import with_points
from lore_core.figures.browser.gamma_fields import still_layers
from lore_core.figures.pictures.landscape_picture import LandscapePicture
from lore_core.figures.svg import Drawing
from lore_core.regions.field import Outline, rows_outline
from lore_core.report.findings import Findings
from lore_core.report.landscape import scene_of
from lore_core.report.rendering import missing, render


def landscape_section(
    findings: Findings, landscape: LandscapePicture | None, drawings: Mapping[str, Drawing]
) -> Markup:
    """Write the landscape with its slider.

    ``landscape``: its fields; None where there is no map.
    """
    local = None if findings.summary is None else findings.summary.local
    on = findings.drawn_on
    if landscape is None or on is None or findings.embedding is None or local is None:
        why = findings.missing.get("map") or findings.missing.get(
            "summary", "No map could be drawn."
        )
        return missing(why)
    layers = still_layers(
        landscape, vivid=_vivid(findings), curve=findings.curve, band=findings.band
    )
    return render(
        "landscape.html",
        sentence=scene_of(findings, local, on).sentence,
        gamma=findings.view.gamma,
        limit=with_points(landscape.scale.limit),
        kernel_map=findings.embedding.description,
        drawn_map=None if on is findings.embedding else on.label,
        is_pale=findings.search is not None,
        has_outlines=bool(landscape.regions),
        still=drawings["landscape"],
        layers=[layer.as_text() for layer in layers],
    )


def _vivid(findings: Findings) -> Outline | None:
    """Where places were found; None where they were not looked for."""
    if findings.search is None or findings.drawn_on is None:
        return None
    return rows_outline(findings.view.points(on=findings.drawn_on), findings.search.inside())
