"""Drawings of lines, areas, words and pixels, written as SVG, PDF or PNG."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFont

from lore_core.data.arrays import Floats
from lore_core.data.errors import InputError
from lore_core.data.validation import check_positive
from lore_core.figures.style import MODES, palette

#: Units of a drawing (CSS pixels) in an inch; points and millimetres in an inch.
UNITS_PER_INCH, POINTS_PER_INCH, MM_PER_INCH = 96.0, 72.0, 25.4
#: Smallest size of the font in which widths are measured: exact to a thousandth.
_MEASURED = 1000
Anchor = Literal["start", "middle", "end"]
_FONT = '"Source Sans 3", "Source Sans", "Open Sans", Arial, sans-serif'
#: Lengths of dashes and gaps, in widths of the line, which count as one unit at least.
_DASHES = {"solid": (), "dash": (5.0, 5.0), "dot": (1.7, 1.7)}


@dataclass(frozen=True)
class Stroke:
    """Joined points, in one or more pieces; colours are names of the palette."""

    pieces: Sequence[Floats]  #: (k, 2) each
    color: str
    width: float = 1.0
    dash: Literal["solid", "dash", "dot"] = "solid"
    alpha: float = 1.0


@dataclass(frozen=True)
class Area:
    """A filled polygon."""

    points: Floats  #: (k, 2)
    color: str
    alpha: float = 1.0


@dataclass(frozen=True)
class Disc:
    """A dot, or with a ``ring`` of some width its edge only."""

    x: float
    y: float
    radius: float
    color: str
    alpha: float = 1.0
    ring: float = 0.0
    title: str = ""  #: Shown where it is pointed at


@dataclass(frozen=True)
class Words:
    """A line of text, from its baseline; ``on``: the colour it stands on, as a halo."""

    text: str
    x: float
    y: float
    anchor: Anchor = "start"
    color: str = "ink"
    bold: bool = False
    upright: bool = False  #: Whether it is read from below
    on: str = ""


@dataclass(frozen=True, eq=False)
class Pixels:
    """An image, stretched to a box without smoothing."""

    values: NDArray[np.uint8]  #: (h, w), (h, w, 3) or (h, w, 4)
    x: float
    y: float
    width: float
    height: float


Item = Stroke | Area | Disc | Words | Pixels


class Drawing:
    """A drawing ``width`` × ``height`` units of 1/96 inch; ``type_size``: of its text, in units."""

    def __init__(
        self, width: float, height: float, alt: str, *, type_size: float, kind: str = "drawing"
    ) -> None:
        self.width, self.height, self.alt, self.type_size = width, height, alt, type_size
        self.items: list[Item] = []
        #: Left, top, right and bottom of each area of data.
        self.frames: list[tuple[float, float, float, float]] = []
        self._kind = kind  #: Class of the drawing on a page

    def add(self, *items: Item) -> None:
        """Draw over what is there."""
        self.items += items

    def text_width(self, text: str, *, bold: bool = False) -> float:
        """Return the width of a text in units."""
        return text_width(text, self.type_size, bold=bold)

    def __html__(self) -> str:
        """Write it for a page that has the rules for drawings."""
        size = {"width": _short(self.width), "height": _short(self.height)}
        return self._svg(size, {name: f"var(--{name})" for name in palette("light")})

    def svg(self) -> bytes:
        """Write it as a file of its own, in the colours of paper."""
        size = {"width": f"{_mm(self.width)}mm", "height": f"{_mm(self.height)}mm"}
        return self._svg(size, palette("light")).encode()

    def png(self, dpi: float = 300.0) -> bytes:
        """Draw its pixels, at ``dpi`` to the inch."""
        import resvg_py

        size = {"width": _short(self.width), "height": _short(self.height)}
        return bytes(
            resvg_py.svg_to_bytes(
                svg_string=self._svg(size, palette("light")),
                width=round(self.width / UNITS_PER_INCH * dpi),
                font_files=[str(_font_file(bold)) for bold in (False, True)],
                font_family="Source Sans 3",
                background="#ffffff",
            )
        )

    def pdf(self) -> bytes:
        """Write it as a page of its size, with the fonts it uses."""
        return _pdf(self)

    def _svg(self, size: Mapping[str, str], colors: Mapping[str, str]) -> str:
        box = f"0 0 {_short(self.width)} {_short(self.height)}"
        named = {"role": "img", "aria-label": self.alt, "class": self._kind}
        look = {"font-family": _FONT, "font-size": _short(self.type_size)}
        root = ElementTree.Element(
            "svg",
            {"xmlns": "http://www.w3.org/2000/svg", "viewBox": box} | named | look | dict(size),
        )
        for item in self.items:
            _add_svg(root, item, colors)
        return ElementTree.tostring(root, encoding="unicode")


def beside(drawings: Sequence[Drawing], n_columns: int, alt: str) -> Drawing:
    """Put drawings of one width into rows, each with its letter: (a), (b), …"""
    rows = [drawings[k : k + n_columns] for k in range(0, len(drawings), n_columns)]
    head, between = 1.4 * drawings[0].type_size, drawings[0].type_size
    heights = [head + max(drawing.height for drawing in row) for row in rows]
    width = n_columns * drawings[0].width + (n_columns - 1) * between
    height = sum(heights) + between * (len(rows) - 1)
    whole = Drawing(width, height, alt, type_size=drawings[0].type_size, kind="paper")
    top, letters = 0.0, iter("abcdefghijklmnopqrstuvwxyz")
    for row, tall in zip(rows, heights, strict=True):
        for column, drawing in enumerate(row):
            left = column * (drawing.width + between)
            whole.add(*(moved(item, left, top + head) for item in drawing.items))
            name = f"({next(letters)})"
            whole.add(Words(name, left, top + drawing.type_size, bold=True))
        top += tall + between
    return whole


def moved(item: Item, right: float, down: float) -> Item:
    """Return an item some units to the right and down."""
    match item:
        case Stroke():
            return replace(item, pieces=[piece + (right, down) for piece in item.pieces])
        case Area():
            return replace(item, points=item.points + (right, down))
        case _:
            return replace(item, x=item.x + right, y=item.y + down)


def units(millimetres: float, name: str, least: float) -> float:
    """Return a length in units; InputError if it is out of range."""
    if not least <= check_positive(millimetres, name) <= 500:
        raise InputError(f"'{name}' must lie between {least:g} and 500 mm; got {millimetres!r}.")
    return millimetres / MM_PER_INCH * UNITS_PER_INCH


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a text of some size."""
    return _measured(bold).getlength(text) * size / _MEASURED


@lru_cache(maxsize=2)
def _measured(bold: bool) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(_font_file(bold), _MEASURED, layout_engine=ImageFont.Layout.BASIC)


def _font_file(bold: bool) -> Path:
    weight = "Semibold" if bold else "Regular"
    return Path(str(files("lore_core.figures") / "fonts" / f"SourceSans3-{weight}.ttf"))


def page_rules() -> str:
    """Write the colours of drawings on a page as variables; those of ``paper`` are always light."""
    light, dark = (
        " ".join(f"--{name}: {color};" for name, color in palette(mode).items()) for mode in MODES
    )
    screen = "@media screen and (prefers-color-scheme: dark)"
    grounds = [f".b-{name} {{ background: var(--{name}); }}" for name in palette("light")]
    return "\n".join(
        [f":root, .paper {{ {light} }}\n{screen} {{ :root {{ {dark} }} }}", *grounds, ""]
    )


def png_url(pixels: NDArray[np.uint8]) -> str:
    """Return pixels (h, w), (h, w, 3) or (h, w, 4) as a data URL: grey, RGB or RGBA."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _color(name: str, colors: Mapping[str, str]) -> str:
    """Return a colour of the palette, or one that is written out."""
    return name if name.startswith("#") else colors[name]


def _mm(units: float) -> str:
    return _short(units / UNITS_PER_INCH * MM_PER_INCH)


def _add_svg(root: ElementTree.Element, item: Item, colors: Mapping[str, str]) -> None:
    def element(tag: str, text: str = "", **options: str | float) -> ElementTree.Element:
        made = ElementTree.SubElement(root, tag)
        for name, value in options.items():
            text_of = value if isinstance(value, str) else _short(value)
            made.set(name.replace("_", "-"), text_of)
        made.text = text or None
        return made

    match item:
        case Stroke():
            path = "".join(f"M{_svg_points(piece)}" for piece in item.pieces)
            dash = {"stroke_dasharray": " ".join(map(_short, _dashes(item)))}
            element(
                "path",
                d=path,
                fill="none",
                stroke=colors[item.color],
                stroke_width=item.width,
                stroke_linejoin="round",
                **({"stroke_opacity": item.alpha} if item.alpha < 1 else {}),
                **(dash if _DASHES[item.dash] else {}),
            )
        case Area():
            opacity = {"fill_opacity": item.alpha} if item.alpha < 1 else {}
            element(
                "polygon",
                points=_svg_points(item.points),
                fill=_color(item.color, colors),
                **opacity,
            )
        case Disc():
            place = {"cx": item.x, "cy": item.y, "r": item.radius}
            color = _color(item.color, colors)
            look: dict[str, Any] = {"fill": color, "fill_opacity": item.alpha}
            if item.ring:
                look = {"fill": "none", "stroke": color, "stroke_width": item.ring}
            dot = element("circle", **place, **look)
            if item.title:
                ElementTree.SubElement(dot, "title").text = item.title
        case Words():
            halo = {"paint_order": "stroke", "stroke": colors.get(item.on, ""), "stroke_width": 3}
            place = {"x": item.x, "y": item.y}
            turned = f"translate({_short(item.x)} {_short(item.y)}) rotate(-90)"
            element(
                "text",
                item.text,
                fill=colors[item.color],
                **({"transform": turned} if item.upright else place),
                **({"text_anchor": item.anchor} if item.anchor != "start" else {}),
                **({"font_weight": "600"} if item.bold else {}),
                **(halo if item.on else {}),
            )
        case Pixels():
            box = {"x": item.x, "y": item.y, "width": item.width, "height": item.height}
            sharp = {"preserveAspectRatio": "none", "style": "image-rendering:pixelated"}
            element("image", href=png_url(item.values), **box, **sharp)


def _dashes(stroke: Stroke) -> list[float]:
    return [length * max(stroke.width, 1.0) for length in _DASHES[stroke.dash]]


def _svg_points(points: Floats) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in points.tolist())


@cache
def register_fonts() -> tuple[str, str]:
    """Make the fonts known to reportlab; return the names of the regular and the bold one."""
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    paths = _font_file(bold=False), _font_file(bold=True)
    for path in paths:
        pdfmetrics.registerFont(TTFont(path.stem, path))
    return paths[0].stem, paths[1].stem


def _pdf(drawing: Drawing) -> bytes:
    from reportlab.pdfgen.canvas import Canvas

    regular, _ = register_fonts()
    buffer, scale = io.BytesIO(), POINTS_PER_INCH / UNITS_PER_INCH
    size = drawing.width * scale, drawing.height * scale
    canvas = Canvas(buffer, size, pageCompression=1, invariant=1, initialFontName=regular)
    canvas.setTitle(drawing.alt)
    draw_on(canvas, drawing, 0.0, size[1])
    canvas.save()
    return buffer.getvalue()


def draw_on(canvas: Any, drawing: Drawing, left: float, top: float) -> None:
    """Draw on a page of reportlab, the upper left corner at a place in points from below."""
    scale = POINTS_PER_INCH / UNITS_PER_INCH
    canvas.saveState()
    canvas.translate(left, top)
    canvas.scale(scale, scale)  # (units from here on, upwards)
    canvas.setLineJoin(1)
    for item in drawing.items:
        _add_pdf(canvas, item, drawing.type_size)
    canvas.restoreState()


def _add_pdf(canvas: Any, item: Item, type_size: float) -> None:
    colors = palette("light")

    def path(pieces: Iterable[Floats], *, is_closed: bool = False) -> Any:
        made = canvas.beginPath()
        for (x, y), *others in (piece.tolist() for piece in pieces):
            made.moveTo(x, -y)
            for a, b in others:
                made.lineTo(a, -b)
            if is_closed:
                made.close()
        return made

    match item:
        case Stroke():
            canvas.setStrokeColor(colors[item.color], item.alpha)
            canvas.setLineWidth(item.width)
            canvas.setDash(*([_dashes(item)] if item.dash != "solid" else []))
            canvas.drawPath(path(item.pieces))
        case Area():
            canvas.setFillColor(_color(item.color, colors), item.alpha)
            canvas.drawPath(path([item.points], is_closed=True), stroke=0, fill=1)
        case Disc():
            canvas.setDash()
            canvas.setFillColor(_color(item.color, colors), item.alpha)
            canvas.setStrokeColor(_color(item.color, colors), item.alpha)
            canvas.setLineWidth(item.ring)
            canvas.circle(item.x, -item.y, item.radius, stroke=item.ring > 0, fill=item.ring == 0)
        case Words():
            _write(canvas, item, type_size, colors)
        case Pixels():
            from reportlab.lib.utils import ImageReader

            image = ImageReader(Image.fromarray(item.values))
            place = item.x, -item.y - item.height, item.width, item.height
            canvas.drawImage(image, *place, mask="auto")


def _write(canvas: Any, item: Words, type_size: float, colors: Mapping[str, str]) -> None:
    canvas.saveState()
    canvas.translate(item.x, -item.y)
    if item.upright:
        canvas.rotate(90)
    width = text_width(item.text, type_size, bold=item.bold)
    x = -width * {"start": 0.0, "middle": 0.5, "end": 1.0}[item.anchor]
    font = _font_file(item.bold).stem
    if item.on:  # (saved: the mode of text outlives it)
        canvas.saveState()
        canvas.setDash()
        canvas.setLineWidth(3)
        canvas.setStrokeColor(colors[item.on], 1)
        halo = canvas.beginText(x, 0)
        halo.setFont(font, type_size)
        halo.setTextRenderMode(1)
        halo.textOut(item.text)
        canvas.drawText(halo)
        canvas.restoreState()
    canvas.setFont(font, type_size)
    canvas.setFillColor(colors[item.color], 1)
    canvas.drawString(x, 0, item.text)
    canvas.restoreState()
