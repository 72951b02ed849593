"""Where runs come from: a directory on this machine, or files dropped in."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from lore_core import Dataset, InputError, reading
from lore_core.data.dataset import EVALUATION
from lore_core.demo import synthetic
from lore_core.reading.formats import SUFFIXES, runs_in
from lore_core.reading.raw_file import RawFile
from pages.shared.controls import in_session, one_of
from pages.shared.files import (
    check_inside,
    directory_field,
    directory_state,
    is_local,
    named_path,
    once_a_state,
)
from pages.shared.header import show_error

_PATH, _UPLOAD, _SAMPLE = "Directory", "Upload", "Sample"
#: Draws of the sample, and rows of each.
_DRAWS, _ROWS = 10, 2_000
_KEPT = "_runs_source"
_INSTEAD = "Give the directory that holds the runs; a single file belongs on the Data page."
_EXAMPLE = """my_runs/
├── seed00_cal.npz    to fit on
├── seed00_test.npz   to measure on
├── seed01_cal.npz
├── seed01_test.npz
└── …"""


@dataclass(frozen=True, eq=False)
class RunsSource:
    """Runs that can be read, and the first of them, which says what they hold."""

    name: str  #: What to call them
    files: tuple[tuple[RawFile, ...], ...]  #: Of each run
    first: Dataset  #: The first run
    digest: str  #: Changes with the files
    drawn: tuple[Dataset, ...] = ()  #: The runs, where there are no files

    @property
    def n_runs(self) -> int:
        """How many runs there are."""
        return len(self.drawn or self.files)


def choose(*, explain: bool = True) -> RunsSource | None:
    """Draw the sources; return the runs that were given; ``explain``: say what is wanted."""
    kinds = [_PATH, _UPLOAD, _SAMPLE] if is_local() else [_UPLOAD, _SAMPLE]
    kind = one_of("Runs from", kinds, label_visibility="collapsed", **in_session("runs_from"))
    if kind == _SAMPLE:
        st.caption(
            f"{_DRAWS} draws of {_ROWS:,} made-up rows, overconfident in one subgroup and "
            "underconfident in another, while every confidence bin is right on average."
        )
        return _sample()
    given = _directory() if kind == _PATH else _uploads()
    if given is None:
        if explain:
            _explain()
        return None
    try:
        place, name = given
        return _looked_at(named_path(place) if isinstance(place, str) else place, name)
    except InputError as error:
        show_error(error)
        return None


def _directory() -> tuple[Any, str] | None:
    text = directory_field(
        "Directory of runs on this machine",
        "runs_path",
        "~/experiments/my_runs",
        "Every pair of files <run>_cal.* and <run>_test.* in it is one training. Without any pair "
        "each file is a run, with a split column of its own.",
    )
    return (text, Path(text).name or text) if text else None


def _uploads() -> tuple[Any, str] | None:
    files = st.file_uploader(
        "Files of all runs: pairs <run>_cal.* and <run>_test.*, or files with a split column",
        type=[suffix.lstrip(".") for suffix in SUFFIXES],
        accept_multiple_files=True,
        key="runs_upload",
    )
    return ([*files], f"{len(files)} uploaded files") if files else None


@st.cache_resource(show_spinner="Drawing the sample …")
def _sample() -> RunsSource:
    """Draw made-up rows with a planted error, as so many trainings might give them."""
    drawn = []
    for draw in range(_DRAWS):
        rows = synthetic(_ROWS, random_state=draw).dataset
        halves = rows.rows(np.argsort(rows.in_split(EVALUATION), kind="stable"))
        drawn.append(replace(halves, name=f"draw{draw}"))
    return RunsSource("the sample", (), drawn[0], "sample", tuple(drawn))


def _explain() -> None:
    left, right = st.columns([1.2, 1], gap="large")
    left.markdown(
        "**One training is one draw:** a recalibrator that won on your data may have been lucky. "
        "Train the same model with ten seeds or more, save each training's predictions as a pair "
        "of files (.npz, .csv, .parquet, …), and every recalibrator is measured on each. "
        "**Sample** shows what comes out."
    )
    right.code(_EXAMPLE, language=None)


def _looked_at(given: Any, name: str) -> RunsSource:
    uploads = given if isinstance(given, list) else []
    state: Any = [item.file_id for item in uploads] or directory_state(given, _INSTEAD)

    def look() -> RunsSource:
        with st.spinner("Looking at the first run …"):
            runs = runs_in(given)
            check_inside(file for files in runs.values() for file in files)
            run, files = next(iter(runs.items()))
            first = reading.load(list(files), name=run, isolate=True)
        marks = [(item.name, hashlib.sha256(item.getvalue()).hexdigest()) for item in uploads]
        digest = hashlib.sha256(repr(marks or state).encode()).hexdigest()
        return RunsSource(name, tuple(runs.values()), first, digest)

    return once_a_state(_KEPT, state, look)
