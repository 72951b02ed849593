"""Batches looked at in the background, one after the other; what is found is kept for all."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
import streamlit as st

from lore_core import InputError
from lore_core.data.progress import Progress, part_of
from lore_core.mergeable import Change, LocalErrorSums, Watched, change_between, metrics_of_sums
from pages.shared.files import state_of
from pages.shared.store import store
from pages.shared.tasks import Job, current_job, expected_duration, forget_job, join_job, start_job
from pages.watch.source import Kept

#: Simulations behind each p, and places of a batch that are kept.
N_DRAWS, N_PLACES = 999, 5
#: The job, and the page that shows it.
_WORK, _PAGE = "Movement of the batches", "watch"
#: Rough seconds of each step, a megabyte of a file of sums: to join, to compare, to measure.
_JOIN, _COMPARE, _MEASURE = 0.2, 0.5, 1.1
#: Seconds of any file, however small.
_LEAST = 0.02
#: Seconds that a page waits for a job, so that a short one is not shown.
_SOON = 0.3
#: Bandwidths whose metrics are kept, and jobs of which it is known how they ended.
_GAMMAS, _JOBS = 8, 32
#: Rows of a batch, and its metrics by their names.
Measured = tuple[int, pd.DataFrame]
#: What this session has asked for, so that what was cancelled or failed does not begin by itself.
_ASKED = "_watch_asked"


class Found:
    """What is known of the batches of one directory."""

    def __init__(self) -> None:
        #: By the states of the plan and all batches up to one; None of the first
        self.changes: dict[str, Change | None] = {}
        #: Rows and metrics, by γ and by the states of the plan and a batch
        self.metrics: OrderedDict[float, dict[str, Measured]] = OrderedDict()
        self.jobs: OrderedDict[Hashable, Job] = OrderedDict()

    def at(self, gamma: float) -> dict[str, Measured]:
        """Return the metrics that are known for one γ; those of the γ used last are kept."""
        known = self.metrics.setdefault(gamma, {})
        self.metrics.move_to_end(gamma)
        while len(self.metrics) > _GAMMAS:
            self.metrics.popitem(last=False)
        return known

    def began(self, key: Hashable, job: Job) -> None:
        """Remember the job that looks at something."""
        self.jobs[key] = job
        while len(self.jobs) > _JOBS:
            self.jobs.popitem(last=False)


@dataclass(frozen=True)
class Look:
    """The batches of a directory as they are now, and the γ they are looked at with."""

    kept: Kept
    gamma: float

    @cached_property
    def names(self) -> list[str]:
        """Names of the batches, in their order."""
        return self.kept.names

    @cached_property
    def found(self) -> Found:
        """What is known, to all readers."""
        directory = str(self.kept.batches.directory)
        found: Found | None = store().watched.get(directory)
        if found is None:
            found = Found()
            store().watched.put(directory, found)
        return found

    @property
    def key(self) -> Hashable:
        """What tells this look from any other."""
        return ("watched", self.kept.state, self.gamma)

    @cached_property
    def _own(self) -> list[str]:
        """Digests of the plan and each batch."""
        plan = repr(self.kept.plan_state)
        return [_digest(plan + repr(self.kept.state_of(name))) for name in self.names]

    @cached_property
    def _up_to(self) -> list[str]:
        """Digests of the plan and all batches up to each."""
        found, before = [], ""
        for own in self._own:
            before = _digest(before + own)
            found.append(before)
        return found

    def watched(self) -> list[Watched]:
        """Return the batches that have been looked at, up to the first that has not."""
        changes, metrics = self.found.changes, self.found.at(self.gamma)
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

    def _costs(self) -> tuple[float, list[float]]:
        """Rough seconds of joining what is compared already, and of what is left of each batch."""
        compared, metrics = self._n_compared(), self.found.at(self.gamma)
        sizes = [_LEAST + self.kept.state_of(name)[1] / 1e6 for name in self.names]
        each = [
            (own not in metrics) * size * _MEASURE + (at >= compared) * size * (_JOIN + _COMPARE)
            for at, (own, size) in enumerate(zip(self._own, sizes, strict=True))
        ]
        joining = _JOIN * sum(sizes[:compared]) / 4 if compared < len(sizes) else 0.0
        return joining, each

    @property
    def seconds(self) -> float:
        """Rough duration of what is left on this machine."""
        joining, each = self._costs()
        return expected_duration(_WORK, joining + sum(each))

    def work(self, progress: Progress) -> None:
        """Look at every batch that has not been; what is found is kept as soon as it is."""
        found, names = self.found, self.names
        metrics, compared = found.at(self.gamma), self._n_compared()
        joining, each = self._costs()
        total = max(joining + sum(each), 1e-9)
        done = 0.0
        for at in range(compared):
            if self._own[at] not in metrics:
                self._say(progress, done / total, at)
                self._measure(at, self.kept.batches.sums(names[at]))
                done += each[at]
        if compared == len(names):
            return
        before = None
        if compared:
            joined = part_of(progress, done / total, (done + joining) / total)
            before = self.kept.batches.joined(names[:compared], joined)
            done += joining
        in_turn = self.kept.batches.in_turn(names[compared:], before)
        self._say(progress, done / total, compared)
        for at, (_, earlier, sums) in enumerate(in_turn, start=compared):
            self._say(progress, done / total, at)
            self._compare(at, earlier, sums)
            self._say(progress, (done + each[at] / 3) / total, at)
            if self._own[at] not in metrics:
                self._measure(at, sums)
            done += each[at]

    def _say(self, progress: Progress, share: float, at: int) -> None:
        progress(share, f"{self.names[at]}, {at + 1:,} of {len(self.names):,}")

    def _measure(self, at: int, sums: LocalErrorSums) -> None:
        table = metrics_of_sums(sums, gamma=self.gamma).set_index("metric")
        self._check_unchanged(at)
        self.found.at(self.gamma)[self._own[at]] = sums.n_rows, table

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
            (state,) = state_of(Path(self.kept.path_of(name)))
        except OSError as error:
            raise InputError(f"the batch '{name}' is there no more. Reload the page.") from error
        if state != self.kept.state_of(name):
            raise InputError(f"the batch '{name}' was summed anew meanwhile. Reload the page.")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def see_to(look: Look) -> Job | None:
    """Have what is left looked at, once unasked; return the job that does, or did, None for none.

    What was cancelled or has failed is not begun again before the reader says so
    (:func:`go_on`). Another job of the reader is not stopped for it.
    """
    job = look.found.jobs.get(look.key)
    if len(look.watched()) == len(look.names):
        return None
    mine = current_job()
    if mine is not None and not mine.ended and mine is job:
        return job
    if st.session_state.get(_ASKED) == look.key or (job is not None and job.error):
        return job
    if mine is not None and not mine.ended and mine.name != _WORK:
        return mine
    st.session_state[_ASKED] = look.key
    if not join_job(look.key):
        start_job(look.key, _WORK, look.work, lambda _: None, look.seconds, _PAGE)
    job = current_job()
    assert job is not None  # it was joined, or has just begun
    look.found.began(look.key, job)
    if not job.wait(_SOON):
        st.rerun()  # so that its progress is on screen from the start
    forget_job()
    return job


def is_looking(job: Job) -> bool:
    """Whether a job is at work on batches, and this session waits for it."""
    return job.name == _WORK and not job.ended and job is current_job()


def go_on(look: Look) -> None:
    """Let what was cancelled or has failed begin again when the page is drawn next."""
    st.session_state.pop(_ASKED, None)
    job = look.found.jobs.get(look.key)
    if job is not None and job.ended:
        del look.found.jobs[look.key]
