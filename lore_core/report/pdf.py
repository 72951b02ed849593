"""report.pdf: what the page says, its figures and tables, set on paper."""

import io
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from html.parser import HTMLParser
from typing import Any

from lore_core.figures.drawing import (
    POINTS_PER_INCH,
    UNITS_PER_INCH,
    Drawing,
    draw_on,
    register_fonts,
    text_width,
)
from lore_core.figures.style import palette

#: A4 in points, its margin, and the room between them.
_WIDTH, _HEIGHT, _MARGIN = 595.28, 841.89, 50.0
_ROOM = _WIDTH - 2 * _MARGIN
#: Sizes of type in points, by element; all else has the first.
_SIZES = {"p": 9.0, "h1": 17.0, "h2": 13.0, "h3": 10.0, "td": 7.5, "th": 7.5, "figcaption": 8.0}
_SMALL = 6.5
_BOLD, _QUIET = {"h1", "h2", "h3", "th", "dt", "strong"}, {"quiet", "note", "figcaption", "th"}
_BLOCKS = {*_SIZES, "li", "dt", "dd", "pre"}
#: What is for a screen alone.
_SKIPPED = {"head", "nav", "script", "svg", "a"}
#: What begins and ends an element in a line, and of formulas what stands between its two parts.
_INLINE = {"strong": ("<b>", "</b>"), "small": (f"<font size={_SMALL}>", "</font>")}
_INLINE |= {"mfrac": ("(", ")"), "msub": ("", "</sub>"), "munder": ("", "</sub>")}
_INLINE |= {"msup": ("", "</super>")}
_BETWEEN = {"mfrac": ") / (", "msub": "<sub>", "munder": "<sub>", "msup": "<super>"}
#: Points of the larger side of an example, and between columns.
_EXAMPLE, _GAP = 36, 10.0
#: First and last rows of a table that stay together, and letters of a cell that may need a page.
_TOGETHER, _LONG = 3, 100


def report_pdf(page: str, drawings: Iterable[Drawing], title: str) -> bytes:
    """Set a page on A4; ``drawings``: those of the page. The same page gives the same bytes."""
    from reportlab.platypus import SimpleDocTemplate

    reader = _Reader({_key(drawing.alt): drawing for drawing in drawings})
    reader.feed(str(page))  # (of Markup what is added to it would be text)
    buffer, margins = io.BytesIO(), ("leftMargin", "rightMargin", "topMargin", "bottomMargin")
    document = SimpleDocTemplate(
        buffer,
        pagesize=(_WIDTH, _HEIGHT),
        title=title,
        invariant=1,
        initialFontName=register_fonts()[0],
        **dict.fromkeys(margins, _MARGIN),
    )
    document.build(reader.parts, onFirstPage=_number_page, onLaterPages=_number_page)
    return buffer.getvalue()


def _key(alt: str) -> str:
    return re.sub(r"\W", "", alt)  # (spaces of the page are unbroken)


def _number_page(canvas: Any, document: Any) -> None:
    canvas.setFont(register_fonts()[0], _SIZES["td"])
    canvas.drawRightString(_WIDTH - _MARGIN, 0.6 * _MARGIN, str(document.page))


class _Reader(HTMLParser):
    """Parts of a document, from a page of plain elements."""

    def __init__(self, drawings: Mapping[str, Drawing]) -> None:
        super().__init__()
        self.parts: list[Any] = []
        self._drawings, self._text, self._class = {**drawings}, "", ""
        self._skipped: list[str] = []  # elements that are open
        self._figure: Drawing | None = None
        self._rows: list[list[Any]] = []
        self._images: list[Any] = []  # each, and its caption below
        self._captions: list[Any] = []
        self._formula: list[list[Any]] = []  # elements that are open, and how many are in each

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a block, a row or a figure."""
        of = {name: value or "" for name, value in attrs}
        if self._skipped:
            self._skipped += [tag] * (tag == self._skipped[0])
            return
        if tag == "svg":
            self._figure = self._drawings.pop(_key(of["aria-label"]), None)
        elif tag == "img":
            self._images.append(_image(of["src"]))
        elif tag == "tr":
            self._rows.append([])
        elif tag == "dl" and of.get("class") == "tiles":  # names above their numbers
            self._rows = [[], []]
        elif tag in _BLOCKS:
            self._end_block("p")
            self._class = of.get("class", "")
        if tag == "math" or self._formula:
            self._formula.append([tag, 0])
        self._text += "<br/>" * (tag == "small" and bool(self._rows)) + _INLINE.get(tag, ("",))[0]
        self._skipped = [tag] * (tag in _SKIPPED)

    def handle_data(self, data: str) -> None:
        """Take text."""
        if not self._skipped:
            spaced = self._formula and data in {"=", "−", "∑", ","}
            # (The font has no ∈.)
            text = f" {data} " if spaced else data.replace("∈", " in ")
            self._text += escape(text, quote=False)

    def handle_endtag(self, tag: str) -> None:
        """End a block, a figure or a table."""
        if self._skipped:
            self._skipped = self._skipped[tag == self._skipped[0] :]
            return
        self._text += _INLINE.get(tag, ("", ""))[1]
        if self._formula:
            self._formula.pop()
            if self._formula:
                parent = self._formula[-1]
                parent[1] += 1
                self._text += _BETWEEN.get(parent[0], "") * (parent[1] == 1)
        if self._rows and tag in {"table", "dl"}:
            even = [_ROOM / len(self._rows[0])] * len(self._rows[0])
            self.parts.append(_table(self._rows) if tag == "table" else _grid(self._rows, even))
            self._rows = []
        elif tag in _BLOCKS or tag == "math":
            self._end_block(tag)

    def _end_block(self, tag: str) -> None:
        text, self._text = self._text.strip(), ""
        if self._rows and tag in {"td", "th", "dt", "dd"}:
            self._rows[-(tag != "dt")].append(_paragraph(text, tag, self._class))
        elif self._figure and tag == "figcaption":
            self.parts.append(_beside(self._figure, _paragraph(text, tag, "")))
            self._figure = None
        elif tag == "figcaption" and self._images:
            self._captions.append(_paragraph(text, tag, ""))
        elif tag == "figcaption":  # of a drawing that is on paper already
            self.parts.append(_paragraph(f"The figure above. {text}", tag, ""))
        elif text:
            if self._captions:
                widths = [_EXAMPLE + _GAP] * len(self._images)
                self.parts.append(_grid([self._images, self._captions], widths))
                self._images, self._captions = [], []
            self.parts.append(_paragraph(f"• {text}" if tag == "li" else text, tag, self._class))


def _paragraph(text: str, tag: str, kind: str) -> Any:
    from reportlab.platypus import Paragraph

    return Paragraph(text, _style(tag, kind))


@cache
def _style(tag: str, kind: str) -> Any:
    from reportlab.lib.styles import ParagraphStyle

    size, colors = _SIZES.get(tag, _SIZES["p"]), palette("light")
    in_cell = tag in {"td", "th"}
    return ParagraphStyle(
        f"{tag} {kind}",
        fontName=register_fonts()[tag in _BOLD],
        fontSize=size,
        leading=1.35 * size,
        textColor=colors["quiet" if {tag, *kind.split()} & _QUIET else "ink"],
        alignment=2 if "n" in kind.split() else 0,
        spaceBefore=0 if in_cell else size if tag in _BOLD else 0.3 * size,
        spaceAfter=0 if in_cell else 0.4 * size,
        keepWithNext=tag in _BOLD,
    )


def _image(url: str) -> Any:
    from reportlab.platypus import Image

    content = io.BytesIO(b64decode(url.partition(",")[2]))
    return Image(content, _EXAMPLE, _EXAMPLE, kind="proportional")


def _grid(rows: list[list[Any]], widths: list[float], *style: Any) -> Any:
    from reportlab.platypus import Table

    style = ("FONTNAME", register_fonts()[0]), ("VALIGN", "TOP"), *style
    every = [(name, (0, 0), (-1, -1), *values) for name, *values in style]
    return Table(rows, widths, repeatRows=1, splitInRow=1, hAlign="LEFT", style=every)


def _beside(drawing: Drawing, caption: Any) -> Any:
    """Put a caption beside its figure."""
    from reportlab.platypus import Flowable

    scale = POINTS_PER_INCH / UNITS_PER_INCH
    size = drawing.width * scale, drawing.height * scale

    class Figure(Flowable):  # type: ignore[misc]
        """A drawing in the flow of the page."""

        def wrap(self, *_: float) -> tuple[float, float]:
            return size

        def draw(self) -> None:
            draw_on(self.canv, drawing, 0.0, size[1])

    widths = [size[0] + _GAP, _ROOM - size[0] - _GAP]
    return _grid([[Figure(), caption]], widths)


def _table(rows: list[list[Any]]) -> Any:
    """Set a table, its widest columns as narrow as the page needs."""
    widths = [max(map(_natural_width, column)) + _GAP for column in zip(*rows, strict=True)]
    most = max(widths)
    while sum(min(width, most) for width in widths) > _ROOM:
        most *= 0.97
    style: list[tuple[Any, ...]] = [("LINEBELOW", 0.4, palette("light")["line"])]
    style += [(f"{side}PADDING", 2) for side in ("TOP", "BOTTOM")]
    style += [(f"{side}PADDING", _GAP / 2 - 1) for side in ("LEFT", "RIGHT")]
    table = _grid(rows, [min(width, most) for width in widths], *style)
    if max(len(cell.text) for row in rows for cell in row) < _LONG:
        last, end = len(rows) - 1, min(_TOGETHER, len(rows)) - 1
        table.setStyle([("NOSPLIT", (0, at), (0, at + end)) for at in (0, last - end)])
    return table


def _natural_width(cell: Any) -> float:
    if cell.style.fontName != register_fonts()[0]:  # (headings may break)
        return float(cell.minWidth())
    first, *others = re.sub(r"<(?!br).*?>", "", cell.text).split("<br/>")
    return max(text_width(first, _SIZES["td"]), *(text_width(other, _SMALL) for other in others), 0)
