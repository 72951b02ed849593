"""Prefetching: what other pages will ask for is computed while a reader looks at this one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from lore_core.dashboard.worker_pool import POOL, Request
from lore_core.data.dataset import TOP_LABEL
from lore_core.view import View
from pages.shared import compute
from pages.shared.controls import last_view
from pages.shared.methods import chosen, compared_of, grouping_by
from pages.shared.scheduler import run_when_idle
from pages.shared.tasks import is_there, submit, this_session

#: Nothing that takes longer than so many seconds is done before anybody asks for it.
_MAX_SECONDS = 5.0


def prefetch() -> None:
    """Compute what other pages ask of the view this page shows, once none has run for a moment.

    Recalibrate, Fairness, Decisions and Report ask for a comparison of recalibrators; Decisions
    asks what could be gained, too.
    """
    view, session = last_view(), this_session()
    if POOL.is_warm and view is not None and view.calibration is not None:
        # (What has to look at methods and rows is done later: the page has not ended yet.)
        run_when_idle(("prefetch", session), partial(compute_next, view, session, *chosen()))


def compute_next(
    view: View, session: str, methods: Sequence[str] | None, column: str | None
) -> None:
    """Compute what a reader's other pages ask for, one after the other, where it takes no time."""
    if not is_there(session):
        return
    labels, on = compared_of(view, methods), view.embedding if view.is_local else None
    if labels and _is_short(compute.fits(view, labels, None, on)):
        fits = compute.fits(view, labels, grouping_by(view.dataset, column), on)
        if (result := _done(fits, session)) is not None:
            more: list[Request[Any] | None] = [compute.intervals(view, result, on)]
            if on is not None:
                more += compute.method_curve_requests(view, result, list(result.datasets), on)
            for request in more:
                if request is not None:
                    _done(request, session)
    _done(compute.gains_request(view.with_(target=TOP_LABEL)), session)


def _is_short(request: Request[Any]) -> bool:
    return request.seconds <= _MAX_SECONDS


def _done(request: Request[Any], session: str) -> Any:
    """Return what comes of some work; None where it takes long, or fails."""
    if not _is_short(request):
        return None
    task = submit(request, session)
    task.wait()
    return None if task.failed else task.result()
