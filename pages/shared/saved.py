"""Subgroups that a reader named or loaded: kept in the session and the link, read from a file."""

from contextlib import suppress
from dataclasses import replace

import streamlit as st

from lore_core import Dataset, InputError
from lore_core.regions import SavedSubgroup, Subgroup, load_subgroups
from lore_core.regions.subgroups.saved import (
    MAX_NAME,
    MAX_NOTE,
    link_text,
    read_link_text,
    rows_digest,
    saved_subgroup,
)
from lore_core.regions.subgroups.verdict import generated_name
from pages.shared.header import show_error
from pages.shared.session import name_in_link

#: In the session, the definition of the subgroup that is looked at.
CHOSEN = "_subgroup"
_SAVED, _PARAMETER = "_saved_subgroups", "subgroups"
#: Letters that names and definitions take in the link at most.
_MAX_LETTERS = 800


def saved() -> dict[str, SavedSubgroup]:
    """Return what was named or loaded, by ids; at first those in the link."""
    known: dict[str, SavedSubgroup] | None = st.session_state.get(_SAVED)
    if known is None:
        known = {}
        with suppress(InputError):
            known = {x.id: x for x in read_link_text(st.query_params.get(_PARAMETER, "[]"))}
        st.session_state[_SAVED] = known
    return known


def keep_in_link() -> None:
    """Write names and definitions into the link, that of the chosen one first."""
    chosen: SavedSubgroup | None = st.session_state.get(CHOSEN)
    own = [] if chosen is None or chosen.id in saved() else [chosen]
    name_in_link(_PARAMETER, link_text([*own, *saved().values()], _MAX_LETTERS) or None)


def definition_of(dataset: Dataset, item: Subgroup | SavedSubgroup) -> SavedSubgroup:
    """Return what is saved of a subgroup found among the rows of a dataset."""
    return item if isinstance(item, SavedSubgroup) else saved_subgroup(item, rows_digest(dataset))


def name_control(dataset: Dataset, item: Subgroup | SavedSubgroup) -> None:
    """Let the reader give a subgroup a name and a note."""
    keys = {part: f"{part}_{item.id}" for part in ("name", "note")}

    def take() -> None:
        given = {part: st.session_state[key].strip() for part, key in keys.items()}
        saved()[item.id] = replace(definition_of(dataset, item), **given)

    made = generated_name(item) if isinstance(item, Subgroup) else item.title
    with st.popover("Rename", icon=":material/edit:", type="tertiary", width="content"):
        st.text_input("Name", item.name, MAX_NAME, keys["name"], placeholder=made, on_change=take)
        st.text_area("Note", item.note, max_chars=MAX_NOTE, key=keys["note"], on_change=take)


def load_control() -> None:
    """Let the reader load a file of subgroups."""
    with st.popover("Load subgroups", icon=":material/upload:", width="content"):
        file = st.file_uploader("A file saved here or by `lore subgroups --save`", "json")
        if file is None or file.file_id == st.session_state.get("_loaded_subgroups"):
            return
        try:
            saved().update((item.id, item) for item in load_subgroups(file.getvalue()))
        except InputError as error:
            show_error(error)
            return
        st.session_state["_loaded_subgroups"] = file.file_id
        st.rerun()
