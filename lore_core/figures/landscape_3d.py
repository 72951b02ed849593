"""The landscape in space: rows of a 3-D embedding, or the error as height over a map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from lore_core.figures.landscape import (
    TITLES,
    Value,
    color_axis,
    field_table,
    hover_texts,
    points_table,
    shown_values,
)
from lore_core.figures.style import NEUTRAL, PAPER, Chart, Mode, apply_frame, rgba
from lore_core.regions.field import Field

__all__ = ["CAMERAS", "landscape_3d_figure", "surface_figure"]

#: Camera presets: the camera is reset whenever the figure changes.
CAMERAS = {
    "corner": {"x": 1.45, "y": 1.45, "z": 1.0},
    "top": {"x": 0.0, "y": -0.01, "z": 2.1},
    "front": {"x": 0.0, "y": -2.0, "z": 0.5},
    "side": {"x": 2.0, "y": 0.0, "z": 0.5},
}


def _scene(axes: list[str], camera: str, mode: Mode) -> dict[str, Any]:
    plain = {
        "showbackground": False, "gridcolor": rgba(NEUTRAL[mode], 0.3), "zeroline": False,
        "showticklabels": False, "color": NEUTRAL[mode],
    }  # fmt: skip
    return {
        f"{letter}axis": {**plain, "title": {"text": name}}
        for letter, name in zip("xyz", axes, strict=True)
    } | {"camera": {"eye": CAMERAS[camera]}, "bgcolor": PAPER[mode]}


def landscape_3d_figure(
    points: pd.DataFrame,
    coordinates: NDArray[np.float64],
    *,
    n_total: int,
    value: Value = "signed",
    limit: float,
    rows: str,
    axes: str = "map",
    camera: str = "corner",
    mode: Mode = "light",
    height: int = 620,
) -> Chart:
    """Rows in a 3-D embedding, coloured by their local error.

    Parameters
    ----------
    points : DataFrame
        Rows to draw (:func:`~lore_core.regions.row_tables.row_table` with errors).
    coordinates : ndarray of shape (n, 3)
        The embedding, all rows.
    camera : str
        One of :data:`CAMERAS`.
    n_total, value, limit, rows, axes, mode, height
        See :func:`landscape_figure`.
    """
    z = coordinates[points["row"].to_numpy()].astype(np.float32)
    color = color_axis(value, limit, mode)
    figure = go.Figure(
        go.Scatter3d(
            x=z[:, 0], y=z[:, 1], z=z[:, 2], mode="markers", hovertext=hover_texts(points),
            hoverinfo="text", customdata=points["row"].to_numpy(np.int32),
            marker={
                "size": 3, "opacity": 0.85,
                "color": shown_values(points["signed_error"].to_numpy(), value).astype(np.float32),
                "showscale": True, **color,
            },
        )
    )  # fmt: skip
    apply_frame(
        figure, mode, title=TITLES[value], height=height,
        subtitle=f"{rows}; {len(points):,} of {n_total:,} rows drawn",
    )  # fmt: skip
    figure.update_layout(scene=_scene([f"{axes} {k}" for k in (1, 2, 3)], camera, mode))
    figure.update_layout(scene_aspectmode="data", uirevision=f"{axes} {camera}")
    return Chart(
        figure=figure,
        table=points_table(points, coordinates),
        how_to_read=(
            "Each point is a row in the 3-D embedding; its colour is the local error there. Drag "
            "to turn; the camera buttons bring a known view back."
        ),
        alt=f"{TITLES[value]} in the 3-D {axes} embedding; {rows}",
        name="landscape-3d",
    )


def surface_figure(
    field: Field,
    *,
    value: Value = "signed",
    limit: float,
    rows: str,
    axes: str = "map",
    camera: str = "corner",
    mode: Mode = "light",
    height: int = 620,
) -> Chart:
    """Draw the LCE as height over the 2-D map (Luo et al. 2022, fig. 2).

    Parameters
    ----------
    field : Field
        Raster.
    value, limit, rows, axes, camera, mode, height
        See :func:`landscape_3d_figure`.
    """
    color = color_axis(value, limit, mode)
    figure = go.Figure(
        go.Surface(
            x=field.x.astype(np.float32), y=field.y.astype(np.float32),
            z=np.abs(field.signed).astype(np.float32),
            surfacecolor=shown_values(field.signed, value).astype(np.float32),
            hovertemplate="LCE %{z:.1%}<extra></extra>", connectgaps=False,
            lighting={"ambient": 0.75, "diffuse": 0.5, "specular": 0.05}, **color,
        )
    )  # fmt: skip
    apply_frame(figure, mode, title=f"{TITLES[value]} as height", subtitle=rows, height=height)
    scene = _scene([f"{axes} 1", f"{axes} 2", "LCE"], camera, mode)
    scene["zaxis"] |= {"showticklabels": True, "tickformat": ".0%", "range": [0, limit]}
    figure.update_layout(
        scene=scene | {"aspectratio": {"x": 1.3, "y": 1.3, "z": 0.6}},
        uirevision=f"{axes} {camera}",
    )
    return Chart(
        figure=figure,
        table=field_table(field),
        how_to_read=(
            "Height is the size of the local error, colour its sign. A flat, low sheet is a "
            "locally calibrated model; heights above the scale's end are cut."
        ),
        alt=f"Local calibration error as height over the {axes} map; {rows}",
        name="landscape-surface",
    )
