"""What the next page will want, computed beside the server while a reader looks at this one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from lore_core.dashboard.beside import WORKERS
from pages.shared import compute
from pages.shared.beside import Asked, task_of
from pages.shared.calm import wait_for_ease
from pages.shared.controls import last_view
from pages.shared.jobs import at_this_pace, this_session
from pages.shared.methods import chosen_methods, grouping

#: Nothing that takes longer than so many seconds is done before anybody asks for it.
_LONGEST = 5.0
#: Readers whose next page is thought of, the one who came last first.
_MOST = 8
_WANTED: OrderedDict[str, Asked] = OrderedDict()
_NEWS = threading.Condition()
_THREADS: list[threading.Thread] = []


def compute_ahead() -> None:
    """Compare recalibrators of the view this page shows, once no page has run for a moment.

    Recalibrate, Fairness, Decisions and Report will ask for it.
    """
    view = last_view()
    if not WORKERS.are_there or view is None or view.calibration is None:
        return
    methods, on = chosen_methods(view), view.embedding if view.is_local else None
    if not methods:
        return
    fits = compute.fits(view, methods, grouping(view.dataset), on)
    with _NEWS:
        _WANTED[this_session()] = fits
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
            session, fits = _WANTED.popitem()
        compute_after(fits, session)


def compute_after(fits: Asked, session: str) -> None:
    """Compute the fits, and what Recalibrate asks for after them, one after the other."""
    result = _done(fits, session)
    if result is None:
        return
    on = fits.options["measured_on"]
    more = [compute.intervals(fits.view, result, on)]
    if on is not None:
        more += compute.method_curves_asked(fits.view, result, list(result.datasets), on)
    for asked in more:
        if asked is not None:
            _done(asked, session)


def _done(asked: Asked, session: str) -> Any:
    """Return what comes of some work; None where it takes long, or fails."""
    if at_this_pace(asked.title, asked.expected) > _LONGEST:
        return None
    task = task_of(asked, session)
    task.wait()
    return None if task.failed else task.result()
