"""Pictures as plain objects: axes, marks and panels; arrays of a mark have one length, k."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.number_text import HUNDREDTHS, signed_points

Numbers = Floats | Ints
Record = Mapping[Hashable, Any]


@dataclass(frozen=True)
class Hover:
    """Text shown when an item is pointed at: plain, with the head in bold.

    In one hover for all points ``{x:.3g}``, ``{text}`` and ``{0:.3g}`` stand for a point's own x,
    word and first column.
    """

    head: str
    suffix: str = ""
    lines: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The whole text, line by line."""
        return "\n".join(filter(None, [f"{self.head}{self.suffix}", *self.lines]))


#: Possible limits of a gap scale, whose halves are round too.
_LIMITS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)


def shared_limit(*gaps: Floats) -> float:
    """Return one colour limit for pictures to compare: round, and above 99 % of the gaps.

    ``*gaps``: those of all pictures; NaN is skipped.
    """
    known = np.abs(np.concatenate([values.ravel() for values in gaps]))
    known = known[np.isfinite(known)]
    largest = float(np.quantile(known, 0.99)) if known.size else 0.0
    return next((limit for limit in _LIMITS if limit >= largest - 1e-9), 1.0)


def gap_ticks(limit: float) -> tuple[tuple[float, str], ...]:
    """Return ticks of a gap scale; its ends say underconfident and overconfident."""
    at = (-limit, -limit / 2, 0.0, limit / 2, limit)
    low, lower, none, upper, high = (signed_points(value, 0) for value in at)
    words = (f"{low}\nunder-\nconfident", lower, none, upper, f"{high}\nover-\nconfident")
    return tuple(zip(at, words, strict=True))


def truncate(value: object, max_letters: int) -> str:
    """Cut a text to ``max_letters`` letters, with an ellipsis; a count at its end stays whole."""
    text = str(value)
    if len(text) <= max_letters:
        return text
    count = "".join(re.findall(r" \([\d,]+\)$", text))
    return text[: max(max_letters - 1 - len(count), 1)] + "…" + count


#: Room beyond the outermost values, as a share of what lies between them.
_PAD = 0.06
#: Units of an axis; shares are drawn in per cent, their differences in points.
Unit = Literal["number", "share", "points"]
Dash = Literal["solid", "dash", "dot"]


@dataclass(frozen=True)
class Tint:
    """A colour by what it means (:func:`~lore_core.figures.style.palette`), and its opacity."""

    meaning: str
    alpha: float = 1.0


@dataclass(frozen=True)
class Axis:
    """An axis of a picture: title, unit, ends and ticks."""

    title: str = ""
    unit: Unit = "number"
    _: KW_ONLY
    log: bool = False  #: Whether steps are ratios
    #: Its ends; by default what the marks need, and 0 where it is ``from_zero``.
    span: tuple[float, float] | None = None
    from_zero: bool = False
    ticks: tuple[tuple[float, str], ...] = ()  #: Words in place of numbers
    #: Whether ticks have grid lines, and whether there is room for few.
    grid: bool = True
    few_ticks: bool = False
    brief: str = ""  #: Title in a narrow column, where it is another

    @property
    def scale(self) -> float:
        """Factor from the numbers to those that are drawn."""
        return 1.0 if self.unit == "number" else HUNDREDTHS

    @property
    def suffix(self) -> str:
        """Text after every number."""
        return " %" if self.unit == "share" else ""

    @property
    def heading(self) -> str:
        """The title, with the unit where the numbers do not show it."""
        return f"{self.title}, points" if self.unit == "points" else self.title

    def between(self, ends: tuple[float, float] | None) -> Axis:
        """Return the axis between two numbers that are drawn, or exponents of them."""
        if ends is None:
            return self
        low, high = (10.0**end if self.log else end / self.scale for end in ends)
        return replace(self, span=(low, high))

    def scaled(self) -> Axis:
        """Return the axis in the numbers that are drawn (per cent for shares)."""
        span = None if self.span is None else (self.span[0] * self.scale, self.span[1] * self.scale)
        ticks = tuple((at * self.scale, words) for at, words in self.ticks)
        return replace(self, span=span, ticks=ticks)


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Fields that all marks have."""

    #: Fields with numbers across and upwards; the other way round in a ``sideways`` mark.
    along: ClassVar[tuple[str, ...]] = ()
    upright: ClassVar[tuple[str, ...]] = ()
    #: Its name, and the label its colour belongs to: listed, shown and hidden together.
    name: str = ""
    group: str = ""
    listed: bool = True  #: Whether a legend names it


@dataclass(frozen=True)
class Line(Mark):
    """Points joined by lines, straight or in ``steps``; NaN separates segments."""

    along, upright = ("x",), ("y",)
    x: Numbers
    y: Numbers
    tint: Tint
    _: KW_ONLY
    width: float = 2.2
    dash: Dash = "solid"
    dots: bool = False
    steps: bool = False
    hover: Hover | None = None
    columns: Sequence[Floats] = ()


@dataclass(frozen=True)
class Band(Mark):
    """A range around a curve; ``sideways`` if the curve runs along the upright axis."""

    along, upright = ("at",), ("low", "high")
    at: Floats
    low: Floats
    high: Floats
    tint: Tint
    _: KW_ONLY
    sideways: bool = False

    @property
    def outline(self) -> tuple[Floats, Floats]:
        """X and y along the upper edge and back along the lower, shape (2k,)."""
        at = np.concatenate([self.at, self.at[::-1]])
        value = np.concatenate([self.high, self.low[::-1]])
        return (value, at) if self.sideways else (at, value)


def chance_band(
    at: Floats, low: Floats, high: Floats, name: str, *, sideways: bool = False
) -> Band:
    """Return the band of perfectly calibrated models, without unknown parts."""
    known, grey = np.isfinite(low), Tint("quiet", 0.28)
    return Band(at[known], low[known], high[known], grey, name=name, sideways=sideways)


def band_around(label: str, what: str, at: Floats, low: Floats, high: Floats, tint: Tint) -> Band:
    """Return the band between two ends, such as an interval, around the curve of a label."""
    known, name = np.isfinite(low) & np.isfinite(high), f"{label}, {what}"
    around = at[known], low[known], high[known]
    return Band(*around, tint, name=name, group=label, listed=False)


def labelled_line(
    label: str,
    color: str,
    x: Floats,
    y: Floats,
    lines: tuple[str, ...],
    *,
    band: Band | None = None,
    **look: Any,
) -> list[Mark]:
    """Return the curve of a label and its band; ``lines``: of its hover."""
    hover = Hover(label, lines=lines)
    line = Line(x, y, Tint(color), name=label, group=label, hover=hover, **look)
    return [line] if band is None else [band, line]


@dataclass(frozen=True)
class Bars(Mark):
    """Bars from zero to ``length``, with intervals from ``low`` to ``high``."""

    along, upright = ("center", "width"), ("length", "low", "high")
    #: The middle of each, and the width of each or of all.
    center: Numbers
    width: Floats | float
    length: Numbers
    tints: Sequence[Tint]
    _: KW_ONLY
    low: Floats | None = None
    high: Floats | None = None
    whisker: float = 1.2
    sideways: bool = False  #: Whether they are horizontal
    number: Ints | None = None  #: What a click on each gives
    #: Which were clicked: shown by their colour, or ``outlined``.
    chosen: Mask | None = None
    outlined: bool = False
    hover: Sequence[Hover] = ()


@dataclass(frozen=True)
class Dots(Mark):
    """Single points in one colour or each in its own, with a ``spread`` to both sides."""

    along, upright = ("x", "spread"), ("y",)
    x: Numbers
    y: Numbers
    tints: Tint | Sequence[Tint]
    size: float
    shape: Literal["disc", "ring", "diamond", "dash"] = "disc"
    _: KW_ONLY
    spread: Floats | None = None
    words: Sequence[str] = ()
    hover: Hover | Sequence[Hover] = ()


@dataclass(frozen=True, kw_only=True)
class Cells(Mark):
    """A table of gaps in colours from −``limit`` to ``limit``, with a scale of its own."""

    #: (r, c); from the lowest row upwards, one apart from 0; NaN where a cell is empty.
    value: Floats
    #: (r, c); text in each cell, whether bold, and its hover.
    words: NDArray[np.str_]
    bold: Mask
    hover: NDArray[np.object_]
    limit: float
    #: Ticks and title of the colours.
    scale: tuple[tuple[float, str], ...]
    scale_title: str


@dataclass(frozen=True)
class Rule(Mark):
    """A straight line at one value, upright or ``level``; a name is listed and written on it."""

    along = ("at",)
    at: float
    tint: Tint
    _: KW_ONLY
    level: bool = False
    width: float = 1
    dash: Dash = "solid"
    part: tuple[float, float] = (0.0, 1.0)  #: Of the picture, which a level rule crosses
    #: Written at its end where there is room; the side of the line words stand on.
    text: str = ""
    text_side: Literal["left", "right"] = "right"


def value_marker(value: float, text: str) -> Rule:
    """Return a dashed line at a chosen value of the horizontal axis."""
    return Rule(value, Tint("ink"), width=1.2, dash="dash", text=text)


def spread_apart(places: Floats, gap: float) -> Floats:
    """Move rising places as little as needed (squares) so that neighbours are ``gap`` apart."""
    from scipy.optimize import isotonic_regression  # slow to import

    steps = gap * np.arange(len(places))
    return np.asarray(isotonic_regression(places - steps).x + steps)


def segments(start: Floats, end: Floats) -> Floats:
    """Return one coordinate of separate segments, with NaN between them, shape (3k,)."""
    return np.column_stack([start, end, np.full(len(start), np.nan)]).ravel()


def _reached(mark: Mark) -> tuple[Numbers, Numbers]:
    match mark:
        case Line() | Dots():
            return mark.x, mark.y
        case Band():
            return mark.outline
        case Bars():
            half = np.asarray(mark.width) / 2
            place = np.concatenate([mark.center - half, mark.center + half])
            ends = [of for of in (mark.length, mark.low, mark.high) if of is not None]
            length = np.concatenate([np.zeros(1), *ends])
            return (length, place) if mark.sideways else (place, length)
        case Cells():
            n_rows, n_columns = mark.value.shape
            return np.array([-0.5, n_columns - 0.5]), np.array([-0.5, n_rows - 0.5])
        case Rule(text=""):
            own, nothing = np.array([mark.at]), np.array([])
            return (nothing, own) if mark.level else (own, nothing)
        case _:  # what a reader has chosen does not widen the picture
            return np.array([]), np.array([])


def _span(axis: Axis, values: list[Numbers], is_table: bool) -> tuple[float, float]:
    """Return the ends of an axis: its own, or what is reached and a little room."""
    if axis.span is not None:
        return axis.span
    every = np.concatenate(values)
    every = every[np.isfinite(every)]
    low, high = (float(every.min()), float(every.max())) if every.size else (0.0, 1.0)
    pad = 0.0 if axis.log or is_table else _PAD * ((high - low) or 0.1)
    return (0.0 if axis.from_zero else low - pad), high + pad


def _scale_mark(mark: Mark, across: float, up: float) -> Mark:
    if getattr(mark, "sideways", False) or getattr(mark, "level", False):
        across, up = up, across
    factors = dict.fromkeys(mark.along, across) | dict.fromkeys(mark.upright, up)
    scaled: dict[str, Any] = {}
    for name, factor in factors.items():
        values = getattr(mark, name)
        if values is not None and factor != 1:
            scaled[name] = np.multiply(values, factor, dtype=np.float64)
    return replace(mark, **scaled)


@dataclass(frozen=True)
class Panel:
    """One pair of axes, its marks from back to front and its share of the height."""

    x: Axis
    y: Axis
    marks: Sequence[Mark]
    share: float = 1.0

    def in_units(self) -> Panel:
        """Return the panel in the numbers that are drawn; hovers use these too."""
        marks = [_scale_mark(mark, self.x.scale, self.y.scale) for mark in self.marks]
        return replace(self, x=self.x.scaled(), y=self.y.scaled(), marks=marks)

    def spans(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the ends of both axes."""
        across, upwards = zip(*[_reached(mark) for mark in self.marks], strict=True)
        is_table = any(isinstance(mark, Cells) for mark in self.marks)
        return _span(self.x, list(across), is_table), _span(self.y, list(upwards), is_table)
