"""Memory that is given back to the system when no page runs."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable

from lore_core.dashboard.large_arrays import let_go
from pages.shared.calm import when_at_ease

_waiting = threading.Lock()
#: Of glibc's ``mallopt``: how many heaps there are.
_ARENA_MAX = -8


def share_one_heap() -> None:
    """Let all threads take what they need from one heap, if this system can (glibc).

    Else each has its own, and what one page has freed is of no use to the next.
    """
    _of_the_heap("mallopt")(_ARENA_MAX, 1)


def give_back_at_ease() -> None:
    """Give memory back that is not used, once no page has run for a moment."""
    if _waiting.acquire(blocking=False):
        when_at_ease(_give_back)


def _give_back() -> None:
    _waiting.release()
    let_go()
    _of_the_heap("malloc_trim")(0)


def _of_the_heap(name: str) -> Callable[..., object]:
    """Return a function of glibc; one that does nothing where the system has another heap."""
    known = ctypes.CDLL(None) if sys.platform == "linux" else None
    return getattr(known, name, lambda *_: None)
