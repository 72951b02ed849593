"""What maps on several pages share: the end of their colours, and a map in small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lore_core.figures import landscape_figure, shared_limit
from lore_core.figures.browser.landscape import LiveLandscape
from lore_core.regions.subgroups.find import PlaceSearch
from lore_core.view import View
from lore_core.view.scene import Scene
from pages.shared import compute
from pages.shared.live import live_landscape, map_key
from pages.shared.maps import available_maps, instant_map
from pages.shared.places import search_key, titles_of

#: The colours mean what they mean at this bandwidth, so that they can be compared while γ moves.
_REFERENCE_GAMMA = 0.2
_PLANE = "PCA 2-D"


def color_limit(scene: Scene) -> float:
    """End of the colour scale, the same at every γ."""
    at = scene.view.with_(gamma=_REFERENCE_GAMMA)
    return shared_limit(compute.scene(at, scene.bin_index, scene.on, scene.axes).supported)


def small_map(
    view: View, search: PlaceSearch | None, key: str, on_place: Callable[[Any], None]
) -> None:
    """Draw where the confidence is wrong, without its rows and controls; the Landscape has these.

    ``key``: unique on the page. ``on_place``: gets the number of a place that is clicked, from 0.
    """
    name, on = view.map_name, view.embedding
    if on.n_components != 2:
        if _PLANE not in available_maps(view.dataset):
            return
        name, on = _PLANE, instant_map(view.dataset, _PLANE)
    scene = compute.scene(view, None, on, name)
    field = compute.field(view, None, on, (), None)
    found = inside = vivid = None
    if search is not None:
        searched = search_key(view, search)
        found = compute.outlines(view.dataset, on, searched, search)
        inside = search.inside()
        vivid = compute.region_outline(view.dataset, on, (*searched, "all"), inside)
    picture = landscape_figure(
        field,
        scene.points,
        n_total=scene.n_rows,
        limit=color_limit(scene),
        rows=scene.in_words,
        axes=name,
        found=found or (),
        places=scene.classes,
    ).picture
    live = LiveLandscape(
        picture=picture,
        field=field,
        n_shown=scene.n_rows,
        map_key=map_key(view.dataset, on),
        vivid=vivid,
        inside=inside,
        titles={} if search is None else titles_of(search),
        gamma=view.gamma,
    )
    live_landscape(live, key, place=on_place)
