"""What a landscape shows, as plain objects: fields, rows, outlines, names, one colour scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Mask
from lore_core.data.number_text import points_words
from lore_core.figures.chart import Chart, Seen
from lore_core.figures.pictures.picture import Hover, gap_ticks
from lore_core.figures.style import Mode, Scale, category_scale, diverging, sequential
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE
from lore_core.regions.field import Field, Outline
from lore_core.regions.selection import Selection

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from lore_core.figures.drawing import Drawing

Value = Literal["signed", "absolute"]

#: Sides of the box of a height.
_HEIGHT = (1.3, 1.3, 0.6)
TITLES = {"signed": "Signed local error", "absolute": "Local calibration error (LCE)"}


@dataclass(frozen=True)
class Camera:
    """From where a map in space is seen, without perspective."""

    #: Degrees round the upright and above the floor.
    round: float
    above: float
    #: Shift of the view's middle right and up, in four fifths of the diagonal; magnification.
    right: float = 0.0
    up: float = 0.0
    zoom: float = 1.0

    @classmethod
    def of_plotly(cls, camera: Mapping[str, Mapping[str, float]]) -> Camera:
        """Return the direction from which one of Plotly's looks."""
        eye, middle = (
            np.array([camera[part][axis] for axis in "xyz"]) for part in ("eye", "center")
        )
        x, y, z = (eye - middle).tolist()
        above = np.arcsin(z / max(float(np.linalg.norm(eye - middle)), 1e-9))
        return cls(float(np.rad2deg(np.arctan2(y, x))), float(np.rad2deg(above)))

    @property
    def axes(self) -> tuple[Floats, Floats, Floats]:
        """What is right, up and towards the eye, as directions of length 1."""
        a, e = np.deg2rad([self.round, self.above])
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        up = np.array([-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)])
        return right, up, np.cross(right, up)


#: Known ways to look, by their names; the first is taken at the start.
CAMERAS = {
    "corner": Camera(45, 25),
    "top": Camera(-90, 90),
    "front": Camera(-90, 14),
    "side": Camera(0, 14),
}


@dataclass(frozen=True)
class ErrorScale:
    """Which colour means which error."""

    value: Value  #: SLCE on a diverging scale, or LCE on a sequential one
    limit: float  #: End of the scale
    is_change: bool = False  #: Whether it is of errors minus earlier ones

    @property
    def is_signed(self) -> bool:
        """Whether both signs are shown."""
        return self.value == "signed"

    @property
    def low(self) -> float:
        """Where the scale begins."""
        return -self.limit if self.is_signed else 0.0

    @property
    def title(self) -> str:
        """What its numbers are."""
        if self.is_change:
            return "change of confidence − accuracy, points"
        return f"{'confidence − accuracy' if self.is_signed else 'LCE'}, points"

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Values of the scale, and what is written at each."""
        if self.is_signed:
            ticks = gap_ticks(self.limit)
            return (
                tuple((at, words.split("\n")[0]) for at, words in ticks) * self.is_change or ticks
            )
        return tuple((at, points_words(at)) for at in (0.0, self.limit / 2, self.limit))

    def colors(self, mode: Mode) -> Scale:
        """Return its colours from end to end."""
        return diverging(mode) if self.is_signed else sequential(mode)

    @property
    def contours(self) -> tuple[tuple[float, bool], ...]:
        """Errors along which print has lines: without colours both ends are dark."""
        at = self.limit / 4
        return ((at, True), (-at, False)) if self.is_signed else ()

    def of(self, signed: Floats) -> Floats:
        """Return what is shown of signed errors."""
        return signed if self.is_signed else np.abs(signed)


@dataclass(frozen=True, eq=False)
class RowColors:
    """Colours of rows by a column instead of their error: a scale from 0 to 1, and their places."""

    title: str
    values: Floats  #: (n,); places on the scale, NaN where unknown
    ticks: tuple[tuple[float, str], ...]  #: Places on the scale, and what is written at each
    #: How many names share the scale, a colour each; 0: numbers.
    n_names: int = 0
    is_signed: Literal[False] = False
    contours: tuple[()] = ()
    low: float = 0.0
    limit: float = 1.0

    def colors(self, mode: Mode) -> Scale:
        """Return its colours from end to end."""
        names = self.n_names
        return category_scale(mode, names) if names else sequential(mode, of_column=True)

    def of(self, places: Floats) -> Floats:
        """Return what is shown of places: themselves."""
        return places


#: Which colour means what: an error, or a column.
ColorScale = ErrorScale | RowColors


@dataclass(frozen=True)
class MapRows:
    """Rows drawn one by one."""

    row: NDArray[np.int64]  #: (m,); their numbers
    at: Floats  #: (m, d); their places on the map
    #: (m,); their signed local errors, and n_eff behind each.
    error: Floats
    effective_size: Floats
    hover: tuple[Hover, ...]  #: What is known about each
    #: (m,); places on the colour scale, where that is not the error's.
    places: Floats | None = None
    strength: Floats | float = 1.0  #: (m,); opacities

    @property
    def colored(self) -> Floats:
        """What the colour says."""
        return self.error if self.places is None else self.places

    @property
    def known(self) -> Mask:
        """Whose colour is known: an error needs enough neighbours."""
        enough = self.effective_size >= MIN_EFFECTIVE_SIZE
        return np.isfinite(self.colored) & (enough | (self.places is not None))


@dataclass(frozen=True, eq=False)
class MapDots:
    """Rows that stand out as rings of one colour."""

    color: str
    at: Floats  #: (m, d); places on the map


@dataclass(frozen=True)
class Layer:
    """Fields of one set of rows, one for each bandwidth of the picture."""

    name: str  #: Which rows, in words
    fields: tuple[Field, ...]  #: Their errors
    note: str = ""  #: What is said under the picture while they are shown
    n_rows: int = 0  #: How many rows these are


@dataclass(frozen=True)
class OutlinedRegion:
    """A region that was found: its name, where to write it, and where the region lies."""

    name: str
    at: tuple[float, float]
    outline: Outline
    color: str = ""  #: Of its name; "": that of text

    @property
    def lines(self) -> Floats:
        """Pieces of its outline: x0, y0, x1, y1 of each."""
        return segments(self.outline.x, self.outline.y, self.outline.inside)


@dataclass(frozen=True)
class MapLabel:
    """A name on the map: ``up`` pixels above its place, so that it covers no other."""

    name: str
    at: tuple[float, ...]
    up: float = 0.0


@dataclass(frozen=True, kw_only=True)
class LandscapePicture(Chart):
    """The signed local error on a map."""

    height: int = 620
    axes: str  #: Name of the map
    #: Colours on a 2-D map, the error as height over it, or rows in 3-D.
    view: Literal["map", "height", "space"] = "map"
    extent: tuple[tuple[float, float], ...] = ()  #: Ends of the axes
    scale: ColorScale  #: Colours, the same for all rows, layers and bandwidths
    layers: tuple[Layer, ...] = ()  #: Sets of rows whose error is drawn as a raster, one at a time
    #: Bandwidths of each layer's fields, and which is shown first; none where there is one field.
    gammas: tuple[float, ...] = ()
    start: int = 0
    #: Rows drawn as dots, and those that are ringed.
    points: MapRows | None = None
    worst: MapRows | None = None
    #: Rows that are shown whatever else is, and rows of one colour.
    highlighted: MapRows | None = None
    dots: tuple[MapDots, ...] = ()
    picked: tuple[float, ...] = ()  #: Where the row is that is looked at
    regions: tuple[OutlinedRegion, ...] = ()  #: Regions that were found
    labels: tuple[MapLabel, ...] = ()  #: Names on the map
    lasso: Selection = field(default_factory=Selection)  #: What the reader has drawn
    #: Where most rows are in significant subgroups; all else is paler. None: nothing is known.
    vivid: Outline | None = None
    strength: float = 1.0  #: Opacity of the field
    n_outside: int = 0  #: Rows outside the ends of the axes
    camera: Camera | None = None  #: Where a view in space is seen from

    @property
    def field(self) -> Field | None:
        """The field that is shown first."""
        return self.layers[0].fields[self.start] if self.layers else None

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        """Ends of the axes, by default those of the field; upright those of the colours."""
        ends = self.extent
        if not ends and self.field is not None:
            nodes = self.field.x, self.field.y
            steps = [(of[1] - of[0]) / 2 for of in nodes]
            ends = tuple(
                (float(of[0] - step), float(of[-1] + step))
                for of, step in zip(nodes, steps, strict=True)
            )
        return (*ends, (self.scale.low, self.scale.limit)) if self.view == "height" else ends

    @property
    def axis_names(self) -> tuple[str, ...]:
        """Names of the axes."""
        first = tuple(f"{self.axes} {number}" for number in (1, 2, 3))
        if self.view == "height":
            return (*first[:2], self.scale.title)
        return first if self.view == "space" else first[:2]

    @property
    def sides(self) -> Floats:
        """Sides of the box of a view in space, for a diagonal of 1."""
        sides = np.array(_HEIGHT) if self.view == "height" else np.ptp(self.ends, axis=1)
        return np.asarray(sides / np.linalg.norm(sides))

    @property
    def ground(self) -> Floats:
        """Pieces of the line around all rows, as of an outline."""
        field = self.field
        assert field is not None  # what has no field has no ground
        return segments(field.x, field.y, field.context.astype(np.float64))

    def contour(self, level: float) -> Floats:
        """Pieces of the lines along which the field has a value other than 0."""
        field = self.field
        assert field is not None  # what has no field has no lines
        share = np.nan_to_num(self.scale.of(field.signed) / (2 * level))
        return segments(field.x, field.y, share)

    def _draw(self) -> go.Figure:
        from lore_core.figures.plotly.landscape import landscape, space

        return landscape(self) if self.view == "map" else space(self)

    def _laid_out(self, width: float, type_size: float, height: float | None) -> Drawing:
        from lore_core.figures.map_layout import landscape_drawing

        shown, seen = self, self.seen or Seen()
        if seen.camera is not None:
            shown = replace(self, camera=Camera.of_plotly(seen.camera))
        if {"xaxis", "yaxis"} <= set(seen.axes):
            shown = replace(self, extent=(seen.axes["xaxis"], seen.axes["yaxis"]))
        return landscape_drawing(shown, width, type_size, height)

    def looked_at(self, view: tuple[float, ...] | None) -> LandscapePicture:
        """Return it as a reader sees a flat map: see :func:`part_of_map`; None: all of it."""
        if view is None:
            return self
        ends = zip(("xaxis", "yaxis"), part_of_map(self.extent, view), strict=True)
        return replace(self, seen=Seen(dict(ends)))

    @property
    def config(self) -> dict[str, Any]:
        """Plotly's settings, where it needs others than all charts."""
        return {"scrollZoom": True} if self.view == "map" else {}


def part_of_map(
    extent: tuple[tuple[float, float], ...], view: tuple[float, ...]
) -> tuple[tuple[float, float], ...]:
    """Return the ends of the part of a map, in its own shape, that is looked at.

    ``view``: shift of its middle, as shares of the whole map's sides, and magnification.
    """
    *moved, zoom = view
    ends, side = np.array(extent), np.ptp(extent, axis=1)
    middle, half = ends.mean(axis=1) + moved * side, side / 2 / zoom
    return tuple(zip((middle - half).tolist(), (middle + half).tolist(), strict=True))


def segments(x: Floats, y: Floats, values: Floats) -> Floats:
    """Find where a raster ``values`` (r, c) crosses ½: marching squares, as straight pieces.

    ``x`` (c,), ``y`` (r,): nodes. Returns x0, y0, x1, y1 of each piece, (s, 4).
    """
    # A border of nothing closes lines at the edge of the raster.
    v = np.pad(values, 1) - 0.5
    xs = np.concatenate([[2 * x[0] - x[1]], x, [2 * x[-1] - x[-2]]])
    ys = np.concatenate([[2 * y[0] - y[1]], y, [2 * y[-1] - y[-2]]])
    up = v > 0
    corners = up[:-1, :-1], up[:-1, 1:], up[1:, 1:], up[1:, :-1]
    i, j = np.nonzero(np.logical_or.reduce(corners) & ~np.logical_and.reduce(corners))
    rows, columns = i[:, None] + [0, 0, 1, 1], j[:, None] + [0, 1, 1, 0]  # round each cell
    value, at = v[rows, columns], np.stack([xs[columns], ys[rows]], axis=-1)
    onward, following = np.roll(value, -1, axis=1), np.roll(at, -1, axis=1)
    crossed = (value > 0) != (onward > 0)
    share = value / np.where(crossed, value - onward, 1.0)
    return np.asarray((at + share[..., None] * (following - at))[crossed]).reshape(-1, 4)
