"""Pictures as static SVG: for print, and for pages without scripts."""

import base64
import io
import math
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lore_core.data.arrays import Floats
from lore_core.data.number_text import decimal, signed_points
from lore_core.figures.chart import Chart, PanelPicture
from lore_core.figures.pictures.landscape_picture import ColorScale, LandscapePicture, segments
from lore_core.figures.pictures.picture import (
    Axis,
    Band,
    Bars,
    Dots,
    Hover,
    Line,
    Mark,
    Numbers,
    Panel,
    Rule,
    Tint,
    truncate,
)
from lore_core.figures.style import MODES, palette, shades

#: 84 mm, the width of a journal's column, in CSS pixels of 1/96 inch.
WIDTH = 318


class Drawing:
    """A drawing 84 mm wide and ``height`` CSS pixels high, of the class ``kind``."""

    def __init__(self, height: float, alt: str, kind: str = "drawing") -> None:
        self._size = {"width": str(WIDTH), "height": _short(height)}
        self._root = ElementTree.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "viewBox": f"0 0 {WIDTH} {_short(height)}",
                "role": "img",
                "aria-label": alt,
                "class": kind,
            },
        )

    def add(self, tag: str, **options: str | float) -> None:
        """Draw an element over others; ``_`` stands for ``-``, ``kind`` for the class."""
        text, title = str(options.pop("text", "")), str(options.pop("title", ""))
        element = ElementTree.SubElement(self._root, tag)
        for name, value in options.items():
            attribute = "class" if name == "kind" else name.replace("_", "-")
            element.set(attribute, value if isinstance(value, str) else _short(value))
        element.text = text or None
        if title:
            ElementTree.SubElement(element, "title").text = title

    def __html__(self) -> str:
        """Write it for a page that has the rules for drawings."""
        return self._written(self._size)

    def file(self) -> bytes:
        """Write it as a file of its own, in the colours of paper."""
        style = ElementTree.Element("style")
        style.text = _rules(palette("light"))  # (few editors know variables)
        return self._written({"width": "84mm"}, style).encode()

    def _written(self, size: dict[str, str], *first: ElementTree.Element) -> str:
        whole = ElementTree.Element("svg", self._root.attrib | size)
        whole.extend([*first, *self._root])
        return ElementTree.tostring(whole, encoding="unicode")


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def page_rules() -> str:
    """Write the rules for drawings on a page, colours as variables; ``paper`` is always light."""
    light, dark = (
        " ".join(f"--{name}: {color};" for name, color in palette(mode).items()) for mode in MODES
    )
    screen = "@media screen and (prefers-color-scheme: dark)"
    colors = {name: f"var(--{name})" for name in palette("light")}
    grounds = [f".b-{name} {{ background: {color}; }}" for name, color in colors.items()]
    themes = f":root, .paper {{ {light} }}\n{screen} {{ :root {{ {dark} }} }}"
    return "\n".join([themes, _rules(colors), *grounds, ""])


def png_url(pixels: NDArray[np.uint8]) -> str:
    """Return pixels (h, w), (h, w, 3) or (h, w, 4) as a data URL: grey, RGB or RGBA."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def _rules(colors: Mapping[str, str]) -> str:
    font = '9.5px "Source Sans 3", "Source Sans", "Open Sans", Arial, sans-serif'
    rules = [
        f"svg text {{ font: {font}; fill: {colors['ink']}; }}",
        "svg .mid { text-anchor: middle; }",
        "svg .end { text-anchor: end; }",
        f"svg .grid {{ stroke: {colors['line']}; stroke-width: 0.8; }}",
        f"svg .beside {{ paint-order: stroke; stroke: {colors['paper']}; stroke-width: 3px; }}",
        "svg path { stroke-linejoin: round; }",
    ]
    for name, color in colors.items():
        rules += [f"svg .s-{name} {{ stroke: {color}; }}", f"svg .f-{name} {{ fill: {color}; }}"]
    return "\n".join(rules)


_LEFT, _RIGHT, _TOP, _BOTTOM, _BETWEEN = 38.0, 16.0, 8.0, 32.0, 6.0
#: Heights of a panel, of one below it, and of a line of names.
_HIGH, _LOW, _LINE = 180.0, 40.0, 18.0
#: Width of a letter and of a digit, and how many letters a name may have.
_LETTER, _DIGIT, _LONGEST = 5.6, 5.0, 20
#: Room beyond the outermost values, as a share of what lies between them.
_PAD = 0.06
_TICKS = 4.5
_DASHES = {"solid": "none", "dash": "4 3", "dot": "2 3"}


def panel_drawing(picture: PanelPicture) -> Drawing:
    """Draw a picture; what is only a detail is left out."""
    panels = [panel.in_units() for panel in picture.panels if not panel.detail]
    names = [len(truncate(name, _LONGEST)) for _, name in panels[0].y.ticks]
    left = min(130.0, 14 + _LETTER * max(names)) if names else _room_for_ticks(panels)
    top, bottom = _TOP, _TOP + (_LINE * len(names) or _HIGH)
    below = (len(panels) - 1) * (_BETWEEN + _LOW)
    drawing = Drawing(bottom + below + _BOTTOM, picture.alt)
    for panel in panels:
        frame = _Frame(drawing, panel, left, top, bottom)
        frame.draw_axes(panel, lowest=panel is panels[-1])
        for mark in panel.marks:
            if not mark.detail:
                frame.draw(mark)
        top, bottom = bottom + _BETWEEN, bottom + _BETWEEN + _LOW
    return drawing


def _room_for_ticks(panels: Sequence[Panel]) -> float:
    spans = [_spans(panel)[1] for panel in panels]
    ticks = [_ticks(panel.y, span) for panel, span in zip(panels, spans, strict=True)]
    longest = max((len(words) for of_panel in ticks for _, words in of_panel), default=0)
    return max(_LEFT, 18 + _DIGIT * longest)


class _Frame:
    """The place of a panel, with its two scales."""

    def __init__(
        self, drawing: Drawing, panel: Panel, left: float, top: float, bottom: float
    ) -> None:
        self.drawing, self.log = drawing, panel.x.log
        self.left, self.right, self.top, self.bottom = left, WIDTH - _RIGHT, top, bottom
        self.x, self.y = _spans(panel)

    def px(self, x: Numbers | float) -> Floats:
        low, high = self.x
        value = np.clip(x, low, high)
        if self.log:
            value, low, high = np.log(value), math.log(low), math.log(high)
        return self.left + (value - low) / ((high - low) or 1) * (self.right - self.left)

    def py(self, y: Numbers | float) -> Floats:
        low, high = self.y
        share = (np.clip(y, low, high) - low) / ((high - low) or 1)
        return self.bottom - share * (self.bottom - self.top)

    def rule(self, at: float, level: bool, **options: str | float) -> None:
        """Draw a line from side to side, or from top to bottom."""
        (x0, x1), (y0, y1) = (self.left, self.right), (self.top, self.bottom)
        if level:
            y0 = y1 = float(self.py(at))
        else:
            x0 = x1 = float(self.px(at))
        self.drawing.add("line", x1=x0, y1=y0, x2=x1, y2=y1, **options)

    def draw_axes(self, panel: Panel, *, lowest: bool) -> None:
        """Draw ticks and titles; those of the horizontal axis below the lowest panel."""
        write = self.drawing.add
        for value, words in _ticks(panel.x, self.x):
            self.rule(value, level=False, kind="grid")
            if lowest:
                write("text", text=words, kind="mid", x=float(self.px(value)), y=self.bottom + 12)
        for value, words in _ticks(panel.y, self.y):
            if not panel.y.ticks:
                self.rule(value, level=True, kind="grid")
            write("text", text=words, kind="end", x=self.left - 5, y=float(self.py(value)) + 3)
        across, upwards = (axis.brief or axis.heading for axis in (panel.x, panel.y))
        if lowest:
            middle = (self.left + self.right) / 2
            write("text", text=across, kind="mid", x=middle, y=self.bottom + 27)
        if upwards:
            turned = f"translate(8 {(self.top + self.bottom) / 2:.0f}) rotate(-90)"
            write("text", text=upwards, kind="mid", transform=turned)

    def draw(self, mark: Mark) -> None:
        """Draw a mark over those before it."""
        match mark:
            case Line():
                self._draw_line(mark)
            case Band():
                points = _points(*self._placed(*mark.outline))
                self.drawing.add("polygon", points=points, **_fill(mark.tint))
            case Bars():
                self._draw_bars(mark)
            case Dots():
                self._draw_dots(mark)
            case Rule():
                low, high = self.y if mark.level else self.x
                if low <= mark.at <= high:
                    self.rule(mark.at, mark.level, **_stroke(mark))
                    if mark.text and not mark.level:
                        self._write_beside(mark)
            case _:
                raise TypeError(f"no drawing of a {type(mark).__name__} is known")

    def _write_beside(self, mark: Rule) -> None:
        """Write what an upright rule is at its upper end, on the side that has room."""
        x = float(self.px(mark.at))
        kind, x = ("beside", x + 4) if x < (self.left + self.right) / 2 else ("beside end", x - 4)
        self.drawing.add("text", text=mark.text, kind=kind, x=x, y=self.top + 9)

    def _placed(self, x: Numbers, y: Numbers) -> tuple[Floats, Floats]:
        return self.px(x), self.py(y)

    def _draw_line(self, mark: Line) -> None:
        x, y = self._placed(mark.x, mark.y)
        known = np.isfinite(x) & np.isfinite(y)
        ends = np.flatnonzero(np.diff(known)) + 1
        runs = [run for run in np.split(np.arange(len(x)), ends) if known[run].any()]
        if runs:
            path = "".join(f"M{_points(x[run], y[run])}" for run in runs)
            self.drawing.add("path", d=path, fill="none", **_stroke(mark))

    def _draw_bars(self, mark: Bars) -> None:
        half = np.asarray(mark.width) / 2
        corners = np.array([mark.center - half, mark.center + half]), _from_zero(mark.length)
        across, upwards = corners[::-1] if mark.sideways else corners
        (x0, x1), (y1, y0) = np.sort(self.px(across), axis=0), np.sort(self.py(upwards), axis=0)
        for k, tint in enumerate(mark.tints):
            size = {"width": float(x1[k] - x0[k]), "height": float(y0[k] - y1[k])}
            self.drawing.add("rect", x=float(x0[k]), y=float(y1[k]), **size, **_fill(tint))

    def _draw_dots(self, mark: Dots) -> None:
        n = len(mark.x)
        tints = [mark.tints] * n if isinstance(mark.tints, Tint) else mark.tints
        own = () if isinstance(mark.hover, Hover) else mark.hover
        text = [hover.text for hover in own] or [""] * n
        for x, y, tint, title in zip(*self._placed(mark.x, mark.y), tints, text, strict=True):
            if math.isfinite(x) and math.isfinite(y):
                place = {"cx": float(x), "cy": float(y), "r": 0.375 * mark.size}
                self.drawing.add("circle", title=title, **place, **_fill(tint))


def _reached(mark: Mark) -> tuple[Numbers, Numbers]:
    match mark:
        case Line() | Dots():
            return mark.x, mark.y
        case Band():
            return mark.outline
        case Bars():
            half = np.asarray(mark.width) / 2
            place = np.concatenate([mark.center - half, mark.center + half])
            length = _from_zero(mark.length).ravel()
            return (length, place) if mark.sideways else (place, length)
        case Rule(text=""):
            own, nothing = np.array([mark.at]), np.array([])
            return (nothing, own) if mark.level else (own, nothing)
        case _:  # what a reader has chosen does not widen the picture
            return np.array([]), np.array([])


def _from_zero(length: Numbers) -> Floats:
    return np.array([np.zeros(len(length)), length])


def _spans(panel: Panel) -> tuple[tuple[float, float], tuple[float, float]]:
    across, upwards = zip(*[_reached(mark) for mark in panel.marks if not mark.detail], strict=True)
    return _span(panel.x, list(across)), _span(panel.y, list(upwards))


def _span(axis: Axis, values: list[Numbers]) -> tuple[float, float]:
    """Return the ends of an axis: its own, or what is reached and a little room."""
    if axis.span is not None:
        return axis.span
    every = np.concatenate(values)
    every = every[np.isfinite(every)]
    low, high = (float(every.min()), float(every.max())) if every.size else (0.0, 1.0)
    pad = 0.0 if axis.log else _PAD * ((high - low) or 0.1)
    return (0.0 if axis.from_zero else low - pad), high + pad


def _ticks(axis: Axis, span: tuple[float, float]) -> list[tuple[float, str]]:
    """Round numbers between the ends of an axis, or its names."""
    low, high = span
    if axis.ticks or axis.few_ticks:
        return [(at, truncate(words, _LONGEST)) for at, words in axis.ticks]
    if axis.log:
        steps = (1,) if high / low > 1e3 else (1, 2, 5)
        every = [step * 10.0**power for power in range(-4, 5) for step in steps]
        return [(value, f"{value:g}") for value in every if low <= value <= high]
    rough = max(high - low, 1e-12) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 2.5, 5, 10) if power * k >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = len(f"{step:g}".partition(".")[2])
    return [(k * step, decimal(k * step, digits) + axis.suffix) for k in range(first, last + 1)]


def _stroke(mark: Line | Rule) -> dict[str, str | float]:
    options: dict[str, str | float] = {"stroke_dasharray": _DASHES[mark.dash]}
    alpha = 1.0 if mark.tint.alpha is None else mark.tint.alpha
    width = {"stroke_width": mark.width, "stroke_opacity": alpha}
    return {"kind": f"s-{mark.tint.meaning}", **width, **options}


def _fill(tint: Tint) -> dict[str, str | float]:
    alpha = 1.0 if tint.alpha is None else tint.alpha
    return {"kind": f"f-{tint.meaning}", "fill_opacity": alpha}


def _points(x: Floats, y: Floats) -> str:
    return " ".join(f"{a:.2f},{b:.2f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


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


def _colored(error: Floats, scale: ColorScale) -> NDArray[np.uint8]:
    """Return pixels of signed errors, shape (h, w, 4): clear where nothing is known."""
    share = (scale.of(error) - scale.low) / (scale.limit - scale.low)
    known = np.isfinite(share)
    place = np.rint(np.where(known, share, 0.0).clip(0, 1) * 255).astype(int)
    colors = shades(scale.colors("light"), 256)[place]
    return np.concatenate([colors, np.where(known, 255, 0)[..., None]], axis=-1).astype(np.uint8)
