"""The maps of two models and of what changed, which move together."""

from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import streamlit as st

from lore_core import Embedding
from lore_core.comparison import ModelComparison
from lore_core.data.arrays import Mask
from lore_core.figures import landscape_figure
from lore_core.figures.browser.landscape import LiveLandscape
from lore_core.figures.pictures.landscape_picture import ErrorScale, LandscapePicture
from lore_core.regions import Field
from lore_core.view import View
from lore_core.view.scene import Scene
from pages.landscape import region
from pages.landscape.picture import FieldParts, map_rows, rows_of, take_gamma
from pages.shared import compute
from pages.shared.charts import chart_line
from pages.shared.controls import GAMMAS
from pages.shared.header import plain
from pages.shared.live import live_landscape, map_as_seen, map_key
from pages.shared.maps import plane_of
from pages.shared.subgroups import color_limit

KEYS = ("compare_old", "compare_new", "compare_change")
_HOW = "Red: overconfident; blue: underconfident. Blank: too few neighbours."
_HOW_CHANGE = (
    "Red: the new model is more overconfident there, or less underconfident; blue: the reverse."
)
_PARTS: WeakValueDictionary[Any, FieldParts] = WeakValueDictionary()


def show_maps(views: dict[str, View], found: ModelComparison) -> Mask | None:
    """Draw both models and the change; return the rows drawn on a map, if any."""
    plane = plane_of(next(iter(views.values())))
    if plane is None:
        return None
    name, on = plane
    scenes = [compute.scene(of, None, on, name) for of in views.values()]
    fields: list[Field] = [compute.field(of, None, on, (), None) for of in views.values()]
    outlined = compute.outlines(scenes[0].view, on, found.search)
    selection = region.drawn_region(name, on)
    look: dict[str, Any] = {
        "n_total": scenes[0].n_rows,
        "axes": name,
        "found": outlined,
        "region": selection,
        "rows": scenes[0].in_words,
    }
    limit = max(map(color_limit, scenes))
    points = scenes[0].points
    pictures = [
        replace(landscape_figure(field, points, limit=limit, title=title, **look), how_to_read=_HOW)
        for field, title in zip(fields, views, strict=True)
    ]
    change = fields[1].less(fields[0])
    picture = landscape_figure(change, points, limit=limit, title="Change", **look)
    scale = ErrorScale("signed", limit, is_change=True)
    pictures.append(replace(picture, scale=scale, name="change", how_to_read=_HOW_CHANGE))
    fields.append(change)
    columns = st.columns(3, gap="small")
    for k, column in enumerate(columns):
        with column:
            st.markdown(f"**{plain(pictures[k].title)}**")
            _show(KEYS[k], scenes, min(k, 1), pictures[k], fields[k], on, is_change=k == 2)
    return selection.contains(points) if selection else None


def _show(
    key: str,
    scenes: list[Scene],
    of: int,
    picture: LandscapePicture,
    field: Field,
    on: Embedding,
    *,
    is_change: bool,
) -> None:
    scene, first = scenes[of], scenes[0].view
    view = scene.view
    named = (key, first.key("target", "n_bins", "binning", "maps"), view.dataset.digest, on.digest)
    against = first if is_change else None
    parts = _PARTS.get(named) or FieldParts(view, None, on, None, against)
    _PARTS[named] = parts
    rows_key = repr((view.key("target", "n_bins", "binning"), on.digest))
    rows = rows_of(scene)
    if is_change:
        signed = scene.errors.signed - scenes[0].errors.signed
        rows = replace(rows, errors=replace(scene.errors, signed=signed))
    answers = map_rows(scene, rows_key, parts, f"_rows {key}")
    answers.is_change = is_change
    live = LiveLandscape(
        picture=picture,
        field=field,
        rows=rows,
        rows_key=rows_key,
        n_shown=scene.n_rows,
        map_key=map_key(first.dataset, on),
        gamma=view.gamma,
        gammas=tuple(GAMMAS),
        fields_key=parts.address,
        address=answers.address,
        link="models",
        selection=picture.lasso,
    )

    take = partial(region.take_selection, map_name=scene.axes)
    live_landscape(live, key, gamma=take_gamma, selection=take)
    chart_line(picture, key, narrow=True, as_seen=map_as_seen(picture, live.map_key))
