"""Data: what did I load?"""

import shlex
from collections.abc import Callable

import numpy as np
import streamlit as st

from lore_core import Dataset
from lore_core.data.dataset import CALIBRATION, EVALUATION
from lore_core.data.number_text import percent
from pages.compare.models import add_model
from pages.data import sources
from pages.shared.charts import next_step
from pages.shared.controls import show_tabs
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
            with st.container():
                embedding = store().maps.get((dataset.digest, name))
                st.markdown(f"**{name}**")
                if embedding is not None:
                    st.caption(f":material/check: ready · {embedding.description}")
                    continue
                st.caption(f"about {duration(seconds(dataset, name))}")
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
        f"{len(rows.evaluation):,} evaluation + {calibration:,} calibration rows "
        f"{'' if rows.units is None else f'of {rows.n_units:,} units '}of "
        f"{rows.n_classes:,} classes with {p:,} features; accuracy "
        f"{percent(rows.evaluation.accuracy)}."
    )
    if not warnings:
        st.success(f"**{plain(text)}**", icon=":material/check_circle:")
        return
    more = f" ({len(warnings) - 1} more under Checks)" if len(warnings) > 1 else ""
    st.warning(f"**{plain(text)}**  \n{plain(warnings[0])}{more}", icon=":material/warning:")


def _what_was_read(loaded: Loaded) -> None:
    st.markdown("\n".join(f"- {plain(fact)}" for fact in (*loaded.facts, *loaded.notes)))
    if loaded.columns:
        files = " ".join(f"'{name}'" for name, *_ in loaded.files) or "FILE"
        st.caption("The same mapping as a command:")
        options = [f"--column {shlex.quote(item)}" for item in loaded.columns]
        st.code(" \\\n  ".join([f"lore metrics {files}", *options]), language="bash")


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
        sources.suggest(failed.files, failed.source)
    elif is_loaded():
        _headline(current())
if is_loaded():
    figure, load = st.columns([1.2, 1], gap="large")
    rows = current().dataset
    counts: dict[str, dict[str, int]] = {}
    for split in (EVALUATION, CALIBRATION):
        number = np.bincount(rows.labels[rows.in_split(split)], minlength=rows.n_classes)
        counts[split] = dict(zip(rows.class_names, number.tolist(), strict=True))
    with figure.container(key="main_picture"):
        sources.show_balance(counts)
else:
    load = st.container()
with load:
    if not is_loaded():
        sources.offer_data()
    given = sources.choose()
    if is_loaded():
        sources.words_as_features(current())
        if current().divided is not None:
            sources.resplit(current())
if failed is not None and failed.files:
    given = failed.files, failed.source
shows: dict[str, Callable[[], None]] = {
    "Columns and roles": lambda: sources.show_columns(*given or ([], ""))
}
if is_loaded():
    read: dict[str, Callable[[], None]] = {"What was read": lambda: _what_was_read(current())}
    # What was given and is not shown comes first: it can be read with other roles.
    is_shown = failed is None and (given is None or given[1] == current().source)
    shows = {**read, **shows} if is_shown else {**shows, **read}
    shows["Checks"] = lambda: _checks(current())
    shows["Feature maps"] = lambda: _list_maps(current().dataset)
    shows["Another model"] = add_model
shows["What a file should hold"] = sources.contract
show_tabs("data_tab", shows)
if is_loaded():
    next_step("pages/overview/page.py", "is the model calibrated? Overview")
