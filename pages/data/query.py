"""A query to a database, whose answer is read in place of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from lore_core.reading import ColumnMapping
from lore_core.reading.formats import DATABASE_SUFFIXES
from pages.data.sources import read_and_adopt
from pages.shared.session import READ_MAPPING


def box(files: list[Any], source: str) -> None:
    """Ask for a query, where all files (uploads or paths) are databases."""
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
            key="query",
            persist_state="session",
            placeholder="SELECT label, p, site FROM answers JOIN sites USING (id)",
        )
        if st.button("Read this query", type="primary", disabled=not text.strip()):
            read_and_adopt(files, source, ColumnMapping(query=text.strip()))
