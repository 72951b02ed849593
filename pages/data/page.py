"""Data: what did I load?"""

import streamlit as st

from lore_core import Dataset
from pages.data import mapping, sources
from pages.shared.charts import next_step
from pages.shared.header import plain, question, sentence
from pages.shared.maps import MAPS, available_maps, compute_map, duration, seconds
from pages.shared.session import current, failure, is_loaded
from pages.shared.store import store
from pages.shared.tasks import is_busy

#: Nothing found; worth a look; accepted by the reader.
_SIGNS = {"fine": ":material/check:", "look": ":material/warning:", "refuse": ":material/flag:"}


def _list_maps(dataset: Dataset) -> None:
    if dataset.features is None:
        st.caption(
            "No features were loaded, so there is nothing to map: the Overview and Recalibrate "
            "pages still show everything global."
        )
        return
    learned = [name for name in available_maps(dataset) if MAPS[name].learned]
    others = [name for name in available_maps(dataset) if not MAPS[name].learned]
    st.caption(
        f"A map says which rows are neighbours. Ready at any time: {', '.join(others)}. Learned "
        "once, on calibration and evaluation rows together and without looking at labels:"
    )
    busy = is_busy()
    with st.grid(4, min_column_width=200, gap="small", border=True):
        for name in learned:
            _card(dataset, name, busy)


def _card(dataset: Dataset, name: str, busy: bool) -> None:
    with st.container():
        embedding = store().maps.get((dataset.digest, name))
        st.markdown(f"**{name}**")
        if embedding is not None:
            st.caption(f":material/check: ready · {embedding.description}")
            return
        first = ", up to half a minute more for the first" if MAPS[name].method == "umap" else ""
        st.caption(f"about {duration(seconds(dataset, name))}{first}")
        st.button(
            "Make",
            key=f"card_{name}",
            disabled=busy,
            on_click=compute_map,
            args=(dataset, name),
            help="One map is made at a time." if busy else None,
        )


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
        mapping.show_columns(failed.files, failed.source)
    st.subheader("Load" if is_loaded() else "Load something else", anchor=False)
    if not is_loaded():
        sources.offer_data()
    given = sources.choose()
    if given is not None and failed is None:
        mapping.show_columns(*given)
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
                st.markdown(f"{_SIGNS[check.level]} **{check.name}** · {sentence(check.found)}")
    sources.words_as_features(loaded)
    if loaded.split_by_app:
        sources.resplit(loaded)
st.subheader("Feature maps", anchor=False)
_list_maps(current().dataset)
next_step("pages/overview/page.py", "is the model calibrated? Overview")
