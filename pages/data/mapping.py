"""What is read of files: the role of each column, or the answer to a query to a database."""

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
from pages.shared.session import READ_MAPPING, failure

_FIELDS = ["label", "probabilities", "prediction", "features", "split", "groups", "metadata"]
_FIELDS += ["images", "row_id", "text", "weight"]
#: Field of the mapping → role in the table.
_ROLES = {name: name for name in _FIELDS}
_ROLES |= {"features": "feature", "groups": "group", "row_id": "row id"}
_UNUSED = "not used"
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
                    "role", options=[*_ROLES.values(), _UNUSED], required=True
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
    rows = [
        (item.name, _ROLES.get(item.role, _UNUSED), item.kind, ", ".join(item.examples))
        for item in overview.columns
    ]
    return pd.DataFrame(rows, columns=["column", "role", "kind", "examples"])


def _mapping(edited: pd.DataFrame, kind: str, overview: FileOverview) -> ColumnMapping:
    chosen: dict[str, Any] = {}
    for name, role in _ROLES.items():
        columns = tuple(edited.loc[edited["role"] == role, "column"])
        chosen[name] = columns if name in _SEVERAL else "".join(columns[:1])
    # A group column is metadata as well.
    chosen["metadata"] = tuple(dict.fromkeys((*chosen["groups"], *chosen["metadata"])))
    return replace(overview.mapping, **chosen, probability_kind=kind, accept=None)


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
