"""Memory of the server: how far it grows, and what is given back when no page runs."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

from lore_core.dashboard.large_arrays import release_pages
from pages.shared.scheduler import run_when_idle

#: What of glibc's heap is set, by its ``mallopt``.
_HEAP_SETTINGS = {
    # One heap for all threads: else each has its own, and what one page has freed is of no use to
    # the next.
    -8: 1,  # M_ARENA_MAX
    # Large arrays lie outside of it, and are given back as they are freed: else those of up to
    # 32 MB leave holes, which others do not fit into. (From 4 MB on numpy asks for huge pages, so
    # that new memory costs next to nothing. From 1 MB on, kernel sums took a fifth longer.)
    -3: 2**22,  # M_MMAP_THRESHOLD
    # As much may lie free at its end. (Where the one above is set, this is next to nothing.)
    -1: 2**24,  # M_TRIM_THRESHOLD
}


def limit_heap_growth() -> None:
    """Let the server's memory grow no further than its pages need, if this system can (glibc)."""
    for what, value in _HEAP_SETTINGS.items():
        _heap_function("mallopt")(what, value)


def trim_memory() -> None:
    """Give memory back that is not used: of files at once, the rest once no page runs for a moment.

    What another page looks at in a file is found again in no time.
    """
    release_pages()
    run_when_idle("memory", _trim)


def _trim() -> None:
    release_pages()
    _heap_function("malloc_trim")(0)


def _heap_function(name: str) -> Callable[..., object]:
    """Return a function of glibc; one that does nothing where the system has another heap."""
    known = ctypes.CDLL(None) if sys.platform == "linux" else None
    return getattr(known, name, lambda *_: None)
