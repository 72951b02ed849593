"""The landscape in space: rows of a 3-D embedding, or the error as height over a map."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from lore_core.data.number_text import POINTS
from lore_core.figures.pictures.landscape_picture import ErrorScale, LandscapePicture, MapRows
from lore_core.figures.plotly.frame import frame, hover_text
from lore_core.figures.plotly.landscape import color_axis, in_points
from lore_core.figures.plotly.sheet import Sheet
from lore_core.figures.style import NEUTRAL, PAPER, Mode, rgba
from lore_core.regions.field import Field

#: Camera presets: the camera is reset whenever the figure changes.
CAMERAS = {
    "corner": {"x": 1.45, "y": 1.45, "z": 1.0},
    "top": {"x": 0.0, "y": -0.01, "z": 2.1},
    "front": {"x": 0.0, "y": -2.0, "z": 0.5},
    "side": {"x": 2.0, "y": 0.0, "z": 0.5},
}
_FLAT = {"x": 1.3, "y": 1.3, "z": 0.6}


def space(picture: LandscapePicture, mode: Mode, height: int) -> go.Figure:
    """Draw rows in 3-D, or the error as height."""
    figure = Sheet()
    shape: dict[str, Any]
    axes, color = picture.axes, color_axis(picture.scale, mode)
    if picture.view == "space":
        names, shape = [f"{axes} {number}" for number in (1, 2, 3)], {"aspectmode": "data"}
        if picture.points is not None:
            figure.add_trace(_dots(picture.points, picture.scale, color))
    else:
        names, shape = [f"{axes} 1", f"{axes} 2", picture.scale.title], {"aspectratio": _FLAT}
        if picture.field is not None:
            figure.add_trace(_sheet(picture.field, picture.scale, color))
    frame(figure, picture, mode, height=height)
    scene = _scene(names, picture.camera, mode)
    if picture.view == "height":
        ends = [end * POINTS.scale for end in (picture.scale.low, picture.scale.limit)]
        scene["zaxis"] |= {"showticklabels": True, "range": ends}
    figure.update_layout(scene=scene | shape, uirevision=f"{axes} {picture.camera}")
    return figure.figure()


def _dots(rows: MapRows, scale: ErrorScale, color: dict[str, Any]) -> dict[str, Any]:
    x, y, z = rows.at.astype(np.float32).T
    shown = {"color": in_points(scale.of(rows.error)), "showscale": True, **color}
    return {
        "type": "scatter3d",
        "x": x,
        "y": y,
        "z": z,
        "mode": "markers",
        "marker": {"size": 3, "opacity": 0.85, **shown},
        "hovertext": [hover_text(item) for item in rows.hover],
        "hoverinfo": "text",
        "customdata": rows.row.astype(np.int32),
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


def _scene(axes: list[str], camera: str, mode: Mode) -> dict[str, Any]:
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
    return {**named, "camera": {"eye": CAMERAS[camera]}, "bgcolor": PAPER[mode]}
