"""Panels of lines, bands, bars, dots and rules as SVG for a narrow column."""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from lore_core.figures.pictures.marks import (
    Axis,
    Band,
    Bars,
    Dots,
    Line,
    Mark,
    Panel,
    PanelPicture,
    Rule,
    Tint,
)
from lore_core.figures.pictures.picture import Floats, Hover, Numbers, shortened
from lore_core.figures.svg.drawing import WIDTH, Drawing

_LEFT, _RIGHT, _TOP, _BOTTOM, _BETWEEN = 38.0, 16.0, 8.0, 32.0, 6.0
#: Heights of a panel, of one below it, and of a line of names.
_HIGH, _LOW, _LINE = 180.0, 40.0, 18.0
#: Width of a letter, and how many a name may have.
_LETTER, _LONGEST = 5.6, 20
#: Room beyond the outermost values, as a share of what lies between them.
_PAD = 0.06
#: About how many ticks an axis has.
_TICKS = 4.5
_DASHES = {"solid": "none", "dash": "4 3", "dot": "2 3"}


def panel_drawing(picture: PanelPicture) -> Drawing:
    """Draw a picture; what is only a detail is left out.

    Parameters
    ----------
    picture : PanelPicture
        What to show.
    """
    panels = [panel for panel in picture.panels if not panel.detail]
    names = [shortened(name, _LONGEST) for name in _names(panels[0].y)]
    left = min(130.0, 14 + _LETTER * max(map(len, names))) if names else _LEFT
    high = _LINE * len(names) or _HIGH
    below = (len(panels) - 1) * (_LOW + _BETWEEN)
    drawing = Drawing(_TOP + high + below + _BOTTOM, picture.alt)
    frames = [_Frame(drawing, panels[0], left, _TOP, _TOP + high)]
    for panel in panels[1:]:
        top = frames[-1].bottom + _BETWEEN
        frames.append(_Frame(drawing, panel, left, top, top + _LOW))
    for panel, frame in zip(panels, frames, strict=True):
        frame.draw_axes(panel, lowest=panel is panels[-1])
        for mark in panel.marks:
            if not mark.detail:
                draw(mark, frame)
    return drawing


class _Frame:
    """The place of a panel, with its two scales."""

    def __init__(
        self, drawing: Drawing, panel: Panel, left: float, top: float, bottom: float
    ) -> None:
        self.drawing, self.left, self.top, self.bottom = drawing, left, top, bottom
        self.right = WIDTH - _RIGHT
        self.log = panel.x.log
        marks = [mark for mark in panel.marks if not mark.detail]
        reached = [extent(mark) for mark in marks]
        self.x = _span(panel.x, [x for x, _ in reached])
        self.y = _span(panel.y, [y for _, y in reached])

    def px(self, x: Numbers | float) -> NDArray[np.float64]:
        low, high = self.x
        value = np.clip(x, low, high)
        if self.log:
            value, low, high = np.log(value), math.log(low), math.log(high)
        return self.left + (value - low) / ((high - low) or 1) * (self.right - self.left)

    def py(self, y: Numbers | float) -> NDArray[np.float64]:
        low, high = self.y
        share = (np.clip(y, low, high) - low) / ((high - low) or 1)
        return self.bottom - share * (self.bottom - self.top)

    def across(self, x: float, **options: str | float) -> None:
        at = float(self.px(x))
        self.drawing.add("line", x1=at, y1=self.top, x2=at, y2=self.bottom, **options)

    def along(self, y: float, **options: str | float) -> None:
        at = float(self.py(y))
        self.drawing.add("line", x1=self.left, y1=at, x2=self.right, y2=at, **options)

    def draw_axes(self, panel: Panel, *, lowest: bool) -> None:
        """Draw ticks and titles; those of the horizontal axis below the lowest panel."""
        write = self.drawing.add
        for value, words in _ticks(panel.x, self.x):
            self.across(value, kind="grid")
            if lowest:
                write("text", text=words, kind="mid", x=float(self.px(value)), y=self.bottom + 12)
        for value, words in _ticks(panel.y, self.y):
            if not panel.y.ticks:
                self.along(value, kind="grid")
            write("text", text=words, kind="end", x=self.left - 5, y=float(self.py(value)) + 3)
        if lowest:
            title, middle = panel.x.brief or panel.x.title, (self.left + self.right) / 2
            write("text", text=title, kind="mid", x=middle, y=self.bottom + 27)
        if panel.y.title:
            title, middle = panel.y.brief or panel.y.title, (self.top + self.bottom) / 2
            turned = f"translate(8 {middle:.0f}) rotate(-90)"
            write("text", text=title, kind="mid", transform=turned)


def _names(axis: Axis) -> list[str]:
    return [words for _, words in axis.ticks]


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
    if axis.ticks:
        return [(at, shortened(words, _LONGEST)) for at, words in axis.ticks]
    if axis.few_ticks:
        return []
    if axis.log:
        steps = (1,) if high / low > 1e3 else (1, 2, 5)
        every = [step * 10.0**power for power in range(-4, 5) for step in steps]
        return [(value, f"{value:g}") for value in every if low <= value <= high]
    rough = max(high - low, 1e-12) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 2.5, 5, 10) if power * k >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    percent = (axis.brief_unit or axis.unit) != "number"
    scale, sign = (100, " %") if percent else (1, "")
    digits = len(f"{step * scale:g}".partition(".")[2])
    return [
        (k * step, f"{k * step * scale:.{digits}f}{sign}".replace("-", "−"))
        for k in range(first, last + 1)
    ]


def _stroke(tint: Tint, width: float) -> dict[str, str | float]:
    return {
        "kind": f"s-{tint.meaning}",
        "stroke_width": width,
        "stroke_opacity": 1.0 if tint.alpha is None else tint.alpha,
    }


def _fill(tint: Tint) -> dict[str, str | float]:
    return {
        "kind": f"f-{tint.meaning}",
        "fill_opacity": 1.0 if tint.alpha is None else tint.alpha,
    }


def _points(x: Floats, y: Floats) -> str:
    return " ".join(f"{a:.2f},{b:.2f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


@singledispatch
def extent(mark: Mark) -> tuple[Numbers, Numbers]:
    """Return the values across and upwards that a mark reaches."""
    raise TypeError(f"no drawing of a {type(mark).__name__} is known")


@singledispatch
def draw(mark: Mark, frame: _Frame) -> None:  # noqa: ARG001 -- of each kind of mark
    """Draw a mark in its frame."""
    raise TypeError(f"no drawing of a {type(mark).__name__} is known")


@extent.register
def _(mark: Line) -> tuple[Numbers, Numbers]:
    return mark.x, mark.y


@draw.register
def _(mark: Line, frame: _Frame) -> None:
    known = np.isfinite(mark.x) & np.isfinite(mark.y)
    apart = np.flatnonzero(np.diff(known.astype(int))) + 1
    x, y = frame.px(mark.x), frame.py(mark.y)
    runs = [run for run in np.split(np.arange(len(x)), apart) if len(run) and known[run[0]]]
    path = "".join(f"M{_points(x[run], y[run])}" for run in runs)
    if path:
        dashes = _DASHES[mark.dash]
        stroke = _stroke(mark.tint, mark.width)
        frame.drawing.add("path", d=path, fill="none", stroke_dasharray=dashes, **stroke)


@extent.register
def _(mark: Band) -> tuple[Numbers, Numbers]:
    return mark.outline


@draw.register
def _(mark: Band, frame: _Frame) -> None:
    x, y = mark.outline
    frame.drawing.add("polygon", points=_points(frame.px(x), frame.py(y)), **_fill(mark.tint))


@extent.register
def _(mark: Bars) -> tuple[Numbers, Numbers]:
    half = np.asarray(mark.width) / 2
    place = np.concatenate([mark.place - half, mark.place + half])
    value = np.concatenate([[0.0], mark.length])
    return (value, place) if mark.sideways else (place, value)


@draw.register
def _(mark: Bars, frame: _Frame) -> None:
    half, nothing = np.asarray(mark.width) / 2, np.zeros(len(mark.place))
    ends = [mark.place - half, mark.place + half], [nothing, mark.length]
    across, upwards = ends[::-1] if mark.sideways else ends
    x0, x1 = np.sort([frame.px(value) for value in across], axis=0)
    y0, y1 = np.sort([frame.py(value) for value in upwards], axis=0)
    for k, tint in enumerate(mark.tints):
        size = {"width": float(x1[k] - x0[k]), "height": float(y1[k] - y0[k])}
        frame.drawing.add("rect", x=float(x0[k]), y=float(y0[k]), **size, **_fill(tint))


@extent.register
def _(mark: Dots) -> tuple[Numbers, Numbers]:
    return mark.x, mark.y


@draw.register
def _(mark: Dots, frame: _Frame) -> None:
    tints = [mark.tints] * len(mark.x) if isinstance(mark.tints, Tint) else mark.tints
    said = [""] * len(mark.x)
    if mark.hover and not isinstance(mark.hover, Hover):
        said = [hover.text for hover in mark.hover]
    for x, y, tint, title in zip(
        frame.px(mark.x).tolist(), frame.py(mark.y).tolist(), tints, said, strict=True
    ):
        if math.isfinite(x) and math.isfinite(y):
            frame.drawing.add("circle", cx=x, cy=y, r=0.375 * mark.size, title=title, **_fill(tint))


@extent.register
def _(mark: Rule) -> tuple[Numbers, Numbers]:
    # What a reader has chosen does not widen the picture.
    own = np.array([] if mark.text else [mark.at])
    return (np.array([]), own) if mark.level else (own, np.array([]))


@draw.register
def _(mark: Rule, frame: _Frame) -> None:
    low, high = frame.y if mark.level else frame.x
    if low <= mark.at <= high:
        line = frame.along if mark.level else frame.across
        line(mark.at, stroke_dasharray=_DASHES[mark.dash], **_stroke(mark.tint, mark.width))
