"""The landscape in space: rows of a 3-D embedding, or the error as height over a map."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from lore_core.data.arrays import Floats, Mask
from lore_core.data.number_text import POINTS
from lore_core.figures.pictures.landscape_picture import (
    CAMERAS,
    Camera,
    ErrorScale,
    LandscapePicture,
    MapRows,
    PlaceName,
)
from lore_core.figures.plotly.frame import frame, hover_text
from lore_core.figures.plotly.landscape import color_axis, in_points
from lore_core.figures.plotly.sheet import Sheet
from lore_core.figures.style import INK, NEUTRAL, PAPER, Mode, escape, rgba
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE
from lore_core.regions.field import Field

#: Sides of the box of a height, and the diagonal of a box of rows that a chart shows whole.
_FLAT = {"x": 1.3, "y": 1.3, "z": 0.6}
_DIAGONAL = 2.2
#: How far from the middle the eye is.
_EYE = 2.1


def space(picture: LandscapePicture, mode: Mode, height: int) -> go.Figure:
    """Draw rows in 3-D, or the error as height."""
    figure = Sheet()
    camera = picture.camera or CAMERAS["corner"]
    shape: dict[str, Any]
    axes, color = picture.axes, color_axis(picture.scale, mode)
    if picture.view == "space":
        names, shape = [f"{axes} {number}" for number in (1, 2, 3)], _boxed(picture.extent, camera)
        if picture.points is not None:
            for dots in _dots(picture.points, picture.scale, color, mode):
                figure.add_trace(dots)
        if picture.worst is not None:
            figure.add_trace(_rings(picture.worst, mode))
    else:
        names, shape = [f"{axes} 1", f"{axes} 2", picture.scale.title], {"aspectratio": _FLAT}
        shape["camera"] = {"eye": _xyz(_EYE * camera.axes[2])}
        if picture.field is not None:
            figure.add_trace(_sheet(picture.field, picture.scale, color))
    frame(figure, picture, mode, height=height)
    scene = _scene(names, mode)
    if picture.view == "height":
        ends = [end * POINTS.scale for end in (picture.scale.low, picture.scale.limit)]
        scene["zaxis"] |= {"showticklabels": True, "range": ends}
    for name, ends in shape.pop("ranges", {}).items():
        scene[name]["range"] = ends
    scene["annotations"] = [_named(place, mode) for place in picture.places]
    figure.update_layout(scene=scene | shape, uirevision=f"{axes} {camera}")
    return figure.figure()


def _boxed(extent: tuple[tuple[float, float], ...], camera: Camera) -> dict[str, Any]:
    """Return what shows a box of rows to scale, as a camera sees it."""
    sides = np.diff(np.array(extent), axis=1)[:, 0]
    ratio = _DIAGONAL * camera.zoom * sides / np.linalg.norm(sides)
    right, up, toward = camera.axes
    middle = 0.8 * _DIAGONAL * camera.zoom * (camera.right * right + camera.up * up)
    return {
        "aspectmode": "manual",
        "aspectratio": _xyz(ratio),
        "ranges": dict(zip(("xaxis", "yaxis", "zaxis"), extent, strict=True)),
        "camera": {
            "projection": {"type": "orthographic"},
            "center": _xyz(middle),
            "eye": _xyz(middle + _EYE * toward),
            # Seen from straight above, the upright says nothing of what is up.
            "up": _xyz(up),
        },
    }


def _xyz(vector: Floats) -> dict[str, float]:
    return dict(zip("xyz", vector.tolist(), strict=True))


def _named(place: PlaceName, mode: Mode) -> dict[str, Any]:
    x, y, z = place.at
    return {
        "x": x,
        "y": y,
        "z": z,
        "text": escape(place.name),
        "showarrow": False,
        "font": {"size": 12, "color": INK[mode]},
        "bgcolor": rgba(PAPER[mode], 0.7),
    }


def _rings(rows: MapRows, mode: Mode) -> dict[str, Any]:
    every = np.ones(len(rows.row), dtype=bool)
    return _markers(rows, every, {"size": 7, "symbol": "circle-open", "color": INK[mode]})


def _dots(
    rows: MapRows, scale: ErrorScale, color: dict[str, Any], mode: Mode
) -> list[dict[str, Any]]:
    """Draw rows in the colour of their error; of those with too few neighbours it is not known."""
    known = rows.effective_size >= MIN_EFFECTIVE_SIZE
    shown = {"color": in_points(scale.of(rows.error[known])), "showscale": True, **color}
    drawn = [_markers(rows, known, {"size": 3, "opacity": 0.85, **shown})]
    if not known.all():
        drawn.append(_markers(rows, ~known, {"size": 2, "opacity": 0.35, "color": NEUTRAL[mode]}))
    return drawn


def _markers(rows: MapRows, which: Mask, marker: dict[str, Any]) -> dict[str, Any]:
    x, y, z = rows.at[which].astype(np.float32).T
    return {
        "type": "scatter3d",
        "x": x,
        "y": y,
        "z": z,
        "mode": "markers",
        "marker": marker,
        "hovertext": [hover_text(rows.hover[k]) for k in np.flatnonzero(which)],
        "hoverinfo": "text",
        "customdata": rows.row[which].astype(np.int32),
    }


def _sheet(field: Field, scale: ErrorScale, color: dict[str, Any]) -> dict[str, Any]:
    return dict(
        type="surface",
        x=field.x.astype(np.float32),
        y=field.y.astype(np.float32),
        z=in_points(scale.of(field.signed)),
        surfacecolor=in_points(scale.of(field.signed)),
        hovertemplate="%{z:.1f} points<extra></extra>",
        connectgaps=False,
        lighting={"ambient": 0.75, "diffuse": 0.5, "specular": 0.05},
        **color,
    )


def _scene(axes: list[str], mode: Mode) -> dict[str, Any]:
    plain = {
        "showbackground": False,
        "gridcolor": rgba(NEUTRAL[mode], 0.3),
        "zeroline": False,
        "showticklabels": False,
        "color": NEUTRAL[mode],
    }
    named = {
        f"{letter}axis": {**plain, "title": {"text": name}}
        for letter, name in zip("xyz", axes, strict=True)
    }
    return {**named, "bgcolor": PAPER[mode]}
