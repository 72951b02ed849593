"""Drawings of lines, areas, words and pixels, written as SVG, PDF or PNG."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain, repeat
from pathlib import Path
from string import ascii_lowercase
from threading import Lock
from typing import Any, Literal
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFont

from lore_core.data.arrays import Floats
from lore_core.data.atomic_files import write_bytes
from lore_core.data.errors import InputError, as_path
from lore_core.data.validation import check_positive
from lore_core.figures.style import MODES, palette

#: Units of a drawing (CSS pixels) in an inch; points and millimetres in an inch.
UNITS_PER_INCH, POINTS_PER_INCH, MM_PER_INCH = 96.0, 72.0, 25.4
#: Smallest size of the font in which widths are measured: exact to a thousandth.
_MEASURED = 1000
#: Formats for print, and pixels to the inch of a PNG to look at.
PRINTED, SCREEN_DPI = ("svg", "pdf", "png"), 144.0
Anchor = Literal["start", "middle", "end"]
_FONT = '"Source Sans 3", "Source Sans", "Open Sans", Arial, sans-serif'
#: What attributes are where they are left out.
_PLAIN = {"stroke-opacity": 1.0, "fill-opacity": 1.0, "text-anchor": "start"}
#: Lengths of dashes and gaps, in widths of the line, which count as one unit at least.
_DASHES: dict[str, tuple[float, ...]] = {"solid": (), "dash": (5, 5), "dot": (1.7, 1.7)}
#: Those of methods by their colours, told apart without them; the first is unbroken.
_METHOD_DASHES = """
, 6 1.5, 1.2 1.2, 6 1.5 1.2 1.5, 3 1.5, 6 1.2 1.2 1.2 1.2 1.2, 5 3, 3 1.2 1.2 1.2, 3 3, 6 1.2 3 1.2,
1.2 3, 7 1.5 1.2 1.5 1.2 1.5, 6 3 1.2 3, 8 2, 3 1.2 3 1.2 1.2 1.2, 1.2 1.2 1.2 3,
6 1.2 6 1.2 1.2 1.2"""
for _number, _lengths in enumerate(_METHOD_DASHES.split(",")):
    _DASHES[f"m{_number}"] = tuple(map(float, _lengths.split()))
#: Fonts that readers of a PDF have, for letters that Source Sans 3 lacks: first and last of them.
_ASIAN = {
    "HYGothic-Medium": ("가", "힣"),
    "HeiseiKakuGo-W5": ("ぁ", "ヿ"),
    "STSong-Light": ("一", "鿿"),
}
#: A circle as four curves: its points, and those between that they bend towards.
_TURNED = np.outer(1j ** np.arange(5), [1, 1 + 0.5523j, 0.5523 + 1j]).ravel()[:13]
_CIRCLE = np.column_stack([_TURNED.real, _TURNED.imag])
#: PDFium draws one page at a time.
_PDFIUM = Lock()


@dataclass(frozen=True)
class Stroke:
    """Joined points, in one or more pieces; colours are names of the palette."""

    pieces: Sequence[Floats]  #: (k, 2) each
    color: str
    width: float = 1.0
    dash: str = "solid"  #: Or dash, dot, or the name of a method's colour
    alpha: float = 1.0

    @property
    def dashes(self) -> list[float]:
        """Lengths of dashes and gaps, in units."""
        return [length * max(self.width, 1.0) for length in _DASHES[self.dash]]


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


@dataclass(frozen=True)
class Part:
    """Other items, moved; of those with a ``box`` only what lies in it."""

    items: Sequence[Item]
    x: float = 0.0
    y: float = 0.0
    box: Box | None = None


#: Left, top, right and bottom.
Box = tuple[float, float, float, float]
Item = Stroke | Area | Disc | Words | Pixels | Part


class Drawing:
    """A drawing ``width`` × ``height`` units of 1/96 inch; ``type_size``: of its text, in units."""

    def __init__(
        self, width: float, height: float, alt: str, *, type_size: float, kind: str = "drawing"
    ) -> None:
        self.width, self.height, self.alt, self.type_size = width, height, alt, type_size
        self.items: list[Item] = []
        self.frames: list[Box] = []  #: Areas of data
        self._kind = kind  #: Class of the drawing on a page

    def add(self, *items: Item) -> None:
        """Draw over what is there."""
        self.items += items

    def box(
        self, x: float, y: float, width: float, height: float, color: str, alpha: float = 1.0
    ) -> None:
        """Fill a box."""
        corners = np.array([[x, y], [x + width, y], [x + width, y + height], [x, y + height]])
        self.add(Area(corners, color, alpha))

    def place(self, other: Drawing, right: float, down: float) -> None:
        """Draw all of another, its upper left corner at a place."""
        if other.items:
            self.add(Part(other.items, right, down))

    def add_inside(self, box: Box, item: Stroke | Area) -> None:
        """Draw what of an item lies in a box."""
        pieces = item.pieces if isinstance(item, Stroke) else [item.points]
        points = np.concatenate([np.empty((0, 2)), *pieces])
        beyond = (points < box[:2]) | (points > box[2:])
        if len(points):
            self.add(Part([item], box=box) if beyond.any() else item)

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
        """Draw the pixels of its PDF, at ``dpi`` to the inch."""
        from pypdfium2 import PdfDocument

        page = self.pdf()
        with _PDFIUM, PdfDocument(page) as document:
            bitmap = document[0].render(scale=dpi / POINTS_PER_INCH, rev_byteorder=True)
            size = (round(side / UNITS_PER_INCH * dpi) for side in (self.width, self.height))
            image = bitmap.to_pil().crop((0, 0, *size))
            bitmap.close()
        return _png(image, dpi, compress_level=2)

    def pdf(self) -> bytes:
        """Write it as a page of its size, with the fonts it uses."""
        from reportlab.pdfgen.canvas import Canvas

        regular, _ = register_fonts()
        buffer, scale = io.BytesIO(), POINTS_PER_INCH / UNITS_PER_INCH
        size = self.width * scale, self.height * scale
        canvas = Canvas(buffer, size, pageCompression=1, invariant=1, initialFontName=regular)
        canvas.setTitle(self.alt)
        draw_on(canvas, self, 0.0, size[1])
        canvas.save()
        return buffer.getvalue()

    def save(self, path: str | os.PathLike[str], *, dpi: float = 300.0) -> None:
        """Write it to an .svg, .pdf or .png file; ``dpi`` is that of the last."""
        target = as_path(path)
        write_bytes(target, self.written(target.suffix.lower().lstrip("."), dpi))

    def written(self, kind: str, dpi: float = 300.0) -> bytes:
        """Write it as svg, pdf or png."""
        if kind == "png":
            return self.png(check_positive(dpi, "dpi"))
        if kind not in PRINTED:
            known = ", ".join(PRINTED)
            raise InputError(f"a drawing is written as {known}; got {kind or 'no ending'!r}.")
        return self.svg() if kind == "svg" else self.pdf()

    def _repr_png_(self) -> bytes:
        return self.png(SCREEN_DPI)

    def _svg(self, size: Mapping[str, str], colors: Mapping[str, str]) -> str:
        box = f"0 0 {_short(self.width)} {_short(self.height)}"
        named = {"role": "img", "aria-label": self.alt, "class": self._kind}
        look = {"font-family": _FONT, "font-size": _short(self.type_size)}
        named |= {"xmlns": "http://www.w3.org/2000/svg", "viewBox": box}
        root = ElementTree.Element("svg", named | look | dict(size))
        for item in self.items:
            _add_svg(root, item, colors)
        return ElementTree.tostring(root, encoding="unicode")


def beside(
    drawings: Sequence[Drawing], n_columns: int, alt: str, names: Sequence[str] = ()
) -> Drawing:
    """Put drawings of one width into rows, each with a letter, (a), (b) and so on, and its name."""
    first, tops = drawings[0], [0.0]
    head, step = 1.4 * first.type_size, first.width + first.type_size
    for k in range(0, len(drawings), n_columns):
        tallest = max(drawing.height for drawing in drawings[k : k + n_columns])
        tops.append(tops[-1] + head + tallest + first.type_size)
    width, height = min(n_columns, len(drawings)) * step, tops[-1] - first.type_size
    whole = Drawing(width - first.type_size, height, alt, type_size=first.type_size, kind="paper")
    for k, (drawing, name) in enumerate(zip(drawings, chain(names, repeat("")), strict=False)):
        left, base, letter = k % n_columns * step, tops[k // n_columns], f"({ascii_lowercase[k]})"
        after = left + whole.text_width(f"{letter} ", bold=True)
        whole.add(Words(letter, left, base + first.type_size, bold=True))
        whole.add(*[Words(name, after, base + first.type_size)] * bool(name))
        whole.place(drawing, left, base + head)
    return whole


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


@cache
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
    rules = f":root, .paper {{ {light} }}\n{screen} {{ :root {{ {dark} }} }}"
    return "\n".join([rules, *grounds, ""])


def png_url(pixels: NDArray[np.uint8]) -> str:
    """Return pixels (h, w), (h, w, 3) or (h, w, 4) as a data URL: grey, RGB or RGBA."""
    return (
        "data:image/png;base64,"
        + base64.b64encode(_png(Image.fromarray(pixels), UNITS_PER_INCH)).decode()
    )


def _png(image: Image.Image, dpi: float, **how: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", dpi=(dpi, dpi), **how)
    return buffer.getvalue()


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _color(name: str, colors: Mapping[str, str]) -> str:
    """Return a colour of the palette, or one that is written out."""
    return name if name.startswith("#") else colors[name]


def _mm(units: float) -> str:
    return _short(units / UNITS_PER_INCH * MM_PER_INCH)


def _element(item: Item, colors: Mapping[str, str]) -> tuple[str, dict[str, Any], str]:
    """Return the element of an item: tag, attributes (None: left out) and text."""
    color = "" if isinstance(item, Pixels | Part) else _color(item.color, colors)
    match item:
        case Stroke():
            dash = " ".join(map(_short, item.dashes)) or None
            look = {"fill": "none", "stroke": color, "stroke-width": item.width}
            look |= {"stroke-dasharray": dash, "stroke-opacity": item.alpha}
            path = "".join(f"M{_svg_points(piece)}" for piece in item.pieces)
            return "path", {"d": path, "stroke-linejoin": "round", **look}, ""
        case Area():
            look = {"fill": color, "fill-opacity": item.alpha}
            return "polygon", {"points": _svg_points(item.points), **look}, ""
        case Disc():
            look = {"fill": color, "fill-opacity": item.alpha}
            if item.ring:
                look = {"fill": "none", "stroke": color, "stroke-width": item.ring}
            return "circle", {"cx": item.x, "cy": item.y, "r": item.radius, **look}, ""
        case Words():
            look = {"fill": color, "text-anchor": item.anchor}
            look["font-weight"] = "600" if item.bold else None
            if item.upright:
                look["transform"] = f"rotate(-90 {_short(item.x)} {_short(item.y)})"
            if item.on:
                look |= {"paint-order": "stroke", "stroke": colors[item.on], "stroke-width": 3}
            return "text", {"x": item.x, "y": item.y, **look}, item.text
        case Pixels():
            box = {"x": item.x, "y": item.y, "width": item.width, "height": item.height}
            sharp = {"preserveAspectRatio": "none", "style": "image-rendering:pixelated"}
            return "image", {"href": png_url(item.values), **box, **sharp}, ""
        case Part():
            if item.box is None:
                return "g", {"transform": f"translate({_short(item.x)} {_short(item.y)})"}, ""
            left, top, right, bottom = item.box
            size = {"width": right - left, "height": bottom - top}
            shown = " ".join(map(_short, (left, top, *size.values())))
            return "svg", {"x": item.x + left, "y": item.y + top, **size, "viewBox": shown}, ""


def _add_svg(root: ElementTree.Element, item: Item, colors: Mapping[str, str]) -> None:
    tag, attributes, text = _element(item, colors)
    written = {
        name: value if isinstance(value, str) else _short(value)
        for name, value in attributes.items()
        if value is not None and _PLAIN.get(name) != value
    }
    made = ElementTree.SubElement(root, tag, written)
    made.text = text or None
    if isinstance(item, Disc) and item.title:
        ElementTree.SubElement(made, "title").text = item.title
    for inner in item.items if isinstance(item, Part) else ():
        _add_svg(made, inner, colors)


def _svg_points(points: Floats) -> str:
    return " ".join(["%.2f,%.2f"] * len(points)) % tuple(points.ravel().tolist())


@cache
def register_fonts() -> tuple[str, str]:
    """Make the fonts known to reportlab; return the names of the regular and the bold one."""
    from reportlab import rl_config
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont
    from reportlab.pdfbase.ttfonts import TTFont

    rl_config.useA85 = 0  # (bytes as they are: a fifth smaller, in half the time)
    paths = _font_file(bold=False), _font_file(bold=True)
    for path in paths:
        pdfmetrics.registerFont(TTFont(path.stem, path))
    pdfmetrics.registerFontFamily(paths[0].stem, bold=paths[1].stem)
    for name in _ASIAN:
        pdfmetrics.registerFont(UnicodeCIDFont(name))
    return paths[0].stem, paths[1].stem


def _font_of(text: str, bold: bool) -> str:
    """Name the font of a text in a PDF."""
    for name, (first, last) in _ASIAN.items():
        if any(first <= letter <= last for letter in text):
            return name
    return _font_file(bold).stem


def draw_on(canvas: Any, drawing: Drawing, left: float, top: float) -> None:
    """Draw on a page of reportlab, the upper left corner at a place in points from below."""
    scale = POINTS_PER_INCH / UNITS_PER_INCH
    canvas.saveState()
    canvas.translate(left, top)
    canvas.scale(scale, scale)  # (units from here on, upwards)
    canvas.setLineJoin(1)
    _add_pdf(canvas, drawing.items, drawing.type_size, palette("light"))
    canvas.restoreState()


def _add_pdf(
    canvas: Any, items: Iterable[Item], type_size: float, colors: Mapping[str, str]
) -> None:
    for item in items:
        canvas.saveState()
        _add_item(canvas, item, type_size, colors)
        canvas.restoreState()


def _add_item(canvas: Any, item: Item, type_size: float, colors: Mapping[str, str]) -> None:
    from reportlab.lib.colors import HexColor

    if not isinstance(item, Pixels | Part):
        alpha = getattr(item, "alpha", 1.0)
        color = HexColor(_color(item.color, colors))
        canvas.setFillColor(color, alpha)
        canvas.setStrokeColor(color, alpha)
    match item:
        case Stroke():
            canvas.setLineWidth(item.width)
            canvas.setDash(item.dashes)
            canvas.drawPath(_path(item.pieces))
        case Area():
            canvas.drawPath(_path([item.points]), stroke=0, fill=1)
        case Disc():
            canvas.setLineWidth(item.ring)
            path = _path([item.radius * _CIRCLE + [item.x, item.y]], is_curved=True)
            canvas.drawPath(path, stroke=item.ring > 0, fill=item.ring == 0)
        case Words():
            canvas.translate(item.x, -item.y)
            canvas.rotate(90 * item.upright)
            canvas.setLineWidth(3)
            share = {"start": 0.0, "middle": 0.5, "end": 1.0}[item.anchor]
            font = _font_of(item.text, item.bold)
            x = -canvas.stringWidth(item.text, font, type_size) * share
            canvas.setFont(font, type_size)
            if item.on:
                canvas.saveState()
                canvas.setStrokeColor(colors[item.on])
                canvas.drawString(x, 0, item.text, mode=1)
                canvas.restoreState()
            canvas.drawString(x, 0, item.text)
        case Pixels():
            from reportlab.lib.utils import ImageReader

            image = ImageReader(Image.fromarray(item.values))
            place = item.x, -item.y - item.height, item.width, item.height
            canvas.drawImage(image, *place, mask="auto")
        case Part():
            canvas.translate(item.x, -item.y)
            if item.box is not None:
                left, top, right, bottom = item.box
                corners = np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
                canvas.clipPath(_path([corners]), stroke=0)
            _add_pdf(canvas, item.items, type_size, colors)


def _path(pieces: Iterable[Floats], *, is_curved: bool = False) -> Any:
    """Join points by lines, or by curves with two points between that they bend towards."""
    from reportlab.pdfgen.pathobject import PDFPathObject

    # (``moveTo`` and ``lineTo`` write one number after the other, in five times as long.)
    n_points, operator = (3, " c") if is_curved else (1, " l")
    code = []
    for piece in pieces:
        steps = (n_points * " %.2f %.2f" + operator) * ((len(piece) - 1) // n_points)
        code.append(("%.2f %.2f m" + steps) % tuple((piece * [1, -1]).ravel().tolist()))
    return PDFPathObject(code)
