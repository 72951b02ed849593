"""The landscape: where the confidence is wrong, on a map of the features."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Mask
from lore_core.data.number_text import POINTS
from lore_core.figures.pictures.landscape_picture import ErrorScale, LandscapePicture, MapRows
from lore_core.figures.plotly.frame import color_bar, frame, hover_text
from lore_core.figures.plotly.sheet import Sheet
from lore_core.figures.style import INK, NEUTRAL, PAPER, Mode, escape, rgba
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
