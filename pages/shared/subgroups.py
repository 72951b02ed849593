"""Subgroups of a view on every page: found, chosen, named in the link, and drawn on a small map."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from lore_core import Embedding
from lore_core.data.number_text import interval_95, share_words, unbroken, with_points
from lore_core.figures import landscape_figure, shared_limit
from lore_core.figures.browser.landscape import LiveLandscape
from lore_core.figures.pictures.landscape_picture import LandscapePicture
from lore_core.regions import Field, telling_rows
from lore_core.regions.subgroups.find import Subgroup, SubgroupSearch
from lore_core.regions.subgroups.verdict import leaning, name_of_subgroup
from lore_core.view import View
from lore_core.view.scene import Scene
from pages.shared import compute
from pages.shared.charts import show_chart
from pages.shared.controls import linked
from pages.shared.header import plain
from pages.shared.live import live_landscape, map_key
from pages.shared.maps import plane_of
from pages.shared.rows import show_examples
from pages.shared.session import name_in_link

#: Compared with what the search behind the headline is compared with.
AUTOMATIC = "automatic"
SUBGROUPS_TAB = "Subgroups"
#: More evaluation rows than this are searched only when the reader asks for it: it takes seconds.
MAX_ROWS_AT_ONCE = 300_000
#: Rows shown with a subgroup in a list.
_EXAMPLES = 6
#: Names a subgroup of the headline's search in a link to the Landscape.
SEEN = "see"
#: Names a subgroup of the search that the Landscape shows.
_PARAMETER = "place"
_CHOSEN = "_place"


def is_searched(view: View) -> bool:
    """Whether subgroups are searched: of very many rows only if the reader says so, by a switch."""
    n_rows = len(view.evaluation)
    return n_rows <= MAX_ROWS_AT_ONCE or st.toggle(
        f"Search subgroups among {n_rows:,} rows",
        **linked("look"),
        help="Takes some seconds. Until then only all rows together are tested.",
    )


def search_key(view: View, search: SubgroupSearch) -> tuple[Hashable, ...]:
    """Name a search: equal only where the subgroups are."""
    return (*view.key(*compute.SEARCHED), search.against)


def choose_subgroup(key: tuple[Hashable, ...], number: int) -> None:
    """Choose a subgroup of a search, by its number from 0."""
    st.session_state[_CHOSEN] = (key, number)
    st.session_state["below"] = SUBGROUPS_TAB
    st.session_state.pop("_region", None)


def take_seen(view: View) -> None:
    """Choose the subgroup that a link names by :data:`SEEN`, before the controls are drawn."""
    named = st.query_params.pop(SEEN, "")
    if named.isdecimal():
        # The search behind the headline, whatever was chosen on the Landscape before.
        st.session_state["against"] = AUTOMATIC
        choose_subgroup(search_key(view, compute.subgroups(view)), int(named) - 1)


def chosen_subgroup(key: tuple[Hashable, ...], n_places: int) -> int | None:
    """Return the number of the chosen subgroup of this search, from 0, and keep it in the link."""
    named = st.query_params.get(_PARAMETER, "")
    if _CHOSEN not in st.session_state and named.isdecimal():
        st.session_state[_CHOSEN] = (key, int(named) - 1)
    chosen = st.session_state.get(_CHOSEN)
    is_here = chosen is not None and chosen[0] == key and 0 <= chosen[1] < n_places
    name_in_link(_PARAMETER, str(chosen[1] + 1) if is_here else None)
    return chosen[1] if is_here else None


def forget_subgroup() -> None:
    """Choose none."""
    st.session_state.pop(_CHOSEN, None)
    name_in_link(_PARAMETER, None)


def title_of(subgroup: Subgroup, number: int) -> str:
    """Name a subgroup by its number and in words."""
    return f"{number + 1} · {name_of_subgroup(subgroup)}"


def titles_of(search: SubgroupSearch) -> dict[str, str]:
    """Name all subgroups, by their numbers from 1."""
    return {str(k + 1): title_of(subgroup, k) for k, subgroup in enumerate(search.subgroups)}


def gap_line(subgroup: Subgroup, n_rows: int) -> str:
    """Say a subgroup's held-out gap with its interval, and its size."""
    held, sign = subgroup.held, subgroup.sign
    low, high = sorted(sign * end for end in (held.gap_low, held.gap_high))
    share = share_words(subgroup.n_rows / n_rows)
    return (
        f"{leaning(sign)} by {with_points(sign * held.gap)} ({interval_95(low, high)}) · "
        f"{subgroup.n_rows:,} rows ({share})"
    )


def examples_of(view: View, subgroup: Subgroup, n_rows: int) -> NDArray[np.int64]:
    """Return the rows that show a subgroup's error best."""
    target = view.target_rows
    return telling_rows(
        target.confidence, target.outcome, subgroup.rows, subgroup.sign, n_rows=n_rows
    )


def show_card(view: View, search: SubgroupSearch, number: int, *, links_to_map: bool) -> None:
    """Show a subgroup in short: its name, gap, size and some of its rows."""
    subgroup = search.subgroups[number]
    color = "red" if subgroup.sign > 0 else "blue"
    part = "" if subgroup.within is None else f" (within {subgroup.within + 1})"
    name = f":{color}-badge[{number + 1}] **{plain(name_of_subgroup(subgroup))}**{part}"
    with st.container(gap=None):
        if links_to_map:
            # (A button that switches pages may not carry the settings in the link along.)
            st.page_link(
                "pages/landscape/page.py",
                label=name,
                query_params={SEEN: str(number + 1)},
                help="See it on the map",
            )
        else:
            st.markdown(name)
        st.caption(unbroken(gap_line(subgroup, search.n_rows)))
        rows = examples_of(view, subgroup, _EXAMPLES)
        show_examples(view.evaluation, rows, view.target_rows.confidence)


def color_limit(scene: Scene) -> float:
    """End of the colour scale, the same at every γ: it can be compared while γ moves."""
    at = scene.view.with_(gamma=View.gamma)
    return shared_limit(compute.scene(at, scene.bin_index, scene.on, scene.axes).supported)


def live_scene(
    scene: Scene,
    picture: LandscapePicture,
    field: Field | None,
    search: SubgroupSearch | None,
    **more: Any,
) -> LiveLandscape:
    """Return what a map in the browser shows of a scene, stronger where subgroups were found."""
    dataset, inside, vivid = scene.view.dataset, None, None
    if search is not None:
        inside = search.inside()
        if scene.only is None and field is not None:
            key = (*search_key(scene.view, search), "all")
            vivid = compute.region_outline(dataset, scene.on, key, inside)
    return LiveLandscape(
        picture=picture,
        field=field,
        n_shown=int(scene.shown.sum()),
        map_key=map_key(dataset, scene.on),
        vivid=vivid,
        inside=inside,
        titles={} if search is None else titles_of(search),
        gamma=scene.view.gamma,
        **more,
    )


def small_map(
    view: View, search: SubgroupSearch | None, key: str, on_subgroup: Callable[[Any], None]
) -> None:
    """Draw the field with its subgroups, a click on which gives ``on_subgroup`` its number."""
    plane = plane_of(view)
    if plane is None:
        return
    found = []
    if search is not None:
        found = compute.outlines(view.dataset, plane[1], search_key(view, search), search)
    scene, field, chart = _drawn(view, plane, found=found)
    live_landscape(live_scene(scene, chart, field, search), key, place=on_subgroup)


def small_charts(view: View, gammas: Iterable[float], height: int) -> None:
    """Draw the field at some bandwidths beside each other, on one colour scale."""
    plane = plane_of(view)
    if plane is None:
        return
    shown = list(gammas)
    for column, gamma in zip(st.columns(len(shown)), shown, strict=True):
        at, title = view.with_(gamma=gamma), f"γ = {gamma:g}"
        with column:
            _, field, chart = _drawn(at, plane, title=title, height=height)
            if not np.isfinite(field.signed).any():
                chart = replace(chart, title=f"{title}: too few neighbours everywhere")
            chart = replace(chart, subtitle=f"{view.rows}, {plane[0]}")
            show_chart(chart, f"field_at_{gamma:g}", narrow=True, caption=" ")


def _drawn(
    view: View, plane: tuple[str, Embedding], **look: Any
) -> tuple[Scene, Field, LandscapePicture]:
    name, on = plane
    scene, field = compute.scene(view, None, on, name), compute.field(view, None, on, (), None)
    chart = landscape_figure(
        field,
        scene.points,
        n_total=scene.n_rows,
        limit=color_limit(scene),
        rows=scene.in_words,
        axes=name,
        labels=scene.classes,
        **look,
    )
    return scene, field, chart
