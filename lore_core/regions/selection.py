"""Selections drawn on the map: which rows lie in them, and what is true of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.number_text import gap_words, percent, rows_words
from lore_core.data.units import FEW_UNITS, as_units, by_unit, chosen_units, mean_values
from lore_core.data.validation import InputError, Points, as_coordinates, as_rows
from lore_core.data.weights import as_weights, chosen_weights
from lore_core.metrics.global_metrics import share_interval
from lore_core.metrics.means import mean_interval

Direction = tuple[float, float, float]


@dataclass(frozen=True)
class Region:
    """A polygon on a 2-D map, or on a plane on which a 3-D one is seen."""

    #: Corners, in order; the last joins the first.
    x: tuple[float, ...]
    y: tuple[float, ...]
    #: Of a 3-D map: directions along which x and y count, at whatever depth. None: of a 2-D map.
    axes: tuple[Direction, Direction] | None = None

    def __post_init__(self) -> None:
        if self.axes is not None:
            (a, b, c), (d, e, f) = self.axes
            object.__setattr__(self, "axes", ((a, b, c), (d, e, f)))
        if len(self.x) != len(self.y) or len(self.x) < 3:
            raise InputError(
                f"a region must have at least 3 corners; got {len(self.x)} x and {len(self.y)} y."
            )

    @property
    def n_dimensions(self) -> int:
        """Dimensions of the map it lies on."""
        return 2 if self.axes is None else 3

    @classmethod
    def box(cls, x: ArrayLike, y: ArrayLike) -> Region:
        """Return the rectangle between two x and two y values."""
        (x0, x1), (y0, y1) = np.sort(np.asarray(x, float)), np.sort(np.asarray(y, float))
        return cls((x0, x1, x1, x0), (y0, y0, y1, y1))

    def contains(self, coordinates: Points) -> Mask:
        """Return which points lie inside, by the even–odd rule, shape (n,)."""
        z = as_coordinates(coordinates, "coordinates")
        if z.shape[1] != self.n_dimensions:
            raise InputError(
                f"this region lies on a {self.n_dimensions}-D map; got {z.shape[1]} dimensions."
            )
        if self.axes is None:
            px, py = z.T
        else:
            # In this order, as a browser adds them: both must count the same rows.
            px, py = (z[:, 0] * a + z[:, 1] * b + z[:, 2] * c for a, b, c in self.axes)
        inside = np.zeros(len(z), dtype=bool)
        x, y = np.asarray(self.x), np.asarray(self.y)
        for x0, y0, x1, y1 in zip(x, y, np.roll(x, -1), np.roll(y, -1), strict=True):
            if y0 == y1:
                continue
            # A ray to the right of the point crosses this edge.
            crosses = (y0 > py) != (y1 > py)
            inside ^= crosses & (px < x0 + (py - y0) * ((x1 - x0) / (y1 - y0)))
        return inside


@dataclass(frozen=True)
class Selection:
    """Regions of which each adds its points or takes them away, one after the other."""

    parts: tuple[tuple[int, Region], ...] = ()  #: +1 adds, −1 takes away

    def __bool__(self) -> bool:
        return bool(self.parts)

    def contains(self, coordinates: Points) -> Mask:
        """Return which points are selected, shape (n,)."""
        z = as_coordinates(coordinates, "coordinates")
        selected = np.zeros(len(z), dtype=bool)
        for sign, region in self.parts:
            selected[region.contains(z)] = sign > 0
        return selected

    def fits(self, n_dimensions: int) -> bool:
        """Whether all of it lies on a map of so many dimensions."""
        return all(region.n_dimensions == n_dimensions for _, region in self.parts)

    @classmethod
    def from_parts(cls, parts: Iterable[Mapping[str, Any]]) -> Selection:
        """Take what a browser says was drawn: ``sign, x, y`` of each part, in space ``axes``."""
        return cls(
            tuple(
                (
                    1 if part["sign"] > 0 else -1,
                    Region(tuple(part["x"]), tuple(part["y"]), part.get("axes")),
                )
                for part in parts
            )
        )

    @property
    def text(self) -> str:
        """The selection as short text, for a link."""
        return ";".join(
            ("+" if sign > 0 else "-")
            + ("" if region.axes is None else _numbers(region.axes) + "~")
            + _numbers(zip(region.x, region.y, strict=True))
            for sign, region in self.parts
        )

    @classmethod
    def from_text(cls, text: str) -> Selection:
        """Read :attr:`text`. Raises InputError if it is no selection."""
        try:
            return cls(tuple(map(_part, filter(None, text.split(";")))))
        except (ValueError, TypeError) as error:
            raise InputError(f"{text!r} is no selection.") from error


def _part(text: str) -> tuple[int, Region]:
    axes, _, corners = text[1:].rpartition("~")
    x, y = zip(*_vectors(corners), strict=True)
    directions: Any = _vectors(axes) if axes else None
    return (-1 if text[0] == "-" else 1), Region(x, y, directions)


def _numbers(vectors: Iterable[Sequence[float]]) -> str:
    return "_".join(",".join(f"{number:.6g}" for number in vector) for vector in vectors)


def _vectors(text: str) -> list[list[float]]:
    return [[float(number) for number in vector.split(",")] for vector in text.split("_")]


@dataclass(frozen=True)
class RegionReport:
    """Mean confidence and accuracy of a set of rows."""

    n_rows: int  #: Rows in the set
    #: Their means; NaN for an empty set.
    confidence: float
    accuracy: float
    #: Mean confidence − accuracy with its 95 % interval (Wilson; of rows of many units Student's,
    #: cluster-robust); positive: overconfident.
    gap: float
    gap_low: float
    gap_high: float

    @property
    def sentence(self) -> str:
        """The report in plain words."""
        if self.n_rows == 0:
            return "No rows lie in this region."
        if self.gap_low > 0:
            lean = "overconfident"
        elif self.gap_high < 0:
            lean = "underconfident"
        else:
            lean = "not significantly miscalibrated on average"
        gap = gap_words(self.gap, self.gap_low, self.gap_high)
        return (
            f"{rows_words(self.n_rows)}: mean confidence {percent(self.confidence)}, accuracy "
            f"{percent(self.accuracy)}; gap {gap}: {lean}."
        )


def region_report(
    confidence: ArrayLike,
    outcome: ArrayLike,
    inside: Mask,
    *,
    weights: ArrayLike | None = None,
    units: ArrayLike | None = None,
) -> RegionReport:
    """Sum up the rows of a region.

    ``confidence, outcome`` (n,): all rows. ``inside`` (n,): mask of the region's rows. ``weights``
    (n,): what each row counts for, above 0. ``units`` (n,): whose rows go together.
    """
    c, a = as_rows(confidence, outcome, inside=inside)
    n = int(inside.sum())
    if n == 0:
        return RegionReport(0, *[np.nan] * 5)
    w = chosen_weights(as_weights(weights, len(c)), inside)
    u = chosen_units(as_units(units, len(c)), inside)
    confidence = float(np.average(c[inside], weights=w))
    accuracy, low, high = share_interval(a[inside], w, u)
    gaps = confidence - accuracy, confidence - high, confidence - low
    if u is not None and u.max() + 1 >= FEW_UNITS:
        gaps = mean_interval(by_unit(c[inside] - a[inside], w, u))
    return RegionReport(n, confidence, accuracy, *gaps)


def change_report(
    confidence: Floats,
    outcome: Floats,
    inside: Mask,
    *,
    weights: Floats | None = None,
    units: Ints | None = None,
) -> RegionReport:
    """Sum up what another model changes at the rows of a region.

    ``confidence, outcome`` (n,): its own less those of the first; other arguments and what is
    returned: see :func:`region_report`; the interval is Student's.
    """
    c, a = confidence[inside], outcome[inside]
    w, u = chosen_weights(weights, inside), chosen_units(units, inside)
    means = float(np.average(c, weights=w)), float(np.average(a, weights=w))
    return RegionReport(len(c), *means, *mean_interval(mean_values(c - a, w, u)))
