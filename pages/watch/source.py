"""Which batches are watched: a directory on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lore_core import InputError
from lore_core.mergeable import Batches
from lore_core.mergeable.partitions.run import PLAN
from pages.shared.files import (
    FileState,
    State,
    check_inside,
    directory_field,
    directory_state,
    is_local,
    named_path,
    once_a_state,
)
from pages.shared.header import show_error

_KEPT = "_watch_source"
_EXAMPLE = """lore watch kept 'days/day-*.parquet'
lore watch kept days/day-11.parquet    # one more, the day after"""


@dataclass(frozen=True)
class Kept:
    """A directory of batches, as it is now."""

    batches: Batches
    state: State  #: Of its files, with their paths: what tells this from any other

    @cached_property
    def _states(self) -> dict[str, FileState]:
        return {path: (path, size, time) for path, size, time in self.state}

    @cached_property
    def names(self) -> list[str]:
        """Names of the batches that were there, in their order."""
        return [name for name in self.batches.names if self.path_of(name) in self._states]

    @property
    def plan_state(self) -> FileState:
        """The state of the file that says on which map and in which bins they are."""
        return self._states[str(self.batches.directory / PLAN)]

    def state_of(self, name: str) -> FileState:
        """Return the state of a batch's file."""
        return self._states[self.path_of(name)]

    def path_of(self, name: str) -> str:
        """Return the path of a batch's file, as it is in :attr:`state`."""
        return str(self.batches.path_of(name))


def choose(container: DeltaGenerator) -> Kept | None:
    """Ask for the directory; return what is kept there, None while there is nothing to show."""
    if not is_local():
        st.info(
            "Directories are those of the machine that runs the dashboard, and only a reader there "
            "can name one. Elsewhere: lore watch DIR -o movement.html.",
            icon=":material/info:",
        )
        return None
    text = directory_field(
        "Directory of batches on this machine",
        "watch_path",
        "~/models/kept",
        "The first that lore watch was given: it holds the sums of every batch.",
        into=container,
    )
    if not text:
        _explain()
        return None
    try:
        return _looked_at(named_path(text))
    except InputError as error:
        show_error(error)
        return None


def _looked_at(place: Path) -> Kept:
    state = directory_state(place, "Give the directory that lore watch has made.")
    check_inside(place.iterdir())
    return once_a_state(_KEPT, state, lambda: Kept(Batches.opened(place), state))


def _explain() -> None:
    left, right = st.columns([1.2, 1], gap="large")
    left.markdown(
        "**A model that was right last month may not be now.** Give the rows of each day, or week, "
        "as a Parquet file to the command beside: it keeps every file as *sums*, no row stays, and "
        "this page shows how the errors move and marks the batches that changed somewhere by more "
        "than chance. Name the directory, *kept* in the example, above."
    )
    right.code(_EXAMPLE, language=None)
