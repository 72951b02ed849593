"""Landscapes on a map, as height over it or in space, laid out for print."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from lore_core.data.arrays import Floats, Mask
from lore_core.figures.drawing import (
    UNITS_PER_INCH,
    Area,
    Disc,
    Drawing,
    Pixels,
    Stroke,
    Words,
    text_width,
)
from lore_core.figures.pictures.landscape_picture import (
    Camera,
    ColorScale,
    LandscapePicture,
    MapRows,
    OutlinedRegion,
    segments,
)
from lore_core.figures.style import INK, NEUTRAL, channels, shades
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE
from lore_core.regions.field import Field

#: Pixels to the inch of fields and rows, and how many more are averaged to one.
_DPI, _FINER = 300.0, 2
#: Height of a map as a share of its width; of a view in space.
_FLATTEST, _TALLEST, _IN_SPACE = 0.4, 1.5, 0.72
#: Opacity of the field outside significant subgroups, as on the screen.
PALE = 0.38
#: Shares of subgroups between which the field gets clear.
_CLEAR = 0.46, 0.54
#: Radius of rings, in units of the type size; least and largest radius of rows, in units, of those
#: over a field too, and from which one on they have an edge.
_RING, _SMALLEST, _LARGEST, _OVER_FIELD, _EDGED = 0.3, 0.8, 5.5, 2.5, 2.5
#: Opacity of rows beside those that are shown whatever else is, and of rows without an error.
FAINT, _UNKNOWN = 0.18, 0.35
_MARGIN = 4.0
_BAR_SHADES = 256


def landscape_drawing(
    picture: LandscapePicture, width: float, type_size: float, height: float | None = None
) -> Drawing:
    """Draw a landscape some units wide, in the colours of paper; ``height``: of all of it."""
    foot = _Foot(picture.scale, width, type_size)
    down = _IN_SPACE * (width - 2 * _MARGIN)
    if picture.view == "map":
        (left, right), (low, high) = _frame_of(picture)
        ratio = (high - low) / (right - left)
        down = float((width - 2 * _MARGIN) * np.clip(ratio, _FLATTEST, _TALLEST))
    if height is not None:
        down = max(height - 2 * _MARGIN - foot.height, 4 * type_size)
    whole = down + 2 * _MARGIN + foot.height
    drawing = Drawing(width, whole, picture.alt, type_size=type_size, kind="paper")
    ground = np.array([[0, 0], [width, 0], [width, whole], [0, whole]], dtype=np.float64)
    drawing.add(Area(ground, "paper"))
    drawing.frames.append((_MARGIN, _MARGIN, width - _MARGIN, _MARGIN + down))
    if picture.view == "map":
        _Map(drawing, picture, down).draw()
    else:
        _draw_space(drawing, picture, down)
    foot.draw(drawing, down + 2 * _MARGIN)
    return drawing


def _frame_of(picture: LandscapePicture) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ends of a map: its own, else of its field."""
    if picture.extent:
        return picture.extent[0], picture.extent[1]
    field = picture.field
    assert field is not None  # a map without ends has a field
    half = np.array([field.x[1] - field.x[0], field.y[1] - field.y[0]]) / 2
    return (
        (float(field.x[0] - half[0]), float(field.x[-1] + half[0])),
        (float(field.y[0] - half[1]), float(field.y[-1] + half[1])),
    )


class _Map:
    """The place of a flat map; both axes have one scale."""

    def __init__(self, drawing: Drawing, picture: LandscapePicture, down: float) -> None:
        self.drawing, self.picture = drawing, picture
        (left, right), (low, high) = _frame_of(picture)
        self.across, self.down = drawing.width - 2 * _MARGIN, down
        # (What is wider or taller than the frame shows more of the map.)
        self.scale = min(self.across / (right - left), down / (high - low))
        self.middle = np.array([left + right, low + high]) / 2
        self.half = np.array([self.across, down]) / 2
        self.thin = min(1.0, max(0.6, drawing.width / 700))  # as in other figures

    def place(self, points: Floats) -> Floats:
        """Return where points of the map lie, from the upper left."""
        moved = (points - self.middle) * self.scale * [1, -1]
        return np.asarray(moved + self.half + _MARGIN)

    def inside(self, places: Floats) -> Mask:
        """Return which places lie in the frame."""
        return np.asarray((np.abs(places - _MARGIN - self.half) <= self.half).all(axis=-1))

    def draw(self) -> None:
        """Draw field, outlines, rows and names, one over the other."""
        picture, size = self.picture, self.drawing.type_size
        field, add = picture.field, self.drawing.add
        if field is not None:
            pixels = self._field(field)
            add(Pixels(pixels, _MARGIN, _MARGIN, self.across, self.down))
            self._outline(
                segments(field.x, field.y, field.context.astype(float)), "quiet", 1.0, 0.45
            )
        if picture.points is not None:
            self._rows(picture.points)
        if picture.highlighted is not None:
            self._rows(picture.highlighted)
        for dots in picture.dots:
            radius, thick = 3.5 * self.thin, 1.6 * self.thin
            at = self.place(dots.at)
            rings = at[self.inside(at)].tolist()
            add(*(Disc(x, y, radius, dots.color, ring=thick) for x, y in rings))
        if picture.worst is not None:
            rings = self.place(picture.worst.at)
            rings = rings[self.inside(rings)]
            radius, thick = 5 * self.thin, 1.4 * self.thin
            add(*(Disc(x, y, radius, "ink", ring=thick) for x, y in rings.tolist()))
        for region in picture.regions:
            self._outline(region.lines, "paper", 5.0, 0.75)
            self._outline(region.lines, "ink", 1.8)
        for sign, part in picture.lasso.parts:
            corners = self.place(np.column_stack([part.x, part.y]))
            ring = np.concatenate([corners, corners[:1]])
            add(Stroke([ring], "ink", 2 * self.thin, "dash" if sign > 0 else "dot"))
        if picture.picked:
            (place,) = self.place(np.array([picture.picked]))
            if self.inside(place):
                add(Disc(*place.tolist(), 9 * self.thin, "accent", ring=3 * self.thin))
        for region in picture.regions:
            self._badge(region)
        for label in picture.labels:
            (place,) = self.place(np.array([label.at]))
            if self.inside(place):
                x, y = place.tolist()
                add(Words(label.name, x, y - label.up * size / 12, "middle", on="paper"))

    def _field(self, field: Field) -> NDArray[np.uint8]:
        """Return the pixels of a field in the frame, with errors between those of its nodes."""
        size = tuple(
            max(1, round(side / UNITS_PER_INCH * _DPI)) for side in (self.across, self.down)
        )
        half = self.half / self.scale
        window = (self.middle - half, self.middle + half)
        # (A node without a value adds neither colour nor weight.)
        values = self.picture.scale.of(field.signed)
        weight = np.isfinite(values).astype(np.float64)
        total, known = (
            _between(part, field.x, field.y, window, size)
            for part in (np.nan_to_num(values), weight)
        )
        drawn = colored_shown(total / np.maximum(known, 0.5), self.picture.scale)
        alpha = np.full(known.shape, 255 * self.picture.strength)
        if (vivid := self.picture.vivid) is not None:
            inside = _between(vivid.inside, vivid.x, vivid.y, window, size)
            alpha *= PALE + (1 - PALE) * ((inside - _CLEAR[0]) / np.ptp(_CLEAR)).clip(0, 1)
        drawn[..., 3] = np.rint(alpha)
        drawn[known < 0.5] = 0
        return drawn

    def _outline(self, lines: Floats, color: str, width: float, alpha: float = 1.0) -> None:
        pieces = self.place(lines.reshape(-1, 2)).reshape(-1, 2, 2)
        pieces = pieces[self.inside(pieces).all(axis=1)]
        if len(pieces):
            self.drawing.add(Stroke(list(pieces), color, width * self.thin, alpha=alpha))

    def _rows(self, rows: MapRows) -> None:
        places, box = self.place(rows.at), (self.across, self.down)
        shown = self.inside(places)
        colors = _row_colors(rows, self.picture.scale)
        order = np.argsort(colors[:, 3], kind="stable")
        order = order[shown[order]]
        radius = _radius(len(order), box)
        if self.picture.field is not None and self.picture.strength == 1:
            radius = min(radius, _OVER_FIELD)
        drawn = _dots(places[order] - _MARGIN, colors[order], radius, box)
        self.drawing.add(Pixels(drawn, _MARGIN, _MARGIN, *box))

    def _badge(self, region: OutlinedRegion) -> None:
        size, name = self.drawing.type_size, region.name
        (place,) = self.place(np.array([region.at]))
        if not self.inside(place):
            return
        x, y = place.tolist()
        radius = max(0.65 * size, text_width(name, size, bold=True) / 2 + 0.2 * size)
        self.drawing.add(Disc(x, y, radius, region.color or "ink"))
        self.drawing.add(Words(name, x, y + 0.34 * size, "middle", "paper", bold=True))


def _between(
    values: Floats, x: Floats, y: Floats, window: tuple[Floats, Floats], size: tuple[int, ...]
) -> Floats:
    """Return pixels of a window, from its upper left, between values at even nodes; 0 beyond."""
    (left, low), (right, high) = (
        (ends - [x[0], y[0]]) / [x[1] - x[0], y[1] - y[0]] + 0.5 for ends in window
    )
    box = left, len(y) - high, right, len(y) - low
    image = Image.fromarray(np.ascontiguousarray(values[::-1], dtype=np.float32))
    extent, linear = Image.Transform.EXTENT, Image.Resampling.BILINEAR
    return np.asarray(image.transform(size, extent, box, resample=linear), dtype=np.float64)  # type: ignore[arg-type]


def colored(values: Floats, scale: ColorScale) -> NDArray[np.uint8]:
    """Return the colours of errors or places, shape (…, 4): clear where nothing is known."""
    return colored_shown(scale.of(values), scale)


def colored_shown(values: Floats, scale: ColorScale) -> NDArray[np.uint8]:
    """Return the colours of numbers of a scale, as :func:`colored` does those of errors."""
    share = (values - scale.low) / (scale.limit - scale.low)
    known = np.isfinite(share)
    place = np.rint(np.where(known, share, 0.0).clip(0, 1) * (_BAR_SHADES - 1)).astype(int)
    colors = shades(scale.colors("light"), _BAR_SHADES)[place]
    alpha = np.where(known, 255, 0)[..., None]
    return np.concatenate([colors, alpha], axis=-1).astype(np.uint8)


def _dots(
    places: Floats, colors: NDArray[np.uint8], radius: float, size: tuple[float, float]
) -> NDArray[np.uint8]:
    """Return pixels of dots, one over the other; large ones have an edge."""
    per_unit = _DPI / UNITS_PER_INCH * _FINER
    image = Image.new("RGBA", tuple(max(1, round(side * per_unit)) for side in size))  # type: ignore[arg-type]
    draw, ink, r = ImageDraw.Draw(image), np.array(channels(INK["light"])), radius * per_unit
    width = round(0.8 * per_unit) if radius > _EDGED else 0
    edges = colors.copy()
    edges[:, :3] = 0.45 * colors[:, :3] + 0.55 * ink
    drawn = zip((places * per_unit).tolist(), colors.tolist(), edges.tolist(), strict=True)
    for (x, y), fill, edge in drawn:
        box = x - r, y - r, x + r, y + r
        draw.ellipse(box, fill=tuple(fill), outline=tuple(edge), width=width)
    return np.asarray(image.reduce(_FINER))


def _radius(n_rows: int, size: tuple[float, float]) -> float:
    """Return how large rows can be: half of the room each has."""
    room = math.sqrt(size[0] * size[1] / max(n_rows, 1))
    return min(max(0.25 * room, _SMALLEST), _LARGEST)


def _row_colors(rows: MapRows, scale: ColorScale) -> NDArray[np.uint8]:
    """Return the colours of rows, grey and faint where too few are near."""
    colors = colored(rows.colored, scale)
    strength = np.ones(len(colors)) if rows.strength is None else rows.strength
    is_unknown = colors[:, 3] == 0
    if rows.places is None:
        is_unknown |= rows.effective_size < MIN_EFFECTIVE_SIZE
    colors[is_unknown, :3] = channels(NEUTRAL["light"])
    colors[:, 3] = np.rint(255 * strength * np.where(is_unknown, _UNKNOWN, 1.0))
    return colors


class _Foot:
    """The scale below a map: a bar with numbers, or names with a colour each."""

    def __init__(self, scale: ColorScale, width: float, size: float) -> None:
        self.scale, self.width, self.size = scale, width, size
        self.n_names = getattr(scale, "n_names", 0)
        self.rows: list[list[tuple[int, str, float]]] = []
        used = width
        for number, (_, name) in enumerate(scale.ticks if self.n_names else ()):
            wide = text_width(name, size) + 2.4 * size
            if used + wide > width:
                self.rows.append([])
                used = _MARGIN
            self.rows[-1].append((number, name, used))
            used += wide
        self.height = (1 + len(self.rows)) * 1.4 * size if self.n_names else 3.6 * size

    def draw(self, drawing: Drawing, top: float) -> None:
        """Draw it below ``top``."""
        size, scale = self.size, self.scale
        if self.n_names:
            table = shades(scale.colors("light"), _BAR_SHADES)
            drawing.add(Words(scale.title, _MARGIN, top + size, bold=True))
            for line, row in enumerate(self.rows, start=1):
                y = top + line * 1.4 * size
                for number, name, x in row:
                    color = table[int((number + 0.5) / self.n_names * (_BAR_SHADES - 1))]
                    drawing.add(
                        Pixels(color[None, None], x, y + 0.3 * size, 0.8 * size, 0.8 * size)
                    )
                    drawing.add(Words(name, x + 1.1 * size, y + size))
            return
        across = self.width - 2 * _MARGIN
        values = np.linspace(scale.low, scale.limit, _BAR_SHADES)
        bar = shades(scale.colors("light"), len(values))[None]
        drawing.add(Pixels(bar, _MARGIN, top + 0.3 * size, across, 0.55 * size))
        last, taken = len(scale.ticks) - 1, 0.0
        texts = [
            _tick_words(words, is_end=k in (0, last)) for k, (_, words) in enumerate(scale.ticks)
        ]
        free_to = self.width - text_width(texts[-1], size) - size
        for k, ((at, _), text) in enumerate(zip(scale.ticks, texts, strict=True)):
            x = _MARGIN + (at - scale.low) / (scale.limit - scale.low) * across
            wide = text_width(text, size)
            left = x if k == 0 else x - wide if k == last else x - wide / 2
            if k in (0, last) or (left > taken and left + wide < free_to):
                drawing.add(Words(text, left, top + 1.95 * size))
                taken = left + wide + size
        middle = self.width / 2
        drawing.add(Words(scale.title, middle, top + 3.15 * size, "middle"))


def _tick_words(words: str, *, is_end: bool) -> str:
    """Write a tick in one line; what it means at the ends only."""
    number, *meaning = words.split("\n")
    return f"{number} {''.join(meaning).replace('-', '')}".strip() if is_end else number


def _draw_space(drawing: Drawing, picture: LandscapePicture, down: float) -> None:
    """Draw rows in space, or the error as height, as the camera sees them."""
    camera = picture.camera
    assert camera is not None  # maps alone have none
    across = drawing.width - 2 * _MARGIN
    if picture.view == "space":
        ends = np.array(picture.extent, dtype=np.float64)
        names = [f"{picture.axes} {number}" for number in (1, 2, 3)]
        sides = np.diff(ends, axis=1)[:, 0]
        sides = sides / np.linalg.norm(sides)
    else:
        field, scale = picture.field, picture.scale
        assert field is not None  # what is drawn as height
        ends = np.array([field.x[[0, -1]], field.y[[0, -1]], [scale.low, scale.limit]])
        names = [f"{picture.axes} 1", f"{picture.axes} 2", scale.title]
        sides = np.array([1.3, 1.3, 0.6]) / np.linalg.norm([1.3, 1.3, 0.6])
    view = _Space(camera, ends, sides, across, down)
    for edge in view.edges():
        drawing.add(Stroke([edge + _MARGIN], "line", 0.8))
    if picture.view == "height":
        pixels = view.surface(picture.field, picture.scale)  # type: ignore[arg-type]
        drawing.add(Pixels(pixels, _MARGIN, _MARGIN, across, down))
    elif picture.points is not None:
        parts = [part for part in (picture.points, picture.highlighted) if part is not None]
        colors = np.concatenate([_row_colors(part, picture.scale) for part in parts])
        # What is in front hides what is behind: faint is pale here, not clear.
        share = colors[:, 3:] / 255
        colors[:, :3] = np.rint(share * colors[:, :3] + (1 - share) * 255)
        colors[:, 3] = 255
        places, depth = view.seen(np.concatenate([part.at for part in parts]))
        order = np.argsort(depth, kind="stable")
        order = order[((places >= 0) & (places <= [across, down])).all(axis=1)[order]]
        drawn = _dots(
            places[order], colors[order], _radius(len(order), (across, down)), (across, down)
        )
        drawing.add(Pixels(drawn, _MARGIN, _MARGIN, across, down))
        if picture.worst is not None:
            rings, _ = view.seen(picture.worst.at)
            rings = rings[((rings >= 0) & (rings <= [across, down])).all(axis=1)] + _MARGIN
            size = drawing.type_size
            drawing.add(*(Disc(x, y, _RING * size, "ink", ring=0.8) for x, y in rings.tolist()))
    for name, (x, y) in zip(names, view.middles(), strict=True):
        half = drawing.text_width(name) / 2
        x = min(max(x + _MARGIN, half + 1), drawing.width - half - 1)
        drawing.add(Words(name, x, y + _MARGIN, "middle", "quiet", on="paper"))
    for label in picture.labels:
        places, _ = view.seen(np.array([label.at]))
        x, y = (places[0] + _MARGIN).tolist()
        drawing.add(Words(label.name, x, y, "middle", on="paper"))


class _Space:
    """A box seen without perspective, whole at a magnification of 1."""

    def __init__(
        self, camera: Camera, ends: Floats, sides: Floats, across: float, down: float
    ) -> None:
        self.camera, self.ends, self.sides = camera, ends, sides
        self.axes = np.array(camera.axes)
        corners = np.array(np.meshgrid(*[[-0.5, 0.5]] * 3, indexing="ij")).reshape(3, -1).T
        self._corners = corners * sides
        flat = self._corners @ self.axes[:2].T
        room = np.array([across, down]) * 0.86
        self._scale = float((room / np.ptp(flat, axis=0).clip(1e-9)).min()) * camera.zoom
        self._shift = np.array([across, down]) / 2
        self._moved = np.array([camera.right, camera.up]) * 0.8

    def seen(self, points: Floats) -> tuple[Floats, Floats]:
        """Return where points lie in the picture, and how near they are."""
        low, high = self.ends[:, 0], self.ends[:, 1]
        return self._seen(((points - low) / (high - low) - 0.5) * self.sides)

    def _seen(self, placed: Floats) -> tuple[Floats, Floats]:
        along = placed @ self.axes.T
        flat = (along[..., :2] - self._moved) * self._scale * [1, -1] + self._shift
        return flat, along[..., 2]

    def edges(self) -> list[Floats]:
        """Return the edges of the box."""
        pairs = [(a, b) for a in range(8) for b in range(a) if (a ^ b) in (1, 2, 4)]
        flat, _ = self._seen(self._corners)
        return [flat[list(pair)] for pair in pairs]

    def middles(self) -> list[tuple[float, float]]:
        """Return where the names of the axes stand: below the edges at the bottom, beside one."""
        half = self.sides / 2
        sign = np.sign(self.axes[2])
        sign[sign == 0] = 1
        at = np.array(
            [
                [0, sign[1] * half[1], -half[2]],
                [sign[0] * half[0], 0, -half[2]],
                [sign[0] * half[0], -sign[1] * half[1], 0],
            ]
        )
        flat, _ = self._seen(at * 1.12)
        return [(x, y) for x, y in flat.tolist()]

    def surface(self, field: Field, scale: ColorScale) -> NDArray[np.uint8]:
        """Return pixels of the error as height, what is behind first."""
        per_unit = _DPI / UNITS_PER_INCH
        size = tuple(max(1, round(2 * side * per_unit)) for side in self._shift.tolist())
        image = Image.new("RGBA", size)  # type: ignore[arg-type]
        draw = ImageDraw.Draw(image)
        height = np.clip(scale.of(field.signed), scale.low, scale.limit)
        x, y = np.meshgrid(field.x, field.y)
        flat, depth = self.seen(np.stack([x, y, np.nan_to_num(height)], axis=-1))
        corners = [(slice(None, -1), slice(None, -1)), (slice(None, -1), slice(1, None)),
                   (slice(1, None), slice(1, None)), (slice(1, None), slice(None, -1))]  # fmt: skip
        quads = np.stack([flat[corner] for corner in corners], axis=2) * per_unit
        mean = np.mean([height[corner] for corner in corners], axis=0)
        near = np.mean([depth[corner] for corner in corners], axis=0)
        colors = colored_shown(mean, scale)
        rows, columns = np.nonzero(np.isfinite(mean))
        order = np.argsort(near[rows, columns], kind="stable")
        for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
            fill = tuple(colors[row, column].tolist())
            draw.polygon(
                [tuple(point) for point in quads[row, column].tolist()], fill=fill, outline=fill
            )
        return np.asarray(image)
