"""Scheduler: slots for pages that run at once, and work for when none runs."""

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

from lore_core.dashboard import large_arrays
from lore_core.dashboard.worker_pool import lower_priority
from lore_core.kernel_sums.schedule import fewer_threads

#: Seconds that work waits for running pages, and new pages for pages whose control was moved.
_PATIENCE_SECONDS = 3.0
#: Seconds without a page after which idle work starts.
_IDLE_SECONDS = 2.0
#: Pages computed at a time (ten at once would each take ten times as long), and seconds after
#: which one no longer counts.
_MAX_PAGES, _LONG_PAGE_SECONDS = max(2, os.cpu_count() or 1), 2.0
#: Seconds of waiting after which a reader learns how many pages come before.
_NOTICE_SECONDS = 1.0
#: Seconds between two looks at whose turn it is; seconds for which the interpreter is one thread's.
_POLL_SECONDS, _SWITCH_SECONDS = 0.1, 0.0005
_news = threading.Condition()
#: When each page that runs began; those that wait: when they are due, and their number.
_runs: list[float] = []
_waiting: list[tuple[float, int]] = []
_numbers = count()
#: Pages that wait for work elsewhere.
_awaiting: list[object] = []
#: What is done when no page runs, by what it is for.
_idle_work: OrderedDict[Hashable, Callable[[], object]] = OrderedDict()
#: Set once a page has run.
_first_page_ran = threading.Event()
#: ``began``: start time of the page of this thread.
_thread = threading.local()


@contextmanager
def page_slot(
    notify: Callable[[int], object] = lambda _: None, *, is_step: bool = False
) -> Iterator[None]:
    """Wait for a slot, steps before new pages; call ``notify`` with the number of pages before."""
    outer, _thread.began = getattr(_thread, "began", None), _take_slot(notify, is_step=is_step)
    # (With others at the same time there is no processor left for a second thread.)
    with fewer_threads(1) if len(_runs) + len(_waiting) > 1 else nullcontext():
        try:
            yield
        finally:
            _leave_slot()
            _thread.began = outer


@contextmanager
def release_slot() -> Iterator[None]:
    """Let other pages run while this one waits for work in another process or thread."""
    if getattr(_thread, "began", None) is None:
        yield
        return
    _leave_slot()
    _awaiting.append(page := object())
    try:
        yield
    finally:
        _awaiting.remove(page)
    _thread.began = _take_slot(is_step=True)


def _leave_slot() -> None:
    """Release the slot, if this page holds one: while it waits for work it holds none."""
    began, _thread.began = _thread.began, None
    _first_page_ran.set()
    if began is not None:
        with _news:
            _runs.remove(began)
            _news.notify_all()


def _take_slot(notify: Callable[[int], object] = lambda _: None, *, is_step: bool = False) -> float:
    since, is_notified = time.monotonic(), False
    # A step overtakes all that wait but other steps, and what has waited for long.
    ticket = since if is_step else since + _PATIENCE_SECONDS, next(_numbers)
    with _news:
        insort(_waiting, ticket)
        try:
            while _waiting[0] != ticket or _n_recent_pages() >= _MAX_PAGES:
                _news.wait(_POLL_SECONDS)
                if not is_notified and time.monotonic() - since > _NOTICE_SECONDS:
                    is_notified = True
                    notify(_waiting.index(ticket) + _n_recent_pages())
        finally:
            _waiting.remove(ticket)
        began = time.monotonic()
        _runs.append(began)
        _news.notify_all()
    return began


def _n_recent_pages() -> int:
    """Count running pages, without long ones, which must not hold up all others."""
    return sum(time.monotonic() - began < _LONG_PAGE_SECONDS for began in _runs)


def wait_for_pages() -> bool:
    """Wait until no page runs, for three seconds at most; return whether none does."""
    with _news:
        return _news.wait_for(lambda: not _runs, _PATIENCE_SECONDS)


def run_when_idle(key: Hashable, function: Callable[[], object], *, is_last: bool = False) -> None:
    """Call a function once no page has run for two seconds: one a key, the newest first.

    ``is_last``: after all others.
    """
    with _news:
        _idle_work[key] = function
        _idle_work.move_to_end(key, last=not is_last)
        _news.notify_all()
    _start_idle_thread()


@cache
def _start_idle_thread() -> None:
    threading.Thread(target=_work_when_idle, daemon=True).start()


def _work_when_idle() -> None:
    lower_priority()
    _first_page_ran.wait()
    while True:
        with _news:
            _news.wait_for(lambda: _idle_work)
            while _news.wait_for(_is_busy, _IDLE_SECONDS):
                _news.wait_for(lambda: not _is_busy(), _IDLE_SECONDS)
            _, function = _idle_work.popitem()
        try:
            function()
        except Exception:  # any bug of idle work must not end the thread; it is printed
            traceback.print_exc()


def _is_busy() -> bool:
    return bool(_runs or _waiting or _awaiting)


def is_page_running() -> bool:
    """Return whether any page runs."""
    return bool(_runs)


def set_up_process() -> None:
    """Set the thread switch interval, the limit of open files and the heap (glibc)."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    if sys.platform == "linux":
        import resource  # elsewhere there is none

        # Each large array of a result holds a file open.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    large_arrays.set_up_heap()


def trim_memory() -> None:
    """Return memory to the system: mapped files at once, the heap after all idle work."""
    large_arrays.release_pages()
    run_when_idle("memory", large_arrays.trim_memory, is_last=True)
