"""The landscape by Plotly: on a flat map, as height over it, or rows in space."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

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
from lore_core.figures.plotly.frame import Sheet, color_bar, frame, hover_text
from lore_core.figures.style import INK, NEUTRAL, PAPER, Mode, escape, rgba
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE
from lore_core.regions.field import Field


def landscape(picture: LandscapePicture, mode: Mode, height: int) -> go.Figure:
    """Draw the field, the rows over it, and what is named."""
    figure, ink, field = Sheet(), INK[mode], picture.field
    color = color_axis(picture.scale, mode)
    if field is not None:
        # Without a line around all rows a small bin floats in nowhere.
        faint = {"color": rgba(NEUTRAL[mode], 0.45), "width": 1, "smoothing": 1.3}
        figure.add_trace(_contour(field.x, field.y, field.context, faint, "all rows"))
        figure.add_trace(_raster(field, picture.scale, color))
    if picture.points is not None:
        shown = in_points(picture.scale.of(picture.points.error))
        edge = {"width": 0.6, "color": rgba(ink, 0.55)}
        dot = {"size": 5, "color": shown, **color, "showscale": field is None, "line": edge}
        figure.add_trace(dict(type="scattergl", **_dots(picture.points), name="rows", marker=dot))
    if picture.worst is not None:
        # A few rings as SVG: a WebGL layer for them alone would double the time of a redraw.
        ring = {"size": 9, "color": "rgba(0,0,0,0)", "line": {"width": 1.4, "color": ink}}
        figure.add_trace(
            dict(type="scatter", **_dots(picture.worst), name="worst rows", marker=ring)
        )
    frame(figure, picture, mode, height=height)
    font = {"size": 11, "color": NEUTRAL[mode]}
    for number, ends, update in zip(
        (1, 2), picture.extent, (figure.update_xaxes, figure.update_yaxes), strict=True
    ):
        title = {"text": f"{picture.axes} {number}", "font": font}
        update(title=title, showgrid=False, showticklabels=False, ticks="", range=ends)
    figure.update_yaxes(scaleanchor="x", scaleratio=1)
    figure.update_layout(uirevision=picture.axes)
    _add_names(figure, picture, mode)
    for sign, region in picture.lasso.parts:
        corners = zip(region.x, region.y, strict=True)
        path = " L ".join(f"{x:.6g},{y:.6g}" for x, y in corners)
        line = {"color": ink, "dash": "dash" if sign > 0 else "dot", "width": 2}
        figure.add_shape(type="path", path=f"M {path} Z", line=line)
    return figure.figure()


def color_axis(scale: ErrorScale, mode: Mode) -> dict[str, Any]:
    """Options of a marker or surface whose colour is an error, with its bar."""
    ticks = [(at * POINTS.scale, words) for at, words in scale.ticks]
    bar = color_bar(scale.title, ticks, length=0.72, x=1.0, xpad=8, y=0.5)
    ends = {"cmin": scale.low * POINTS.scale, "cmax": scale.limit * POINTS.scale}
    return {"colorscale": scale.colors(mode), **ends, "colorbar": bar}


def in_points(error: Floats) -> NDArray[np.float32]:
    """Return errors as they are drawn."""
    return (error * POINTS.scale).astype(np.float32)


def _raster(field: Field, scale: ErrorScale, color: dict[str, Any]) -> dict[str, Any]:
    said = "local error %{z:+.1f} points" if scale.is_signed else "LCE %{z:.1f} points"
    return {
        "type": "heatmap",
        "x": field.x.astype(np.float32),
        "y": field.y.astype(np.float32),
        "z": in_points(scale.of(field.signed)),
        "customdata": np.round(field.effective_size).astype(np.float32),
        "zmin": color["cmin"],
        "zmax": color["cmax"],
        "colorscale": color["colorscale"],
        "colorbar": color["colorbar"],
        "hoverongaps": False,
        "zsmooth": False,
        "name": "field",
        "hovertemplate": f"{said}<br>%{{customdata:.0f}} effective neighbours<extra></extra>",
    }


def _dots(rows: MapRows) -> dict[str, Any]:
    return {
        "x": rows.at[:, 0].astype(np.float32),
        "y": rows.at[:, 1].astype(np.float32),
        "mode": "markers",
        "customdata": rows.row.astype(np.int32),
        "hovertext": [hover_text(item) for item in rows.hover],
        "hoverinfo": "text",
    }


def _contour(
    x: Floats, y: Floats, inside: Floats | Mask, line: dict[str, Any], name: str
) -> dict[str, Any]:
    """Draw a line where a raster crosses ½."""
    return {
        "type": "contour",
        "x": x.astype(np.float32),
        "y": y.astype(np.float32),
        "z": inside.astype(np.float32),
        "contours": {"coloring": "none", "start": 0.5, "end": 0.5, "size": 1.0},
        "line": line,
        "showscale": False,
        "hoverinfo": "skip",
        "name": name,
    }


def _add_names(figure: Sheet, picture: LandscapePicture, mode: Mode) -> None:
    """Outline the regions, and write their numbers and what else has a name."""
    ink, paper = INK[mode], PAPER[mode]
    for region in picture.regions:
        line = {"color": ink, "width": 2, "smoothing": 1.0}
        outline, name = region.outline, f"region {escape(region.name)}"
        figure.add_trace(_contour(outline.x, outline.y, outline.inside, line, name))
    written: list[tuple[Any, ...]] = [
        (region.name, *region.at, None, paper, ink) for region in picture.regions
    ] + [(place.name, *place.at, place.up, ink, rgba(paper, 0.7)) for place in picture.places]
    for name, x, y, up, color, ground in written:
        figure.add_annotation(
            x=x,
            y=y,
            yshift=up,
            text=escape(name),
            showarrow=False,
            font={"size": 12, "color": color},
            bgcolor=ground,
            borderpad=2,
        )


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
            for dots in _dots_in_space(picture.points, picture.scale, color, mode):
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


def _dots_in_space(
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
