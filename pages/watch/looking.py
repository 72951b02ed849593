"""Batches of a directory, looked at one after the other; what is found is kept for all."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lore_core import InputError
from lore_core.dashboard.worker_pool import Request, Task
from lore_core.data.progress import Progress
from lore_core.mergeable import (
    Batches,
    Change,
    LocalErrorSums,
    Watched,
    change_between,
    metrics_of_sums,
)
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
    state_of,
)
from pages.shared.header import show_error
from pages.shared.store import store
from pages.shared.tasks import current_job, find_task, forget_job, is_busy, start_job

#: Simulations behind each p, and places of a batch that are kept.
N_DRAWS, N_PLACES = 999, 5
_WORK, _PAGE = "Movement of the batches", "watch"
#: Rough seconds of each step, a megabyte of a file of sums: to join, to compare, to measure.
_JOIN, _COMPARE, _MEASURE = 0.2, 0.5, 1.1
#: Seconds of any file, however small.
_LEAST = 0.02
#: Seconds that a page waits for a job, so that a short one is not shown.
_SOON = 0.3
#: What this session has asked for, so that what was cancelled or failed does not begin by itself.
_ASKED = "_watch_asked"
_KEPT = "_watch_source"
_EXAMPLE = """lore watch kept 'days/day-*.parquet'
lore watch kept days/day-11.parquet    # one more, the day after"""


@dataclass
class Found:
    """What is known of the batches of one directory."""

    #: By the states of the plan and all batches up to one; None of the first
    changes: dict[str, Change | None] = field(default_factory=dict)
    #: Rows and metrics, by γ and the states of the plan and a batch
    metrics: dict[Hashable, tuple[int, pd.DataFrame]] = field(default_factory=dict)


@dataclass(frozen=True)
class Look:
    """The batches of a directory as they are now, and the γ they are looked at with."""

    batches: Batches
    state: State  #: Of its files, with their paths
    gamma: float

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

    @cached_property
    def found(self) -> Found:
        """What is known, to all readers."""
        directory = str(self.batches.directory)
        found: Found | None = store().watched.get(directory)
        if found is None:
            found = Found()
            store().watched.put(directory, found)
        return found

    @property
    def key(self) -> Hashable:
        """What tells this look from any other."""
        return self.state, self.gamma

    @cached_property
    def _own(self) -> list[tuple[float, FileState, FileState]]:
        plan = self.plan_state
        return [(self.gamma, plan, self.state_of(name)) for name in self.names]

    @cached_property
    def _up_to(self) -> list[str]:
        return list(accumulate((repr(states) for _, *states in self._own), _digest, initial=""))[1:]

    def watched(self) -> list[Watched]:
        """Return the batches that have been looked at, up to the first that has not."""
        changes, metrics = self.found.changes, self.found.metrics
        seen: list[Watched] = []
        for name, own, up_to in zip(self.names, self._own, self._up_to, strict=True):
            if own not in metrics or up_to not in changes:
                break
            n_rows, table = metrics[own]
            seen.append(Watched(name, n_rows, table, changes[up_to]))
        return seen

    def _n_compared(self) -> int:
        """How many batches, the first ones, are held against those before them already."""
        known = [up_to in self.found.changes for up_to in self._up_to]
        return known.index(False) if False in known else len(known)

    @property
    def request(self) -> Request[None]:
        """The work that is left."""
        compared, expected = self._n_compared(), 0.0
        for at, own in enumerate(self._own):
            size = _LEAST + own[-1][1] / 1e6
            expected += (own not in self.found.metrics) * size * _MEASURE
            expected += (at >= compared) * size * (_JOIN + _COMPARE)
        return Request(
            look_at, {"look": self}, self.key, _WORK, expected, lane="server", page=_PAGE
        )

    def work(self, progress: Progress) -> None:
        """Look at every batch that has not been; what is found is kept as soon as it is."""
        metrics, names, compared = self.found.metrics, self.names, self._n_compared()
        known = [at for at in range(compared) if self._own[at] not in metrics]
        n_left, done = len(known) + len(names) - compared, 0

        def tell(at: int, more: float = 0.0) -> None:
            progress((done + more) / n_left, f"{names[at]}, {at + 1:,} of {len(names):,}")

        for at in known:
            tell(at)
            self._measure(at, self.batches.sums(names[at]))
            done += 1
        if compared == len(names):
            return
        tell(compared)
        before = None
        if compared:
            before = self.batches.joined(names[:compared], lambda *_: tell(compared))
        in_turn = self.batches.in_turn(names[compared:], before)
        for at, (_, earlier, sums) in enumerate(in_turn, start=compared):
            tell(at)
            self._compare(at, earlier, sums)
            tell(at, 0.3)
            if self._own[at] not in metrics:
                self._measure(at, sums)
            done += 1

    def _measure(self, at: int, sums: LocalErrorSums) -> None:
        table = metrics_of_sums(sums, gamma=self.gamma).set_index("metric")
        self._check_unchanged(at)
        self.found.metrics[self._own[at]] = sums.n_rows, table

    def _compare(self, at: int, before: LocalErrorSums | None, sums: LocalErrorSums) -> None:
        change = None
        if before is not None:
            change = change_between(before, sums, n_draws=N_DRAWS)
            # (Of thousands of places only those that are listed are kept.)
            change = dataclasses.replace(change, places=change.places.head(N_PLACES))
        self._check_unchanged(at)
        self.found.changes[self._up_to[at]] = change

    def _check_unchanged(self, at: int) -> None:
        """Refuse a batch that is another one by now: what was found is not of this state."""
        name = self.names[at]
        try:
            (state,) = state_of(Path(self.path_of(name)))
        except OSError as error:
            raise InputError(f"the batch '{name}' is there no more. Reload the page.") from error
        if state != self.state_of(name):
            raise InputError(f"the batch '{name}' was summed anew meanwhile. Reload the page.")


def _digest(before: str, states: str) -> str:
    return hashlib.sha256(f"{before} {states}".encode()).hexdigest()


def look_at(look: Look, progress: Progress) -> None:
    """Look at every batch that has not been."""
    look.work(progress)


def see_to(look: Look) -> Task | None:
    """Begin what is left, once and beside no other job; return the task that does it, or did."""
    if len(look.watched()) == len(look.names):
        return None
    last, mine = find_task(look_at, look.key), current_job()
    is_asked = st.session_state.get(_ASKED) == look.key
    if is_asked or (last is not None and (last.error or is_looking(last))):
        return last
    if mine is not None and not mine.ended and mine.title != _WORK:
        return mine
    go_on(look)
    job = current_job()
    assert job is not None  # it has just begun
    if not job.wait(_SOON):
        st.rerun()  # so that its progress is on screen from the start
    forget_job()
    return job


def is_looking(job: Task) -> bool:
    """Whether a job is at work on batches, and this session waits for it."""
    return job.title == _WORK and is_busy() and job is current_job()


def go_on(look: Look) -> None:
    """Begin, or begin again what was cancelled or has failed."""
    st.session_state[_ASKED] = look.key
    start_job(look.request)


def choose(container: DeltaGenerator) -> tuple[Batches, State] | None:
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


def _looked_at(place: Path) -> tuple[Batches, State]:
    state = directory_state(place, "Give the directory that lore watch has made.")
    check_inside(place.iterdir())
    return once_a_state(_KEPT, state, lambda: Batches.opened(place)), state


def _explain() -> None:
    left, right = st.columns([1.2, 1], gap="large")
    left.markdown(
        "**A model that was right last month may not be now.** Give the rows of each day, or week, "
        "as a Parquet file to the command beside: it keeps every file as *sums*, no row stays, and "
        "this page shows how the errors move and marks the batches that changed somewhere by more "
        "than chance. Name the directory, *kept* in the example, above."
    )
    right.code(_EXAMPLE, language=None)
