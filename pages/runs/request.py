"""What is asked of the runs, and its answer: computed in the background, kept by its key."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from lore_core import compare_runs, load_runs
from lore_core.comparison import RunsComparison
from lore_core.data.progress import Progress
from lore_core.recalibration import offered_recalibrators
from pages.runs.source import RunsSource
from pages.shared.jobs import start_job
from pages.shared.store import store

#: Share of the progress bar that reading the files takes.
_READING = 0.1


@dataclass(frozen=True)
class RunsRequest:
    """How the runs are to be compared."""

    feature_map: str | None  #: As :func:`lore_core.compare_runs` takes it.
    #: Settings of the metrics; ``by`` names the group columns.
    gamma: float
    n_bins: int
    by: tuple[str, ...]
    min_group_size: int
    methods: tuple[str, ...]  #: Labels; the first is the one the others are held against

    def key(self, source: RunsSource) -> str:
        """Return what links name the answer by."""
        return hashlib.sha256(f"{source.digest} {self!r}".encode()).hexdigest()[:20]


@dataclass(frozen=True)
class RunsAnswer:
    """A finished comparison, what it was asked and of which runs."""

    comparison: RunsComparison
    request: RunsRequest
    source: str


def start(source: RunsSource, request: RunsRequest, seconds: float) -> None:
    """Start comparing in the background."""
    key = request.key(source)
    start_job(
        ("runs", key),
        source.work,
        lambda progress: RunsAnswer(_compare(source, request, progress), request, source.name),
        lambda answer: store().runs.put(key, answer),
        seconds,
    )


def _compare(source: RunsSource, request: RunsRequest, progress: Progress) -> RunsComparison:
    datasets = load_runs(
        source.flat,
        progress=lambda share, message: progress(_READING * share, message),
        isolate=True,
    )
    made = {item.label: item for item in offered_recalibrators(request.gamma, request.n_bins)}
    return compare_runs(
        datasets,
        [made[name] for name in request.methods],
        feature_map=request.feature_map,
        gamma=request.gamma,
        n_bins=request.n_bins,
        group_column=request.by or None,
        min_group_size=request.min_group_size,
        progress=lambda share, message: progress(_READING + (1 - _READING) * share, message),
    )
