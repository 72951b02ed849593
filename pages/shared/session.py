"""The session's data, or why there are none: from the link, the command line or the demo."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, TypeVar

import numpy as np
import streamlit as st

from lore_core import InputError, demo, reading
from lore_core.dashboard.large_arrays import map_arrays
from lore_core.dashboard.worker_pool import lower_priority
from lore_core.data.arrays import Mask
from lore_core.data.atomic_files import replaced_at_once
from lore_core.data.dataset import EVALUATION, Dataset
from lore_core.mergeable.partitions.run import WholeData, read_whole_data
from lore_core.regions import SavedSubgroup
from lore_core.regions.subgroups.saved import link_text, read_link_text
from pages.shared.files import State, arguments, states_of
from pages.shared.store import DEMO, Loaded, store

Made = TypeVar("Made")
_KEY = "_loaded"
#: Other models to compare with, and their names in the link.
_OTHERS, _AGAINST, RETRAINED = "_others", "against", "digits-retrained"
_PARAMETER, _COLUMNS = "data", "column"
_CHANGED = "_files_now"
_FAILURE = "_failure"
_EXPORTED = "_exported"
#: The mapping with which files were last read, or could not be.
READ_MAPPING = "_read_mapping"
#: What a reader picked on the data that are shown; it means nothing on others.
PICKS = ("_picked_row", "_region", "_subgroup")
#: The definition of the subgroup that is looked at; those that a reader named or loaded.
CHOSEN, _SAVED, _SUBGROUPS = "_subgroup", "_saved_subgroups", "subgroups"
#: Letters that names and definitions of subgroups take in the link at most.
_MAX_LETTERS = 800
#: Settings and picks that were changed, as they were before each change.
HISTORY = "_history"


class Failure(NamedTuple):
    """Data that could not be loaded."""

    error: InputError
    #: Uploads or paths, which another mapping of their columns may help; none of a link.
    files: list[Any]
    source: str = ""  #: As in :attr:`Loaded.source`


_STORIES = {
    "digits": (
        "Handwritten digits from scikit-learn, read by a small neural network trained a moment ago "
        "on other images.",
        "On average its confidence is right. Somewhere it is not: the Landscape shows where, "
        "Overview says how sure that is, Recalibrate what helps.",
    ),
    RETRAINED: (
        "The demo's digits, read by a network that has learned from digits lying sideways, too.",
        "Compare says what that has changed.",
    ),
    "synthetic": (
        "20,000 made-up rows of two features whose true error is known everywhere: one place is "
        "overconfident, one underconfident, and on average they cancel.",
        "The landscape should find both, and nothing else.",
    ),
}


def is_loaded() -> bool:
    """Return whether there are data to show."""
    return _KEY in st.session_state


def failure() -> Failure | None:
    """Return what could not be loaded last, unless something was loaded since."""
    failed: Failure | None = st.session_state.get(_FAILURE)
    return failed


def note_failure(failed: Failure) -> None:
    """Note what could not be loaded; data loaded before stay, but no demo stands in for it."""
    st.session_state[_FAILURE] = failed
    if is_loaded() and current().demo:
        del st.session_state[_KEY]
        _forget_picks()
        name_in_link(_PARAMETER, None)


def dismiss_failure() -> None:
    """Forget what could not be loaded, where other data are shown."""
    if is_loaded():
        st.session_state.pop(_FAILURE, None)


def current() -> Loaded:
    """Return the data every page shows."""
    loaded: Loaded = st.session_state[_KEY]
    return loaded


def adopt(loaded: Loaded) -> None:
    """Make these the data every page shows, name them in the link, and keep them for it."""
    store().loaded.put(loaded.key, loaded)
    _show(loaded)


def _show(loaded: Loaded) -> None:
    if is_loaded() and current().key != loaded.key:
        _forget_picks()
    st.session_state[_KEY] = loaded
    st.session_state.pop(_FAILURE, None)
    name_in_link(_PARAMETER, loaded.key)
    if tuple(st.query_params.get_all(_COLUMNS)) != loaded.columns:
        st.query_params[_COLUMNS] = loaded.columns


def linked_mapping() -> reading.ColumnMapping | None:
    """Return the mapping in the link, where nothing was loaded with another; None without one."""
    options = [] if is_loaded() else st.query_params.get_all(_COLUMNS)
    return reading.parse_options(options) if options else None


def _forget_picks() -> None:
    for name in (*PICKS, HISTORY):
        st.session_state.pop(name, None)


def name_in_link(parameter: str, text: str | None) -> None:
    """Write something into the link, or nothing, once: each time is a step of the history."""
    if text is None:
        st.query_params.pop(parameter, None)
    elif st.query_params.get(parameter) != text:
        st.query_params[parameter] = text


def as_loaded(
    result: reading.Reading,
    source: str,
    files: State = (),
    mapping: reading.ColumnMapping | None = None,
) -> Loaded:
    """Return what was read as data to show; rows without a split are split at random."""
    dataset, divided = result.dataset, None
    if dataset.split is None:
        divided = share, seed = 0.5, 0
        dataset = dataset.with_split(share, random_state=seed)
    return Loaded(
        dataset=map_arrays(dataset),
        source=source,
        facts=tuple(result.report.facts),
        notes=result.report.notes,
        warnings=result.report.warnings,
        checks=result.report.checks,
        columns=() if mapping is None else mapping.options(),
        divided=divided,
        files=files,
    )


@st.cache_resource(max_entries=4, show_spinner="Training the demo's classifier …")
def demo_data(name: str) -> Loaded:
    """Return one of the built-in demos."""
    makers: dict[str, Callable[[], Dataset]] = {
        "digits": demo.digits,
        RETRAINED: lambda: demo.digits(retrained=True),
        "synthetic": lambda: demo.synthetic(20_000).dataset,
    }
    dataset = makers[name]()
    return Loaded(dataset=dataset, source=DEMO, facts=_STORIES[name], demo=name)


def load_demo(name: str = "digits") -> None:
    """Make one of the built-in demos the current data."""
    adopt(demo_data(name))


@st.cache_resource(max_entries=2, show_spinner="Reading the data …")
def _read(paths: tuple[str, ...], state: State, mapping: reading.ColumnMapping | None) -> Loaded:
    result = reading.read(list(paths), mapping=mapping, isolate=True)
    return as_loaded(result, " + ".join(paths), state, mapping)


def read_ahead(paths: Sequence[str], *, is_urgent: bool = True) -> Loaded | None:
    """Read files of the command line, without any the demo, before a page asks for them."""
    if not is_urgent:
        lower_priority()
    with suppress(InputError):  # the page reads them again, and shows why they cannot be read
        named = tuple(paths)
        return _read(named, states_of(map(Path, named)), None) if named else demo_data("digits")
    return None


def others() -> list[Loaded]:
    """Return models to compare with: those added, at first those of the link or the command."""
    known: list[Loaded] | None = st.session_state.get(_OTHERS)
    if known is None:
        named, paths = st.query_params.get_all(_AGAINST), tuple(arguments().against)
        found = (demo_data(key) if key in _STORIES else store().loaded.get(key) for key in named)
        known = [loaded for loaded in found if loaded is not None]
        if not known and paths:
            known = [_read(paths, states_of(map(Path, paths)), None)]
            store().loaded.hold(known[0].key, known[0])
        st.session_state[_OTHERS] = known
    if st.query_params.get_all(_AGAINST) != (keys := [loaded.key for loaded in known]):
        st.query_params[_AGAINST] = keys
    return known


def add_other(loaded: Loaded) -> None:
    """Add a model to compare with, in place of the same one; it comes first."""
    store().loaded.put(loaded.key, loaded)
    st.session_state[_OTHERS] = [loaded, *(one for one in others() if one.key != loaded.key)]


def ensure_loaded() -> bool:
    """Load what the link names, else the command line, else the demo; True if that is unasked."""
    if is_loaded():
        name_in_link(_PARAMETER, current().key)
        store().loaded.use(current().key)
        return False
    if failure() is not None:
        return False
    is_plain = not st.query_params.to_dict()
    wanted = st.query_params.get(_PARAMETER) or None
    found = None if wanted is None else store().loaded.get(wanted)
    if found is not None:
        _show(found)
    elif wanted in _STORIES:
        load_demo(wanted)
    elif arguments().data:
        load_startup_data(wanted)
    elif wanted is not None:
        _note_missing_data()
    else:
        load_demo()
        return is_plain
    return False


def load_startup_data(wanted: str | None = None) -> None:
    """Show what the command line names, unless it is not what a link names."""
    paths = tuple(arguments().data)
    files = [Path(path) for path in paths]
    try:
        st.session_state[READ_MAPPING] = mapping = linked_mapping()
        loaded = _read(paths, states_of(files), mapping)
    except InputError as error:
        note_failure(Failure(error, files, " + ".join(paths)))
        return
    if wanted not in (None, loaded.key):
        _note_missing_data()
        return
    # (Not on disk: there they are.)
    store().loaded.hold(loaded.key, loaded)
    _show(loaded)
    if arguments().against:
        # (Compare may ask for it.)
        how: dict[str, Any] = {"args": (arguments().against,), "kwargs": {"is_urgent": False}}
        Thread(target=read_ahead, name="other model", daemon=True, **how).start()


def origin() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return DATA and options of a command on the same data; none if they cannot be read again."""
    loaded = current()
    if loaded.source == DEMO:
        return ("demo",) if loaded.demo == "digits" else (), ()
    if loaded.source in ("upload", "test"):
        return (), ()
    options = [f"--column={item}" for item in loaded.columns]
    if loaded.divided is not None:
        share, seed = loaded.divided
        options += ["--calibration-share", f"{share:g}", "--seed", str(seed)]
    return tuple(loaded.source.split(" + ")), tuple(options)


def whole_data() -> WholeData | None:
    """Return the sums beside the data that are shown; None where these are all there are."""
    given = arguments()
    if given.whole is None or current().source != " + ".join(given.data):
        return None
    folder: Path = given.whole
    return remembered(("whole data", str(folder)), lambda: read_whole_data(folder))


@st.cache_resource(max_entries=32, show_spinner="Computing …")
def remembered(key: Hashable, _make: Callable[[], Made]) -> Made:  # noqa: ARG001 - the cache's key
    """Return what is made, once for each key, for all readers."""
    return _make()


def join_names(files: Iterable[Any]) -> str:
    """Name uploads or paths in a sentence."""
    names = [file.name or str(file) for file in files]
    return ", ".join([*names[:2], *([f"{len(names) - 2} more"] if names[2:] else [])])


def _note_missing_data() -> None:
    text = (
        "the data this link was made for are no longer here: they were removed, or unused for too "
        "long. Load their file again."
    )
    note_failure(Failure(InputError(text), []))


def problem() -> str | None:
    """Return, once, that a file is not what was read any more."""
    loaded = current()
    now = states_of(Path(file) for file, *_ in loaded.files)
    if now == loaded.files or st.session_state.get(_CHANGED) == now:
        return None
    st.session_state[_CHANGED] = now
    changed = sorted({Path(file) for file, *_ in {*loaded.files} - {*now}})
    names = ", ".join(path.name for path in changed[:3]) or loaded.dataset.name
    what, again = "changed on disk", " To read it again, use the Data page."
    if not all(path.exists() for path in changed):
        what, again = "was removed", ""
    return f"{names} {what} since it was read; what is shown is as it was then.{again}"


def export_selection(rows: Mask | None) -> None:
    """Write for ``lore.launch`` which evaluation rows of the data it opened are selected."""
    path, loaded = arguments().selection, current()
    if path is None or loaded.source != " + ".join(arguments().data):
        return
    selected = np.zeros(len(loaded.dataset), dtype=bool)
    if rows is not None:
        selected[loaded.dataset.in_split(EVALUATION)] = rows
    # A move of γ selects no other rows: nothing is written for it.
    if st.session_state.get(_EXPORTED) == (content := selected.tobytes()):
        return
    st.session_state[_EXPORTED] = content
    with suppress(InputError), replaced_at_once(path) as written, written.open("wb") as file:
        np.save(file, selected)


def saved() -> dict[str, SavedSubgroup]:
    """Return what was named or loaded, by ids; at first those in the link."""
    known: dict[str, SavedSubgroup] | None = st.session_state.get(_SAVED)
    if known is None:
        known = {}
        with suppress(InputError):
            known = {x.id: x for x in read_link_text(st.query_params.get(_SUBGROUPS, "[]"))}
        st.session_state[_SAVED] = known
    return known


def keep_subgroups_in_link() -> None:
    """Write names and definitions into the link, that of the chosen one first."""
    chosen: SavedSubgroup | None = st.session_state.get(CHOSEN)
    own = [] if chosen is None or chosen.id in saved() else [chosen]
    name_in_link(_SUBGROUPS, link_text([*own, *saved().values()], _MAX_LETTERS) or None)
