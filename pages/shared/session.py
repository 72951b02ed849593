"""The session's data: from the link, the command line or the demo, until something is loaded."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from lore_core import InputError, demo, reading
from lore_core.dashboard.large_arrays import kept_apart
from pages.shared.files import State, arguments, states_of
from pages.shared.loaded import DEMO, Loaded
from pages.shared.store import store

_KEY = "_loaded"
_PARAMETER = "data"
_CHANGED = "_files_now"


#: What the demos are, for the Data page.
_STORIES = {
    "digits": (
        "Handwritten digits from scikit-learn, read by a small neural network trained a moment ago "
        "on other images.",
        "On average its confidence is right. Somewhere it is not: the Landscape shows where, "
        "Overview says how sure that is, Recalibrate what helps.",
    ),
    "synthetic": (
        "20,000 made-up rows of two features whose true error is known everywhere: one place is "
        "overconfident, one underconfident, and on average they cancel.",
        "The landscape should find both, and nothing else.",
    ),
    "sentences": (
        "Sentences from the documentation of numpy, scipy, pandas and scikit-learn. A classifier "
        "trained a moment ago on others says from which each is.",
        "On one topic its confidence is wrong. Overview names its words. Features were made of "
        "the words as well, so that there is a Landscape of alike sentences.",
    ),
}


def current() -> Loaded:
    """Return the data every page shows."""
    loaded: Loaded = st.session_state[_KEY]
    return loaded


def adopt(loaded: Loaded) -> None:
    """Make these the data every page shows, name them in the link, and keep them for it."""
    store().loaded.put(loaded.key, loaded)
    _show(loaded)


def _show(loaded: Loaded) -> None:
    """Make these, which are kept, the data every page shows."""
    before = st.session_state.get(_KEY)
    if before is not None and before.key != loaded.key:
        # What was picked on the old data means nothing on the new ones.
        for picked in ("_row", "_region", "_place"):
            st.session_state.pop(picked, None)
    st.session_state[_KEY] = loaded
    _name_in_link(loaded)


def _name_in_link(loaded: Loaded) -> None:
    """Write the data's name into the link, once: every assignment is a step of the history."""
    if st.query_params.get(_PARAMETER) != loaded.key:
        st.query_params[_PARAMETER] = loaded.key


def as_loaded(result: reading.Reading, source: str, files: State = ()) -> Loaded:
    """Return what was read as data to show; rows without a split are split at random.

    ``files``: of this machine, in the state in which they were read.
    """
    dataset, whole = result.dataset, result.dataset.split is None
    return Loaded(
        dataset=kept_apart(dataset.with_split(0.5, random_state=0) if whole else dataset),
        source=source,
        facts=tuple(result.report.facts),
        notes=result.report.notes,
        warnings=result.report.warnings,
        checks=result.report.checks,
        split_by_app=whole,
        files=files,
    )


@st.cache_resource(max_entries=4, show_spinner="Training the demo's classifier …")
def _demo(name: str) -> Loaded:
    makers = {
        "digits": demo.digits,
        "sentences": demo.sentences,
        "synthetic": lambda: demo.synthetic(20_000).dataset,
    }
    dataset = makers[name]()
    return Loaded(dataset=dataset, source=DEMO, facts=_STORIES[name])


def load_demo(name: str = "digits") -> Loaded:
    """Make one of the built-in demos the current data."""
    loaded = _demo(name)
    adopt(loaded)
    return loaded


@st.cache_resource(max_entries=2, show_spinner="Reading the data …")
def _read(paths: tuple[str, ...], state: State) -> Loaded:
    """Read files once for each state of them."""
    return as_loaded(reading.read(list(paths), apart=True), " + ".join(paths), state)


def ensure_loaded() -> bool:
    """Load what the link names, else what the command line names, else the demo.

    What went wrong is kept for :func:`problem`, and the demo is shown instead. Returns whether
    this is the first look of a reader who asked for nothing in particular: at the demo.
    """
    if _KEY in st.session_state:
        _name_in_link(current())
        store().loaded.use(current().key)
        _say_what_changed(current())
        return False
    is_plain = not st.query_params.to_dict()
    wanted = st.query_params.get(_PARAMETER)
    if wanted is not None:
        found = store().loaded.get(wanted)
        if found is not None:
            _show(found)
            _say_what_changed(found)
            return False
    paths = tuple(arguments().data)
    if paths:
        try:
            loaded = _read(paths, states_of(map(Path, paths)))
        except InputError as error:
            st.session_state["_problem"] = str(error)
        else:
            # (Not on disk: there they are.)
            store().loaded.hold(loaded.key, loaded)
            _show(loaded)
            _explain_lost_link(wanted, loaded)
            return False
    _explain_lost_link(wanted, load_demo())
    return is_plain and not paths


def _say_what_changed(loaded: Loaded) -> None:
    """Say once that a file is not what was read any more."""
    now = states_of(Path(file) for file, *_ in loaded.files)
    if now == loaded.files or st.session_state.get(_CHANGED) == now:
        return
    st.session_state[_CHANGED] = now
    changed = sorted({Path(file).name for file, *_ in {*loaded.files} - {*now}})
    st.session_state["_problem"] = (
        f"{', '.join(changed[:3]) or loaded.dataset.name} changed on disk since it was read; what "
        "is shown is as it was then. To read it again, open the address without what follows its "
        "“?”, or use the Data page."
    )


def _explain_lost_link(wanted: str | None, loaded: Loaded) -> None:
    if wanted is not None and wanted != loaded.key:
        st.session_state["_problem"] = (
            "The data this link was made for are no longer loaded here; showing "
            f"{loaded.dataset.name} instead. Load the file again on the Data page."
        )


def problem() -> str | None:
    """Return what went wrong at start, once."""
    text: str | None = st.session_state.pop("_problem", None)
    return text
