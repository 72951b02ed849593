"""The big picture of the page: the live map, or the error as height, or rows in space."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field as attribute
from functools import partial
from typing import Any, Literal

import numpy as np
import streamlit as st

from lore_core.data.dataset import Dataset
from lore_core.figures import landscape_3d_figure, landscape_figure, surface_figure
from lore_core.figures.browser.landscape import Layer, LiveLandscape
from lore_core.figures.pictures.landscape_picture import CAMERAS, LandscapePicture, Value
from lore_core.regions import Field, Outline, Selection
from lore_core.regions.subgroups.find import SubgroupSearch
from lore_core.view.scene import Scene
from pages.landscape.gamma_fields import FieldParts, field_parts
from pages.landscape.map_rows import glimpse_of, map_rows, rows_of
from pages.landscape.region import (
    Marked,
    asked_rows,
    drawn_region,
    region_panel,
    take_row,
    take_selection,
)
from pages.shared import compute
from pages.shared.charts import chart_line, show_chart
from pages.shared.controls import GAMMAS, one_of, theme_mode
from pages.shared.header import plain
from pages.shared.live import live_landscape, looked_at, map_key
from pages.shared.maps import available_maps
from pages.shared.rows import picked_row
from pages.shared.subgroups import choose_subgroup, color_limit

KEY = "landscape"
_HINT = (
    "Shift and drag, or the lasso, reports on the rows inside; a click on a number looks closer at "
    "a place, on a ring shows its row below."
)
_HINT_IN_SPACE = (
    "Drag turns the map. Shift and drag, or the lasso, reports on all rows inside, however far "
    "behind; a click on a row shows it below."
)


@dataclass(frozen=True)
class Drawing:
    """How a scene is drawn."""

    value: Value  #: What the colour means
    layer: Literal["field", "rows", "both", "3-D"]  #: What is drawn
    search_key: tuple[Hashable, ...] = ()  #: Names the search for places
    search: SubgroupSearch | None = None  #: What it found; None where none was made
    #: Rows that are beyond chance; None where none were looked for.
    inside: np.ndarray | None = None
    outlines: tuple[tuple[str, Outline], ...] = ()  #: Places to outline, by their numbers
    titles: dict[str, str] = attribute(default_factory=dict)  #: What they are, in words
    chosen: int | None = None  #: The place that is looked at, from 0
    marked: Marked | None = None  #: Rows that are marked


def _camera() -> str:
    return one_of(
        "Camera",
        list(CAMERAS),
        key="camera",
        label_visibility="collapsed",
    )


def show_picture(scene: Scene, drawing: Drawing) -> None:
    """Draw the landscape."""
    common: dict[str, Any] = {
        "value": drawing.value,
        "limit": color_limit(scene),
        "rows": scene.in_words,
        "axes": scene.axes,
        "mode": theme_mode(),
    }
    is_flat = scene.on.n_components == 2
    field = _field_of(scene, drawing) if is_flat else None
    layer = drawing.layer
    if field is not None and layer == "3-D":
        show_chart(surface_figure(field, camera=_camera(), **common), "landscape_height")
        return
    selection = drawn_region(scene.axes, scene.on)
    common |= {
        "worst": scene.table(scene.worst),
        "n_total": int(scene.shown.sum()),
        "labels": scene.classes,
    }
    if field is None:
        draw = partial(landscape_3d_figure, scene.drawn(), scene.points, **common)
    else:
        draw = partial(
            landscape_figure,
            None if layer == "rows" else field,
            scene.points,
            points=None if layer == "field" else scene.drawn(over_field=layer == "both"),
            region=selection,
            found=drawing.outlines,
            **common,
        )
    chart, seen = draw(), looked_at(map_key(scene.view.dataset, scene.on))
    _show_map(scene, drawing, "rows" if layer == "3-D" else layer, chart.picture, field, selection)
    chart_line(chart, KEY, as_seen=lambda: draw(seen=seen()))
    if not selection:
        st.caption(_HINT if is_flat else _HINT_IN_SPACE)


def _field_of(scene: Scene, drawing: Drawing) -> Field:
    only_key = () if scene.only is None else drawing.search_key
    return compute.field(scene.view, scene.bin_index, scene.on, only_key, scene.only)


def _show_map(
    scene: Scene,
    drawing: Drawing,
    layer: Layer,
    picture: LandscapePicture,
    field: Field | None,
    selection: Selection,
) -> None:
    view, inside = scene.view, drawing.inside
    key, rows_key = drawing.search_key, _rows_key(scene)
    fields, vivid = _fields_at_every_gamma(scene, drawing.search), None
    if inside is not None and scene.only is None and field is not None:
        vivid = compute.region_outline(view.dataset, scene.on, (*key, "all"), inside)
    live = LiveLandscape(
        picture=picture,
        field=field,
        rows=rows_of(scene),
        rows_key=rows_key,
        n_shown=int(scene.shown.sum()),
        map_key=map_key(view.dataset, scene.on),
        layer=layer,
        bin_index=scene.bin_index,
        vivid=vivid,
        inside=inside,
        only=scene.only is not None,
        titles=drawing.titles,
        selection=selection,
        chosen=drawing.chosen,
        highlighted=None if drawing.marked is None else drawing.marked.told,
        row=picked_row(view.evaluation),
        glimpse=glimpse_of(view.evaluation),
        gamma=view.gamma,
        gammas=tuple(GAMMAS),
        fields_key="" if fields is None else fields.address,
        address=map_rows(scene, rows_key, fields).address,
    )
    live_landscape(
        live,
        KEY,
        gamma=_take_gamma,
        selection=lambda parts: take_selection(parts, scene.axes),
        place=lambda number: choose_subgroup(key, int(number)),
        row=take_row,
    )


def is_live(dataset: Dataset) -> bool:
    """Whether the settings of the page ask for the map that has its own γ slider."""

    def setting(name: str, default: str) -> str:
        return str(st.session_state.get(name, st.query_params.get(name, default)))

    features = setting("features", next(iter(available_maps(dataset)), ""))
    drawn = setting("map", features)
    axes = drawn if drawn in available_maps(dataset) else features
    return setting("picture", "field") != "3-D" or axes.endswith("3-D")


def _rows_key(scene: Scene) -> str:
    return repr((*scene.view.key("target", "n_bins", "binning"), scene.on.digest))


def _fields_at_every_gamma(scene: Scene, search: SubgroupSearch | None) -> FieldParts | None:
    """Return what the slider shows; None where what is shown is tested anew at every γ."""
    if scene.only is not None:
        return None
    parts = scene.view.key("target", "n_bins", "binning", "maps")
    against = None if search is None else search.against
    key = repr((*parts, scene.bin_index, scene.on.digest, against))
    return field_parts(key, scene.view, scene.bin_index, scene.on, search)


def _take_gamma(wanted: float) -> None:
    """Take the bandwidth at which the reader let go of the map's slider."""
    if wanted in GAMMAS:
        st.session_state["gamma"] = float(wanted)


def show_asked(scene: Scene, words: str) -> None:
    """Report on what was drawn on the picture, else on the rows asked for in words."""
    view, chosen, region = scene.view, scene.bin_index, drawn_region(scene.axes, scene.on)
    if not region and not words:
        return
    inside, fitted_on = asked_rows(scene, region or words)
    # Without γ: it moves the errors, not what the region holds.
    key = (view.target, None if chosen is None else (chosen, view.n_bins, view.binning))
    region_panel(
        view,
        scene.errors,
        inside,
        among=scene.rows,
        fitted_on=fitted_on,
        key=(region, scene.on.digest, *key) if region else (words, *key),
        title="Selected region" if region else plain(f"Rows with “{words}”"),
    )
