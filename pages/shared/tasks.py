"""Long work that pages wait for: shared by all who ask for it, with progress, and stoppable.

A request is computed in the worker pool, and the page that needs its result waits for it. A job is
work in a thread of the server, one at a time, while its reader looks at any page.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

import streamlit as st
from streamlit import runtime
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from lore_core import InputError
from lore_core.dashboard.worker_pool import POOL, Task
from lore_core.data.progress import Cancelled, Progress, tell
from pages.shared.header import plain
from pages.shared.scheduler import lower_priority, release_slot

Result = TypeVar("Result")
#: Results that are kept: at most so many, and of so many bytes in memory and on the disk.
_MAX_RESULTS, _MAX_BYTES, _MAX_FILE_BYTES = 256, 2**30, 2**33
#: Seconds until a reader is told what is waited for, and between two words about it.
_SILENT_SECONDS, _POLL_SECONDS = 0.3, 0.5
#: Seconds after the last reader of some work has left until it is stopped, and between two looks.
_PATIENCE_SECONDS, _LOOK_SECONDS = 30.0, 5.0
#: From this share done on, the time taken so far says more than the estimate.
_TELLING_SHARE = 0.25
#: In a session: what its reader has stopped, and its job.
_STOPPED, _JOB = "_stopped", "_job"
#: How long work took here, as a multiple of its estimate, by its title.
_PACES: dict[str, float] = {}
_TASKS: OrderedDict[Hashable, Task] = OrderedDict()
_LOCK = threading.Lock()
#: Jobs in their order; the first is at work.
_LINE: list[Job] = []


def expected_duration(title: str, seconds: float) -> float:
    """Correct an estimate by what the same work took on this machine before.

    ``title``: of the work. ``seconds``: estimate for any machine.
    """
    return _PACES.get(title, 1.0) * seconds


def record_duration(title: str, expected: float, seconds: float) -> None:
    """Take down that work took so many seconds, of which so many had been expected."""
    _PACES[title] = expected_duration(title, seconds / expected)


def time_so_far(elapsed: float, fraction: float, expected: float) -> str:
    """Say how long work has taken, and how long it will: never less than it has.

    ``elapsed``: seconds. ``fraction``: share done. ``expected``: estimate made before it began.
    """
    if fraction >= _TELLING_SHARE:
        return f"{elapsed:.0f} s of about {elapsed / min(fraction, 1.0):.0f} s"
    if elapsed > expected:
        return f"{elapsed:.0f} s, longer than expected"
    return f"{elapsed:.0f} s of about {expected:.0f} s"


def this_session() -> str:
    """Return what names the session whose page is run; nothing outside of one."""
    context = get_script_run_ctx(suppress_warning=True)
    return "" if context is None else context.session_id


def is_there(session: object) -> bool:
    """Whether a session has a page open; a page in a tab that is not looked at is open, too.

    What is no session, or has no name, waits in the background, and leaves by itself.
    """
    if not isinstance(session, str) or not session or not runtime.exists():
        return True
    return runtime.get_instance().is_active_session(session)


@cache
def _look_after() -> None:
    """Look now and then, from here on, whether those who have asked for work are still there."""

    def look() -> None:
        alone: dict[Task, float] = {}
        while True:
            time.sleep(_LOOK_SECONDS)
            stop_unwanted(alone, time.monotonic())

    threading.Thread(target=look, daemon=True).start()


def stop_unwanted(alone: dict[Task, float], now: float) -> None:
    """Stop work whose readers have all closed their tabs, and not come back: a reload takes one.

    ``alone``: since when each task has been so; kept here from one look to the next.
    """
    with _LOCK:
        undone = [task for task in (*_TASKS.values(), *_LINE) if not task.ended]
    for task in alone.keys() - undone:
        del alone[task]
    for task in undone:
        if any(map(is_there, list(task.sessions))):
            alone.pop(task, None)
        elif now - alone.setdefault(task, now) >= _PATIENCE_SECONDS:
            POOL.cancel(task)


@dataclass(frozen=True, eq=False)
class Request(Generic[Result]):
    """Some work of the worker pool, as a page asks for it."""

    function: Callable[..., Result]  #: See :class:`~lore_core.dashboard.worker_pool.Task`
    arguments: Mapping[str, Any]
    key: Hashable  #: What its result depends on
    title: str  #: What is done, in words
    expected: float  #: Seconds it takes, a rough estimate
    of: str = ""  #: What tells it from other work of its kind on one page
    is_long: bool = False  #: Whether it takes a minute or more

    @property
    def name(self) -> str:
        """Its name on the page."""
        return f"{self.function.__name__} {self.of}".rstrip()

    @property
    def seconds(self) -> float:
        """Rough duration on this machine."""
        return expected_duration(self.title, self.expected)


def leave(task: Task, session: object) -> None:
    """Want a task no longer: it is stopped where no other session does."""
    task.sessions.discard(session)
    if not task.ended and not any(other and is_there(other) for other in list(task.sessions)):
        POOL.cancel(task)


def submit(request: Request[Any], session: object = None) -> Task:
    """Return the task, begun if nobody has asked for it before.

    ``session``: who wants it; by default the one whose page runs.
    """
    key = request.function, request.key
    with _LOCK:
        task = _TASKS.get(key)
        if task is None or task.failed or task.cancelled:
            task = Task(
                request.function, request.arguments, request.seconds, is_long=request.is_long
            )
            if POOL.is_warm:
                POOL.submit(task)
                _look_after()
            else:  # no server, and nobody else who could be held up
                task.run()
            _TASKS[key] = task
        task.sessions.add(this_session() if session is None else session)
        _TASKS.move_to_end(key)
        _forget()
        return task


def _forget() -> None:
    """Forget the oldest results beyond what is kept, and none that is waited for."""
    for key, task in list(_TASKS.items())[:-1]:
        n_bytes = sum(item.n_bytes for item in _TASKS.values())
        n_file_bytes = sum(item.n_file_bytes for item in _TASKS.values())
        is_small = n_bytes <= _MAX_BYTES and n_file_bytes <= _MAX_FILE_BYTES
        if len(_TASKS) <= _MAX_RESULTS and is_small:
            return
        if task.ended:
            del _TASKS[key]


def await_result(request: Request[Result], container: DeltaGenerator | None = None) -> Result:
    """Return what comes of some work, and say meanwhile how far it is.

    Who goes to another page leaves the work to be done; it is there when the page is seen again.
    Who closes the tab does not.

    ``container``: where it is said; by default here.
    """
    if _is_stopped(request):
        _offer(request.title, container)
    task = submit(request)
    if not task.ended:
        with _waiting(task), release_slot():
            _watch_task(task, request, container)
    result: Result = task.result()
    return result


def wait_for(request: Request[Result], progress: Progress | None) -> Result:
    """Return what comes of some work, for who waits for it in the background.

    ``progress``: told how far it is; where it raises, the work is stopped unless others wait.
    """
    myself = object()
    task = submit(request, myself)
    try:
        with _waiting(task):
            while not task.wait(_POLL_SECONDS):
                tell(progress, min(task.fraction, 1.0), task.message)
    finally:
        leave(task, myself)
    result: Result = task.result()
    return result


def forget_results() -> None:
    """Forget all results; what is at work goes on."""
    with _LOCK:
        _TASKS.clear()


@contextmanager
def _waiting(task: Task) -> Iterator[None]:
    """Count as one who waits for a task."""
    with _LOCK:
        task.n_waiting += 1
    try:
        yield
    finally:
        with _LOCK:
            task.n_waiting -= 1


def is_ready(request: Request[Any], seconds: float) -> bool:
    """Begin some work, unless the reader has stopped it, and return whether it soon has ended."""
    return not _is_stopped(request) and submit(request).wait(seconds)


def _is_stopped(request: Request[Any]) -> bool:
    return bool(st.session_state.get(_STOPPED) == (request.function, request.key))


def _watch_task(task: Task, request: Request[Any], container: DeltaGenerator | None) -> None:
    start = time.monotonic()
    if task.wait(_SILENT_SECONDS):
        return
    name, title, expected = request.name, f"**{request.title}**", request.seconds
    shown = (container or st).empty()
    with shown.container(horizontal=True, vertical_alignment="bottom", key=f"awaited_{name}"):
        bar = st.progress(0.0, text=title)
        stop = (request.function, request.key), task
        st.button("Cancel", key=f"stop_{name}", on_click=_stop, args=stop, width="content")
    while not task.wait(_POLL_SECONDS):
        elapsed, before = time.monotonic() - start, POOL.n_before(task)
        message = (
            f"{before} of other readers come before"
            if before
            else f"{plain(task.message)} · {time_so_far(elapsed, task.fraction, expected)}"
        )
        # (Here Streamlit ends the run of a page that was left.)
        bar.progress(min(task.fraction, 1.0), text=f"{title} · {message}")
    shown.empty()
    if task.seconds:
        record_duration(request.title, expected, task.seconds)


def _stop(key: Hashable, task: Task) -> None:
    """Stop work that nobody else wants, and do not begin it again unasked."""
    st.session_state[_STOPPED] = key
    leave(task, this_session())


def _offer(title: str, container: DeltaGenerator | None) -> None:
    """Say that something was stopped, let the reader begin it again, and end the page."""
    with (container or st).container():
        st.info(f"{title}: cancelled; nothing else changed.", icon=":material/cancel:")
        st.button("Begin again", key="begin_again", on_click=_begin_again)
    st.stop()


def _begin_again() -> None:
    st.session_state.pop(_STOPPED, None)


class Job(Task):
    """One function at work in a thread of its own, after those that were begun before it.

    Parameters
    ----------
    name : str
        What pages call it.
    function : callable
        Takes a progress callable, which raises where the job is cancelled.
    on_result : callable
        Gets what comes of it, in the thread.
    expected : float
        Seconds it takes, roughly, by :func:`expected_duration`.
    page : str, optional
        The page that says itself where it was cancelled or failed; by default none does.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[Progress], Any],
        on_result: Callable[[Any], None],
        expected: float,
        page: str | None = None,
    ) -> None:
        super().__init__(function, {}, expected)
        self.name, self.expected, self.page = name, expected, page
        self.started = time.monotonic()
        self._on_result = on_result
        _LINE.append(self)
        threading.Thread(target=self._work, name=f"job-{name}", daemon=True).start()

    def _progress(self, fraction: float, message: str) -> None:
        if self.cancelled:
            raise Cancelled
        self.fraction, self.message = fraction, message

    def _work(self) -> None:
        lower_priority()
        try:
            while before := _LINE.index(self):
                self._progress(
                    0.0, f"waiting for {before} earlier job{'s' * (before > 1)} to finish"
                )
                _LINE[0].wait(_POLL_SECONDS)
            self.started = time.monotonic()
            self._progress(0.0, "starting")
            self._on_result(self.function(self._progress))
            record_duration(self.name, self.expected, time.monotonic() - self.started)
            self.end()
        except Cancelled:
            self.end()
        except InputError as error:
            self.end(error=error)
        except MemoryError:
            message = f"{self.name} needs more memory than this machine has; use fewer rows."
            self.end(error=InputError(message))
        except Exception as error:
            # A bug: the reader learns that it failed, the terminal why.
            message = f"{self.name} failed ({type(error).__name__}); the terminal says more."
            self.end(error=InputError(message))
            raise
        finally:
            _LINE.remove(self)


@st.cache_resource
def _jobs() -> dict[Hashable, Job]:
    """Jobs of all sessions by what they make: a reload finds its job again."""
    return {}


def current_job() -> Job | None:
    """Return this session's job, ended or not."""
    return st.session_state.get(_JOB)


def is_busy() -> bool:
    """Whether this session's job is at work."""
    job = current_job()
    return job is not None and not job.ended


def join_job(key: Hashable) -> bool:
    """Make the job at work that makes ``key`` this session's, whoever started it."""
    job = _jobs().get(key)
    if job is None or job.ended or job.cancelled:
        return False
    st.session_state[_JOB] = job
    job.sessions.add(this_session())
    return True


def start_job(
    key: Hashable,
    name: str,
    function: Callable[[Progress], Any],
    on_result: Callable[[Any], None],
    expected: float,
    page: str | None = None,
) -> None:
    """Start making ``key``; another job of this session is stopped first.

    ``key``: what is made; two sessions that want the same share one job. ``name``, ``function``,
    ``on_result``, ``expected``, ``page``: see :class:`Job`.
    """
    if join_job(key):
        return
    cancel_job()
    jobs = _jobs()
    for ended in [other for other, job in list(jobs.items()) if job.ended]:
        jobs.pop(ended, None)
    job = st.session_state[_JOB] = jobs[key] = Job(name, function, on_result, expected, page)
    job.sessions.add(this_session())
    _look_after()


def forget_job() -> None:
    """Leave this session without a job: nothing is said of it any more."""
    st.session_state.pop(_JOB, None)


def cancel_job() -> None:
    """Stop this session's job at its next step; where others wait for it, too, leave it to them."""
    job = current_job()
    if job is not None and not job.ended:
        leave(job, this_session())
        if not job.cancelled:
            forget_job()


@st.fragment(run_every=_POLL_SECONDS)
def _watch_job() -> None:
    job = current_job()
    if job is None or job.ended:  # or cancelled here, and left to others who wait for it, too
        st.rerun()
    else:
        show_progress(job)


def show_progress(job: Job) -> None:
    """Show how far a job is, and the button that cancels it."""
    elapsed = time.monotonic() - job.started
    waiting = " · stopping" if job.cancelled else ""
    # Over the page, so that nothing on it moves when the job begins or ends.
    with st.container(key="job", horizontal=True, vertical_alignment="bottom"):
        st.progress(
            min(job.fraction, 1.0),
            text=f"**{plain(job.name)}** · {plain(job.message)}{waiting} · "
            f"{time_so_far(elapsed, job.fraction, job.expected)}",
        )
        st.button("Cancel", on_click=cancel_job, key="cancel_job", width="content")


def job_panel(page: str) -> None:
    """Show this session's job while it is at work, and once how it ended.

    ``page``: the one that is shown; what it says itself is not said twice.
    """
    job = current_job()
    if job is None:
        return
    if not job.ended:
        _watch_job()
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
