"""Where it is wrong: the landscape, and a still picture of it for where no script runs."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from lore_core.figures.style import INK, NEUTRAL, PAPER, diverging, rgba
from lore_core.report.findings import Findings
from lore_core.report.rendering import missing, render
from lore_core.report.slider import Slider, png

__all__ = ["landscape_section", "still_landscape"]


def landscape_section(found: Findings, slider: Slider | None) -> Markup:
    """Write the landscape with its slider.

    Parameters
    ----------
    found : Findings
        What the report is about.
    slider : Slider or None
        Its fields; None where there is no map.
    """
    if slider is None or found.drawn_on is None or found.embedding is None:
        why = found.missing.get("map") or found.missing.get("summary", "No map could be drawn.")
        return missing(why)
    return render(
        "landscape.html",
        gamma=found.view.gamma,
        limit=f"{slider.limit * 100:.0f} points",
        kernel_map=found.embedding.description,
        drawn_map=None if found.drawn_on is found.embedding else found.drawn_on.label,
        has_outlines=bool(slider.outlines),
        still=still_landscape(slider),
        fields=slider.payload(),
        colors={
            mode: {
                "stops": diverging(mode),
                "paper": PAPER[mode],
                "ink": INK[mode],
                "faint": rgba(NEUTRAL[mode], 0.55),
            }
            for mode in ("light", "dark")
        },
    )


def still_landscape(slider: Slider, *, factor: int = 4, lines: bool = True) -> bytes:
    """Draw the report's own bandwidth as a PNG, all confidences together.

    Parameters
    ----------
    slider : Slider
        The fields.
    factor : int
        Pixels a node.
    lines : bool
        Whether to draw the outlines too.
    """
    signed = slider.pictures[0].signed(slider.start)[::-1]
    share = np.clip((signed / slider.limit + 1) / 2, 0, 1)
    stops = diverging("light")
    at = [stop for stop, _ in stops]
    known = np.isfinite(share)
    pixels = np.full((*share.shape, 3), 255, np.uint8)
    for channel in range(3):
        of = [int(color[1 + 2 * channel : 3 + 2 * channel], 16) for _, color in stops]
        pixels[known, channel] = np.rint(np.interp(share[known], at, of)).astype(np.uint8)
    large = pixels.repeat(factor, axis=0).repeat(factor, axis=1)
    for _, _, pieces in [("", (0, 0), slider.shape), *slider.outlines] if lines else []:
        _stroke(large, pieces, slider)
    return png(large)


def _stroke(pixels: NDArray[np.uint8], lines: NDArray[np.float64], slider: Slider) -> None:
    """Draw lines dot by dot."""
    height, width = pixels.shape[:2]
    t = np.linspace(0, 1, 9)
    x = (lines[:, [0]] * (1 - t) + lines[:, [2]] * t - slider.x[0]) / np.ptp(slider.x)
    y = (lines[:, [1]] * (1 - t) + lines[:, [3]] * t - slider.y[0]) / np.ptp(slider.y)
    column = np.clip(np.rint(x * (width - 1)), 0, width - 1).astype(int)
    row = np.clip(np.rint((1 - y) * (height - 1)), 0, height - 1).astype(int)
    pixels[row, column] = (31, 41, 51)
