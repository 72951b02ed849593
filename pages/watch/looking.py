"""Batches, looked at one after the other; what is found is kept for all readers."""

import dataclasses
from collections.abc import Collection, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import takewhile
from math import nan

import pandas as pd

from lore_core import InputError
from lore_core.comparison import RowBatches, SliceChange
from lore_core.dashboard.worker_pool import Request
from lore_core.data.progress import Progress, part_of, tell
from lore_core.mergeable import (
    Batches,
    Change,
    SummedBatches,
    Watched,
    change_between,
    metrics_of_sums,
)
from lore_core.mergeable.partitions.run import PLAN
from pages.shared import files
from pages.shared.store import store

#: Simulations behind each p, and regions or slices of a batch that are kept.
N_DRAWS, N_PLACES = 999, 5
#: Rough seconds of a megabyte of sums, and of any batch.
_MEGABYTE, _LEAST = 1.8, 0.04


@dataclass
class Found:
    """What is known of some batches."""

    #: Change of the map and of slices, by the states of all batches up to one.
    changes: dict[str, tuple[Change | None, tuple[SliceChange, ...]]] = field(default_factory=dict)
    #: Rows and metrics, by γ and the state of a batch.
    metrics: dict[Hashable, tuple[int, pd.DataFrame]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Batch:
    """One batch, and what tells its results from others'."""

    name: str
    state: Hashable  #: Of its rows and of the map
    own: Hashable  #: Of its metrics
    up_to: str  #: Of its change
    n_bytes: float


@dataclass(frozen=True)
class Look:
    """Batches as they are now, and the γ they are looked at with."""

    batches: SummedBatches
    state: files.State  #: Of a directory's files, with their paths; none of rows in memory
    gamma: float

    @cached_property
    def name(self) -> str:
        """What tells these batches from others."""
        if isinstance(self.batches, RowBatches):
            return self.batches.rows.digest
        return self.batches.what

    @cached_property
    def steps(self) -> list[_Batch]:
        """The batches that were there, in their order."""
        up_to, steps = "", []
        for name in self.batches.names:
            state, n_bytes = self.check(name)
            up_to = sha256(f"{up_to} {state!r}".encode()).hexdigest()
            steps.append(_Batch(name, state, (self.gamma, state), up_to, n_bytes))
        return steps

    def check(self, name: str) -> tuple[Hashable, float]:
        """Return the state of a batch and its size; InputError if it has changed since."""
        if not isinstance(self.batches, Batches):
            return (self.name, name), len(name)
        paths = [self.batches.directory / PLAN, self.batches.path_of(name)]
        now = files.states_of(paths)
        # What was found must be of the state that it is kept by.
        if len(now) < len(paths) or not set(now) <= set(self.state):
            raise InputError(f"the batch '{name}' was summed anew meanwhile. Reload the page.")
        return now, now[1][1]

    @cached_property
    def names(self) -> list[str]:
        """Names of the batches."""
        return [step.name for step in self.steps]

    def states_of(self, names: Collection[str]) -> tuple[Hashable, ...]:
        """Return what tells some batches, at any γ, from others."""
        return tuple(of.state for of in self.steps if of.name in names)

    @cached_property
    def found(self) -> Found:
        """What is known, to all readers."""
        found: Found | None = store().watched.get(self.name)
        if found is None:
            store().watched.put(self.name, found := Found())
        return found

    def is_known(self, of: _Batch) -> bool:
        """Whether a batch has been looked at."""
        return of.own in self.found.metrics and of.up_to in self.found.changes

    def watched(self) -> list[Watched]:
        """Return the batches that have been looked at, up to the first that has not."""
        watched = []
        for of in takewhile(self.is_known, self.steps):
            change, slices = self.found.changes[of.up_to]
            slice_p = slices[0].p_value if slices else nan
            watched.append(Watched(of.name, *self.found.metrics[of.own], change, slice_p))
        return watched

    @property
    def request(self) -> Request[None]:
        """The work that is left."""
        left = [of for of in self.steps if not self.is_known(of)]
        seconds = sum(_LEAST + _MEGABYTE * of.n_bytes / 1e6 for of in left)
        key = self.name, self.steps[-1].up_to, self.gamma
        what = "Comparing the batches"
        return Request(look_at, {"look": self}, key, what, seconds, lane="server")


def look_at(look: Look, progress: Progress) -> None:
    """Look at every batch that has not been; what is found is kept as soon as it is."""
    found, names, batches = look.found, look.names, look.batches
    before, n, n_before = None, len(names), 0
    for at, of in enumerate(look.steps):
        if look.is_known(of):
            continue
        step = part_of(progress, at / n, (at + 1) / n, f"{of.name}, {at + 1:,} of {n:,}")
        tell(step, 0.0, "")
        ((_, _, sums),) = batches.in_turn([of.name])
        if of.up_to not in found.changes:
            if n_before < at:
                before = batches.joined(names[:at], part_of(step, 0.0, 0.1))
            change, slices = None, ()
            if before is not None:
                change = change_between(before, sums, n_draws=N_DRAWS)
                # (Of thousands of regions only those that are listed are kept.)
                change = dataclasses.replace(change, places=change.places.head(N_PLACES))
                if isinstance(batches, RowBatches):
                    slices = tuple(batches.changes_of(at)[:N_PLACES])
            look.check(of.name)
            found.changes[of.up_to] = change, slices
            before, n_before = sums if before is None else before + sums, at + 1
            tell(step, 0.3, "")
        if of.own not in found.metrics:
            table = metrics_of_sums(sums, gamma=look.gamma).set_index("metric")
            look.check(of.name)
            found.metrics[of.own] = sums.n_rows, table
