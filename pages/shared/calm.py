"""Who goes first where many read: pages take turns, and work that nobody waits for makes way."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress

from lore_core.data.progress import Cancelled
from lore_core.kernel_sums.schedule import fewer_threads

_calm = threading.Condition()
#: Seconds that work waits for pages of other readers, and new pages for those with a hand on them.
_MOMENT = 3.0
#: Seconds without a page after which there is time for what nobody has asked for.
_EASE = 2.0
#: Pages that are computed at a time, and seconds after which one no longer counts as one of them:
#: among ten at a time each waits for the interpreter at every step, and all take ten times as long.
_AT_ONCE, _TURN = max(2, os.cpu_count() or 1), 2.0
#: Seconds of waiting after which a reader is told for whom.
_TELLING = 1.0
#: Seconds between two looks at whose turn it is; seconds for which the interpreter is one thread's.
_EVERY, _SWITCH = 0.1, 0.0005
#: How much less of the processors, as ``nice`` counts, is given to what can wait.
_LESS = 5
#: When each page that runs began, and those that wait, in their order.
_runs: list[float] = []
_waiting: list[_Ticket] = []
#: Whether any page has run.
_was_seen = threading.Event()
#: When the page of this thread began.
_own = threading.local()


class _Ticket:
    """A page that waits. ``is_step``: of a reader who moved a control on it."""

    def __init__(self, *, is_step: bool) -> None:
        self.is_step, self.since = is_step, time.monotonic()

    @property
    def comes_before_steps(self) -> bool:
        """Whether a step that comes later does not overtake it."""
        return self.is_step or time.monotonic() - self.since > _MOMENT


def share_the_interpreter() -> None:
    """Let threads take turns more often than is usual, 0.5 ms instead of 5 ms.

    A computation hands the interpreter on at each of its many steps, and has it back only when
    those of all other readers had it for that long.
    """
    sys.setswitchinterval(_SWITCH)


@contextmanager
def hurry(
    tell: Callable[[int], object] = lambda _: None, *, is_step: bool = False
) -> Iterator[None]:
    """Count as a page that somebody waits for, as long as it runs; before, wait for its turn.

    ``tell``: is told once how many pages come before, where that takes longer than a moment.
    ``is_step``: whether the reader sees the page already and moved a control on it: a hand that
    waits comes before pages that have just been asked for.
    """
    around, _own.began = getattr(_own, "began", None), _take_turn(tell, is_step=is_step)
    # (With others at the same time there is no processor left for a second thread.)
    with fewer_threads(1) if len(_runs) + len(_waiting) > 1 else nullcontext():
        try:
            yield
        finally:
            _leave()
            _own.began = around


@contextmanager
def aside() -> Iterator[None]:
    """Let other pages run while this one waits for work that is done elsewhere."""
    if getattr(_own, "began", None) is None:
        yield
        return
    _leave()
    yield
    _own.began = _take_turn()


def _leave() -> None:
    """Give the turn back; a page that was left while it stood aside has none."""
    began, _own.began = _own.began, None
    _was_seen.set()
    if began is not None:
        with _calm:
            _runs.remove(began)
            _calm.notify_all()


def _take_turn(tell: Callable[[int], object] = lambda _: None, *, is_step: bool = False) -> float:
    ticket, is_told = _Ticket(is_step=is_step), False
    with _calm:
        after = [k + 1 for k, other in enumerate(_waiting) if other.comes_before_steps]
        _waiting.insert(max(after, default=0) if is_step else len(_waiting), ticket)
        try:
            while _waiting[0] is not ticket or _busy() >= _AT_ONCE:
                _calm.wait(_EVERY)
                if not is_told and time.monotonic() - ticket.since > _TELLING:
                    is_told = True
                    tell(_waiting.index(ticket) + _busy())
        finally:
            _waiting.remove(ticket)
        began = time.monotonic()
        _runs.append(began)
        _calm.notify_all()
    return began


def _busy() -> int:
    """How many pages run that began a moment ago; longer ones must not hold up all others."""
    return sum(time.monotonic() - began < _TURN for began in _runs)


def give_precedence() -> None:
    """Let this thread, and those it starts, have less of the processors than pages (Linux)."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LESS)


def wait_for_calm() -> bool:
    """Wait until no page runs; where one always does, for a moment. Return whether none does."""
    with _calm:
        return _calm.wait_for(lambda: not _runs, _MOMENT)


def when_at_ease(do: Callable[[], object]) -> None:
    """Do something once, in the background, when a page was seen and none has run for seconds.

    Before the first page there is no ease: what it shows is being read, by a process of its own.
    """

    def wait() -> None:
        _was_seen.wait()
        wait_for_ease()
        give_precedence()
        do()

    threading.Thread(target=wait, daemon=True).start()


def wait_for_ease() -> None:
    """Wait until no page has run for seconds."""
    since = time.monotonic()
    while time.monotonic() - since < _EASE:
        time.sleep(_MOMENT / 10)
        if _runs or _waiting:
            since = time.monotonic()


def give_way(_share: float, _message: str) -> None:
    """Stop work where a page runs: a progress callable, to begin again when it has ended."""
    if _runs:
        raise Cancelled
