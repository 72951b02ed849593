"""Batches of a directory, looked at one after the other; what is found is kept for all."""

import dataclasses
from collections.abc import Collection, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import takewhile
from pathlib import Path

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lore_core import InputError
from lore_core.dashboard.worker_pool import Request, Task
from lore_core.data.progress import Progress, part_of, tell
from lore_core.mergeable import (
    Batches,
    Change,
    LocalErrorSums,
    Watched,
    change_between,
    metrics_of_sums,
)
from lore_core.mergeable.partitions.run import PLAN
from pages.shared import files
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
class _Batch:
    """One batch, and what tells its results from others'."""

    name: str
    file: files.FileState
    own: tuple[float, files.FileState, files.FileState]  #: Of its metrics
    up_to: str  #: Of its change

    def check_unchanged(self) -> None:
        """Refuse a batch that is another one by now: what was found is not of this state."""
        try:
            (now,) = files.state_of(Path(self.file[0]))
        except OSError as error:
            raise InputError(
                f"the batch '{self.name}' is there no more. Reload the page."
            ) from error
        if now != self.file:
            raise InputError(f"the batch '{self.name}' was summed anew meanwhile. Reload the page.")


@dataclass(frozen=True)
class Look:
    """The batches of a directory as they are now, and the γ they are looked at with."""

    batches: Batches
    state: files.State  #: Of its files, with their paths
    gamma: float

    @cached_property
    def _steps(self) -> list[_Batch]:
        """The batches that were there, in their order."""
        known = {file[0]: file for file in self.state}
        plan, up_to, steps = known[str(self.batches.directory / PLAN)], "", []
        for name in self.batches.names:
            if (file := known.get(str(self.batches.path_of(name)))) is not None:
                up_to = sha256(f"{up_to} {[plan, file]!r}".encode()).hexdigest()
                steps.append(_Batch(name, file, (self.gamma, plan, file), up_to))
        return steps

    @cached_property
    def names(self) -> list[str]:
        """Names of the batches."""
        return [step.name for step in self._steps]

    def states_of(self, names: Collection[str]) -> tuple[Hashable, ...]:
        """Return what tells some batches, at any γ, from others."""
        return tuple(of.own[1:] for of in self._steps if of.name in names)

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

    def watched(self) -> list[Watched]:
        """Return the batches that have been looked at, up to the first that has not."""
        changes, metrics = self.found.changes, self.found.metrics
        seen = takewhile(lambda of: of.own in metrics and of.up_to in changes, self._steps)
        return [Watched(of.name, *metrics[of.own], changes[of.up_to]) for of in seen]

    @property
    def left(self) -> list[tuple[int, _Batch]]:
        """The batches, by their numbers, of which something is not known."""
        changes, metrics = self.found.changes, self.found.metrics
        return [
            (at, of)
            for at, of in enumerate(self._steps)
            if of.own not in metrics or of.up_to not in changes
        ]

    @property
    def request(self) -> Request[None]:
        """The work that is left."""
        expected = 0.0
        for _, of in self.left:
            size = _LEAST + of.file[1] / 1e6
            expected += (of.own not in self.found.metrics) * size * _MEASURE
            expected += (of.up_to not in self.found.changes) * size * (_JOIN + _COMPARE)
        return Request(
            look_at, {"look": self}, self.key, _WORK, expected, lane="server", page=_PAGE
        )


def _change(before: LocalErrorSums, sums: LocalErrorSums) -> Change:
    found = change_between(before, sums, n_draws=N_DRAWS)
    # (Of thousands of places only those that are listed are kept.)
    return dataclasses.replace(found, places=found.places.head(N_PLACES))


def look_at(look: Look, progress: Progress) -> None:
    """Look at every batch that has not been; what is found is kept as soon as it is."""
    found, names, n = look.found, look.names, len(look.left)
    before, n_before = None, 0
    for done, (at, of) in enumerate(look.left):
        text = f"{of.name}, {at + 1:,} of {len(names):,}"
        step = part_of(progress, done / n, (done + 1) / n, text)
        tell(step, 0.0, "")
        ((_, _, sums),) = look.batches.in_turn([of.name])
        if of.up_to not in found.changes:
            if n_before < at:
                before = look.batches.joined(names[:at], part_of(step, 0.0, 0.1))
            change = None if before is None else _change(before, sums)
            of.check_unchanged()
            found.changes[of.up_to] = change
            before, n_before = sums if before is None else before + sums, at + 1
            tell(step, 0.3, "")
        if of.own not in found.metrics:
            table = metrics_of_sums(sums, gamma=look.gamma).set_index("metric")
            of.check_unchanged()
            found.metrics[of.own] = sums.n_rows, table


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


def choose(container: DeltaGenerator) -> tuple[Batches, files.State] | None:
    """Ask for the directory; return what is kept there, None while there is nothing to show."""
    if not files.is_local():
        st.info(
            "Directories are those of the machine that runs the dashboard, and only a reader there "
            "can name one. Elsewhere: lore watch DIR -o movement.html.",
            icon=":material/info:",
        )
        return None
    text = files.directory_field(
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
        return _looked_at(files.named_path(text))
    except InputError as error:
        show_error(error)
        return None


def _looked_at(place: Path) -> tuple[Batches, files.State]:
    state = files.directory_state(place, "Give the directory that lore watch has made.")
    files.check_inside(place.iterdir())
    return files.once_a_state(_KEPT, state, lambda: Batches.opened(place)), state


def _explain() -> None:
    left, right = st.columns([1.2, 1], gap="large")
    left.markdown(
        "**A model that was right last month may not be now.** Give the rows of each day, or week, "
        "as a Parquet file to the command beside: it keeps every file as *sums*, no row stays, and "
        "this page shows how the errors move and marks the batches that changed somewhere by more "
        "than chance. Name the directory, *kept* in the example, above."
    )
    right.code(_EXAMPLE, language=None)
