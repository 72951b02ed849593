"""Panels of lines, bands, bars, dots and cells, laid out for print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Mask
from lore_core.data.number_text import decimal
from lore_core.figures.drawing import Anchor, Area, Disc, Drawing, Pixels, Stroke, Words, text_width
from lore_core.figures.pictures.picture import (
    Axis,
    Band,
    Bars,
    Cells,
    Dash,
    Dots,
    Hover,
    Line,
    Mark,
    Numbers,
    Panel,
    Rule,
    Tint,
    spread_apart,
    truncate,
)
from lore_core.figures.style import diverging, luminance, shades

if TYPE_CHECKING:
    from lore_core.figures.chart import PanelPicture

#: Height of the first panel as a share of the width, at most in units, and least of one below it.
_HIGH, _HIGHEST, _LOWEST = 0.56, 300.0, 40.0
#: Width at which lines and dots are as thick as on the screen, and least share of it.
_DESIGN_WIDTH, _THINNEST = 700.0, 0.6
#: Letters a name may have, share of the width that names may take, and width of a legend's keys
#: in sizes of the text: two dashes of every method.
_LONGEST, _NAMES, _KEY = 20, 0.4, 2.4
#: Between two labels of an axis, in widths of the longest, and most of them.
_APART, _MOST_TICKS = 1.6, 6
#: Shades of a scale on each side of 0, and lines that need no dashes to be told apart.
_BAR_SHADES, _FEW_LINES = 64, 2
#: Units that a dot may lie outside of the frame; beside a scale of colours. Largest radius of dots
#: beside a name, in sizes of the text.
_CUT, _EDGE, _IN_ROW = 0.01, 4.0, 0.22


def panel_drawing(
    picture: PanelPicture, width: float, type_size: float, height: float | None = None
) -> Drawing:
    """Draw a picture some units wide; ``height``: of all of it, by default as it needs."""
    panels = [panel.in_units() for panel in picture.panels]
    at_end, line = picture.lines_named_at_end(), 1.35 * type_size
    foot = _foot(picture, panels, [item.name for item in at_end], width, type_size)
    ends = [text_width(truncate(item.name, _LONGEST), type_size) + type_size for item in at_end]
    left = max(_room(panel, width, type_size) for panel in panels)
    across = left, width - max([1.5 * type_size, *ends])
    top, between = 0.7 * line, 1.1 * line
    heights = _heights(panels, width, line)
    rest = top + between * (len(panels) - 1) + 2.5 * line + foot.height
    if height is not None:
        heights *= max(height - rest, 2 * line) / heights.sum()
    whole = rest + float(heights.sum())
    drawing = Drawing(width, whole, picture.alt, type_size=type_size)
    for panel, tall in zip(panels, heights.tolist(), strict=True):
        frame = _Frame(drawing, panel, across, (top, top + tall))
        drawing.frames.append(frame.box)
        frame.draw_axes(panel, is_lowest=panel is panels[-1])
        for mark in panel.marks:
            frame.draw(mark)
        if panel is panels[0]:
            frame.name_ends(at_end)
        top += tall + between
    drawing.place(foot, 0.0, whole - foot.height)
    return drawing


def _heights(panels: Sequence[Panel], width: float, line: float) -> Floats:
    # Beside a name there may be dots of several series.
    dots = [mark.y for mark in panels[0].marks if isinstance(mark, Dots)]
    beside = [np.unique(np.rint(y[np.isfinite(y)])) for y in dots]
    most = np.unique(np.concatenate([[0.0], *beside]), return_counts=True)[1].max()
    each = max(1.45, 0.5 * most) * line
    first = each * len(panels[0].y.ticks) or min(_HIGH * width, _HIGHEST)
    shares = np.array([panel.share for panel in panels]) / panels[0].share
    return np.maximum(shares * first, [0.0] + [_LOWEST] * (len(panels) - 1))


def _room(panel: Panel, width: float, size: float) -> float:
    """Return what ticks and title of the upright axis take."""
    words = [text for _, text in _ticks(panel.y, panel.spans()[1], 4)]
    longest = max((text_width(text, size) for text in words), default=0.0)
    return min(longest, _NAMES * width) + (2.7 if _title(panel.y) else 1.1) * size


def _title(axis: Axis) -> str:
    return axis.brief or axis.heading


def _foot(
    picture: PanelPicture, panels: Sequence[Panel], beside: Sequence[str], width: float, size: float
) -> Drawing:
    """Draw what is below the axes: the scale of cells, or names of marks not named ``beside``."""
    marks = [mark for panel in panels for mark in panel.marks]
    for mark in marks:
        if isinstance(mark, Cells):
            colors = shades(diverging("light"), 2 * _BAR_SHADES + 1)
            return color_bar(mark.scale_title, mark.scale, colors, width, size)
    # (Lines and bands that the screen names beside them are named here, whatever else is.)
    listable = [mark for mark in marks if picture.legend or isinstance(mark, Rule | Band)]
    named = {mark.name: mark for mark in listable if mark.name and mark.listed}
    listed = [mark for name, mark in named.items() if name not in beside]
    texts = [fitting(mark.name, width - (_KEY + 2) * size, size) for mark in listed]
    places = flow(texts, width, size, (_KEY + 1.4) * size)
    n_rows = places[-1][0] + 1 if places else 0
    foot = Drawing(width, 1.35 * size * n_rows, "", type_size=size)
    for mark, text, (row, x) in zip(listed, texts, places, strict=True):
        y, tint = (row + 0.72) * 1.35 * size, _tint_of(mark)
        middle = y - 0.33 * size
        match mark:
            case Line() | Rule():
                ends = np.array([[x, middle], [x + _KEY * size, middle]])
                dash = _dash(mark, panels) if isinstance(mark, Line) else mark.dash
                foot.add(Stroke([ends], tint.meaning, 1.2, dash, tint.alpha))
            case Dots():
                foot.add(Disc(x + _KEY / 2 * size, middle, 0.3 * size, tint.meaning, tint.alpha))
            case _:
                box = x, middle - 0.35 * size, _KEY * size, 0.7 * size
                foot.box(*box, tint.meaning, tint.alpha)
        foot.add(Words(text, x + (_KEY + 0.4) * size, y))
    return foot


def _dash(line: Line, panels: Sequence[Panel]) -> str:
    """Return the dashes of a line; curves of several methods are told apart by them."""
    colors = {mark.tint.meaning for mark in panels[0].marks if isinstance(mark, Line)}
    is_curve = (
        line.tint.meaning[0] == "m" and line.dash == "solid" and line.group in ("", line.name)
    )
    return line.tint.meaning if is_curve and len(colors) > _FEW_LINES else line.dash


def _tint_of(mark: Mark) -> Tint:
    tints = getattr(mark, "tint", None) or getattr(mark, "tints", None)
    if isinstance(tints, Tint):
        return tints
    return tints[0] if tints else Tint("quiet")


def fitting(text: str, room: float, size: float) -> str:
    """Shorten a text to the room it has."""
    most = len(text)
    while most > 2 and text_width(truncate(text, most), size) > room:
        most -= 1
    return truncate(text, most)


def flow(texts: Sequence[str], width: float, size: float, more: float) -> list[tuple[int, float]]:
    """Place texts with ``more`` beside each in rows: the row of each, and where it begins."""
    places: list[tuple[int, float]] = []
    row, used = 0, 0.4 * size
    for text in texts:
        wide = text_width(text, size) + more
        if places and used + wide > width:
            row, used = row + 1, 0.4 * size
        places.append((row, used))
        used += wide
    return places


def color_bar(
    title: str,
    ticks: Sequence[tuple[float, str]],
    colors: NDArray[np.uint8],
    width: float,
    size: float,
    contours: Sequence[tuple[float, bool]] = (),
) -> Drawing:
    """Draw a scale of colours (k, 3) lying below a picture, with as many ticks as have room.

    ``contours``: values that have lines on the picture, and whether these are unbroken.
    """
    drawing = Drawing(width, 3.6 * size, "", type_size=size)
    across, (low, *_), (limit, *_) = width - 2 * _EDGE, ticks[0], ticks[-1]
    drawing.add(Pixels(colors[None], _EDGE, 0.3 * size, across, 0.55 * size))
    for at, is_whole in contours:
        x = _EDGE + (at - low) / (limit - low) * across
        ends = np.array([[x, 0.3 * size], [x, 0.85 * size]])
        drawing.add(Stroke([ends], "ink", 0.8, "solid" if is_whole else "dot"))
    last, taken = len(ticks) - 1, 0.0
    texts = [_in_line(words, is_end=k in (0, last)) for k, (_, words) in enumerate(ticks)]
    free_to = width - drawing.text_width(texts[-1]) - size
    for k, ((at, _), text) in enumerate(zip(ticks, texts, strict=True)):
        x, wide = _EDGE + (at - low) / (limit - low) * across, drawing.text_width(text)
        if k in (0, last) or (x - wide / 2 > taken and x + wide / 2 < free_to):
            anchor: Anchor = "start" if k == 0 else "end" if k == last else "middle"
            drawing.add(Words(text, x, 1.95 * size, anchor))
            taken = x + (wide if k == 0 else wide / 2) + size
    drawing.add(Words(title, width / 2, 3.15 * size, "middle"))
    return drawing


def _in_line(words: str, *, is_end: bool) -> str:
    """Write a tick in one line; what it means at the ends only."""
    number, *meaning = words.split("\n")
    return f"{number} {''.join(meaning).replace('-', '')}".strip() if is_end else number


class _Frame:
    """The place of a panel, with its two scales."""

    def __init__(
        self, drawing: Drawing, panel: Panel, across: tuple[float, float], down: tuple[float, float]
    ) -> None:
        self.drawing, self.panel, self.log = drawing, panel, panel.x.log
        (self.left, self.right), (self.top, self.bottom) = across, down
        self.x, self.y = panel.spans()
        self.box = across[0], down[0], across[1], down[1]
        self.thin = thinned(drawing.width)

    def px(self, x: Numbers | float) -> Floats:
        (low, high), value = self.x, np.asarray(x, dtype=np.float64)
        if self.log:
            value, low, high = np.log(value), math.log(low), math.log(high)
        return self.left + (value - low) / ((high - low) or 1) * (self.right - self.left)

    def py(self, y: Numbers | float) -> Floats:
        low, high = self.y
        share = (np.asarray(y, dtype=np.float64) - low) / ((high - low) or 1)
        return self.bottom - share * (self.bottom - self.top)

    def place(self, x: Numbers, y: Numbers) -> Floats:
        """Return where points lie, shape (…, 2)."""
        return np.stack([self.px(x), self.py(y)], axis=-1)

    def draw_axes(self, panel: Panel, *, is_lowest: bool) -> None:
        """Draw ticks and titles; those of the horizontal axis below the lowest panel."""
        add, size = self.drawing.add, self.drawing.type_size
        for value, words in self._across(panel):
            if panel.x.grid and not panel.x.ticks:
                self._rule(value, Tint("line"), is_level=False)
            if is_lowest:
                add(Words(words, float(self.px(value)), self.bottom + 1.35 * size, "middle"))
        for value, words in _ticks(panel.y, self.y, 4):
            if panel.y.grid and not panel.y.ticks:
                self._rule(value, Tint("line"), is_level=True)
            text = fitting(words, _NAMES * self.drawing.width, size)
            add(Words(text, self.left - 0.5 * size, float(self.py(value)) + 0.33 * size, "end"))
        if is_lowest and _title(panel.x):
            middle = (self.left + self.right) / 2
            add(Words(_title(panel.x), middle, self.bottom + 2.75 * size, "middle"))
        if _title(panel.y):
            room = self.drawing.height if is_lowest else self.bottom - self.top
            title = fitting(_title(panel.y), room, size)
            half = self.drawing.text_width(title) / 2
            middle = np.clip((self.top + self.bottom) / 2, half, self.drawing.height - half)
            add(Words(title, size, float(middle), "middle", upright=True))

    def _across(self, panel: Panel) -> list[tuple[float, str]]:
        """Return ticks of the horizontal axis, as many as have room."""
        room, size = self.right - self.left, self.drawing.type_size
        if panel.x.ticks:
            # Names that are the same when they are cut say nothing: then fewer have more room.
            for step in range(1, len(panel.x.ticks) + 1):
                each = room / len(panel.x.ticks) * step
                named = [(at, fitting(words, each, size)) for at, words in panel.x.ticks[::step]]
                if len({words for _, words in named}) == len(named):
                    break
            return named
        ticks = _ticks(panel.x, self.x, 2 if panel.x.few_ticks else _MOST_TICKS)
        widest = max((text_width(words, size) for _, words in ticks), default=0.0)
        while len(ticks) > 2 and len(ticks) * _APART * widest > room:
            ticks = ticks[::2]
        return ticks

    def _rule(
        self,
        at: float,
        tint: Tint,
        *,
        is_level: bool,
        width: float = 0.8,
        dash: Dash = "solid",
        part: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        ends = np.array([[self.left, self.top], [self.right, self.bottom]])
        if is_level:
            ends[:, 0] = self.left + np.array(part) * (self.right - self.left)
        ends[:, int(is_level)] = self.py(at) if is_level else self.px(at)
        self.drawing.add(Stroke([ends], tint.meaning, width, dash, tint.alpha))

    def draw(self, mark: Mark) -> None:
        """Draw a mark over those before it."""
        match mark:
            case Line():
                self._draw_line(mark)
            case Band():
                area = Area(self.place(*mark.outline), mark.tint.meaning, mark.tint.alpha)
                self.drawing.add_inside(self.box, area)
            case Bars():
                self._draw_bars(mark)
            case Dots():
                self._draw_dots(mark)
            case Cells():
                self._draw_cells(mark)
            case Rule():
                self._draw_rule(mark)
            case _:
                raise TypeError(f"no drawing of a {type(mark).__name__} is known")

    def name_ends(self, lines: Sequence[Line]) -> None:
        """Write the names of lines beside their right ends, none over another."""
        if not lines:
            return
        size = self.drawing.type_size
        ends = np.array([float(self.py(line.y[np.isfinite(line.y)][-1])) for line in lines])
        order = np.argsort(ends, kind="stable")
        places = np.clip(spread_apart(ends[order], 1.15 * size), self.top, None) + 0.33 * size
        for k, y in zip(order.tolist(), places.tolist(), strict=True):
            text, color = truncate(lines[k].name, _LONGEST), lines[k].tint.meaning
            self.drawing.add(Words(text, self.right + 0.4 * size, y, color=color))

    def _draw_rule(self, mark: Rule) -> None:
        low, high = self.y if mark.level else self.x
        if not low <= mark.at <= high:
            return
        width = max(0.6, mark.width * self.thin)
        look: dict[str, Any] = {"width": width, "dash": mark.dash, "part": mark.part}
        self._rule(mark.at, mark.tint, is_level=mark.level, **look)
        if not mark.text:
            return
        size, text = self.drawing.type_size, mark.text
        if mark.level:  # beside a curve that falls from a limit at the left, or to one at the right
            is_left, gap = mark.part[0] == 0, 2
            x, y = self.left if is_left else self.right, float(self.py(mark.at))
            y += (-0.3 if is_left else 0.95) * size + (-3.5 if is_left else 3.5) * self.thin
            if self.drawing.text_width(text) > (self.right - self.left) / 2:
                text = text.rpartition("= ")[2]
        else:  # on the side that has room
            x, y, gap = float(self.px(mark.at)), self.top + 0.9 * size, 4
            is_left = x < (self.left + self.right) / 2
        at = x + gap if is_left else x - gap
        self.drawing.add(Words(text, at, y, "start" if is_left else "end", on="paper"))

    def _draw_line(self, mark: Line) -> None:
        points, color = self.place(mark.x, mark.y), mark.tint.meaning
        known = np.asarray(np.isfinite(points).all(axis=1))
        if mark.dots:
            dots = points[self._inside(points)].tolist()
            self.drawing.add(*(Disc(x, y, 2.5 * self.thin, color) for x, y in dots))
        if mark.steps:
            known = np.repeat(known, 2)[1:]
            doubled = np.repeat(points, 2, axis=0)
            points = np.column_stack([doubled[1:, 0], doubled[:-1, 1]])
        ends = np.flatnonzero(np.diff(known)) + 1
        runs = [run for run in np.split(np.arange(len(known)), ends) if known[run].any()]
        look = mark.width * self.thin, _dash(mark, [self.panel]), mark.tint.alpha
        self._stroke([points[run] for run in runs], color, *look)

    def _stroke(self, lines: Sequence[Floats], *look: Any) -> None:
        """Draw what of lines lies in the frame."""
        self.drawing.add_inside(self.box, Stroke(lines, *look))

    def _inside(self, places: Floats) -> Mask:
        low, high = np.array(self.box).reshape(2, 2)
        return np.asarray(((low - _CUT <= places) & (places <= high + _CUT)).all(axis=1))

    def _draw_bars(self, mark: Bars) -> None:
        half = np.asarray(mark.width) / 2
        length = np.array([0 * mark.length, mark.length])
        corners = np.array([mark.center - half, mark.center + half]), length
        (x0, y1), (x1, y0) = np.moveaxis(self.place(*corners[:: -1 if mark.sideways else 1]), 2, 1)
        boxes = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]).transpose(2, 0, 1)
        for points, tint in zip(boxes, mark.tints, strict=True):
            self.drawing.add_inside(self.box, Area(points, tint.meaning, tint.alpha))
        if mark.low is None or mark.high is None:
            return
        ends = np.array([mark.center, mark.center]), np.array([mark.low, mark.high])
        pieces = np.swapaxes(self.place(*ends[:: -1 if mark.sideways else 1]), 0, 1)
        pieces = pieces[np.isfinite(pieces).all(axis=(1, 2))]
        self._stroke(list(pieces), "quiet", mark.whisker * self.thin)

    def _draw_dots(self, mark: Dots) -> None:
        n, add, radius = len(mark.x), self.drawing.add, mark.size / 2 * self.thin
        if mark.group:  # with intervals of others beside them
            radius = min(radius, _IN_ROW * self.drawing.type_size)
        tints = [mark.tints] * n if isinstance(mark.tints, Tint) else mark.tints
        own = () if isinstance(mark.hover, Hover) else mark.hover
        titles = [hover.text for hover in own] or [""] * n
        spread = None if mark.spread is None else np.nan_to_num(mark.spread)
        places, turned = self.place(mark.x, mark.y), np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
        for k in np.flatnonzero(self._inside(places)).tolist():
            (x, y), color, alpha = places[k].tolist(), tints[k].meaning, tints[k].alpha
            if spread is not None:
                ends = self.px(np.array([mark.x[k] - spread[k], mark.x[k] + spread[k]]))
                self._stroke([np.column_stack([ends, [y, y]])], color, 1.6 * self.thin)
            if mark.shape == "dash":
                ends = np.array([[x - radius, y], [x + radius, y]])
                add(Stroke([ends], color, 2 * self.thin))
            elif mark.shape == "diamond":
                add(Area(radius * turned + places[k], color, alpha))
            else:
                ring = 1.6 * self.thin if mark.shape == "ring" else 0.0
                add(Disc(x, y, radius, color, alpha, ring, titles[k]))

    def _draw_cells(self, mark: Cells) -> None:
        size = self.drawing.type_size
        n_rows, n_columns = mark.value.shape
        table = shades(diverging("light"), 2 * _BAR_SHADES + 1)
        wide, tall = (self.right - self.left) / n_columns, (self.bottom - self.top) / n_rows
        for (row, column), value in np.ndenumerate(mark.value):
            if not math.isfinite(value):
                continue
            share = float(np.clip(value / mark.limit, -1, 1))
            color = table[round((share + 1) * _BAR_SHADES)]
            x, y = self.left + column * wide, self.bottom - (row + 1) * tall
            self.drawing.add(Pixels(color[None, None], x + 1, y + 1, wide - 2, tall - 2))
            text, ink = str(mark.words[row, column]), "ink" if luminance(color) > 0.4 else "paper"
            middle, text = (x + wide / 2, y + tall / 2 + 0.33 * size), fitting(text, wide - 4, size)
            bold = bool(mark.bold[row, column])
            self.drawing.add(Words(text, *middle, "middle", ink, bold=bold))


def thinned(width: float) -> float:
    """Return how thick lines and dots of a drawing are, as a share of those on the screen."""
    return min(1.0, max(_THINNEST, width / _DESIGN_WIDTH))


def _ticks(axis: Axis, span: tuple[float, float], most: int) -> list[tuple[float, str]]:
    """Round numbers between the ends of an axis, or its names."""
    low, high = span
    if axis.ticks:
        return [(at, truncate(words, _LONGEST)) for at, words in axis.ticks]
    if axis.log:
        steps = (1,) if high / low > 1e3 else (1, 2, 5)
        every = [step * 10.0**power for power in range(-4, 10) for step in steps]
        return [(value, f"{value:g}") for value in every if low <= value <= high]
    rough = max(high - low, 1e-12) / (most + 0.5)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 2.5, 5, 10) if power * k >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = len(f"{step:g}".partition(".")[2])
    return [(k * step, decimal(k * step, digits) + axis.suffix) for k in range(first, last + 1)]
