"""The landscape by Plotly: on a flat map, as height over it, or rows in space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Mask
from lore_core.data.number_text import POINTS
from lore_core.figures.plotly.frame import Options, annotation, color_bar, figure, frame, hover_text
from lore_core.figures.style import ACCENT, INK, NEUTRAL, PALE, PAPER, Mode, escape, rgba
from lore_core.regions.field import Field, Outline
from lore_core.regions.selection import Region

if TYPE_CHECKING:
    from lore_core.figures.pictures.landscape_picture import (
        Camera,
        ColorScale,
        LandscapePicture,
        MapRows,
    )

#: Diagonal of a box that a chart shows whole.
_DIAGONAL = 2.2
#: How far from the middle the eye is.
_EYE = 2.1


def landscape(picture: LandscapePicture) -> go.Figure:
    """Draw the field, the rows over it, and what is named."""
    mode, field, traces = picture.mode, picture.field, []
    ink, color = INK[mode], color_axis(picture.scale, mode)
    if field is not None:
        # Without a line around all rows a small bin floats in nowhere.
        faint = {"color": rgba(NEUTRAL[mode], 0.45), "width": 1, "smoothing": 1.3}
        traces.append(_contour(field.x, field.y, field.context, faint, "all rows"))
        traces.append(_raster(field, picture.scale, color) | {"opacity": picture.strength})
        traces += [] if picture.vivid is None else [_veil(picture.vivid, mode)]
    for name, rows in (("rows", picture.points), ("selected rows", picture.highlighted)):
        if rows is not None:
            shown = in_points(picture.scale.of(rows.colored))
            edge = {"width": 0.6, "color": rgba(ink, 0.55)}
            dot = {"size": 5, "color": shown, **color, "showscale": field is None, "line": edge}
            dot["opacity"] = rows.strength
            traces.append(_dots(rows, "scattergl", dot, name=name))
    if picture.worst is not None:
        # A few rings as SVG: a WebGL layer for them alone would double the time of a redraw.
        traces.append(_dots(picture.worst, "scatter", _ring(9, ink, 1.4), name="worst rows"))
    rings = [(dots.at, _ring(7, dots.color, 1.6)) for dots in picture.dots]
    if picture.picked:
        rings.append((np.array([picture.picked]), _ring(18, ACCENT[mode], 3)))
    for at, ring in rings:
        marks = {"type": "scatter", "mode": "markers", "hoverinfo": "skip", "marker": ring}
        traces.append(marks | dict(zip("xy", at.astype(np.float32).T, strict=True)))
    layout = frame(picture)
    font, ends = {"size": 11, "color": NEUTRAL[mode]}, picture.extent or (None, None)
    for axis, name, span in zip(("xaxis", "yaxis"), picture.axis_names, ends, strict=True):
        bare = {"showgrid": False, "showticklabels": False, "ticks": ""}
        layout[axis] |= {"title": {"text": name, "font": font}, "range": span, **bare}
    layout["yaxis"] |= {"scaleanchor": "x", "scaleratio": 1}
    for region in picture.regions:
        line, outline = {"color": ink, "width": 2, "smoothing": 1.0}, region.outline
        name = f"region {escape(region.name)}"
        traces.append(_contour(outline.x, outline.y, outline.inside, line, name))
    layout |= {
        "uirevision": picture.axes,
        "annotations": _names(picture) or None,
        "shapes": [_drawn_part(sign, part, ink) for sign, part in picture.lasso.parts] or None,
    }
    return figure(traces, layout)


def _veil(vivid: Outline, mode: Mode) -> Options:
    """Make pale what is outside significant subgroups."""
    return {
        "type": "heatmap",
        "x": vivid.x.astype(np.float32),
        "y": vivid.y.astype(np.float32),
        "z": np.where(vivid.inside > 0.5, np.nan, 1.0).astype(np.float32),
        "colorscale": [(0, PAPER[mode]), (1, PAPER[mode])],
        "opacity": 1 - PALE,
        "showscale": False,
        "hoverinfo": "skip",
        "name": "in no significant subgroup",
    }


def _ring(size: float, color: str, width: float) -> Options:
    return {"size": size, "color": "rgba(0,0,0,0)", "line": {"width": width, "color": color}}


def _drawn_part(sign: int, region: Region, ink: str) -> Options:
    path = " L ".join(f"{x:.6g},{y:.6g}" for x, y in zip(region.x, region.y, strict=True))
    line = {"color": ink, "dash": "dash" if sign > 0 else "dot", "width": 2}
    return {"type": "path", "path": f"M {path} Z", "line": line}


def color_axis(scale: ColorScale, mode: Mode) -> Options:
    """Options of a marker or surface whose colour is an error, with its bar."""
    ticks, (low, high) = [(at * POINTS.scale, words) for at, words in scale.ticks], _ends(scale)
    bar = color_bar(scale.title, ticks, length=0.72, x=1.0, xpad=8, y=0.5)
    return {"colorscale": scale.colors(mode), "cmin": low, "cmax": high, "colorbar": bar}


def _ends(scale: ColorScale) -> list[float]:
    return [scale.low * POINTS.scale, scale.limit * POINTS.scale]


def in_points(error: Floats) -> NDArray[np.float32]:
    """Return errors as they are drawn."""
    return (error * POINTS.scale).astype(np.float32)


def _raster(field: Field, scale: ColorScale, color: Options) -> Options:
    text = "local error %{z:+.1f} points" if scale.is_signed else "LCE %{z:.1f} points"
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
        "hovertemplate": f"{text}<br>%{{customdata:.0f}} effective neighbours<extra></extra>",
    }


def _dots(
    rows: MapRows, kind: str, marker: Options, *, name: str | None = None, which: Mask | None = None
) -> Options:
    chosen = np.flatnonzero(np.ones(len(rows.row), dtype=bool) if which is None else which)
    return {
        "type": kind,
        **dict(zip("xyz", rows.at[chosen].astype(np.float32).T, strict=False)),
        "mode": "markers",
        "customdata": rows.row[chosen].astype(np.int32),
        "hovertext": [hover_text(rows.hover[k]) for k in chosen],
        "hoverinfo": "text",
        "name": name,
        "marker": marker,
    }


def _contour(x: Floats, y: Floats, inside: Floats | Mask, line: Options, name: str) -> Options:
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


def _names(picture: LandscapePicture) -> list[Options]:
    ink, paper = INK[picture.mode], PAPER[picture.mode]
    regions = [(item.name, item.at, None, paper, item.color or ink) for item in picture.regions]
    names = [(item.name, item.at, item.up, ink, rgba(paper, 0.7)) for item in picture.labels]
    return [
        annotation(escape(name), 12, color, x=at[0], y=at[1], yshift=up, bgcolor=on, borderpad=2)
        for name, at, up, color, on in (*regions, *names)
    ]


def space(picture: LandscapePicture) -> go.Figure:
    """Draw rows in 3-D, or the error as height."""
    mode, camera, traces = picture.mode, picture.camera, list[Options]()
    assert camera is not None  # maps alone have none
    color, scale = color_axis(picture.scale, mode), picture.scale
    ends: list[Any] = [*picture.ends]
    if picture.view == "space":
        if picture.points is not None:
            traces += _dots_in_space(picture.points, scale, color, mode)
        if picture.worst is not None:
            ring = {"size": 7, "symbol": "circle-open", "color": INK[mode]}
            traces.append(_dots(picture.worst, "scatter3d", ring))
    else:
        ends[2] = _ends(scale)
        if picture.field is not None:
            traces.append(_surface(picture.field, scale, color))
    scene = _scene(picture.axis_names, ends, mode)
    if picture.view == "height":
        scene["zaxis"]["showticklabels"] = True
    placed = [(of.name, dict(zip("xyz", of.at, strict=True))) for of in picture.labels]
    on = rgba(PAPER[mode], 0.7)
    scene["annotations"] = [
        annotation(escape(name), 12, INK[mode], **at, bgcolor=on) for name, at in placed
    ]
    layout = frame(picture) | {"scene": scene | _boxed(picture.sides, camera)}
    return figure(traces, layout | {"uirevision": f"{picture.axes} {camera}"})


def _boxed(sides: Floats, camera: Camera) -> Options:
    ratio = _DIAGONAL * camera.zoom * sides
    right, up, toward = camera.axes
    middle = 0.8 * _DIAGONAL * camera.zoom * (camera.right * right + camera.up * up)
    return {
        "aspectmode": "manual",
        "aspectratio": _xyz(ratio),
        "camera": {
            "projection": {"type": "orthographic"},
            "center": _xyz(middle),
            "eye": _xyz(middle + _EYE * toward),
            "up": _xyz(up),
        },
    }


def _xyz(vector: Floats) -> dict[str, float]:
    return dict(zip("xyz", vector.tolist(), strict=True))


def _dots_in_space(rows: MapRows, scale: ColorScale, color: Options, mode: Mode) -> list[Options]:
    """Draw rows in colour; the error of those with too few neighbours is not known."""
    known = rows.known
    shown = {"color": in_points(scale.of(rows.colored[known])), "showscale": True, **color}
    drawn = [_dots(rows, "scatter3d", {"size": 3, "opacity": 0.85, **shown}, which=known)]
    if not known.all():
        faint = {"size": 2, "opacity": 0.35, "color": NEUTRAL[mode]}
        drawn.append(_dots(rows, "scatter3d", faint, which=~known))
    return drawn


def _surface(field: Field, scale: ColorScale, color: Options) -> Options:
    error = in_points(scale.of(field.signed))
    return {
        "type": "surface",
        "x": field.x.astype(np.float32),
        "y": field.y.astype(np.float32),
        "z": error,
        "surfacecolor": error,
        "hovertemplate": "%{z:.1f} points<extra></extra>",
        "connectgaps": False,
        "lighting": {"ambient": 1, "diffuse": 0, "specular": 0, "fresnel": 0},  # else it fades
        **color,
    }


def _scene(axes: Sequence[str], ends: list[Any], mode: Mode) -> Options:
    plain = {
        "showbackground": False,
        "gridcolor": rgba(NEUTRAL[mode], 0.3),
        "zeroline": False,
        "showticklabels": False,
        "color": NEUTRAL[mode],
    }
    named = {
        f"{letter}axis": {**plain, "title": {"text": name}, "range": end}
        for letter, name, end in zip("xyz", axes, ends, strict=True)
    }
    return {**named, "bgcolor": PAPER[mode]}
