"""Panels of lines, bands, bars, dots and cells, laid out for print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lore_core.data.arrays import Floats
from lore_core.data.number_text import decimal
from lore_core.figures.chart import PanelPicture
from lore_core.figures.drawing import Area, Disc, Drawing, Pixels, Stroke, Words, text_width
from lore_core.figures.pictures.picture import (
    Axis,
    Band,
    Bars,
    Cells,
    Dots,
    Hover,
    Line,
    Mark,
    Numbers,
    Panel,
    Rule,
    Tint,
    shortened,
    spread_apart,
)
from lore_core.figures.style import diverging, luminance, shades

#: Height of the first panel as a share of the width, at most in units, and least of one below it.
_HIGH, _HIGHEST, _LOWEST = 0.56, 300.0, 40.0
#: Width at which lines and dots are as thick as on the screen, and least share of it.
_DESIGN_WIDTH, _THINNEST = 700.0, 0.6
#: Least width at which details are drawn.
_ROOMY = 450.0
#: Letters a name may have, and share of the width that names may take.
_LONGEST, _NAMES = 20, 0.4
#: Units that a dot may lie outside of the frame.
_CUT = 0.01
#: Room beyond the outermost values, as a share of what lies between them.
_PAD = 0.06
#: Between two labels of an axis, in widths of the longest, and most of them.
_APART, _MOST_TICKS = 1.6, 6
_BAR_SHADES = 64


def panel_drawing(
    picture: PanelPicture, width: float, type_size: float, height: float | None = None
) -> Drawing:
    """Draw a picture some units wide; ``height``: of all of it, by default as it needs."""
    panels = [panel.in_units() for panel in picture.panels]
    if width < _ROOMY:
        panels = [
            replace(panel, marks=[mark for mark in panel.marks if not mark.detail])
            for panel in panels
            if not panel.detail
        ]
    names = [mark for mark in _listed(picture, panels) if picture.legend]
    at_end = picture.lines_named_at_end()
    if at_end:
        names = [mark for mark in names if mark.name not in [line.name for line in at_end]]
    line = 1.35 * type_size
    spans = [_spans(panel) for panel in panels]
    left = max(
        _room(panel, span, width, type_size) for panel, span in zip(panels, spans, strict=True)
    )
    right = _room_right(panels, at_end, type_size)
    legend = _rows_of_names(names, width, type_size)
    foot = 2.5 * line + len(legend) * line
    top = 0.7 * line
    between, n_names = 1.1 * line, len(panels[0].y.ticks)
    high = 1.45 * line * n_names or min(_HIGH * width, _HIGHEST)
    if any(isinstance(mark, Cells) for mark in panels[0].marks):
        high = max(high, 7 * line)
    shares = np.array([panel.share for panel in panels]) / panels[0].share
    heights = np.maximum(shares * high, [0.0] + [_LOWEST] * (len(panels) - 1))
    if height is not None:
        free = height - top - foot - between * (len(panels) - 1)
        heights = heights / heights.sum() * max(free, 2 * line)
    whole = top + float(heights.sum()) + between * (len(panels) - 1) + foot
    drawing = Drawing(width, whole, picture.alt, type_size=type_size)
    for panel, span, tall in zip(panels, spans, heights.tolist(), strict=True):
        frame = _Frame(drawing, panel, span, (left, width - right), (top, top + tall))
        drawing.frames.append((left, top, width - right, top + tall))
        frame.draw_axes(panel, is_lowest=panel is panels[-1])
        for mark in panel.marks:
            frame.draw(mark)
        if panel is panels[0]:
            frame.name_ends(at_end)
        top += tall + between
    _draw_names(drawing, legend, whole - len(legend) * line + 0.3 * line)
    return drawing


def _listed(picture: PanelPicture, panels: Sequence[Panel]) -> list[Mark]:
    marks = [mark for panel in panels for mark in panel.marks if mark.name and mark.listed]
    return list({mark.name: mark for mark in marks}.values())


def _room(
    panel: Panel, span: tuple[tuple[float, float], tuple[float, float]], width: float, size: float
) -> float:
    """Return what ticks and title of the upright axis take."""
    words = [text for _, text in _ticks(panel.y, span[1], 4)]
    longest = max((text_width(text, size) for text in words), default=0.0)
    title = 1.6 * size if _title(panel.y) else 0.0
    return min(longest, _NAMES * width) + title + 1.1 * size


def _room_right(panels: Sequence[Panel], at_end: Sequence[Line], size: float) -> float:
    names = [text_width(shortened(line.name, _LONGEST), size) + size for line in at_end]
    bars = [mark for panel in panels for mark in panel.marks if isinstance(mark, Cells)]
    names += [
        max(text_width(word, size) for _, text in mark.scale for word in text.split("\n"))
        + 2 * size
        for mark in bars
    ]
    return max([1.5 * size, *names])


def _title(axis: Axis) -> str:
    return axis.brief or axis.heading


def _rows_of_names(
    marks: Sequence[Mark], width: float, size: float
) -> list[list[tuple[Mark, str, float]]]:
    """Share names out to rows: each with its text and the place of its mark."""
    rows: list[list[tuple[Mark, str, float]]] = []
    used = width
    for mark in marks:
        text = shortened(mark.name, int(width / size))
        wide = text_width(text, size) + 3.2 * size
        if used + wide > width:
            rows.append([])
            used = 0.4 * size
        rows[-1].append((mark, text, used))
        used += wide
    return rows


def _draw_names(
    drawing: Drawing, rows: Sequence[Sequence[tuple[Mark, str, float]]], top: float
) -> None:
    size = drawing.type_size
    for number, row in enumerate(rows):
        y = top + (number + 0.5) * 1.35 * size
        for mark, text, x in row:
            middle, tint = y - 0.33 * size, _tint_of(mark)
            alpha = 1.0 if tint.alpha is None else tint.alpha
            match mark:
                case Line() | Rule():
                    ends = np.array([[x, middle], [x + 1.7 * size, middle]])
                    drawing.add(Stroke([ends], tint.meaning, 1.5, mark.dash, alpha))
                case Dots():
                    drawing.add(Disc(x + 0.85 * size, middle, 0.3 * size, tint.meaning, alpha))
                case _:
                    drawing.add(_box(x, middle - 0.35 * size, 1.7 * size, 0.7 * size, tint))
            drawing.add(Words(text, x + 2.1 * size, y))


def _tint_of(mark: Mark) -> Tint:
    tints = getattr(mark, "tint", None) or getattr(mark, "tints", None)
    if isinstance(tints, Tint):
        return tints
    return tints[0] if tints else Tint("quiet")


def _box(x: float, y: float, width: float, height: float, tint: Tint) -> Area:
    corners = np.array([[x, y], [x + width, y], [x + width, y + height], [x, y + height]])
    return Area(corners, tint.meaning, 1.0 if tint.alpha is None else tint.alpha)


class _Frame:
    """The place of a panel, with its two scales."""

    def __init__(
        self,
        drawing: Drawing,
        panel: Panel,
        spans: tuple[tuple[float, float], tuple[float, float]],
        across: tuple[float, float],
        down: tuple[float, float],
    ) -> None:
        self.drawing, self.log = drawing, panel.x.log
        (self.left, self.right), (self.top, self.bottom) = across, down
        self.x, self.y = spans
        self.box = np.array([[across[0], down[0]], [across[1], down[1]]])  #: Its corners
        self.thin = min(1.0, max(_THINNEST, drawing.width / _DESIGN_WIDTH))

    def px(self, x: Numbers | float) -> Floats:
        (low, high), value = self.x, np.asarray(x, dtype=np.float64)
        if self.log:
            value, low, high = np.log(value), math.log(low), math.log(high)
        return self.left + (value - low) / ((high - low) or 1) * (self.right - self.left)

    def py(self, y: Numbers | float) -> Floats:
        low, high = self.y
        share = (np.asarray(y, dtype=np.float64) - low) / ((high - low) or 1)
        return self.bottom - share * (self.bottom - self.top)

    def draw_axes(self, panel: Panel, *, is_lowest: bool) -> None:
        """Draw ticks and titles; those of the horizontal axis below the lowest panel."""
        add, size = self.drawing.add, self.drawing.type_size
        across = self._across(panel)
        for value, words in across:
            if panel.x.grid and not panel.x.ticks:
                self._rule(value, "line", is_level=False)
            if is_lowest:
                add(Words(words, float(self.px(value)), self.bottom + 1.35 * size, "middle"))
        for value, words in _ticks(panel.y, self.y, 4):
            if panel.y.grid and not panel.y.ticks:
                self._rule(value, "line", is_level=True)
            text = self._fitting(words, _NAMES * self.drawing.width)
            add(Words(text, self.left - 0.5 * size, float(self.py(value)) + 0.33 * size, "end"))
        if is_lowest and _title(panel.x):
            middle = (self.left + self.right) / 2
            add(Words(_title(panel.x), middle, self.bottom + 2.75 * size, "middle"))
        if _title(panel.y):
            middle = (self.top + self.bottom) / 2
            room = self.drawing.height if is_lowest else self.bottom - self.top
            title = self._fitting(_title(panel.y), room)
            half = self.drawing.text_width(title) / 2
            middle = min(max(middle, half), self.drawing.height - half)
            add(Words(title, size, middle, "middle", upright=True))

    def _across(self, panel: Panel) -> list[tuple[float, str]]:
        """Return ticks of the horizontal axis, as many as have room."""
        room, size = self.right - self.left, self.drawing.type_size
        if panel.x.ticks:
            each = room / len(panel.x.ticks)
            return [(at, self._fitting(words, each)) for at, words in panel.x.ticks]
        ticks = _ticks(panel.x, self.x, 2 if panel.x.few_ticks else _MOST_TICKS)
        widest = max((text_width(words, size) for _, words in ticks), default=0.0)
        while len(ticks) > 2 and len(ticks) * _APART * widest > room:
            ticks = ticks[::2]
        return ticks

    def _fitting(self, text: str, room: float) -> str:
        most = len(text)
        while most > 2 and self.drawing.text_width(shortened(text, most)) > room:
            most -= 1
        return shortened(text, most)

    def _rule(
        self, at: float, color: str, *, is_level: bool, width: float = 0.8, dash: str = "solid",
        alpha: float = 1.0, part: tuple[float, float] = (0.0, 1.0),
    ) -> None:  # fmt: skip
        if is_level:
            start, stop = (self.left + share * (self.right - self.left) for share in part)
            ends = [[start, float(self.py(at))], [stop, float(self.py(at))]]
        else:
            ends = [[float(self.px(at)), self.top], [float(self.px(at)), self.bottom]]
        self.drawing.add(Stroke([np.array(ends)], color, width, dash, alpha))  # type: ignore[arg-type]

    def draw(self, mark: Mark) -> None:
        """Draw a mark over those before it."""
        match mark:
            case Line():
                self._draw_line(mark)
            case Band():
                x, y = mark.outline
                points = _within(np.column_stack([self.px(x), self.py(y)]), self.box)
                if len(points):
                    self.drawing.add(Area(points, mark.tint.meaning, _alpha(mark.tint)))
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
        places = np.clip(spread_apart(ends[order], 1.15 * size), self.top, None)
        for k, y in zip(order.tolist(), places.tolist(), strict=True):
            text = shortened(lines[k].name, _LONGEST)
            color = lines[k].tint.meaning
            self.drawing.add(Words(text, self.right + 0.4 * size, y + 0.33 * size, color=color))

    def _draw_rule(self, mark: Rule) -> None:
        low, high = self.y if mark.level else self.x
        if not low <= mark.at <= high:
            return
        look = {"width": max(0.6, mark.width * self.thin), "dash": mark.dash, "part": mark.part}
        self._rule(mark.at, mark.tint.meaning, is_level=mark.level, alpha=_alpha(mark.tint), **look)  # type: ignore[arg-type]
        if not mark.text:
            return
        size = self.drawing.type_size
        if mark.level:
            x, anchor = (self.left + 2, "start") if mark.part[0] == 0 else (self.right - 2, "end")
            y = float(self.py(mark.at)) - 0.3 * size
        else:  # on the side that has room
            x = float(self.px(mark.at))
            is_left = x < (self.left + self.right) / 2
            x, anchor = (x + 4, "start") if is_left else (x - 4, "end")
            y = self.top + 0.9 * size
        self.drawing.add(Words(mark.text, x, y, anchor, on="paper"))  # type: ignore[arg-type]

    def _draw_line(self, mark: Line) -> None:
        x, y = self.px(mark.x), self.py(mark.y)
        known = np.isfinite(x) & np.isfinite(y)
        if mark.steps:
            x, y, known = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1], np.repeat(known, 2)[1:]
        ends = np.flatnonzero(np.diff(known)) + 1
        runs = [run for run in np.split(np.arange(len(x)), ends) if len(run) and known[run].all()]
        whole = [np.column_stack([x[run], y[run]]) for run in runs]
        pieces = [part for line in whole for part in _cut(line, self.box)]
        color, width = mark.tint.meaning, mark.width * self.thin
        if pieces:
            self.drawing.add(Stroke(pieces, color, width, mark.dash, _alpha(mark.tint)))
        if mark.dots:
            dots = self._inside(x, y)
            self.drawing.add(*(Disc(x[k], y[k], 2.5 * self.thin, color) for k in dots))

    def _draw_bars(self, mark: Bars) -> None:
        half = np.asarray(mark.width) / 2
        corners = np.array([mark.place - half, mark.place + half]), _from_zero(mark.length)
        across, upwards = corners[::-1] if mark.sideways else corners
        (left, top), (right, bottom) = self.box
        x0, x1 = np.sort(self.px(across), axis=0).clip(left, right)
        y1, y0 = np.sort(self.py(upwards), axis=0).clip(top, bottom)
        for k, tint in enumerate(mark.tints):
            self.drawing.add(_box(*map(float, (x0[k], y1[k], x1[k] - x0[k], y0[k] - y1[k])), tint))
        if mark.low is None or mark.high is None:
            return
        middle = np.column_stack([mark.place, mark.place])
        value = np.column_stack([mark.low, mark.high])
        across, upwards = (value, middle) if mark.sideways else (middle, value)
        ends = np.stack([self.px(across), self.py(upwards)], axis=2)
        pieces = [
            part
            for whisker in ends[np.isfinite(ends).all(axis=(1, 2))]
            for part in _cut(whisker, self.box)
        ]
        if pieces:
            self.drawing.add(Stroke(pieces, "quiet", mark.whisker * self.thin))

    def _draw_dots(self, mark: Dots) -> None:
        n = len(mark.x)
        tints = [mark.tints] * n if isinstance(mark.tints, Tint) else mark.tints
        own = () if isinstance(mark.hover, Hover) else mark.hover
        titles = [hover.text for hover in own] or [""] * n
        radius, x, y = mark.size / 2 * self.thin, self.px(mark.x), self.py(mark.y)
        spread = None if mark.spread is None else np.nan_to_num(mark.spread)
        for k in self._inside(x, y):
            at, color = (float(x[k]), float(y[k])), tints[k].meaning
            if spread is not None:
                ends = self.px(np.array([mark.x[k] - spread[k], mark.x[k] + spread[k]]))
                pieces = _cut(np.column_stack([ends, [at[1]] * 2]), self.box)
                self.drawing.add(Stroke(pieces, color, 1.6 * self.thin))
            if mark.shape == "dash":
                piece = np.array([[at[0] - radius, at[1]], [at[0] + radius, at[1]]])
                self.drawing.add(Stroke([piece], color, 2 * self.thin))
            elif mark.shape == "diamond":
                turned = np.array([[radius, 0], [0, radius], [-radius, 0], [0, -radius]])
                self.drawing.add(Area(turned + at, color, _alpha(tints[k])))
            else:
                ring = 1.6 * self.thin if mark.shape == "ring" else 0.0
                self.drawing.add(Disc(*at, radius, color, _alpha(tints[k]), ring, titles[k]))

    def _inside(self, x: Floats, y: Floats) -> list[int]:
        places = np.column_stack([x, y])
        near = (self.box[0] - _CUT <= places) & (places <= self.box[1] + _CUT)
        return [int(k) for k in np.flatnonzero(near.all(axis=1))]

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
            text = self._fitting(str(mark.words[row, column]), wide - 4)
            ink = "ink" if luminance(color) > 0.4 else "paper"
            bold, middle = (
                bool(mark.strong[row, column]),
                (x + wide / 2, y + tall / 2 + 0.33 * size),
            )
            self.drawing.add(Words(text, *middle, "middle", ink, bold=bold))
        x, width = self.right + 0.6 * size, 0.7 * size
        self.drawing.add(Pixels(table[::-1][:, None], x, self.top, width, self.bottom - self.top))
        room = (self.bottom - self.top) / (1.2 * size)
        for at, text in mark.scale if room > 9 else mark.scale[:: len(mark.scale) - 1]:
            lines = text.split("\n")
            y = self.bottom - (at / mark.limit + 1) / 2 * (self.bottom - self.top) + 0.33 * size
            low, high = self.top + 0.8 * size, self.bottom - 1.1 * size * (len(lines) - 1)
            for number, line in enumerate(lines):
                below = min(max(y, low), high) + 1.1 * size * number
                self.drawing.add(Words(line, x + width + 0.4 * size, below))


def _cut(line: Floats, box: Floats) -> list[Floats]:
    """Return the parts of a line that lie in a box."""
    if ((box[0] <= line) & (line <= box[1])).all():
        return [line]
    start, step = line[:-1], np.diff(line, axis=0)
    step = np.where(step == 0, 1e-9, step)
    first, last = np.sort([(box[0] - start) / step, (box[1] - start) / step], axis=0)
    enter, leave = first.max(axis=1).clip(0), last.min(axis=1).clip(max=1)
    parts: list[list[Floats]] = []
    for k in np.flatnonzero(enter < leave).tolist():
        if not parts or enter[k] > 0 or leave[k - 1] < 1:
            parts.append([start[k] + enter[k] * step[k]])
        parts[-1].append(start[k] + leave[k] * step[k])
    return [np.array(part) for part in parts]


def _within(polygon: Floats, box: Floats) -> Floats:
    """Return what of a polygon lies in a box."""
    for axis in (0, 1):
        for edge, sign in zip(box[:, axis], (1, -1), strict=True):
            to = np.roll(polygon, -1, axis=0)
            is_in = sign * (polygon[:, axis] - edge) >= 0
            way = to[:, axis] - polygon[:, axis]
            share = (edge - polygon[:, axis]) / np.where(way == 0, 1.0, way)
            crossing = polygon + share[:, None] * (to - polygon)
            kept = np.column_stack([is_in, is_in != np.roll(is_in, -1)])
            polygon = np.stack([polygon, crossing], axis=1)[kept]
    return polygon


def _alpha(tint: Tint) -> float:
    return 1.0 if tint.alpha is None else tint.alpha


def _reached(mark: Mark) -> tuple[Numbers, Numbers]:
    match mark:
        case Line() | Dots():
            return mark.x, mark.y
        case Band():
            return mark.outline
        case Bars():
            half = np.asarray(mark.width) / 2
            place = np.concatenate([mark.place - half, mark.place + half])
            length = _from_zero(mark.length).ravel()
            if mark.low is not None and mark.high is not None:
                length = np.concatenate([length, mark.low, mark.high])
            return (length, place) if mark.sideways else (place, length)
        case Cells():
            n_rows, n_columns = mark.value.shape
            return np.array([-0.5, n_columns - 0.5]), np.array([-0.5, n_rows - 0.5])
        case Rule(text=""):
            own, nothing = np.array([mark.at]), np.array([])
            return (nothing, own) if mark.level else (own, nothing)
        case _:  # what a reader has chosen does not widen the picture
            return np.array([]), np.array([])


def _from_zero(length: Numbers) -> Floats:
    return np.array([np.zeros(len(length)), length])


def _spans(panel: Panel) -> tuple[tuple[float, float], tuple[float, float]]:
    across, upwards = zip(*[_reached(mark) for mark in panel.marks], strict=True)
    is_table = any(isinstance(mark, Cells) for mark in panel.marks)
    return _span(panel.x, list(across), is_table), _span(panel.y, list(upwards), is_table)


def _span(axis: Axis, values: list[Numbers], is_table: bool) -> tuple[float, float]:
    """Return the ends of an axis: its own, or what is reached and a little room."""
    if axis.span is not None:
        return axis.span
    every = np.concatenate(values)
    every = every[np.isfinite(every)]
    low, high = (float(every.min()), float(every.max())) if every.size else (0.0, 1.0)
    pad = 0.0 if axis.log or is_table else _PAD * ((high - low) or 0.1)
    return (0.0 if axis.from_zero else low - pad), high + pad


def _ticks(axis: Axis, span: tuple[float, float], most: int) -> list[tuple[float, str]]:
    """Round numbers between the ends of an axis, or its names."""
    low, high = span
    if axis.ticks:
        return [(at, shortened(words, _LONGEST)) for at, words in axis.ticks]
    if axis.log:
        steps = (1,) if high / low > 1e3 else (1, 2, 5)
        every = [step * 10.0**power for power in range(-4, 5) for step in steps]
        return [(value, f"{value:g}") for value in every if low <= value <= high]
    rough = max(high - low, 1e-12) / (most + 0.5)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 2.5, 5, 10) if power * k >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = len(f"{step:g}".partition(".")[2])
    return [(k * step, decimal(k * step, digits) + axis.suffix) for k in range(first, last + 1)]
