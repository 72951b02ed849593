"""Pictures of two axes: lines, bands, bars, dots, cells and rules, one panel above the other.

Marks say what is shown where and what its colour means; the arrays of a mark have one length, k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.number_text import HUNDREDTHS
from lore_core.figures.pictures.picture import Hover, Numbers, Picture

#: What numbers of an axis are; shares are drawn in per cent, their differences in points.
Unit = Literal["number", "share", "points"]
Dash = Literal["solid", "dash", "dot"]


@dataclass(frozen=True)
class Tint:
    """A colour by what it means (:func:`~lore_core.figures.style.palette`), and its opacity."""

    meaning: str
    alpha: float | None = None


@dataclass(frozen=True)
class Axis:
    """What one direction of a picture means."""

    #: The quantity, and what its numbers are.
    title: str = ""
    unit: Unit = "number"
    _: KW_ONLY
    log: bool = False  #: Whether steps are ratios
    #: Its ends; by default what the marks need, and 0 where it is ``from_zero``.
    span: tuple[float, float] | None = None
    from_zero: bool = False
    ticks: tuple[tuple[float, str], ...] = ()  #: Words in place of numbers
    #: Whether lines lead from the ticks through the picture, and whether there is room for few.
    grid: bool = True
    few_ticks: bool = False
    brief: str = ""  #: Title in a narrow column, where it is another

    @property
    def scale(self) -> float:
        """What numbers are multiplied by to be drawn."""
        return 1.0 if self.unit == "number" else HUNDREDTHS

    @property
    def suffix(self) -> str:
        """What follows every number."""
        return " %" if self.unit == "share" else ""

    @property
    def heading(self) -> str:
        """The title, with the unit where the numbers do not show it."""
        return f"{self.title}, points" if self.unit == "points" else self.title

    def scaled(self) -> Axis:
        """Return the axis in the numbers that are drawn."""
        span = None if self.span is None else (self.span[0] * self.scale, self.span[1] * self.scale)
        ticks = tuple((at * self.scale, words) for at, words in self.ticks)
        return replace(self, span=span, ticks=ticks)


@dataclass(frozen=True, kw_only=True)
class Mark:
    """What all marks have."""

    #: What it is, and the label its colour belongs to: listed, shown and hidden together.
    name: str = ""
    group: str = ""
    listed: bool = True  #: Whether a legend names it
    detail: bool = False  #: Whether it is left out where there is little room

    def scaled(self, across: float, up: float) -> Self:  # noqa: ARG002 -- of those with numbers
        """Return the mark in other units: every number across and upwards times a factor."""
        return self


def _times(values: Numbers, factor: float) -> Numbers:
    return values if factor == 1 else np.multiply(values, factor, dtype=np.float64)


@dataclass(frozen=True)
class Line(Mark):
    """Points that are joined, straight or by ``steps``; NaN parts one piece from the next."""

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

    def scaled(self, across: float, up: float) -> Self:
        """See :meth:`Mark.scaled`."""
        return replace(self, x=_times(self.x, across), y=_times(self.y, up))


@dataclass(frozen=True)
class Band(Mark):
    """A range around a curve; ``sideways`` where it runs over the upright axis."""

    at: Floats
    low: Floats
    high: Floats
    tint: Tint
    _: KW_ONLY
    sideways: bool = False

    @property
    def outline(self) -> tuple[Floats, Floats]:
        """Along the upper edge and back along the lower: x and y, shape (2k,)."""
        at = np.concatenate([self.at, self.at[::-1]])
        value = np.concatenate([self.high, self.low[::-1]])
        return (value, at) if self.sideways else (at, value)

    def scaled(self, across: float, up: float) -> Self:
        """See :meth:`Mark.scaled`."""
        along, value = (up, across) if self.sideways else (across, up)
        return replace(self, at=self.at * along, low=self.low * value, high=self.high * value)


@dataclass(frozen=True)
class Bars(Mark):
    """Bars from zero to ``length``, with intervals from ``low`` to ``high``."""

    #: The middle of each, and how wide each is, or all are.
    place: Numbers
    width: Floats | float
    length: Numbers
    tints: Sequence[Tint]
    _: KW_ONLY
    low: Floats | None = None
    high: Floats | None = None
    whisker: float = 1.2
    sideways: bool = False  #: Whether they lie
    number: Ints | None = None  #: What a click on each gives
    #: Which were clicked: their colour tells it, or they are ``outlined``.
    chosen: Mask | None = None
    outlined: bool = False
    hover: Sequence[Hover] = ()

    def scaled(self, across: float, up: float) -> Self:
        """See :meth:`Mark.scaled`."""
        along, value = (up, across) if self.sideways else (across, up)
        return replace(
            self,
            place=_times(self.place, along),
            width=self.width * along,
            length=_times(self.length, value),
            low=None if self.low is None else self.low * value,
            high=None if self.high is None else self.high * value,
        )


@dataclass(frozen=True)
class Dots(Mark):
    """Single points, of one colour or of their own, with a ``spread`` to both sides."""

    x: Numbers
    y: Numbers
    tints: Tint | Sequence[Tint]
    size: float
    shape: Literal["disc", "ring", "diamond", "dash"] = "disc"
    _: KW_ONLY
    spread: Floats | None = None
    words: Sequence[str] = ()
    hover: Hover | Sequence[Hover] = ()

    def scaled(self, across: float, up: float) -> Self:
        """See :meth:`Mark.scaled`."""
        spread = None if self.spread is None else self.spread * across
        return replace(self, x=_times(self.x, across), y=_times(self.y, up), spread=spread)


@dataclass(frozen=True, kw_only=True)
class Cells(Mark):
    """A table of gaps in colours from −``limit`` to ``limit``, with a scale of its own."""

    #: (r, c); from the lowest row upwards, one apart from 0; NaN where a cell is empty.
    value: Floats
    #: (r, c); what is written in each, whether in bold, and what is said of it.
    words: NDArray[np.str_]
    strong: Mask
    hover: NDArray[np.object_]
    limit: float
    #: Ticks of the colours, and what they are.
    scale: tuple[tuple[float, str], ...]
    scale_title: str


@dataclass(frozen=True)
class Rule(Mark):
    """A straight line at one value: upright, or ``level`` at a value of the upright axis.

    A rule that has a name is listed, and the name is written along it.
    """

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

    def scaled(self, across: float, up: float) -> Self:
        """See :meth:`Mark.scaled`."""
        return replace(self, at=self.at * (up if self.level else across))


def pieces(start: Floats, end: Floats) -> Floats:
    """One coordinate of pieces of a line that are parted by NaN, shape (3k,)."""
    return np.column_stack([start, end, np.full(len(start), np.nan)]).ravel()


@dataclass(frozen=True)
class Panel:
    """One pair of axes, its marks from back to front, its share of the height; maybe a detail."""

    x: Axis
    y: Axis
    marks: Sequence[Mark]
    share: float = 1.0
    detail: bool = False

    def in_units(self) -> Panel:
        """Return the panel in the numbers that are drawn: what a hover calls x and y as well."""
        marks = [mark.scaled(self.x.scale, self.y.scale) for mark in self.marks]
        return replace(self, x=self.x.scaled(), y=self.y.scaled(), marks=marks)


@dataclass(frozen=True, kw_only=True)
class PanelPicture(Picture):
    """Panels one above the other, over the same horizontal axis."""

    panels: tuple[Panel, ...]  #: From top to bottom
    gap: float = 0.05  #: Between two panels, as a share of the height
    #: Whether the names of the marks are listed, and whether the lower right corner is free.
    legend: bool = False
    free_corner: bool = False
    still: bool = False  #: Whether it is neither dragged nor zoomed
