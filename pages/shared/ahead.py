"""What the next page will want, computed beside the server while a reader looks at this one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from lore_core.dashboard.beside import WORKERS
from lore_core.view import View
from pages.shared import compute
from pages.shared.beside import Asked, task_of
from pages.shared.calm import wait_for_ease
from pages.shared.controls import last_view
from pages.shared.jobs import at_this_pace, this_session
from pages.shared.methods import chosen, compared_of, grouping_by

#: Nothing that takes longer than so many seconds is done before anybody asks for it.
_LONGEST = 5.0
#: Readers whose next page is thought of, the one who came last first.
_MOST = 8
_WANTED: OrderedDict[str, Callable[[], Asked | None]] = OrderedDict()
_NEWS = threading.Condition()
_THREADS: list[threading.Thread] = []


def compute_ahead() -> None:
    """Compare recalibrators of the view this page shows, once no page has run for a moment.

    Recalibrate, Fairness, Decisions and Report will ask for it.
    """
    view = last_view()
    if not WORKERS.are_there or view is None or view.calibration is None:
        return
    with _NEWS:
        # (What has to look at methods and rows is done later: the page has not ended yet.)
        _WANTED[this_session()] = partial(_fits, view, *chosen())
        _WANTED.move_to_end(this_session())
        while len(_WANTED) > _MOST:
            _WANTED.popitem(last=False)
        if not _THREADS:
            _THREADS.append(threading.Thread(target=_serve, daemon=True))
            _THREADS[0].start()
        _NEWS.notify()


def _serve() -> None:
    while True:
        with _NEWS:
            _NEWS.wait_for(lambda: _WANTED)
        wait_for_ease()
        with _NEWS:
            session, wanted = _WANTED.popitem()
        serve_one(wanted, session)


def _fits(view: View, methods: Sequence[str] | None, column: str | None) -> Asked | None:
    """Return the fits of a view with what its reader chose; None where they take long."""
    labels, on = compared_of(view, methods), view.embedding if view.is_local else None
    if not labels or not _is_short(compute.fits(view, labels, None, on)):
        return None
    return compute.fits(view, labels, grouping_by(view.dataset, column), on)


def serve_one(wanted: Callable[[], Asked | None], session: str) -> None:
    """Compute the fits, and what Recalibrate asks for after them, one after the other."""
    fits = wanted()
    result = None if fits is None else _done(fits, session)
    if fits is None or result is None:
        return
    on = fits.options["measured_on"]
    more = [compute.intervals(fits.view, result, on)]
    if on is not None:
        more += compute.method_curves_asked(fits.view, result, list(result.datasets), on)
    for asked in more:
        if asked is not None:
            _done(asked, session)


def _is_short(asked: Asked) -> bool:
    return at_this_pace(asked.title, asked.expected) <= _LONGEST


def _done(asked: Asked, session: str) -> Any:
    """Return what comes of some work; None where it takes long, or fails."""
    if not _is_short(asked):
        return None
    task = task_of(asked, session)
    task.wait()
    return None if task.failed else task.result()
