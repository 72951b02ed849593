"""Data: what did I load?"""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.data import mapping, maps, query, sources
from pages.shared.charts import next_step
from pages.shared.header import plain, question
from pages.shared.session import current, failure, is_loaded

#: Nothing found; worth a look; accepted by the reader.
_SIGNS = {"fine": ":material/check:", "look": ":material/warning:", "refuse": ":material/flag:"}


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _show_columns(files: list[Any], source: str) -> None:
    """Show what files hold, to be read in another way."""
    if files:
        query.box(files, source)
        mapping.panel(files, source)


question(
    "What did I load?",
    "Drop in a classifier's predictions, labels and features; everything else follows from them.",
)
# Where nothing is loaded there is nothing but why, and what can be done about it.
columns = st.columns([1.1, 1], gap="large") if is_loaded() else [st.container()]
with columns[0]:
    failed = failure()
    if failed is not None:
        sources.explain_failure(failed)
        _show_columns(failed.files, failed.source)
    st.subheader("Load" if is_loaded() else "Load something else", anchor=False)
    if not is_loaded():
        sources.offer_data()
    given = sources.choose()
    if given is not None and failed is None:
        _show_columns(*given)
if not is_loaded():
    st.stop()
with columns[1]:
    loaded = current()
    st.subheader("What was read", anchor=False)
    st.markdown("\n".join(f"- {plain(fact)}" for fact in loaded.facts))
    if loaded.notes:
        st.info("\n\n".join(map(plain, loaded.notes)), icon=":material/info:")
    if loaded.warnings:
        st.warning("\n\n".join(map(plain, loaded.warnings)), icon=":material/warning:")
    if loaded.checks:
        with st.expander(f"What was checked ({len(loaded.checks)})", icon=":material/checklist:"):
            for check in loaded.checks:
                st.markdown(
                    f"{_SIGNS[check.level]} **{check.name}** · {plain(_capital(check.found))}"
                )
    sources.words_as_features(loaded)
    if loaded.split_by_app:
        sources.resplit(loaded)
st.subheader("Feature maps", anchor=False)
maps.panel(current().dataset)
next_step("pages/overview/page.py", "is there a problem? Overview")
