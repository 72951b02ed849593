"""Long work in the background: one at a time, with progress, and stoppable."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from lore_core import InputError
from lore_core.data.progress import Cancelled, Progress
from pages.shared.calm import give_precedence
from pages.shared.header import plain

#: Jobs in their order; the first is at work. Maps and reports take every core: one at a time.
_LINE: list[Job] = []
#: Seconds between two looks of those that wait.
_GLANCE = 0.2
_KEY = "_job"
#: How long work took here, as a multiple of its estimate, by its name.
_PACES: dict[str, float] = {}
#: From this share done on, the time taken so far says more than the estimate.
_TELLING = 0.25
#: Seconds after the last reader of a job has left until it is stopped, and between two looks.
PATIENCE, _EVERY = 30.0, 5.0


def at_this_pace(name: str, seconds: float) -> float:
    """Correct an estimate by what the same work took on this machine before.

    ``name``: of the job. ``seconds``: estimate for any machine.
    """
    return _PACES.get(name, 1.0) * seconds


def learn_pace(name: str, expected: float, took: float) -> None:
    """Take down that work took so many seconds, of which so many had been expected."""
    _PACES[name] = at_this_pace(name, took / expected)


def time_so_far(elapsed: float, fraction: float, expected: float) -> str:
    """Say how long work has taken, and how long it will: never less than it has.

    ``elapsed``: seconds. ``fraction``: share done. ``expected``: estimate made before it began.
    """
    if fraction >= _TELLING:
        return f"{elapsed:.0f} s of about {elapsed / min(fraction, 1.0):.0f} s"
    if elapsed > expected:
        return f"{elapsed:.0f} s, longer than expected"
    return f"{elapsed:.0f} s of about {expected:.0f} s"


class Job:
    """One function running in a thread of its own.

    ``work`` takes a progress callable and returns what ``done`` gets, in the thread. ``seconds``:
    rough estimate of the duration, by :func:`at_this_pace`. ``page``: the one that says itself
    where it was cancelled or failed; by default none does.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[Progress], Any],
        done: Callable[[Any], None],
        seconds: float,
        page: str | None = None,
    ) -> None:
        self.name = name
        self.page = page
        self.seconds = seconds
        self.fraction = 0.0
        self.message = ""
        self.error: str | None = None
        self.cancelled = False
        self.readers: set[str] = set()  #: Sessions that wait for it
        self._looked = self._last_reader = time.monotonic()
        self.started = time.monotonic()
        self._work = work
        self._done = done
        self._thread = threading.Thread(target=self._run, name=f"job-{name}", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """True until the work is done, failed or stopped."""
        return self._thread.is_alive()

    def ends_within(self, seconds: float) -> bool:
        """Wait so long, and return whether it has ended by then."""
        self._thread.join(seconds)
        return not self.running

    def _is_wanted(self) -> bool:
        """Whether anybody who waits for it is there, or was a moment ago: a reload takes one."""
        now = time.monotonic()
        if now - self._looked > _EVERY:
            self._looked = now
            if any(map(is_there, list(self.readers))) or not self.readers:
                self._last_reader = now
        return now - self._last_reader < PATIENCE

    def _progress(self, fraction: float, message: str) -> None:
        if not self._is_wanted():
            self.cancelled = True
        if self.cancelled:
            raise Cancelled
        self.fraction, self.message = fraction, message

    def _run(self) -> None:
        give_precedence()
        _LINE.append(self)
        try:
            while before := _LINE.index(self):
                self._progress(
                    0.0, f"waiting for {before} earlier job{'s' * (before > 1)} to finish"
                )
                time.sleep(_GLANCE)
            self.started = time.monotonic()
            self._progress(0.0, "starting")
            self._done(self._work(self._progress))
            learn_pace(self.name, self.seconds, time.monotonic() - self.started)
        except Cancelled:
            pass
        except InputError as error:
            self.error = str(error)
        except MemoryError:
            self.error = f"{self.name} needs more memory than this machine has; use fewer rows."
        except Exception as error:
            # A bug: the reader learns that it failed, the terminal why.
            self.error = f"{self.name} failed ({type(error).__name__}); the terminal says more."
            raise
        finally:
            _LINE.remove(self)


@st.cache_resource
def _running() -> dict[Hashable, Job]:
    """Jobs of all sessions by what they make: a reload finds its job again."""
    return {}


def current_job() -> Job | None:
    """Return this session's job, finished or not."""
    return st.session_state.get(_KEY)


def join_job(key: Hashable) -> bool:
    """Make the running job that makes ``key`` this session's, whoever started it."""
    job = _running().get(key)
    if job is None or not job.running or job.cancelled:
        return False
    _wait_for(job)
    return True


def _wait_for(job: Job) -> None:
    st.session_state[_KEY] = job
    job.readers.add(this_session())


def this_session() -> str:
    """Return what names the session whose page is run; nothing outside of one."""
    context = get_script_run_ctx(suppress_warning=True)
    return "" if context is None else context.session_id


def is_there(session: str) -> bool:
    """Whether a session has a page open; a page in a tab that is not looked at is open, too."""
    return not runtime.exists() or runtime.get_instance().is_active_session(session)


def start_job(
    key: Hashable,
    name: str,
    work: Callable[[Progress], Any],
    done: Callable[[Any], None],
    seconds: float,
    page: str | None = None,
) -> None:
    """Start making ``key``; another job of this session is stopped first.

    ``key``: what is made; two sessions that want the same share one job. ``name``, ``work``,
    ``done``, ``seconds``, ``page``: see :class:`Job`.
    """
    if join_job(key):
        return
    cancel_job()
    jobs = _running()
    for finished in [other for other, job in list(jobs.items()) if not job.running]:
        jobs.pop(finished, None)
    jobs[key] = Job(name, work, done, seconds, page)
    _wait_for(jobs[key])


def forget_job() -> None:
    """Leave this session without a job: nothing is said of it any more."""
    st.session_state.pop(_KEY, None)


def cancel_job() -> None:
    """Stop this session's job at its next step; where others wait for it, too, leave it to them."""
    job = current_job()
    if job is None or not job.running:
        return
    job.readers.discard(this_session())
    if any(map(is_there, job.readers)):
        del st.session_state[_KEY]
    else:
        job.cancelled = True


@st.fragment(run_every=0.5)
def _watch() -> None:
    job = current_job()
    if job is None:  # cancelled here, and left to others who wait for it, too
        st.rerun()
        return
    if not job.running:
        st.rerun()
    elapsed = time.monotonic() - job.started
    waiting = " · stopping" if job.cancelled else ""
    # Over the page, so that nothing on it moves when the job begins or ends.
    with st.container(key="job", horizontal=True, vertical_alignment="bottom"):
        st.progress(
            min(job.fraction, 1.0),
            text=f"**{plain(job.name)}** · {plain(job.message)}{waiting} · "
            f"{time_so_far(elapsed, job.fraction, job.seconds)}",
        )
        st.button("Cancel", on_click=cancel_job, key="cancel_job", width="content")


def job_panel(page: str) -> None:
    """Show this session's job while it runs, and once how it ended.

    ``page``: the one that is shown; what it says itself is not said twice.
    """
    job = current_job()
    if job is None:
        return
    if job.running:
        _watch()
        return
    forget_job()
    if job.page == page and (job.error or job.cancelled):
        return
    if job.error:
        st.error(plain(job.error), icon=":material/error:")
    elif job.cancelled:
        st.info(f"{plain(job.name)} was cancelled; nothing else changed.", icon=":material/cancel:")
    else:
        st.toast(f"{plain(job.name)} is ready.", icon=":material/check:")
