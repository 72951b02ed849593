"""Where batches come from: files dropped in, a directory on this machine, or a sample."""

from pathlib import Path
from typing import Any

import streamlit as st

from lore_core import InputError, demo, reading
from lore_core.comparison import RowBatches
from lore_core.mergeable import Batches, SummedBatches
from lore_core.mergeable.partitions.run import PLAN
from lore_core.reading.formats import SUFFIXES
from pages.shared import files
from pages.shared.controls import in_session, one_of
from pages.shared.header import show_error

_UPLOAD, _PATH, _SAMPLE = "Upload", "Directory", "Sample"
_SOURCE = "_watch_source"
_EXAMPLE = """lore watch kept 'days/day-*.parquet'
lore watch kept days/day-11.parquet    # one more, the day after"""


def choose(*, explain: bool) -> tuple[SummedBatches, files.State] | None:
    """Draw the sources; return the batches and their files; ``explain``: say what is wanted."""
    kinds = [_PATH, _UPLOAD, _SAMPLE] if files.is_local() else [_UPLOAD, _SAMPLE]
    kind = one_of("Batches from", kinds, label_visibility="collapsed", **in_session("watch_from"))
    if kind == _SAMPLE:
        st.caption("Ten days of made-up forecasts; from the seventh on one kind of rows is worse.")
        return _sample(), ()
    try:
        found = _directory() if kind == _PATH else _uploads()
    except InputError as error:
        show_error(error)
        return None
    if found is None and explain:
        _explain()
    return found


@st.cache_resource(show_spinner="Drawing the sample …")
def _sample() -> RowBatches:
    rows = demo.batches()
    assert rows.metadata is not None  # which name the day
    return RowBatches.of(rows, rows.metadata["day"].tolist())


def _uploads() -> tuple[SummedBatches, files.State] | None:
    given = st.file_uploader(
        "Files of rows, one a batch, in the order of their names",
        type=[suffix.lstrip(".") for suffix in SUFFIXES],
        accept_multiple_files=True,
        key="watch_upload",
        help="As on the Data page; every column they share is searched for what changed.",
    )
    if not given:
        return None
    return _read([*given], [item.file_id for item in given]), ()


def _directory() -> tuple[SummedBatches, files.State] | None:
    text = files.directory_field(
        "Directory on this machine",
        "watch_path",
        "~/models/days",
        "Of files of rows, one a batch; or of sums, as lore watch makes it.",
    )
    if not text:
        return None
    place = files.named_path(text)
    state = files.directory_state(place, "Give the directory that holds it.")
    files.check_inside(place.iterdir())
    rows = [path for path in map(Path, (file[0] for file in state)) if _holds_rows(path)]
    if rows and not (place / PLAN).exists():
        return _read(rows, state), ()
    return files.once_a_state(_SOURCE, state, lambda: Batches.opened(place)), state


def _holds_rows(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def _read(sources: list[Any], state: object) -> SummedBatches:
    def read() -> RowBatches:
        with st.spinner("Reading and checking …"):
            return RowBatches.of(*reading.read_batches(sources, isolate=True))

    return files.once_a_state(_SOURCE, state, read)


def _explain() -> None:
    left, right = st.columns([1.2, 1], gap="large")
    left.markdown(
        "**A model that was right last month may not be now:** give the rows of each day or week "
        "as a file, or open **Sample** to see what comes out. Where rows are too many or must not "
        "stay, this command saves *sums* of every batch in a directory, here *kept*."
    )
    right.code(_EXAMPLE, language=None)
