"""The big picture of the page: field, rows or height on the chosen map."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from lore_core import Region
from lore_core.data.dataset import CALIBRATION
from lore_core.figures import (
    landscape_3d_figure,
    landscape_figure,
    shared_limit,
    surface_figure,
)
from lore_core.figures.plotly.landscape_3d import CAMERAS
from lore_core.regions import Outline
from lore_core.view.scene import Scene
from pages.landscape.region import drawn_region, region_panel, take_selection
from pages.shared import compute
from pages.shared.charts import show_chart
from pages.shared.controls import theme_mode


@dataclass(frozen=True)
class Drawing:
    """How a scene is drawn.

    Attributes
    ----------
    value : {"signed", "absolute"}
        What the colour means.
    layer : {"field", "rows", "both", "3-D"}
        What is drawn.
    only_key : tuple
        Names the rows that alone are shown, if there are such.
    outlines : tuple of (str, Outline)
        Regions to outline.
    """

    value: str
    layer: str
    only_key: tuple[Hashable, ...]
    outlines: tuple[tuple[str, Outline], ...]


def _camera() -> str:
    return st.segmented_control(
        "Camera",
        list(CAMERAS),
        default="corner",
        required=True,
        key="camera",
        label_visibility="collapsed",
    )


def show_picture(scene: Scene, drawing: Drawing) -> None:
    """Draw the landscape."""
    common: dict[str, Any] = {
        "value": drawing.value,
        "limit": shared_limit(scene.supported),
        "rows": scene.in_words,
        "axes": scene.axes,
        "mode": theme_mode(),
    }
    if scene.on.n_components == 3:
        chart = landscape_3d_figure(
            scene.drawn(), scene.points, n_total=int(scene.shown.sum()), camera=_camera(), **common
        )
        show_chart(chart, "landscape_3d")
        return
    field = compute.field(scene.view, scene.bin_index, scene.on, drawing.only_key, scene.only)
    if drawing.layer == "3-D":
        show_chart(surface_figure(field, camera=_camera(), **common), "landscape_height")
        return
    region = drawn_region(scene.axes)
    chart = landscape_figure(
        None if drawing.layer == "rows" else field,
        scene.points,
        points=None
        if drawing.layer == "field"
        else scene.drawn(over_field=drawing.layer == "both"),
        worst=scene.table(scene.worst),
        n_total=int(scene.shown.sum()),
        region=region,
        found=drawing.outlines,
        places=scene.classes,
        **common,
    )
    show_chart(
        chart,
        "landscape",
        on_select=lambda: take_selection("landscape", scene.axes),
        selection_mode=("points", "box", "lasso"),
    )
    if region is None:
        st.caption(
            "Draw a lasso or a box on the map to report on the rows inside it; click a ring to "
            "see its row below."
        )


def show_region(scene: Scene) -> None:
    """Report on what was drawn on the picture, if anything was."""
    region = drawn_region(scene.axes)
    if region is None or scene.on.n_components != 2:
        return
    view, chosen = scene.view, scene.bin_index
    region_panel(
        view,
        scene.errors,
        region.contains(scene.points) & scene.rows,
        among=scene.rows,
        fitted_on=_calibration_inside(scene, region),
        # Without γ: it moves the errors, not what the region holds.
        key=(
            region,
            scene.on.digest,
            view.target,
            None if chosen is None else (chosen, view.n_bins, view.binning),
        ),
    )


def _calibration_inside(scene: Scene, region: Region) -> np.ndarray:
    """Calibration rows inside the same outline and, where one is chosen, in the same bin."""
    view = scene.view
    if view.calibration is None:
        return np.zeros(0, dtype=bool)
    inside = region.contains(view.points(CALIBRATION, on=scene.on))
    if scene.bin_index is None:
        return inside
    c = view.calibration.target(view.target).confidence
    return inside & (scene.errors.bins.assign(c) == scene.bin_index)
