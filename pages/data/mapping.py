"""What is read of files: the role of each column, or the answer to a query to a database."""

from __future__ import annotations

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
from pages.shared.session import READ_MAPPING, failure

#: Role in the table → field of the mapping.
_ROLES = {
    "label": "label",
    "probabilities": "probabilities",
    "prediction": "prediction",
    "feature": "features",
    "split": "split",
    "group": "groups",
    "metadata": "metadata",
    "images": "images",
    "row id": "row_id",
    "text": "text",
    "weight": "weight",
}
_UNUSED = "not used"
_FIELDS = {field: role for role, field in _ROLES.items()}
_SEVERAL = ("probabilities", "features", "groups", "metadata")


def show_columns(files: list[Any], source: str) -> None:
    """Show the columns of the first file with their roles, and read again with edited ones."""
    if not files:
        return
    _query_box(files, source)
    try:
        overview = _overview(files)
    except InputError:
        return  # said above, when reading it
    failed = failure() is not None
    with st.expander("Columns and their roles", icon=":material/view_column:", expanded=failed):
        st.caption(
            f"{plain(overview.file)} ({overview.format}), {overview.n_rows:,} rows. The roles are "
            "guesses by name; change what is wrong and read again."
        )
        edited = st.data_editor(
            _table(overview),
            hide_index=True,
            key="roles",
            height="content" if len(overview.columns) <= 9 else 360,
            disabled=["column", "kind", "examples"],
            column_config={
                "role": st.column_config.SelectboxColumn(
                    "role", options=[*_ROLES, _UNUSED], required=True
                )
            },
        )
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


def _overview(files: list[Any]) -> FileOverview:
    """Return what the files hold, as it was read with them; look at those that were refused."""
    key = overview_key(files, st.session_state.get(READ_MAPPING))
    return once_a_state(
        OVERVIEW, key, lambda: inspect(from_start(files), mapping=key[-1], isolate=True)
    )


def _table(overview: FileOverview) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "column": item.name,
                "role": _FIELDS.get(item.role, _UNUSED),
                "kind": item.kind,
                "examples": ", ".join(item.examples),
            }
            for item in overview.columns
        ],
        columns=["column", "role", "kind", "examples"],
    )


def _mapping(edited: pd.DataFrame, kind: str, overview: FileOverview) -> ColumnMapping:
    chosen = {
        field: tuple(edited.loc[edited["role"] == role, "column"]) for role, field in _ROLES.items()
    }
    single: dict[str, Any] = {
        field: (names[0] if names else "")
        for field, names in chosen.items()
        if field not in _SEVERAL
    }
    several: dict[str, Any] = {field: chosen[field] for field in _SEVERAL}
    # A group column is metadata as well.
    several["metadata"] = tuple(dict.fromkeys((*several["groups"], *several["metadata"])))
    return ColumnMapping(
        **single,
        **several,
        probability_kind=kind,
        class_names=overview.mapping.class_names,
        table=overview.mapping.table,
        query=overview.mapping.query,
    )


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
