"""What is read of files: the role of each column, or the answer to a query to a database."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from lore_core import InputError
from lore_core.reading import PROBABILITY_KINDS, ColumnMapping, FileOverview, inspect
from lore_core.reading.formats import DATABASE_SUFFIXES
from pages.data.sources import OVERVIEW, from_start, overview_key, read_and_adopt
from pages.shared.controls import in_session
from pages.shared.files import once_a_state
from pages.shared.header import plain
from pages.shared.session import READ_MAPPING

_FIELDS = ["label", "probabilities", "prediction", "features", "split", "groups", "metadata"]
_FIELDS += ["images", "row_id", "text", "weight"]
#: Field of the mapping → role in the table.
_ROLES = {name: name for name in _FIELDS}
_ROLES |= {"features": "feature", "groups": "group", "row_id": "row id"}
_UNUSED = "not used"
_SEVERAL = ("probabilities", "features", "groups", "metadata")


def suggest(files: list[Any], source: str) -> None:
    """Ask which of the mappings is meant with which a refused file reads; one click reads it."""
    overview = _overview(files) if files else None
    if overview is None or not overview.suggestions:
        return
    st.markdown(f"**{plain(overview.question)}**")
    with st.container(horizontal=True):
        for number, item in enumerate(overview.suggestions):
            label = f"Read {plain(item.words)}"
            if st.button(label, type="primary", key=f"suggested_{number}"):
                read_and_adopt(files, source, item.mapping)


def show_columns(files: list[Any], source: str) -> None:
    """Show the first rows and the roles of their columns, and read again with edited ones."""
    if not files:
        st.caption("Give a file above: its first rows are shown here, under the roles of columns.")
        return
    _query_box(files, source)
    overview = _overview(files)
    if overview is None:
        return  # said above, when reading it
    st.caption(
        f"First rows of {plain(overview.file)} ({overview.format}, {overview.n_rows:,} rows), the "
        "guessed roles above their columns."
    )
    shown = [item for item in overview.columns if item.first]
    roles = [_ROLES.get(item.role, _UNUSED) for item in shown]
    preview = pd.DataFrame([item.first for item in shown]).T
    preview.columns = pd.MultiIndex.from_arrays([roles, [item.name for item in shown]])
    st.dataframe(preview, hide_index=True, height="content")
    rows = [
        (item.name, _ROLES.get(item.role, _UNUSED), item.kind, ", ".join(item.examples))
        for item in overview.columns
    ]
    left, right = st.columns([1.6, 1], gap="large")
    with left:
        edited = st.data_editor(
            pd.DataFrame(rows, columns=["column", "role", "kind", "examples"]),
            hide_index=True,
            key="roles",
            height="content" if len(overview.columns) <= 9 else 360,
            disabled=["column", "kind", "examples"],
            column_config={
                "role": st.column_config.SelectboxColumn(
                    "role", options=[*_ROLES.values(), _UNUSED], required=True
                )
            },
        )
    with right:
        kind = st.selectbox(
            "The probability columns hold",
            PROBABILITY_KINDS,
            index=PROBABILITY_KINDS.index(overview.mapping.probability_kind or "probabilities"),
            help="probabilities: one column a class. logits: scores before the softmax. "
            "confidence: of the predicted class only. positive: P(y = 1) of two classes. "
            "correct: confidence in an answer; the label says whether it is right.",
        )
        if st.button("Read with these roles", type="primary"):
            read_and_adopt(files, source, _mapping(edited, kind, overview))
        if overview.class_counts:
            st.caption("Rows of each class")
            show_balance(overview.class_counts)


def show_balance(counts: Mapping[str, Mapping[str, int]]) -> None:
    """Show how many rows each class has, a column a split."""
    table = pd.DataFrame(counts).fillna(0).astype(int).rename_axis("class").reset_index()
    st.dataframe(
        table,
        hide_index=True,
        height="content" if len(table) <= 11 else 420,
        column_config={
            name: st.column_config.ProgressColumn(
                f"{name} rows", format="%d", min_value=0, max_value=int(table[name].max()) or 1
            )
            for name in counts
        },
    )


def _overview(files: list[Any]) -> FileOverview | None:
    """Return what the files hold, as it was read with them; None where they are damaged."""
    key = overview_key(files, st.session_state.get(READ_MAPPING))
    try:
        return once_a_state(
            OVERVIEW, key, lambda: inspect(from_start(files), mapping=key[-1], isolate=True)
        )
    except InputError:
        return None


def _mapping(edited: pd.DataFrame, kind: str, overview: FileOverview) -> ColumnMapping:
    chosen: dict[str, Any] = {}
    for name, role in _ROLES.items():
        columns = tuple(edited.loc[edited["role"] == role, "column"])
        chosen[name] = columns if name in _SEVERAL else "".join(columns[:1])
    # A group column is metadata as well.
    chosen["metadata"] = tuple(dict.fromkeys((*chosen["groups"], *chosen["metadata"])))
    chosen["probability_kind"] = kind
    guessed = {name: getattr(overview.mapping, name) or () for name in chosen}
    changed = {name: of for name, of in chosen.items() if (of or ()) != guessed[name]}
    # What was not changed is guessed again, but for the roles that rest on each other.
    needed = ("label", "probabilities", "prediction", "probability_kind")
    roles = {name: of for name, of in chosen.items() if name in changed or name in needed}
    return replace(st.session_state.get(READ_MAPPING) or ColumnMapping(), **roles, accept=None)


def _query_box(files: list[Any], source: str) -> None:
    if not all(Path(item.name).suffix.lower() in DATABASE_SUFFIXES for item in files):
        return
    given: ColumnMapping | None = st.session_state.get(READ_MAPPING)
    asked = given is not None and given.query is not None
    with st.expander("Read the answer to a query", icon=":material/database:", expanded=asked):
        st.caption(
            "The rows of a SELECT, in SQL, are read in place of a table. The file is opened "
            "read-only, and a query reaches nothing but the file itself."
        )
        text = st.text_area(
            "Query",
            **in_session("query"),
            placeholder="SELECT label, p, site FROM answers JOIN sites USING (id)",
        )
        if st.button("Read this query", type="primary", disabled=not text.strip()):
            read_and_adopt(files, source, ColumnMapping(query=text.strip()))
