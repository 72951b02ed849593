"""Work that nobody waits for makes way for a page that somebody waits for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from lore_core.data.progress import Cancelled

_calm = threading.Condition()
#: Seconds that work waits for pages of other readers.
_MOMENT = 3.0
#: One entry a page that runs.
_runs: list[None] = []


@contextmanager
def hurry() -> Iterator[None]:
    """Count as a page that somebody waits for, as long as it runs."""
    with _calm:
        _runs.append(None)
    try:
        yield
    finally:
        with _calm:
            _runs.pop()
            _calm.notify_all()


def wait_for_calm() -> bool:
    """Wait until no page runs; where one always does, for a moment. Return whether none does."""
    with _calm:
        return _calm.wait_for(lambda: not _runs, _MOMENT)


def give_way(_share: float, _message: str) -> None:
    """Stop work where a page runs: a progress callable, to begin again when it has ended."""
    if _runs:
        raise Cancelled
