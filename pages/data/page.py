"""Data: what did I load?"""

import streamlit as st

from lore_core import Dataset
from lore_core.data.dataset import CALIBRATION, EVALUATION
from lore_core.data.number_text import percent
from pages.data import mapping, sources
from pages.shared.charts import next_step
from pages.shared.controls import linked
from pages.shared.header import plain, question, sentence
from pages.shared.maps import MAPS, available_maps, compute_map, duration, seconds
from pages.shared.session import current, failure, is_loaded
from pages.shared.store import Loaded, store
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


def _headline(loaded: Loaded) -> None:
    """Say in a line what was loaded, and whether anything in it needs a look."""
    rows, warnings = loaded.dataset, loaded.warnings
    p = 0 if rows.features is None else rows.features.shape[1]
    calibration = 0 if rows.calibration is None else len(rows.calibration)
    text = (
        f"{len(rows.evaluation):,} evaluation + {calibration:,} calibration rows of "
        f"{rows.n_classes:,} classes with {p:,} features; accuracy "
        f"{percent(rows.evaluation.accuracy)}."
    )
    if not warnings:
        st.success(f"**{plain(text)}**", icon=":material/check_circle:")
        return
    more = f" ({len(warnings) - 1} more under Checks)" if len(warnings) > 1 else ""
    st.warning(f"**{plain(text)}**  \n{plain(warnings[0])}{more}", icon=":material/warning:")


def _balance(dataset: Dataset) -> None:
    counts = {}
    for name in (EVALUATION, CALIBRATION):
        labels = dataset.labels[dataset.in_split(name)]
        rows = [int((labels == k).sum()) for k in range(dataset.n_classes)]
        counts[name] = dict(zip(dataset.class_names, rows, strict=True))
    mapping.show_balance(counts)


def _what_was_read(loaded: Loaded) -> None:
    st.markdown("\n".join(f"- {plain(fact)}" for fact in (*loaded.facts, *loaded.notes)))
    if loaded.columns:
        files = " ".join(f"'{name}'" for name, *_ in loaded.files) or "FILE"
        st.caption("The same mapping as a command:")
        st.code(mapping.command(loaded.columns, files), language="bash")


def _checks(loaded: Loaded) -> None:
    for text in loaded.warnings:
        st.warning(plain(text), icon=":material/warning:")
    for check in loaded.checks:
        st.markdown(f"{_SIGNS[check.level]} **{check.name}** · {sentence(check.found)}")
    if not (loaded.checks or loaded.warnings):
        st.caption("These are built in: there is nothing to check.")


question(
    "What did I load?",
    "Drop in a classifier's predictions, labels and features; everything else follows from them.",
)
failed = failure()
with st.container(key="main_answer"):
    if failed is not None:
        sources.explain_failure(failed)
        mapping.suggest(failed.files, failed.source)
    elif is_loaded():
        _headline(current())
if is_loaded():
    figure, load = st.columns([1.2, 1], gap="large")
    with figure.container(key="main_picture"):
        _balance(current().dataset)
else:
    load = st.container()
with load:
    if not is_loaded():
        sources.offer_data()
    given = sources.choose()
    if is_loaded():
        sources.words_as_features(current())
        if current().split_by_app:
            sources.resplit(current())
if failed is not None and failed.files:
    given = failed.files, failed.source
names = ["Columns and roles", "What a file should hold"]
if is_loaded():
    names[1:1] = ["Checks", "Feature maps"]
    # What was given and is not shown comes first: it can be read with other roles.
    is_shown = failed is None and (given is None or given[1] == current().source)
    names.insert(0 if is_shown else 1, "What was read")
for name, tab in zip(names, st.tabs(names, **linked("data_tab")), strict=True):
    if not tab.open:
        continue
    with tab:
        if name == "Columns and roles":
            mapping.show_columns(*given or ([], ""))
        elif name == "What was read":
            _what_was_read(current())
        elif name == "Checks":
            _checks(current())
        elif name == "Feature maps":
            _list_maps(current().dataset)
        else:
            sources.contract()
if is_loaded():
    next_step("pages/overview/page.py", "is the model calibrated? Overview")
