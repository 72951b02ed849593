"""Subgroups of a view on every page: found, chosen, named in the link, and drawn on a small map."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lore_core import Dataset, InputError, regions
from lore_core.data.arrays import Mask
from lore_core.data.errors import short
from lore_core.data.number_text import share_words, unbroken
from lore_core.figures import landscape_figure, shared_limit
from lore_core.figures.browser.landscape import LiveLandscape
from lore_core.figures.pictures.landscape_picture import LandscapePicture, MapDots
from lore_core.regions import Field, Outline, SavedSubgroup
from lore_core.regions.subgroups.find import Subgroup, SubgroupSearch
from lore_core.regions.subgroups.saved import MAX_NAME, MAX_NOTE, rows_digest, saved_subgroup
from lore_core.regions.subgroups.verdict import describe_gap, generated_name, name_of_subgroup
from lore_core.view import View
from lore_core.view.scene import Scene
from pages.shared import compute
from pages.shared.charts import chart_line, show_chart
from pages.shared.controls import linked
from pages.shared.header import plain, sentence, show_error
from pages.shared.live import live_landscape, map_as_seen, map_key
from pages.shared.maps import plane_of
from pages.shared.rows import show_examples
from pages.shared.session import CHOSEN, name_in_link, saved

#: Compared with what the search behind the headline is compared with.
AUTOMATIC = "automatic"
SUBGROUPS_TAB = "Subgroups"
#: More evaluation rows than this are searched only when the reader asks for it: it takes seconds.
MAX_ROWS_AT_ONCE = 300_000
#: Rows shown with a subgroup.
_EXAMPLES = 5
_PARAMETER = "subgroup"
#: Colours of subgroups, as Streamlit and as maps know them; red and blue say what is wrong.
_MARKS = {
    "violet": "#7b4ea3",
    "green": "#00855f",
    "orange": "#c2500a",
    "yellow": "#8a6d00",
    "gray": "#5f6b7a",
}
#: Names of subgroups on a map, and where they lie.
Outlines = Sequence[tuple[str, Outline]]
#: Rows of a subgroup without an outline that are drawn on a map.
_MAX_DOTS = 400
ABOUT_DOTS = (
    f"Coloured rings mark rows of the headline's subgroup ({_MAX_DOTS} at most), which lie "
    "scattered on this map."
)


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


@dataclass(frozen=True, eq=False)
class Chosen:
    """The subgroup that is looked at."""

    saved: SavedSubgroup
    mask: Mask  #: Its evaluation rows
    number: int | None  #: In the search, from 0; None where this did not find it

    @property
    def title(self) -> str:
        """Its number and name."""
        number = "" if self.number is None else f"{self.number + 1} · "
        return f"{number}{self.saved.words}"


def choose_subgroup(dataset: Dataset, subgroup: Subgroup | SavedSubgroup) -> None:
    """Choose a subgroup of the rows of a dataset."""
    st.session_state[CHOSEN] = definition_of(dataset, subgroup)
    name_in_link(_PARAMETER, subgroup.id)
    st.session_state["below"] = SUBGROUPS_TAB
    st.session_state.pop("_region", None)


def chosen_subgroup(view: View, search: SubgroupSearch, into: DeltaGenerator) -> Chosen | None:
    """Return the subgroup that session or link names, or say ``into`` why it cannot be shown."""
    known: SavedSubgroup | None = st.session_state.get(CHOSEN)
    named = st.query_params.get(_PARAMETER, "" if known is None else known.id)
    if not named:
        return None
    rows, numbers = view.evaluation, {item.id: k for k, item in enumerate(search.subgroups)}
    listed: list[Subgroup | SavedSubgroup] = [*search.subgroups]
    if named not in numbers:
        listed = [*compute.subgroups(view).subgroups, *saved().values()]
        listed += [] if known is None else [known]
    found = next((item for item in listed if item.id == named), None)
    try:
        if found is None or not (found.conditions or len(found.rows)):
            raise InputError(
                f"the link names a subgroup, {short(named, 8)}, that was not found among these "
                "rows, and does not define it: load a file that holds it."
            )
        one = definition_of(rows, found)
        chosen = Chosen(one, one.mask(rows), numbers.get(named))
    except InputError as error:
        into.info(sentence(str(error)), icon=":material/info:")
        forget_subgroup()
        return None
    st.session_state[CHOSEN] = one
    name_in_link(_PARAMETER, named)
    return chosen


def forget_subgroup() -> None:
    """Choose none."""
    st.session_state.pop(CHOSEN, None)
    name_in_link(_PARAMETER, None)


def marks_of(subgroups: Sequence[Subgroup]) -> list[str]:
    """Return a colour for each subgroup, by its id: each another one as long as there are any."""
    names, marks = list(_MARKS), list[str]()
    for subgroup in subgroups:
        first = int(subgroup.id[:8], 16) % len(names)
        order = names[first:] + names[:first]
        marks.append(min(order, key=marks.count))
    return marks


def title_of(subgroup: Subgroup, number: int) -> str:
    """Name a subgroup by its number and in words."""
    return f"{number + 1} · {name_of_subgroup(subgroup)}"


def gap_line(subgroup: Subgroup, n_rows: int) -> str:
    """Say a subgroup's held-out gap with its interval, and its size."""
    gap, interval = describe_gap(subgroup)
    share = share_words(subgroup.n_rows / n_rows)
    return f"{gap} ({interval}) · {subgroup.n_rows:,} rows ({share})"


def show_examples_of(view: View, subgroup: Subgroup) -> None:
    """Show the rows that show a subgroup's error best."""
    confidence, outcome, sign = view.target_rows.confidence, view.target_rows.outcome, subgroup.sign
    rows = regions.telling_rows(confidence, outcome, subgroup.rows, sign, n_rows=_EXAMPLES)
    show_examples(view.evaluation, rows, confidence)


def definition_of(dataset: Dataset, item: Subgroup | SavedSubgroup) -> SavedSubgroup:
    """Return what is saved of a subgroup found among the rows of a dataset."""
    return item if isinstance(item, SavedSubgroup) else saved_subgroup(item, rows_digest(dataset))


def name_control(dataset: Dataset, item: Subgroup | SavedSubgroup) -> None:
    """Let the reader give a subgroup a name and a note."""
    keys = {part: f"{part}_{item.id}" for part in ("name", "note")}

    def take() -> None:
        given = {part: st.session_state[key].strip() for part, key in keys.items()}
        saved()[item.id] = replace(definition_of(dataset, item), **given)

    look: Any = {"icon": ":material/edit:", "type": "tertiary", "width": "content"}
    with st.popover("Rename", **look, key=f"rename_{item.id}", on_change="rerun") as opened:
        if opened.open:
            made = generated_name(item) if isinstance(item, Subgroup) else item.title
            st.text_input(
                "Name", item.name, MAX_NAME, keys["name"], placeholder=made, on_change=take
            )
            st.text_area("Note", item.note, max_chars=MAX_NOTE, key=keys["note"], on_change=take)


def load_control() -> None:
    """Let the reader load a file of subgroups."""
    with st.popover("Load subgroups", icon=":material/upload:", width="content"):
        file = st.file_uploader("A file saved here or by `lore subgroups --save`", "json")
        if file is None or file.file_id == st.session_state.get("_loaded_subgroups"):
            return
        try:
            saved().update((item.id, item) for item in regions.load_subgroups(file.getvalue()))
        except InputError as error:
            show_error(error)
            return
        st.session_state["_loaded_subgroups"] = file.file_id
        st.rerun()


def show_card(view: View, search: SubgroupSearch, number: int, *, links_to_map: bool) -> None:
    """Show a subgroup in short: its name, gap, size and some of its rows."""
    subgroup, color = search.subgroups[number], marks_of(search.subgroups)[number]
    part = "" if subgroup.within is None else f" (within {subgroup.within + 1})"
    name = f":{color}-badge[{number + 1}] **{plain(name_of_subgroup(subgroup))}**{part}"
    with st.container(gap=None):
        head = st.container(horizontal=True, vertical_alignment="center", gap="small")
        if links_to_map:
            # (A button that switches pages may not carry the settings in the link along.)
            head.page_link(
                "pages/landscape/page.py",
                label=name,
                query_params={_PARAMETER: subgroup.id},
                help="See it on the map",
            )
        else:
            head.markdown(name, width="content")
        with head:
            name_control(view.evaluation, subgroup)
        lines = [generated_name(subgroup)] if subgroup.name else []
        lines += [unbroken(gap_line(subgroup, search.n_rows)), subgroup.note]
        st.caption("  \n".join(map(plain, filter(None, lines))))
        show_examples_of(view, subgroup)


def color_limit(scene: Scene) -> float:
    """End of the colour scale, the same at every γ: it can be compared while γ moves."""
    at = scene.view.with_(gamma=View.gamma)
    return shared_limit(compute.scene(at, scene.bin_index, scene.on, scene.axes).supported)


def with_subgroups(
    scene: Scene, picture: LandscapePicture, search: SubgroupSearch | None
) -> LandscapePicture:
    """Return a picture of a scene with its subgroups in their colours, and paler elsewhere."""
    if search is None:
        return picture
    marks = enumerate(marks_of(search.subgroups))
    colors, vivid = {str(k + 1): _MARKS[mark] for k, mark in marks}, None
    if scene.only is None and scene.on.n_components == 2:
        vivid = compute.outline(scene.view, scene.on, search)
    found = tuple(replace(one, color=colors.get(one.name, "")) for one in picture.regions)
    return replace(picture, regions=found, vivid=vivid)


def live_scene(
    scene: Scene,
    picture: LandscapePicture,
    field: Field | None,
    search: SubgroupSearch | None,
    **more: Any,
) -> LiveLandscape:
    """Return what a map in the browser shows of a scene."""
    found = [] if search is None else search.subgroups
    return LiveLandscape(
        picture=picture,
        field=field,
        n_shown=int(scene.shown.sum()),
        map_key=map_key(scene.view.dataset, scene.on),
        inside=None if search is None else search.inside(),
        titles={str(k + 1): title_of(subgroup, k) for k, subgroup in enumerate(found)},
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
    found = [] if search is None else compute.outlines(view, plane[1], search)
    scene = compute.scene(view, None, plane[1], plane[0])
    field = compute.field(view, None, plane[1], (), None)
    chart = _drawn(scene, field, rows=scene.in_words, found=found)
    dots = headline_dots(scene, search, found)
    chart = replace(with_subgroups(scene, chart, search), dots=dots)
    live_landscape(live_scene(scene, chart, field, search), key, place=on_subgroup)
    as_seen = map_as_seen(chart, map_key(view.dataset, plane[1]))
    chart_line(chart, key, narrow=True, caption=ABOUT_DOTS if dots else " ", as_seen=as_seen)


def headline_dots(
    scene: Scene, search: SubgroupSearch | None, outlined: Outlines
) -> tuple[MapDots, ...]:
    """Return rows of the headline's subgroup to draw on a map where it has no outline."""
    found = [] if search is None else search.subgroups
    # (The headline's is the first of the usual search, whichever is listed.)
    usual = [] if search is None else compute.subgroups(scene.view).subgroups
    marks = {item.id: (str(k + 1), marks_of(found)[k]) for k, item in enumerate(found)}
    if not usual:
        return ()
    name, mark = marks.get(usual[0].id, ("", "gray"))
    if any(name == known for known, _ in outlined):
        return ()
    inside = np.isin(np.arange(len(scene.points)), usual[0].rows)
    rows = regions.drawn_rows(inside, usual[0].rows[:0], _MAX_DOTS)
    return (MapDots(_MARKS[mark], scene.points[rows]),)


def small_charts(view: View, gammas: Sequence[float], height: int) -> None:
    """Draw the field at some bandwidths beside each other, on one colour scale."""
    plane = plane_of(view)
    if plane is None:
        return
    # (But for its errors, which only the scale needs, the scene is the same at every γ.)
    scene = compute.scene(view.with_(gamma=View.gamma), None, plane[1], plane[0])
    fields = compute.fields(view, tuple(gammas), plane[1])
    for column, gamma, field in zip(st.columns(len(gammas)), gammas, fields, strict=True):
        title = f"γ = {gamma:g}"
        if not np.isfinite(field.signed).any():
            title += ": too few neighbours"
        rows = replace(scene, view=view.with_(gamma=gamma)).in_words
        chart = _drawn(scene, field, rows=rows, title=title, height=height)
        chart = replace(chart, subtitle=f"{view.rows}, {plane[0]}")
        with column:
            show_chart(chart, f"field_at_{gamma:g}", narrow=True, caption=" ")


def _drawn(scene: Scene, field: Field, **look: Any) -> LandscapePicture:
    return landscape_figure(
        field,
        scene.points,
        n_total=scene.n_rows,
        limit=color_limit(scene),
        axes=scene.axes,
        labels=scene.classes,
        **look,
    )
