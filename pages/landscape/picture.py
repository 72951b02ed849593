"""The big picture of the page: the live map, or the error as height, or rows in space."""

from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st

from lore_core.data.dataset import Dataset
from lore_core.figures import landscape_3d_figure, landscape_figure, surface_figure
from lore_core.figures.pictures.landscape import row_colors
from lore_core.figures.pictures.landscape_picture import CAMERAS, LandscapePicture, RowColors, Value
from lore_core.regions import Field, Verdict
from lore_core.regions.rows import columns_of
from lore_core.regions.subgroups.find import SubgroupSearch
from lore_core.view.scene import Scene
from pages.landscape import region
from pages.landscape.map_rows import field_parts, glimpse_of, map_rows, rows_of
from pages.shared import compute, subgroups
from pages.shared.charts import chart_line, show_chart
from pages.shared.controls import GAMMAS, one_of
from pages.shared.header import plain
from pages.shared.live import live_landscape, looked_at, map_key
from pages.shared.rows import picked_row

KEY = "landscape"
#: What is known of every row, and what its outcome is called.
_KNOWN = ["confidence", "correctness", "predicted class", "true class", "effective neighbours"]
_OUTCOMES = ("correct", "wrong")
#: Features of which one can be chosen as colour.
_MAX_FEATURES = 200
_HINT = (
    "Shift and drag, or the lasso, reports on the rows inside; a click on a number inspects a "
    "subgroup, on a ring shows its row below."
)
_HINT_IN_SPACE = (
    "Drag turns the map. Shift and drag, or the lasso, reports on all rows inside, however far "
    "behind; a click on a row shows it below."
)


def colors_of(scene: Scene, by: str) -> RowColors:
    """Return the colours of all evaluation rows by one of :func:`color_choices`."""
    dataset, target = scene.view.evaluation, scene.view.target_rows
    match by:
        case "confidence":
            column = pd.Series(target.confidence)
        case "correctness":
            column = pd.Series(np.where(target.outcome == 1, *_OUTCOMES))
        case "effective neighbours":
            column = pd.Series(scene.errors.effective_size)
        case "predicted class" | "true class":
            column = columns_of(dataset)[by.split()[0]]
        case _:
            known, names = columns_of(dataset), dataset.feature_names or ()
            column = known.get(by.lower(), pd.Series(dtype=float))
            if dataset.features is not None and by in names and by.lower() not in known:
                column = pd.Series(dataset.features[:, names.index(by)])
    return row_colors(by, column)


def color_choices(dataset: Dataset) -> list[str]:
    """Return what rows can be coloured by beside their error: what is known of each."""
    frames = [frame for frame in (dataset.groups, dataset.metadata) if frame is not None]
    names = [str(name) for frame in frames for name in frame.columns]
    features = (dataset.feature_names or ())[:_MAX_FEATURES]
    return list(dict.fromkeys([*_KNOWN, *names, *map(str, features)]))


def show_picture(
    scene: Scene,
    search: SubgroupSearch | None,
    chosen: subgroups.Chosen | None,
    marked: region.Marked | None,
    value: Value,
    layer: Literal["field", "rows", "both", "3-D"],
    verdict: Verdict,
    colors: RowColors | None = None,
) -> None:
    """Draw the landscape with subgroups; ``colors``: of the rows, instead of their errors."""
    if colors is not None:
        layer = "rows"
    common: dict[str, Any] = {
        "value": value,
        "limit": subgroups.color_limit(scene),
        "rows": scene.in_words,
        "axes": scene.axes,
    }
    view, is_flat, field = scene.view, scene.on.n_components == 2, None
    key = () if search is None else subgroups.search_key(view, search)
    if is_flat:
        only_key = () if scene.only is None else key
        field = compute.field(view, scene.bin_index, scene.on, only_key, scene.only)
    if field is not None and layer == "3-D":
        camera = one_of("Camera", list(CAMERAS), key="camera", label_visibility="collapsed")
        show_chart(surface_figure(field, camera=camera, **common), "landscape_height")
        return
    selection = region.drawn_region(scene.axes, scene.on)
    outlined: subgroups.Outlines = []
    common |= {
        "colors": colors,
        "worst": scene.table(scene.worst),
        "n_total": int(scene.shown.sum()),
        "labels": scene.classes,
    }
    if field is None:
        draw = partial(landscape_3d_figure, scene.drawn(), scene.points, **common)
    else:
        if search is not None:
            outlined = compute.outlines(view.dataset, scene.on, key, search)
        if chosen is not None:
            names = () if chosen.number is None else (str(chosen.number + 1),)
            outlined = [item for item in outlined if item[0] in names]
        draw = partial(
            landscape_figure,
            None if layer == "rows" else field,
            scene.points,
            points=None if layer == "field" else scene.drawn(over_field=layer == "both"),
            region=selection,
            found=outlined,
            **common,
        )
    dots = subgroups.headline_dots(scene, verdict, search, outlined)
    chart, seen = draw(), looked_at(map_key(view.dataset, scene.on))
    _show_map(
        scene,
        chart,
        field,
        search,
        layer="rows" if layer == "3-D" else layer,
        selection=selection,
        chosen=None if chosen is None else chosen.number,
        highlighted=None if marked is None or marked.is_drawn else marked.rows,
        dots=dots,
    )
    hint = _HINT if is_flat else _HINT_IN_SPACE
    about = f"{subgroups.ABOUT_DOTS} {hint}" if dots else hint
    chart_line(chart, KEY, caption=about, as_seen=lambda: draw(seen=seen()))


def _show_map(
    scene: Scene,
    picture: LandscapePicture,
    field: Field | None,
    search: SubgroupSearch | None,
    **shown: Any,
) -> None:
    view = scene.view
    rows_key = repr((*view.key("target", "n_bins", "binning"), scene.on.digest))
    fields, is_colored = None, isinstance(picture.scale, RowColors)
    if scene.only is None and not is_colored:  # else what is shown is tested anew at every γ
        against = None if search is None else search.against
        looked_for = (rows_key, view.key("maps"), scene.bin_index, against)
        fields = field_parts(repr(looked_for), view, scene.bin_index, scene.on, search)
    live = subgroups.live_scene(
        scene,
        picture,
        field,
        search,
        rows=rows_of(scene),
        rows_key=rows_key,
        bin_index=scene.bin_index,
        only=scene.only is not None,
        row=picked_row(view.evaluation),
        glimpse=glimpse_of(view.evaluation),
        gammas=() if is_colored else tuple(GAMMAS),
        fields_key="" if fields is None else fields.address,
        address=map_rows(scene, rows_key, fields).address,
        **shown,
    )

    def take_gamma(wanted: float) -> None:
        if wanted in GAMMAS:
            st.session_state["gamma"] = float(wanted)

    def take_place(number: float) -> None:
        if search is not None:
            subgroups.choose_subgroup(view.evaluation, search.subgroups[int(number)])

    live_landscape(
        live,
        KEY,
        gamma=take_gamma,
        selection=lambda parts: region.take_selection(parts, scene.axes),
        place=take_place,
        row=region.take_row,
    )


def show_asked(scene: Scene, words: str) -> None:
    """Report on what was drawn on the picture, else on the rows asked for in words."""
    view, chosen, drawn = scene.view, scene.bin_index, region.drawn_region(scene.axes, scene.on)
    if not drawn and not words:
        return
    inside, fitted_on = region.asked_rows(scene, drawn or words)
    # Without γ: it moves the errors, not what the region holds.
    key = (view.target, None if chosen is None else (chosen, view.n_bins, view.binning))
    region.region_panel(
        view,
        scene.errors,
        inside,
        among=scene.rows,
        fitted_on=fitted_on,
        key=(drawn, scene.on.digest, *key) if drawn else (words, *key),
        title="Selected region" if drawn else plain(f"Rows with “{words}”"),
    )
