"""Where batches come from: files dropped in, a directory on this machine, or a sample."""

from pathlib import Path
from typing import Any

import streamlit as st

from lore_core import InputError, demo, reading
from lore_core.comparison import RowBatches
from lore_core.mergeable import Batches, SummedBatches
from lore_core.mergeable.partitions.run import PLAN
from lore_core.reading.formats import SUFFIXES
from pages.shared import controls, files
from pages.shared.header import show_error

_SOURCE = "_watch_source"
_TEXT = (
    "**A model that was right last month may not be now:** give the rows of each day or week "
    "as a file, or open **Sample** to see what comes out. Where rows are too many or must not "
    "stay, this command saves *sums* of every batch in a directory, here *kept*."
)
_EXAMPLE = """lore watch kept 'days/day-*.parquet'
lore watch kept days/day-11.parquet    # one more, the day after"""


def choose(*, explain: bool) -> tuple[SummedBatches, files.State] | None:
    """Draw the sources; return the batches and their files; ``explain``: say what is wanted."""
    kind = controls.source_control("Batches from", "watch_from")
    if kind == controls.SAMPLE:
        st.caption("Ten days of made-up forecasts; from the seventh on one kind of rows is worse.")
        return _sample(), ()
    try:
        if kind == controls.DIRECTORY:
            text = files.directory_field(
                "Directory on this machine",
                "watch_path",
                "~/models/days",
                "Of files of rows, one a batch; or of sums, as lore watch makes it.",
            )
            if text:
                return _opened(files.named_path(text))
        else:
            uploads = controls.upload_control(
                "Files of rows, one a batch, in the order of their names",
                "watch_upload",
                help="As on the Data page; every column they share is searched for what changed.",
            )
            if uploads:
                return _read(uploads, [item.file_id for item in uploads]), ()
    except InputError as error:
        show_error(error)
        return None
    if explain:
        controls.explain_source(_TEXT, _EXAMPLE)
    return None


@st.cache_resource(show_spinner="Drawing the sample …")
def _sample() -> RowBatches:
    rows = demo.batches()
    assert rows.metadata is not None  # which name the day
    return RowBatches.of(rows, rows.metadata["day"].tolist())


def _opened(place: Path) -> tuple[SummedBatches, files.State]:
    state = files.directory_state(place, "Give the directory that holds it.")
    files.check_inside(place.iterdir())
    paths = [Path(name) for name, *_ in state]
    rows = [path for path in paths if path.suffix.lower() in SUFFIXES and path.name[0] != "."]
    if rows and not (place / PLAN).exists():
        return _read(rows, state), ()
    return files.once_a_state(_SOURCE, state, lambda: Batches.opened(place)), state


def _read(sources: list[Any], state: object) -> SummedBatches:
    def read() -> RowBatches:
        with st.spinner("Reading and checking …"):
            return RowBatches.of(*reading.read_batches(sources, isolate=True))

    return files.once_a_state(_SOURCE, state, read)
