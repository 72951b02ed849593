"""Pictures as static SVG: for print, and for pages without scripts."""

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats
from lore_core.data.number_text import signed_points
from lore_core.figures.chart import Chart, PanelPicture
from lore_core.figures.pictures.landscape_picture import ErrorScale, LandscapePicture, segments
from lore_core.figures.style import shades
from lore_core.figures.svg.panels import WIDTH, Drawing, panel_drawing, png_url

__all__ = ["Drawing", "drawing"]

_MARGIN, _FOOT, _BAR = 4.0, 26.0, 6.0
_ACROSS = WIDTH - 2 * _MARGIN


def drawing(picture: Chart) -> Drawing:
    """Draw a picture as SVG: panels, or a landscape on a 2-D map."""
    match picture:
        case PanelPicture():
            return panel_drawing(picture)
        case LandscapePicture(view="map"):
            return _landscape_drawing(picture)
        case _:
            raise TypeError(f"no drawing of {picture.name!r} is known")


def _landscape_drawing(picture: LandscapePicture) -> Drawing:
    """Draw the field that is shown first, on a 2-D map, in the colours of paper on every page."""
    field = picture.layers[0].fields[picture.start]
    step = np.array([field.x[1] - field.x[0], field.y[1] - field.y[0]])
    low = np.array([field.x[0], field.y[0]]) - step / 2
    size = step * (len(field.x), len(field.y))
    down = float(_ACROSS * np.clip(size[1] / size[0], 0.4, 2.0))
    drawing = Drawing(down + 2 * _MARGIN + _FOOT, picture.alt, kind="paper")

    def place(points: Floats) -> Floats:
        share = (points - low) / size
        return np.column_stack([share[:, 0] * _ACROSS, (1 - share[:, 1]) * down]) + _MARGIN

    def outline(lines: Floats, kind: str, width: float) -> None:
        ends = place(lines.reshape(-1, 2)).reshape(-1, 4)
        path = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in ends.tolist())
        drawing.add("path", d=path, fill="none", kind=kind, stroke_width=width)

    def image(error: Floats, y: float, height: float) -> None:
        frame = {"x": _MARGIN, "y": y, "width": _ACROSS, "height": height}
        url, sharp = png_url(_colored(error, picture.scale)), "image-rendering:pixelated"
        drawing.add("image", href=url, preserveAspectRatio="none", style=sharp, **frame)

    drawing.add("rect", width="100%", height="100%", kind="f-paper")
    image(field.signed[::-1], _MARGIN, down)
    outline(segments(field.x, field.y, field.context.astype(np.float64)), "s-quiet", 0.5)
    for region in picture.regions:
        outline(region.lines, "s-ink", 1.4)
        x, y = place(np.array([region.at]))[0].tolist()
        drawing.add("rect", kind="f-ink", x=x - 6, y=y - 6, width=12, height=12)
        drawing.add("text", kind="mid f-paper", x=x, y=y + 3.4, text=region.name)
    top = down + 2 * _MARGIN + 4
    image(np.linspace(picture.scale.low, picture.scale.limit, 256)[None], top, _BAR)
    least, most = (f"{signed_points(s * picture.scale.limit, 0)} points" for s in (-1, 1))
    drawing.add("text", x=_MARGIN, y=top + 17, text=f"{least}, underconfident")
    drawing.add("text", kind="mid", x=WIDTH / 2, y=top + 17, text="0")
    right = f"{most}, overconfident"
    drawing.add("text", kind="end", x=WIDTH - _MARGIN, y=top + 17, text=right)
    return drawing


def _colored(error: Floats, scale: ErrorScale) -> NDArray[np.uint8]:
    """Return pixels of signed errors, shape (h, w, 4): clear where nothing is known."""
    share = (scale.of(error) - scale.low) / (scale.limit - scale.low)
    known = np.isfinite(share)
    place = np.rint(np.where(known, share, 0.0).clip(0, 1) * 255).astype(int)
    colors = shades(scale.colors("light"), 256)[place]
    return np.concatenate([colors, np.where(known, 255, 0)[..., None]], axis=-1).astype(np.uint8)
