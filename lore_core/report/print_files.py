"""Drawings as files of their own: SVG of 84 mm, for a column of print."""

from __future__ import annotations

import base64
import re

import numpy as np
from numpy.typing import NDArray

from lore_core.figures.style import INK, NEUTRAL, PAPER, diverging
from lore_core.report.drawings import WIDTH, curve_drawing, reliability_drawing
from lore_core.report.findings import Findings
from lore_core.report.rendering import asset
from lore_core.report.sections.groups import groups_drawing
from lore_core.report.sections.landscape import still_landscape
from lore_core.report.sections.recalibrators import ranking_drawing
from lore_core.report.settings import map_option
from lore_core.report.slider import Slider

__all__ = ["landscape_drawing", "print_files"]

_BAR, _MARGIN = 34, 4


def print_files(found: Findings, slider: Slider | None) -> dict[str, bytes]:
    """Return drawings of the report as SVG files 84 mm wide, in the colours of paper.

    Parameters
    ----------
    found : Findings
        What the report is about.
    slider : Slider or None
        Fields of the landscape.

    Returns
    -------
    dict of str to bytes
        By path in the bundle.
    """
    made: dict[str, str] = {}
    if found.summary is not None:
        made["reliability"] = reliability_drawing(found.summary.reliability)
    if slider is not None:
        made["landscape"] = landscape_drawing(slider)
    if found.curve is not None:
        made["bandwidth"] = curve_drawing(
            {map_option(found.view): found.curve}, gamma=found.view.gamma, band=found.band
        )
    if found.comparison is not None:
        made["recalibrators"] = ranking_drawing(found)
    if found.group_reports:
        made["groups"] = groups_drawing(found)
    style = _style()
    return {
        f"figures/84mm/{name}.svg": _standing_alone(svg, style).encode()
        for name, svg in made.items()
    }


def _style() -> str:
    """Return the rules for drawings, with the colours themselves: few editors know variables."""
    sheet = asset("style.css")
    colors = dict(re.findall(r"(--[\w]+): (#\w+)", sheet[: sheet.index("@media screen")]))
    rules = [line for line in sheet.splitlines() if re.match(r"(svg |\.m\d)", line)]
    return re.sub(r"var\((--\w+)\)", lambda found: colors[found[1]], "".join(rules))


def _standing_alone(svg: str, style: str) -> str:
    sized = re.sub(r'width="\d+" height="[\d.]+" role', 'width="84mm" role', svg, count=1)
    return sized.replace(">", f"><style>{style}</style>", 1)


def landscape_drawing(slider: Slider) -> str:
    """Draw the landscape at the report's bandwidth: pixels for the field, lines for the rest.

    Parameters
    ----------
    slider : Slider
        The fields.
    """
    across = WIDTH - 2 * _MARGIN
    step = [float(v[1] - v[0]) for v in (slider.x, slider.y)]
    low = (float(slider.x[0]) - step[0] / 2, float(slider.y[0]) - step[1] / 2)
    extent = (step[0] * len(slider.x), step[1] * len(slider.y))
    down = round(across * min(2.0, max(0.4, extent[1] / extent[0])), 1)

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            round(_MARGIN + (x - low[0]) / extent[0] * across, 1),
            round(_MARGIN + (1 - (y - low[1]) / extent[1]) * down, 1),
        )

    def path(lines: NDArray[np.float64], color: str, width: float) -> str:
        pieces = [
            f"M{' '.join(map(str, place(a, b)))}L{' '.join(map(str, place(c, d)))}"
            for a, b, c, d in lines.tolist()
        ]
        return (
            f'<path d="{"".join(pieces)}" fill="none" stroke="{color}" stroke-width="{width}" '
            'stroke-linecap="round"/>'
        )

    image = base64.b64encode(still_landscape(slider, factor=1, lines=False)).decode()
    parts = [
        f'<image href="data:image/png;base64,{image}" x="{_MARGIN}" y="{_MARGIN}" '
        f'width="{across}" height="{down}" preserveAspectRatio="none" '
        'style="image-rendering:pixelated"/>',
        path(slider.shape, NEUTRAL["light"], 0.5),
    ]
    for name, at, lines in slider.outlines:
        x, y = place(*at)
        parts.append(path(lines, INK["light"], 1.4))
        parts.append(
            f'<rect x="{x - 6}" y="{y - 6}" width="12" height="12" fill="{INK["light"]}"/>'
            f'<text class="mid" x="{x}" y="{y + 3.4}" style="fill:{PAPER["light"]}">{name}</text>'
        )
    stops = "".join(
        f'<stop offset="{at}" stop-color="{color}"/>' for at, color in diverging("light")
    )
    top = down + 2 * _MARGIN + 4
    limit = f"{slider.limit * 100:.0f} points"
    parts.append(
        f'<defs><linearGradient id="scale">{stops}</linearGradient></defs>'
        f'<rect x="{_MARGIN}" y="{top}" width="{across}" height="6" fill="url(#scale)"/>'
        f'<text x="{_MARGIN}" y="{top + 17}">−{limit}, underconfident</text>'
        f'<text class="end" x="{WIDTH - _MARGIN}" y="{top + 17}">+{limit}, overconfident</text>'
    )
    height = round(top + _BAR - 12, 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-label="Signed local error on the map of the features">'
        f"{''.join(parts)}</svg>"
    )
