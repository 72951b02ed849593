"""The big picture of the page: field, rows or height on the chosen map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from lore_core import Embedding, Region
from lore_core.data.dataset import CALIBRATION
from lore_core.figures import (
    landscape_3d_figure,
    landscape_figure,
    shared_limit,
    surface_figure,
)
from lore_core.figures.plotly.landscape_3d import CAMERAS
from lore_core.metrics import LocalErrors
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE
from lore_core.regions import Outline, class_places, drawn_rows, row_table
from lore_core.view import View
from pages.landscape.region import drawn_region, region_panel, take_selection
from pages.shared import compute
from pages.shared.charts import show_chart
from pages.shared.controls import theme_mode

#: Rows drawn over the raster, and without it: more slow the browser down.
_DRAWN = 1500
_DRAWN_ALONE = 4000


@dataclass(frozen=True)
class Scene:
    """What is drawn, and on what.

    Attributes
    ----------
    errors : LocalErrors
        Of all evaluation rows.
    rows : ndarray of shape (n,)
        Mask of the rows in the chosen bin.
    bin_index : int or None
        The chosen bin; None for all.
    bin_name : str
        In words.
    worst : ndarray
        Rows to ring.
    value : {"signed", "absolute"}
        What the colour means.
    layer : {"field", "rows", "both", "3-D"}
        What is drawn.
    map_name : str
        The map.
    on_map : Embedding
        Its coordinates, all rows.
    beyond_chance : float or None
        False discovery rate at which only what is beyond chance is coloured.
    found : tuple of (str, Outline)
        Regions to outline.
    """

    errors: LocalErrors
    rows: np.ndarray
    bin_index: int | None
    bin_name: str
    worst: np.ndarray
    value: str
    layer: str
    map_name: str
    on_map: Embedding
    beyond_chance: float | None = None
    found: tuple[tuple[str, Outline], ...] = ()


def _camera() -> str:
    return st.segmented_control(
        "Camera",
        list(CAMERAS),
        default="corner",
        required=True,
        key="camera",
        label_visibility="collapsed",
    )


def show_picture(view: View, scene: Scene) -> None:
    """Draw the landscape."""
    dataset = view.evaluation
    points = view.points(on=scene.on_map)
    errors, rows = scene.errors, scene.rows
    known = rows & (errors.effective_size >= MIN_EFFECTIVE_SIZE)
    common: dict[str, Any] = {
        "value": scene.value,
        "limit": shared_limit(errors.signed[known]),
        "rows": f"{scene.bin_name.lower()}, {view.kernel_in_words}, {view.rows}",
        "axes": scene.map_name,
        "mode": theme_mode(),
    }
    n_total = int(rows.sum())
    if points.shape[1] == 3:
        drawn = drawn_rows(rows, scene.worst, _DRAWN_ALONE)
        chart = landscape_3d_figure(
            row_table(dataset, drawn, errors, extra=5),
            points,
            n_total=n_total,
            camera=_camera(),
            **common,
        )
        show_chart(chart, "landscape_3d")
        return
    field = compute.field(view, scene.bin_index, scene.on_map, scene.beyond_chance)
    if scene.layer == "3-D":
        show_chart(surface_figure(field, camera=_camera(), **common), "landscape_height")
        return
    region = drawn_region(scene.map_name)
    drawn_table = None
    if scene.layer != "field":
        wanted = _DRAWN if scene.layer == "both" else _DRAWN_ALONE
        drawn_table = row_table(dataset, drawn_rows(rows, scene.worst, wanted), errors, extra=5)
    chart = landscape_figure(
        None if scene.layer == "rows" else field,
        points,
        points=drawn_table,
        worst=row_table(dataset, scene.worst, errors, extra=5),
        n_total=n_total,
        region=region,
        found=scene.found,
        places=class_places(dataset, points, rows),
        **common,
    )
    show_chart(
        chart,
        "landscape",
        on_select=lambda: take_selection("landscape", scene.map_name),
        selection_mode=("points", "box", "lasso"),
    )
    if region is None:
        st.caption(
            "Draw a lasso or a box on the map to report on the rows inside it; click a ring to "
            "see its row below."
        )


def show_region(view: View, scene: Scene) -> None:
    """Report on what was drawn on the picture, if anything was."""
    points = view.points(on=scene.on_map)
    region = drawn_region(scene.map_name)
    if region is None or points.shape[1] != 2 or scene.layer == "3-D":
        return
    region_panel(
        view,
        scene.errors,
        region.contains(points) & scene.rows,
        among=scene.rows,
        fitted_on=_calibration_inside(view, scene, region),
        # Without γ: it moves the errors, not what the region holds.
        key=(region, scene.on_map.digest, view.target, _bin_key(view, scene)),
    )


def _bin_key(view: View, scene: Scene) -> tuple[int, int, str] | None:
    return None if scene.bin_index is None else (scene.bin_index, view.n_bins, view.binning)


def _calibration_inside(view: View, scene: Scene, region: Region) -> np.ndarray:
    """Calibration rows inside the same outline and, where one is chosen, in the same bin."""
    if view.calibration is None:
        return np.zeros(0, dtype=bool)
    inside = region.contains(view.points(CALIBRATION, on=scene.on_map))
    if scene.bin_index is None:
        return inside
    c = view.calibration.target(view.target).confidence
    return inside & (scene.errors.bins.assign(c) == scene.bin_index)
