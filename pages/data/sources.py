"""Where data come from (files, a path, a demo), and what is read of them: roles or a query."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from lore_core import InputError, reading
from lore_core.dashboard.disk_cache import MAX_AGE_SECONDS
from lore_core.data.texts import text_columns, with_text_features
from lore_core.reading import PROBABILITY_KINDS, ColumnMapping, FileOverview, inspect
from lore_core.reading.formats import DATABASE_SUFFIXES, FORMATS, sources_of
from lore_core.reading.reading_report import NO_FEATURES
from pages.shared import session
from pages.shared.controls import PATH, UPLOAD, in_session, source_control, upload_control
from pages.shared.files import arguments, check_inside, named_path, once_a_state, states_of
from pages.shared.header import plain, show_error
from pages.shared.session import READ_MAPPING
from pages.shared.store import Loaded, disk_cache, max_age, store

#: What the files that were last read hold, and which they were.
OVERVIEW = "_overview"
_DEMO = "Demo"
_FIELDS = ["label", "probabilities", "prediction", "features", "split", "groups", "metadata"]
_FIELDS += ["images", "row_id", "text", "weight", "unit"]
#: Field of the mapping → role in the table.
_ROLES = {name: name for name in _FIELDS}
_ROLES |= {"features": "feature", "groups": "group", "row_id": "row id"}
_UNUSED = "not used"
_SEVERAL = ("probabilities", "features", "groups", "metadata")
_DEMOS = {
    "digits": ("Digits, some scanned sideways", "draw"),
    "synthetic": ("Synthetic, error known", "scatter_plot"),
}


def choose() -> tuple[list[Any], str] | None:
    """Draw the sources; return what was given as files, and a name for it."""
    kind = source_control("From", "source", (UPLOAD, PATH, _DEMO))
    given = None
    if kind == UPLOAD:
        given = _upload()
    elif kind == PATH:
        given = _path()
    else:
        with st.container(horizontal=True):
            for name, (label, icon) in _DEMOS.items():
                if st.button(label, icon=f":material/{icon}:"):
                    session.load_demo(name)
                    st.rerun()
    st.caption(_what_is_kept())
    return given


def _what_is_kept() -> str:
    if disk_cache() is None:
        return (
            "What you load stays in the memory of this server, where its link finds it for "
            f"{max_age() / 3600:.0f} h after its last use. Nothing of it is kept on a disk."
        )
    failed = store().problem
    if failed is not None:
        return (
            "What was loaded or made last could not be kept on disk, and is gone after a restart "
            f"of the server: {plain(failed)}"
        )
    return (
        "What you load, and the maps and reports you make, stay on this machine's disk for "
        f"{MAX_AGE_SECONDS / 86_400:.0f} days after their last use. `lore clean` removes them; "
        "`lore app --no-cache` keeps nothing."
    )


def _upload() -> tuple[list[Any], str] | None:
    files = upload_control(
        f"Predictions ({', '.join(kind.suffixes[0] for kind in FORMATS)})",
        "upload",
        on_change=session.dismiss_failure,
        help="One file, or two: names ending in _cal and _test become calibration and evaluation "
        "rows. Further files of images, texts or metadata are joined by an id column (id, row_id) "
        "that both have, else row by row.",
    )
    if not files:
        return None
    key = tuple(item.file_id for item in files)
    if st.session_state.get("_uploaded") != key:
        st.session_state["_uploaded"] = key
        read_and_adopt(files, "upload")
    return files, "upload"


def _path() -> tuple[list[Any], str] | None:
    text = st.text_input(
        "Path on this machine",
        **in_session("path"),
        placeholder="runs/model_cal.npz; runs/model_test.npz",
        help="One file, two separated by “;”, or a directory that holds one file or one pair.",
    )
    named = [part for part in text.split(";") if part.strip()]
    read = st.container()
    try:
        paths = [named_path(part) for part in named]
        check_inside(raw for path in paths for raw in sources_of(path))
    except InputError as error:
        paths = []
        show_error(error)
    if read.button("Read", type="primary", disabled=not paths):
        read_and_adopt(paths, text)
    return (paths, text) if paths and all(path.exists() for path in paths) else None


def overview_key(files: list[Any], mapping: reading.ColumnMapping | None) -> list[Any]:
    """Return what tells files in a state of theirs, and how they are read, from others."""
    state = [getattr(item, "file_id", None) or (str(item), states_of([item])) for item in files]
    return [*state, mapping or reading.ColumnMapping()]


def read_and_adopt(
    files: list[Any], source: str, mapping: reading.ColumnMapping | None = None
) -> None:
    """Read files and make them current, or note why they could not be read."""
    try:
        mapping = mapping or session.linked_mapping()
        st.session_state[session.READ_MAPPING] = mapping
        with st.spinner("Reading and checking …"):
            result = reading.read(files, mapping=mapping, isolate=True, overview=True)
            st.session_state[OVERVIEW] = overview_key(files, mapping), result.overview
            states = states_of(item for item in files if isinstance(item, Path))
            session.adopt(session.as_loaded(result, source, states, mapping))
    except InputError as error:
        session.note_failure(session.Failure(error, files, source))
    st.rerun()  # An error, too, stands above what asked for it.


def explain_failure(failed: session.Failure) -> None:
    """Say why data could not be loaded; what is only doubtful can be read all the same."""
    error, files = failed.error, failed.files
    given = st.session_state.get(session.READ_MAPPING) or reading.ColumnMapping()
    if isinstance(error, reading.SeveralTablesError):
        show_error(error.found)
        name = st.selectbox(f"The {error.what} to read", error.tables, format_func=plain)
        if st.button(f"Read this {error.what}", type="primary"):
            read_and_adopt(files, failed.source, dataclasses.replace(given, table=name))
    elif isinstance(error, reading.DoubtfulDataError):
        show_error(error.found)
        if st.button("It is as it should be: read it", icon=":material/check:"):
            accepted = (*(given.accept or ()), error.check)
            read_and_adopt(files, failed.source, dataclasses.replace(given, accept=accepted))
    else:
        show_error(error)
    if session.is_loaded():
        st.button("Dismiss", icon=":material/close:", on_click=session.dismiss_failure)


def offer_data() -> None:
    """Offer what can be shown at once where nothing is loaded."""
    failed, paths = session.failure(), arguments().data
    with st.container(horizontal=True):
        if paths and (failed is None or failed.source != " + ".join(paths)):
            st.button(
                f"Open {plain(session.join_names(map(Path, paths)))}",
                icon=":material/folder_open:",
                on_click=session.load_startup_data,
            )
        st.button("Show the demo", icon=":material/draw:", on_click=session.load_demo)


def contract() -> None:
    """List what a file should hold."""
    st.markdown(Path(__file__).with_name("contract.md").read_text(encoding="utf-8"))


def resplit(loaded: Loaded) -> None:
    """Let the reader choose how rows without a split are divided."""
    with st.container(border=True):
        st.caption(
            "The file names no split, so its rows were divided at random: calibration rows fit "
            "recalibrators, evaluation rows are shown."
        )
        left, right = st.columns(2, vertical_alignment="bottom")
        fraction = left.slider(
            "Share for calibration, %", 10, 90, 50, 5, **in_session("split_share")
        )
        state = right.number_input("Seed", 0, 10_000, 0, **in_session("split_seed"))
        if st.button("Divide again"):
            share, seed = fraction / 100, int(state)
            dataset = loaded.dataset.with_split(share, random_state=seed)
            session.adopt(dataclasses.replace(loaded, dataset=dataset, divided=(share, seed)))
            st.rerun()


def words_as_features(loaded: Loaded) -> None:
    """Offer to make features of a text column, where there are none."""
    texts = text_columns(loaded.dataset) if loaded.dataset.features is None else []
    if not texts:
        return
    with st.container(border=True):
        st.caption(
            "There are no features, but texts: features made of their words (TF-IDF and its "
            "singular vectors, learnt from the calibration rows) say which rows are alike."
        )
        name = texts[0] if len(texts) == 1 else st.selectbox("Text column", texts, key="text")
        if st.button(f"Make features of “{plain(name)}”", icon=":material/article:"):
            with st.spinner("Making features of the words …"):
                dataset = with_text_features(loaded.dataset, name)
            count = len(dataset.feature_labels)
            text = f"{count} feature columns, made of the words of '{name}'."
            facts = tuple(text if fact == NO_FEATURES else fact for fact in loaded.facts)
            session.adopt(dataclasses.replace(loaded, dataset=dataset, facts=facts))
            st.rerun()


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
        return once_a_state(OVERVIEW, key, lambda: inspect(files, mapping=key[-1], isolate=True))
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
    return dataclasses.replace(
        st.session_state.get(READ_MAPPING) or ColumnMapping(), **roles, accept=None
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
