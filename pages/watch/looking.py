"""Batches, looked at one after the other; what is found is kept for all readers."""

import dataclasses
from collections.abc import Collection, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import takewhile

import pandas as pd

from lore_core import InputError
from lore_core.comparison import RowBatches, SliceChange
from lore_core.dashboard.worker_pool import Request
from lore_core.data.progress import Progress, part_of, tell
from lore_core.mergeable import (
    Batches,
    Change,
    LocalErrorSums,
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
#: Rough seconds of each step, a megabyte of sums: to join, to compare, to measure; and of any.
_JOIN, _COMPARE, _MEASURE, _LEAST = 0.2, 0.5, 1.1, 0.02


@dataclass(frozen=True)
class BatchChange:
    """What changed at a batch, on the map and by slices; None and nothing of the first."""

    regions: Change | None = None
    slices: tuple[SliceChange, ...] = ()

    @property
    def slice_p(self) -> float:
        """P-value of the slice that changed most; NaN where none was tested."""
        return self.slices[0].p_value if self.slices else float("nan")


@dataclass
class Found:
    """What is known of some batches."""

    #: By the states of all batches up to one.
    changes: dict[str, BatchChange] = field(default_factory=dict)
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
            state, n_bytes = _state_of(self, name)
            up_to = sha256(f"{up_to} {state!r}".encode()).hexdigest()
            steps.append(_Batch(name, state, (self.gamma, state), up_to, n_bytes))
        return steps

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
            found = Found()
            store().watched.put(self.name, found)
        return found

    def watched(self) -> list[Watched]:
        """Return the batches that have been looked at, up to the first that has not."""
        changes, metrics = self.found.changes, self.found.metrics
        seen = takewhile(lambda of: of.own in metrics and of.up_to in changes, self.steps)
        return [
            Watched(of.name, *metrics[of.own], (at := changes[of.up_to]).regions, at.slice_p)
            for of in seen
        ]

    @property
    def request(self) -> Request[None]:
        """The work that is left."""
        expected = sum(
            (_LEAST + of.n_bytes / 1e6)
            * ((of.own not in self.found.metrics) * _MEASURE + _JOIN + _COMPARE)
            for of in self.steps
        )
        key = self.name, self.steps[-1].up_to, self.gamma
        return Request(
            look_at, {"look": self}, key, "Comparing the batches", expected, lane="server"
        )


def _state_of(look: Look, name: str) -> tuple[Hashable, float]:
    """Return what tells the state of a batch from another, and its size."""
    batches = look.batches
    if not isinstance(batches, Batches):
        return (look.name, name), len(name)
    known = {file[0]: file for file in look.state}
    paths = str(batches.directory / PLAN), str(batches.path_of(name))
    if not all(path in known for path in paths):
        raise InputError(f"the batch '{name}' was summed anew meanwhile. Reload the page.")
    return tuple(known[path] for path in paths), known[paths[1]][1]


def _check_unchanged(look: Look, name: str) -> None:
    """Refuse a batch that is another one by now: what was found is not of this state."""
    if isinstance(look.batches, Batches):
        now = files.states_of([look.batches.path_of(name)])
        if not set(now) <= set(look.state) or not now:
            raise InputError(f"the batch '{name}' was summed anew meanwhile. Reload the page.")


def _change(look: Look, at: int, before: LocalErrorSums, sums: LocalErrorSums) -> BatchChange:
    found, batches = change_between(before, sums, n_draws=N_DRAWS), look.batches
    slices = batches.changes_of(at)[:N_PLACES] if isinstance(batches, RowBatches) else ()
    # (Of thousands of regions only those that are listed are kept.)
    found = dataclasses.replace(found, places=found.places.head(N_PLACES))
    return BatchChange(found, tuple(slices))


def look_at(look: Look, progress: Progress) -> None:
    """Look at every batch that has not been; what is found is kept as soon as it is."""
    found, names, n = look.found, look.names, len(look.names)
    before, n_before = None, 0
    for at, of in enumerate(look.steps):
        if of.own in found.metrics and of.up_to in found.changes:
            continue
        step = part_of(progress, at / n, (at + 1) / n, f"{of.name}, {at + 1:,} of {n:,}")
        tell(step, 0.0, "")
        ((_, _, sums),) = look.batches.in_turn([of.name])
        if of.up_to not in found.changes:
            if n_before < at:
                before = look.batches.joined(names[:at], part_of(step, 0.0, 0.1))
            change = BatchChange() if before is None else _change(look, at, before, sums)
            _check_unchanged(look, of.name)
            found.changes[of.up_to] = change
            before, n_before = sums if before is None else before + sums, at + 1
            tell(step, 0.3, "")
        if of.own not in found.metrics:
            table = metrics_of_sums(sums, gamma=look.gamma).set_index("metric")
            _check_unchanged(look, of.name)
            found.metrics[of.own] = sums.n_rows, table
