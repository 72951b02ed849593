"""Run steps of work on a thread pool, report progress between them, stop on request."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from threading import Event
from typing import Any, TypeVar

from lore_core.data.progress import Cancelled, Progress, part_of
from lore_core.data.validation import check_integer

try:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]
except ImportError:  # comes with scikit-learn; without it only the processors count
    ThreadpoolController = None

_Found = TypeVar("_Found")
_Other = TypeVar("_Other")
#: Work (in row-steps) below which starting threads costs more than it saves.
_WORTH_THREADS = 100_000


class Step:
    """A piece of work that cannot be interrupted, and about what it costs."""

    def __init__(self, cost: float, work: Callable[..., object], *arguments: Any) -> None:
        self.cost, self.work = float(cost), partial(work, *arguments)


#: Steps that may run at the same time.
Phase = list[Step]
#: Phases, each asked for when the one before it is done, and about the cost of all their steps.
Plan = tuple[Iterable[Phase], float]


#: Threads of kernel sums at most, where :func:`fewer_threads` says so.
_limits: list[int] = []


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``.

    None: one a processor of this process, or fewer by OMP_NUM_THREADS or :func:`fewer_threads`.
    """
    available = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        available = len(os.sched_getaffinity(0))
    if n_jobs is not None:
        return min(check_integer(n_jobs, "n_jobs"), 2 * available)
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    limits = [available, *_limits, *([int(asked)] if asked.isdecimal() else [])]
    return max(1, min(limits))


@contextmanager
def fewer_threads(n_jobs: int) -> Iterator[None]:
    """Let kernel sums of this process use so many threads, where they are not told how many."""
    _limits.append(n_jobs)
    try:
        yield
    finally:
        _limits.remove(n_jobs)


@contextmanager
def limited_threads(n_jobs: int) -> Iterator[None]:
    """Let numeric libraries and kernel sums of this process use so many threads."""
    with ExitStack() as until_the_end:
        if ThreadpoolController is not None:
            until_the_end.enter_context(ThreadpoolController().limit(limits=n_jobs))
        until_the_end.enter_context(fewer_threads(n_jobs))
        yield


def one_thread_a_product() -> Any:
    """Multiply matrices on one thread each from now on, or in a ``with`` block; kernels use all.

    Fits multiply small matrices thousands of times; shared among threads beside a busy process they
    took two to four times as long; idle, nothing is lost.
    """
    known = ThreadpoolController is not None
    return ThreadpoolController().limit(limits=1, user_api="blas") if known else nullcontext()


def do_both(
    other: Callable[[Progress | None], _Found],
    work: Callable[[Progress | None], _Other],
    progress: Progress | None,
) -> tuple[_Found, _Other]:
    """Do two things at the same time; return what both found. On one thread: one after the other.

    ``work`` is done in this thread and reports progress; where it fails, ``other`` is cancelled.
    """
    if thread_count(None) == 1:
        return other(part_of(progress, 0.0, 0.5)), work(part_of(progress, 0.5, 1.0))
    is_over = Event()

    def check(*_: object) -> None:
        if is_over.is_set():
            raise Cancelled

    # (Products of several threads may be rounded otherwise beside other work.)
    with one_thread_a_product(), ThreadPoolExecutor(1) as thread:
        begun = thread.submit(other, check)
        try:
            found = work(progress)
            return begun.result(), found
        finally:
            is_over.set()


class Workers:
    """Threads that do steps of work; between two steps progress is reported.

    Work comes in sections, each a known share of the whole with costs on a scale of its own.
    Progress is called in the caller's thread only; if it raises, no further step begins.
    """

    def __init__(self, n_jobs: int | None, progress: Callable[[float], object] | None) -> None:
        self._threads = thread_count(n_jobs)
        self._progress = progress
        self._done = 0.0
        self._end = 0.0
        self._scale = 0.0

    def finish(self) -> None:
        """Report that all is done."""
        self._call(1.0)

    def _add(self, cost: float) -> None:
        self._done = min(self._done + cost * self._scale, self._end)
        self._call(self._done)

    def _call(self, fraction: float) -> None:
        if self._progress is not None:
            self._progress(min(fraction, 1.0))

    def run(self, plan: Plan, share: float) -> None:
        """Do all steps, phases one after the other; they are ``share`` of all work."""
        phases, cost = plan
        self._done, self._end = self._end, self._end + share
        self._scale = share / max(cost, 1.0)
        with ExitStack() as stack:
            pool: ThreadPoolExecutor | None = None
            for phase in phases:
                phase_cost = sum(step.cost for step in phase)
                if self._threads == 1 or len(phase) < 2 or phase_cost < _WORTH_THREADS:
                    for step in phase:
                        step.work()
                        self._add(step.cost)
                else:
                    pool = pool or stack.enter_context(ThreadPoolExecutor(self._threads))
                    self._run_together(phase, pool)
                # Steps hold scratch arrays: let go of them before the next phase makes its own.
                del phase

    def _run_together(self, phase: Phase, pool: ThreadPoolExecutor) -> None:
        tasks = {pool.submit(_follow, task): task for task in _packed(phase, self._threads)}
        try:
            for done in as_completed(tasks):
                done.result()
                self._add(sum(step.cost for step in tasks[done]))
        finally:
            # When the progress raised: the steps under way still end before this returns.
            for task in tasks:
                task.cancel()
            wait(tasks)


def _follow(task: Phase) -> None:
    for step in task:
        step.work()


def _packed(phase: Phase, threads: int) -> list[Phase]:
    """Join short steps, and put the longest first: the last one to start should be short."""
    enough = sum(step.cost for step in phase) / (8 * threads)
    tasks: list[Phase] = []
    filled = enough
    for step in sorted(phase, key=lambda step: -step.cost):
        if filled >= enough:
            tasks.append([])
            filled = 0.0
        tasks[-1].append(step)
        filled += step.cost
    return tasks
