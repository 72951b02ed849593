"""Turns of pages that run at the same time, and what waits until none does: memory, too."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
import traceback
from bisect import insort
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from itertools import count

from lore_core.dashboard.large_arrays import release_pages
from lore_core.dashboard.worker_pool import lower_priority
from lore_core.kernel_sums.schedule import fewer_threads

#: Seconds that work waits for pages of other readers, and new pages for those with a hand on them.
_MOMENT_SECONDS = 3.0
#: Seconds without a page after which there is time for what nobody has asked for.
_IDLE_SECONDS = 2.0
#: Pages computed at a time (ten at once would each take ten times as long), and seconds after
#: which one no longer counts.
_MAX_PAGES, _LONG_PAGE_SECONDS = max(2, os.cpu_count() or 1), 2.0
#: Seconds of waiting after which a reader is told for whom.
_TELL_SECONDS = 1.0
#: Seconds between two looks at whose turn it is; seconds for which the interpreter is one thread's.
_POLL_SECONDS, _SWITCH_SECONDS = 0.1, 0.0005
#: What of glibc's heap is set, by its ``mallopt``.
_HEAP_SETTINGS = {
    # One heap for all threads, so that the next page can use what one has freed.
    -8: 1,  # M_ARENA_MAX
    # Large arrays lie outside of it and are given back: those up to 32 MB would leave holes. (From
    # 4 MB on numpy asks for huge pages; from 1 MB on, kernel sums took a fifth longer.)
    -3: 2**22,  # M_MMAP_THRESHOLD
    # As much may lie free at its end. (Where the one above is set, this is next to nothing.)
    -1: 2**24,  # M_TRIM_THRESHOLD
}
_news = threading.Condition()
#: When each page that runs began; those that wait: when they are due, and their number.
_runs: list[float] = []
_waiting: list[tuple[float, int]] = []
_numbers = count()
#: What is done when no page runs, by what it is for.
_idle_work: OrderedDict[Hashable, Callable[[], object]] = OrderedDict()
#: Whether any page has run.
_was_seen = threading.Event()
#: When the page of this thread began.
_own = threading.local()


@contextmanager
def page_slot(
    tell: Callable[[int], object] = lambda _: None, *, is_step: bool = False
) -> Iterator[None]:
    """Wait for a turn, steps before new pages; ``tell`` hears how many come before."""
    around, _own.began = getattr(_own, "began", None), _take_slot(tell, is_step=is_step)
    # (With others at the same time there is no processor left for a second thread.)
    with fewer_threads(1) if len(_runs) + len(_waiting) > 1 else nullcontext():
        try:
            yield
        finally:
            _leave_slot()
            _own.began = around


@contextmanager
def release_slot() -> Iterator[None]:
    """Let other pages run while this one waits for work that is done elsewhere."""
    if getattr(_own, "began", None) is None:
        yield
        return
    _leave_slot()
    yield
    _own.began = _take_slot()


def _leave_slot() -> None:
    """Give the slot back; a page that was left while it waited for its work has none."""
    began, _own.began = _own.began, None
    _was_seen.set()
    if began is not None:
        with _news:
            _runs.remove(began)
            _news.notify_all()


def _take_slot(tell: Callable[[int], object] = lambda _: None, *, is_step: bool = False) -> float:
    since, is_told = time.monotonic(), False
    # A step overtakes all that wait but other steps, and what has waited for long.
    ticket = since if is_step else since + _MOMENT_SECONDS, next(_numbers)
    with _news:
        insort(_waiting, ticket)
        try:
            while _waiting[0] != ticket or _n_short() >= _MAX_PAGES:
                _news.wait(_POLL_SECONDS)
                if not is_told and time.monotonic() - since > _TELL_SECONDS:
                    is_told = True
                    tell(_waiting.index(ticket) + _n_short())
        finally:
            _waiting.remove(ticket)
        began = time.monotonic()
        _runs.append(began)
        _news.notify_all()
    return began


def _n_short() -> int:
    """How many pages run that began a moment ago; longer ones must not hold up all others."""
    return sum(time.monotonic() - began < _LONG_PAGE_SECONDS for began in _runs)


def wait_for_pages() -> bool:
    """Wait until no page runs; where one always does, for a moment. Return whether none does."""
    with _news:
        return _news.wait_for(lambda: not _runs, _MOMENT_SECONDS)


def run_when_idle(key: Hashable, function: Callable[[], object]) -> None:
    """Call a function once no page has run for seconds, the last first, one for each key."""
    with _news:
        _idle_work.pop(key, None)
        _idle_work[key] = function
        _news.notify_all()
    _start_idle_thread()


@cache
def _start_idle_thread() -> None:
    threading.Thread(target=_work_when_idle, daemon=True).start()


def _work_when_idle() -> None:
    lower_priority()
    _was_seen.wait()
    while True:
        with _news:
            _news.wait_for(lambda: _idle_work)
            while _news.wait_for(lambda: _runs or _waiting, _IDLE_SECONDS):
                _news.wait_for(lambda: not (_runs or _waiting))
            _, function = _idle_work.popitem()
        try:
            function()
        except Exception:  # any bug of idle work must not end the thread; it is printed
            traceback.print_exc()


def is_page_running() -> bool:
    """Whether any page runs."""
    return bool(_runs)


def set_up_process() -> None:
    """Let threads take turns often and many files be open; limit the heap (glibc)."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    if sys.platform == "linux":
        import resource  # elsewhere there is none

        # Each large array of a result holds a file open.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for what, value in _HEAP_SETTINGS.items():
        _heap_function("mallopt")(what, value)


def trim_memory() -> None:
    """Give memory back: of files at once, the rest once no page runs for a moment."""
    release_pages()
    run_when_idle("memory", _trim)


def _trim() -> None:
    release_pages()
    _heap_function("malloc_trim")(0)


def _heap_function(name: str) -> Callable[..., object]:
    """Return a function of glibc; one that does nothing where the system has another heap."""
    known = ctypes.CDLL(None) if sys.platform == "linux" else None
    return getattr(known, name, lambda *_: None)
