"""Landscapes on a map, as height over it or in space, laid out for print."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from lore_core.data.arrays import Floats, Mask
from lore_core.figures.drawing import UNITS_PER_INCH, Disc, Drawing, Pixels, Stroke, Words
from lore_core.figures.layout import color_bar, flow, thinned
from lore_core.figures.pictures.picture import Dash
from lore_core.figures.style import INK, NEUTRAL, PALE, channels, shades
from lore_core.regions.field import Field

if TYPE_CHECKING:
    from lore_core.figures.pictures.landscape_picture import (
        ColorScale,
        LandscapePicture,
        MapRows,
        OutlinedRegion,
    )

#: Pixels to the inch of fields and rows, and how many more are averaged to one.
_DPI, _FINER = 300.0, 2
#: Height of a map as a share of its width; of a view in space, and the share its box takes.
_FLATTEST, _TALLEST, _IN_SPACE, _BOX = 0.4, 1.5, 0.72, 0.86
#: Shift of the middle of a view in space, as of :class:`Camera`, in diagonals.
_SHIFT = 0.8
#: Shares of subgroups between which the field gets clear.
_CLEAR = 0.46, 0.54
#: Radius of rows in units: least, largest, largest over a field (larger ones have an edge), largest
#: without an edge in space, and of those that are highlighted.
_SMALLEST, _LARGEST, _OVER_FIELD, _EDGED, _MARKED = 0.8, 5.5, 2.5, 4.5, 2.75
#: Opacity of rows beside those that are shown whatever else is, and of rows without an error.
FAINT, _UNKNOWN = 0.18, 0.35
#: Units beside a map, and of a dash of a contour.
_MARGIN, _DASH = 4.0, 3.0
_N_SHADES = 256


def landscape_drawing(
    picture: LandscapePicture, width: float, type_size: float, height: float | None = None
) -> Drawing:
    """Draw a landscape, ``width`` units wide and with its scale ``height`` high, for paper."""
    foot = _foot(picture.scale, width, type_size)
    down = _IN_SPACE * (width - 2 * _MARGIN)
    if picture.view == "map":
        across, up = np.ptp(picture.ends, axis=1)
        down = float((width - 2 * _MARGIN) * np.clip(up / across, _FLATTEST, _TALLEST))
    if height is not None:
        down = max(height - 2 * _MARGIN - foot.height, 4 * type_size)
    whole = down + 2 * _MARGIN + foot.height
    drawing = Drawing(width, whole, picture.alt, type_size=type_size, kind="paper")
    drawing.box(0, 0, width, whole, "paper")
    drawing.frames.append((_MARGIN, _MARGIN, width - _MARGIN, _MARGIN + down))
    _View(drawing, picture, down).draw()
    drawing.place(foot, 0.0, down + 2 * _MARGIN)
    return drawing


class _View:
    """Parallel projection of a box of two or three axes; a flat map is seen from above."""

    def __init__(self, drawing: Drawing, picture: LandscapePicture, down: float) -> None:
        self.drawing, self.picture = drawing, picture
        self.size = np.array([drawing.width - 2 * _MARGIN, down])
        self.ends = np.array([*picture.ends, (-0.5, 0.5)][:3], dtype=np.float64)
        self.axes, self.sides = np.eye(3), np.ptp(self.ends, axis=1)
        self.middle, share = np.zeros(2), 1.0
        if picture.view != "map" and (camera := picture.camera) is not None:
            self.axes, self.sides = np.array(camera.axes), picture.sides
            self.middle = _SHIFT * np.array([camera.right, camera.up])
            share = _BOX * camera.zoom
        self.corners = np.array(list(product((-0.5, 0.5), repeat=3))) * self.sides
        reach = np.ptp(self.corners @ self.axes[:2].T, axis=0).clip(1e-9)
        # (What is wider or taller than the frame shows more of the map.)
        self.scale = float((self.size / reach).min()) * share
        self.thin, self.box = thinned(drawing.width), drawing.frames[0]

    def seen(self, points: Floats) -> tuple[Floats, Floats]:
        """Return where points (…, d) lie in the drawing, and how near they are."""
        missing = [(0, 0)] * (points.ndim - 1) + [(0, 3 - points.shape[-1])]
        low, high = self.ends.T
        return self._seen(((np.pad(points, missing) - low) / (high - low) - 0.5) * self.sides)

    def _seen(self, placed: Floats) -> tuple[Floats, Floats]:
        along = placed @ self.axes.T
        flat = (along[..., :2] - self.middle) * self.scale * [1, -1]
        return flat + self.size / 2 + _MARGIN, along[..., 2]

    def inside(self, places: Floats) -> Mask:
        """Return which places lie in the frame."""
        return np.asarray((np.abs(places - _MARGIN - self.size / 2) <= self.size / 2).all(axis=-1))

    def draw(self) -> None:
        """Draw field or box, outlines, rows and names, one over the other."""
        picture, size, add = self.picture, self.drawing.type_size, self.drawing.add
        if picture.view == "map":
            self._flat()
        else:
            self._box()
        self._rows([part for part in (picture.points, picture.highlighted) if part is not None])
        for dots in picture.dots:
            self._rings(dots.at, 3.5, dots.color, 1.6)
        if picture.worst is not None:
            self._rings(picture.worst.at, 5.0, "ink", 1.4)
        for region in picture.regions:
            self._outline(region.lines, "paper", 5.0, 0.75)
            self._outline(region.lines, "ink", 1.8)
        for sign, part in picture.lasso.parts:
            corners, _ = self.seen(np.column_stack([part.x, part.y]))
            ring = np.concatenate([corners, corners[:1]])
            dash: Dash = "dash" if sign > 0 else "dot"
            self.drawing.add_inside(self.box, Stroke([ring], "ink", 2 * self.thin, dash))
        if picture.picked:
            self._rings(np.array([picture.picked]), 9.0, "accent", 3.0)
        for region in picture.regions:
            self._badge(region)
        for label in picture.labels:
            (place,), _ = self.seen(np.array([label.at]))
            if self.inside(place):
                x, y = place.tolist()
                add(Words(label.name, x, y - label.up * size / 12, "middle", on="paper"))

    def _rings(self, at: Floats, radius: float, color: str, width: float) -> None:
        places, _ = self.seen(at)
        look = radius * self.thin, color, 1.0, width * self.thin
        self.drawing.add(*(Disc(x, y, *look) for x, y in places[self.inside(places)].tolist()))

    def _flat(self) -> None:
        """Draw the field, with errors between those of its nodes, and the line around all rows."""
        picture, field = self.picture, self.picture.field
        if field is None:
            return
        size, half = self._canvas(1)[0].size, self.size / 2 / self.scale
        middle = self.ends.mean(axis=1)[:2]
        window = (middle - half, middle + half)
        # (A node without a value adds neither colour nor weight.)
        values = picture.scale.of(field.signed)
        grid = field.x, field.y, window, size
        total = _between(np.nan_to_num(values), *grid)
        known = _between(np.isfinite(values), *grid)
        drawn = colored(total / np.maximum(known, 0.5), picture.scale)
        alpha = np.full_like(known, 255 * picture.strength)
        if (vivid := picture.vivid) is not None:
            inside = _between(vivid.inside, vivid.x, vivid.y, window, size)
            alpha *= PALE + (1 - PALE) * ((inside - _CLEAR[0]) / np.ptp(_CLEAR)).clip(0, 1)
        drawn[..., 3] = np.where(known < 0.5, 0, np.rint(alpha))
        self._pixels(drawn)
        self._outline(picture.ground, "quiet", 1.0, 0.45)
        for level, is_whole in picture.scale.contours:
            lines = picture.contour(level)
            self._outline(lines, "ink", 0.8, 0.6, is_broken=not is_whole)

    def _pixels(self, pixels: NDArray[np.uint8]) -> None:
        self.drawing.add(Pixels(pixels, _MARGIN, _MARGIN, *self.size.tolist()))

    def _outline(
        self,
        lines: Floats,
        color: str,
        width: float,
        alpha: float = 1.0,
        *,
        is_broken: bool = False,
    ) -> None:
        pieces = self.seen(lines.reshape(-1, 2, 2))[0]
        pieces = pieces[self.inside(pieces).any(axis=1)]
        if is_broken:  # (dashes of short pieces would begin anew at each)
            pieces = pieces[(pieces.mean(axis=1) // _DASH).sum(axis=1) % 2 == 0]
        stroke = Stroke(list(pieces), color, width * self.thin, alpha=alpha)
        self.drawing.add_inside(self.box, stroke)

    def _canvas(self, finer: int) -> tuple[Image.Image, float]:
        """Return an image of the frame, and its pixels in a unit."""
        scale = _DPI / UNITS_PER_INCH * finer
        return Image.new("RGBA", tuple(np.rint(self.size * scale).astype(int).clip(1))), scale

    def _rows(self, parts: list[MapRows]) -> None:
        """Draw dots, one over the other; large ones have an edge."""
        if not parts or self.picture.view == "height":
            return
        is_flat, (image, scale) = self.picture.view == "map", self._canvas(_FINER)
        places, depth = self.seen(np.concatenate([part.at for part in parts]))
        colors = np.concatenate([_row_colors(part, self.picture.scale) for part in parts])
        number = np.repeat(np.arange(len(parts)), [len(part.at) for part in parts])
        if not is_flat:  # What is in front hides what is behind: faint is pale here, not clear.
            share = colors[:, 3:] / 255
            colors[:, :3] = np.rint(share * colors[:, :3] + (1 - share) * 255)
            colors[:, 3] = 255
        order = np.lexsort((colors[:, 3], number) if is_flat else (depth,))
        order = order[self.inside(places[order])]
        room = math.sqrt(self.size.prod() / max(len(order), 1))
        radius = min(max(0.25 * room, _SMALLEST), _LARGEST * self.thin)
        if is_flat and self.picture.field is not None:
            if self.picture.points is None:
                radius = _MARKED * self.thin
            elif self.picture.strength == 1:
                radius = min(radius, _OVER_FIELD * self.thin)
        edges = colors.copy()
        edges[:, :3] = 0.45 * colors[:, :3] + 0.55 * np.array(channels(INK["light"]))
        # (In space rows hide each other: their edges would be all one sees.)
        is_edged = radius > (_OVER_FIELD if is_flat else _EDGED) * self.thin
        draw, width = ImageDraw.Draw(image), round(0.8 * scale) if is_edged else 0
        at = (places[order] - _MARGIN) * scale
        r = radius * scale * (1 + depth[order, None] / _SHIFT)
        boxes = np.hstack([at - r, at + r]).tolist()
        for box, fill, edge in zip(boxes, colors[order], edges[order], strict=True):
            draw.ellipse(box, fill=tuple(fill), outline=tuple(edge), width=width)
        self._pixels(np.asarray(image.reduce(_FINER)))

    def _badge(self, region: OutlinedRegion) -> None:
        size, name = self.drawing.type_size, region.name
        (place,), _ = self.seen(np.array([region.at]))
        if not self.inside(place):
            return
        x, y = place.tolist()
        radius = max(0.65 * size, self.drawing.text_width(name, bold=True) / 2 + 0.2 * size)
        self.drawing.add(Disc(x, y, radius, region.color or "ink"))
        self.drawing.add(Words(name, x, y + 0.34 * size, "middle", "paper", bold=True))

    def _box(self) -> None:
        """Draw the edges of the box, its names and the error as height."""
        picture, add, half = self.picture, self.drawing.add, self.sides / 2
        flat, _ = self._seen(self.corners)
        pairs = [(a, b) for a in range(8) for b in range(a) if (a ^ b) in (1, 2, 4)]
        add(Stroke([flat[list(pair)] for pair in pairs], "quiet", self.thin, alpha=0.45))
        if picture.view == "height" and picture.field is not None:
            self._surface(picture.field)
        # Names stand below the edges at the bottom, and beside one; that of a height at its scale.
        names = picture.axis_names[: 2 if picture.view == "height" else 3]
        x, y, _ = np.where(np.sign(self.axes[2]) == 0, 1, np.sign(self.axes[2])) * half
        at = np.array([[0, y, -half[2]], [x, 0, -half[2]], [x, -y, 0]])
        for name, (across, down) in zip(names, self._seen(at * 1.12)[0], strict=False):
            room = self.drawing.text_width(name) / 2 + 1
            x = float(np.clip(across, room, self.drawing.width - room))
            y = min(float(down) + 0.7 * self.drawing.type_size, self.size[1] + _MARGIN)
            add(Words(name, x, y, "middle", "quiet", on="paper"))

    def _surface(self, field: Field) -> None:
        """Draw the error as height, what is behind first."""
        scale, (image, per_unit) = self.picture.scale, self._canvas(1)
        height = scale.of(field.signed)
        height = np.where((scale.low <= height) & (height <= scale.limit), height, np.nan)
        x, y = np.meshgrid(field.x, field.y)
        flat, depth = self.seen(np.stack([x, y, np.nan_to_num(height)], axis=-1))
        low, high = slice(None, -1), slice(1, None)
        corners = [(low, low), (low, high), (high, high), (high, low)]
        quads = np.stack([flat[corner] for corner in corners], axis=2) - _MARGIN
        mean, near = (np.mean([of[corner] for corner in corners], axis=0) for of in (height, depth))
        colors, draw = colored(mean, scale), ImageDraw.Draw(image)
        shown = np.isfinite(mean)
        order = np.argsort(near[shown], kind="stable")
        shapes = (quads[shown][order] * per_unit).reshape(-1, 8).tolist()
        for shape, color in zip(shapes, colors[shown][order].tolist(), strict=True):
            draw.polygon(shape, fill=tuple(color), outline=tuple(color))
        self._pixels(np.asarray(image))


def _between(
    values: Floats | Mask,
    x: Floats,
    y: Floats,
    window: tuple[Floats, Floats],
    size: tuple[int, int],
) -> NDArray[np.float32]:
    """Return pixels of a window, from its upper left, between values at even nodes; 0 beyond."""
    (left, low), (right, high) = window
    across = _stretched(values.astype(np.float32).T, x, left, right, size[0])
    return _stretched(across.T, y, high, low, size[1])


def _stretched(
    values: NDArray[np.float32], nodes: Floats, first: float, last: float, n: int
) -> NDArray[np.float32]:
    """Return values along the first axis at n pixels from a first to a last place."""
    at = first + (np.arange(n) + 0.5) / n * (last - first)
    at, most = (at - nodes[0]) / (nodes[1] - nodes[0]), len(nodes) - 1
    below = np.floor(at).astype(np.intp)
    low, high = (values[k.clip(0, most)] for k in (below, below + 1))
    low += (at - below).astype(np.float32)[:, None] * (high - low)
    low[(at < -0.5) | (at >= most + 0.5)] = 0
    return np.asarray(low)


def _row_colors(rows: MapRows, scale: ColorScale) -> NDArray[np.uint8]:
    """Return the colours of rows, grey and faint where too few are near."""
    colors = colored(scale.of(np.where(rows.known, rows.colored, np.nan)), scale)
    colors[~rows.known, :3] = channels(NEUTRAL["light"])
    colors[:, 3] = np.rint(255 * rows.strength * np.where(rows.known, 1.0, _UNKNOWN))
    return colors


def colored(values: NDArray[np.floating], scale: ColorScale) -> NDArray[np.uint8]:
    """Return the colours of numbers of a scale, shape (…, 4): clear where nothing is known."""
    share = (values - scale.low) / (scale.limit - scale.low)
    table = np.zeros((_N_SHADES + 1, 4), np.uint8)
    table[:-1] = np.insert(shades(scale.colors("light"), _N_SHADES), 3, 255, axis=1)
    place = np.nan_to_num(np.rint(share.clip(0, 1) * (_N_SHADES - 1)), nan=_N_SHADES)
    return np.asarray(table.take(place.astype(np.int16), axis=0))


def _foot(scale: ColorScale, width: float, size: float) -> Drawing:
    """Draw the scale below a map: a bar with numbers, or names with a colour each."""
    table, n_names = shades(scale.colors("light"), _N_SHADES), getattr(scale, "n_names", 0)
    if not n_names:
        return color_bar(scale.title, scale.ticks, table, width, size, scale.contours)
    names = [name for _, name in scale.ticks]
    places, line = flow(names, width, size, 2.4 * size), 1.4 * size
    foot = Drawing(width, (places[-1][0] + 2) * line, "", type_size=size)
    foot.add(Words(scale.title, _MARGIN, size, bold=True))
    for k, (name, (row, x)) in enumerate(zip(names, places, strict=True)):
        color, top = table[int((k + 0.5) / n_names * (_N_SHADES - 1))], (row + 1) * line
        foot.add(Pixels(color[None, None], x, top + 0.3 * size, 0.8 * size, 0.8 * size))
        foot.add(Words(name, x + 1.1 * size, top + size))
    return foot
