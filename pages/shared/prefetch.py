"""Prefetching: what other pages will ask for is computed while a reader looks at this one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from lore_core.dashboard.worker_pool import POOL
from lore_core.data.dataset import TOP_LABEL
from lore_core.view import View
from pages.shared import compute
from pages.shared.controls import last_view
from pages.shared.methods import chosen, compared_of, grouping_by
from pages.shared.scheduler import wait_until_idle
from pages.shared.tasks import Request, submit, this_session

#: Nothing that takes longer than so many seconds is done before anybody asks for it.
_MAX_SECONDS = 5.0
#: Readers whose next page is thought of, the one who came last first.
_MAX_READERS = 8
_WANTED: OrderedDict[str, Callable[[], None]] = OrderedDict()
_NEWS = threading.Condition()
_THREADS: list[threading.Thread] = []


def prefetch() -> None:
    """Compute what other pages ask of the view this page shows, once none has run for a moment.

    Recalibrate, Fairness, Decisions and Report ask for a comparison of recalibrators; Decisions
    asks what could be gained, too.
    """
    view = last_view()
    if not POOL.is_warm or view is None or view.calibration is None:
        return
    with _NEWS:
        # (What has to look at methods and rows is done later: the page has not ended yet.)
        _WANTED[this_session()] = partial(_compute, view, this_session(), *chosen())
        _WANTED.move_to_end(this_session())
        while len(_WANTED) > _MAX_READERS:
            _WANTED.popitem(last=False)
        # (What fails is told in the log, and ends the thread.)
        if not any(thread.is_alive() for thread in _THREADS):
            _THREADS[:] = [threading.Thread(target=_serve, daemon=True)]
            _THREADS[0].start()
        _NEWS.notify()


def _serve() -> None:
    while True:
        with _NEWS:
            _NEWS.wait_for(lambda: _WANTED)
        wait_until_idle()
        with _NEWS:
            _, compute_wanted = _WANTED.popitem()
        compute_wanted()


def _compute(view: View, session: str, methods: Sequence[str] | None, column: str | None) -> None:
    """Compute what other pages ask for, one after the other, where it takes no time."""
    labels, on = compared_of(view, methods), view.embedding if view.is_local else None
    if labels and _is_short(compute.fits(view, labels, None, on)):
        fits = compute.fits(view, labels, grouping_by(view.dataset, column), on)
        if (result := _done(fits, session)) is not None:
            more = [compute.intervals(view, result, on)]
            if on is not None:
                more += compute.method_curve_requests(view, result, list(result.datasets), on)
            for request in more:
                if request is not None:
                    _done(request, session)
    _done(compute.gains_request(view.with_(target=TOP_LABEL)), session)


def _is_short(request: Request) -> bool:
    return request.seconds <= _MAX_SECONDS


def _done(request: Request, session: str) -> Any:
    """Return what comes of some work; None where it takes long, or fails."""
    if not _is_short(request):
        return None
    task = submit(request, session)
    task.wait()
    return None if task.failed else task.result()
