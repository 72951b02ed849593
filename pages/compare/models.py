"""Other models to compare with: given by the reader, and chosen."""

from pathlib import Path
from typing import Any

import streamlit as st

from lore_core import InputError, reading
from pages.shared.controls import PATH, UPLOAD, in_session, source_control, upload_control
from pages.shared.files import named_path, states_of
from pages.shared.header import show_error
from pages.shared.session import (
    RETRAINED,
    add_other,
    as_loaded,
    current,
    demo_data,
    join_names,
    others,
)
from pages.shared.store import DEMO, Loaded

_PAGE = "pages/compare/page.py"


def add_model() -> None:
    """Let the reader give another model's predictions, and compare with them."""
    st.markdown(
        "Give another model's predictions for the same rows: any file that Data reads. Rows are "
        "matched by a column `row_id` or `id`, else by their order, if all true classes agree."
    )
    if current().source == DEMO and current().demo == "digits":
        label = "The demo's network, trained on turned digits, too"
        if st.button(label, icon=":material/draw:", type="primary"):
            add_other(demo_data(RETRAINED))
            st.switch_page(_PAGE)
    kind = source_control("From", "other_source", (UPLOAD, PATH))
    files: list[Any] = []
    try:
        if kind == UPLOAD:
            files = upload_control("Predictions of the other model", "other_upload")
        elif text := st.text_input("Path on this machine", **in_session("other_path")).strip():
            files = [named_path(part) for part in text.split(";") if part.strip()]
        if st.button("Compare", type="primary", disabled=not files):
            with st.spinner("Reading and checking …"):
                read = reading.read(files, isolate=True)
            states = states_of(item for item in files if isinstance(item, Path))
            add_other(as_loaded(read, join_names(files), states))
            st.switch_page(_PAGE)
    except InputError as error:
        show_error(error)


def chosen_model() -> Loaded:
    """Return the model to compare with; end the page where there is none."""
    known = others()
    if not known:
        add_model()
        st.stop()
    row = st.container(horizontal=True, vertical_alignment="bottom")
    names = [loaded.dataset.name for loaded in known]
    at = range(len(known))
    place = row.selectbox(
        "New model", at, format_func=names.__getitem__, width=320, **in_session("other_model")
    )
    with row.popover("Another model", icon=":material/add:", type="tertiary", width="content"):
        add_model()
    return known[place]
