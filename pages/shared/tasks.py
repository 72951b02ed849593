"""Work that pages wait for, shared and stoppable; a session's job goes on beside any page."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from lore_core.dashboard import large_arrays
from lore_core.dashboard.worker_pool import POOL, Request, Result, Task
from lore_core.data.progress import Progress, tell
from pages.shared.header import plain, show_error
from pages.shared.scheduler import release_slot

#: Results that are kept: at most so many, and of so many bytes in memory and on the disk.
_MAX_RESULTS, _MAX_BYTES, _MAX_FILE_BYTES = 256, 2**30, 2**33
#: Seconds until a reader is told what is waited for, and between two words about it.
_SILENT_SECONDS, _POLL_SECONDS = 0.3, 0.5
#: Seconds after the last reader of some work has left until it is stopped, and between two looks.
_PATIENCE_SECONDS, _LOOK_SECONDS = 30.0, 5.0
#: From this share done on, the time taken so far says more than the estimate.
_TELLING_SHARE = 0.25
#: In a session: what its reader has stopped, its job, and where on the page that is shown.
_STOPPED, _JOB, JOB_PLACE = "_stopped", "_job", "_job_place"
_TASKS: OrderedDict[tuple[Callable[..., Any], Hashable], Task] = OrderedDict()
_LOCK = threading.Lock()


def time_so_far(elapsed: float, fraction: float, expected: float) -> str:
    """Say how long work has taken, and how long it will: never less than it has."""
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
    """Whether a session has a page open, looked at or not; what is no session leaves by itself."""
    if not isinstance(session, str) or not session or not runtime.exists():
        return True
    return runtime.get_instance().is_active_session(session)


@cache
def _watch_sessions() -> None:
    """Look now and then, from here on, whether those who have asked for work are still there."""

    def look() -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            stop_unwanted(time.monotonic())

    threading.Thread(target=look, daemon=True).start()


def stop_unwanted(now: float) -> None:
    """Stop work whose readers have all left and not come back for a while: a reload takes one."""
    with _LOCK:
        undone = [task for task in _TASKS.values() if not task.ended]
    for task in undone:
        if any(map(is_there, list(task.sessions))):
            task.last_wanted = now
        elif now - task.last_wanted >= _PATIENCE_SECONDS:
            POOL.cancel(task)


def leave(task: Task, session: object) -> None:
    """Want a task no longer: it is stopped where no other session does."""
    task.sessions.discard(session)
    if not task.ended and not any(other and is_there(other) for other in list(task.sessions)):
        POOL.cancel(task)


def submit(request: Request[Any], session: object = None) -> Task:
    """Return the task, begun if nobody has asked for it; ``session``: by default the page's."""
    key = request.function, request.key
    with _LOCK:
        task = _TASKS.get(key)
        # What others than pages wait for is kept elsewhere, and may be gone from there.
        is_over = task is not None and task.ended and (task.error or request.lane != "short")
        if task is None or task.cancelled or is_over:
            task = _TASKS[key] = Task(request)
            if not POOL.is_started and task.lane == "short":  # no server: nobody could be held up
                task.run()
            else:
                task.lane = task.lane if POOL.is_started else "server"
                POOL.submit(task)
                _watch_sessions()
        task.sessions.add(this_session() if session is None else session)
        _TASKS.move_to_end(key)
        _forget()
        return task


def latest(function: Callable[..., Result], basis: Hashable) -> Result | None:
    """Return the latest result of a function on some basis that is still kept."""
    with _LOCK:
        for (of, _), task in reversed(_TASKS.items()):
            if of == function and task.basis == basis and task.ended and not task.error:
                result: Result = task.result()
                return result
    return None


def _forget() -> None:
    """Forget the oldest results beyond what is kept, and none that is waited for."""
    for key, task in list(_TASKS.items())[:-1]:
        tasks = _TASKS.values()
        is_small = (
            sum(item.n_bytes for item in tasks) <= _MAX_BYTES
            and sum(item.n_file_bytes for item in tasks) <= _MAX_FILE_BYTES
        )
        if len(tasks) <= _MAX_RESULTS and is_small:
            return
        if task.ended:
            del _TASKS[key]


def await_result(
    request: Request[Result],
    container: DeltaGenerator | None = None,
    show: Callable[[Any], object] = lambda _: None,
) -> Result:
    """Return the result of work, showing progress; leaving the page does not stop it.

    ``show``: draws a part of the result, None at first, each time a larger one is there.
    """
    # (A place whether or not there is a wait: what follows stays in its own, menus open.)
    place = (container or st).empty()
    if _is_stopped(request):
        with place.container():
            st.info(f"{request.title}: cancelled; nothing else changed.", icon=":material/cancel:")
            again = st.session_state.pop
            st.button("Begin again", key="begin_again", on_click=again, args=(_STOPPED, None))
        st.stop()
    task = submit(request)
    if not task.ended:
        with _waiting(task), release_slot():
            _watch_task(task, request, place, show)
    result: Result = task.result()
    return result


def wait_for(request: Request[Result], progress: Progress | None) -> Result:
    """Return what comes of some work, for who waits in the background and may raise in progress."""
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


@contextmanager
def _waiting(task: Task) -> Iterator[None]:
    with _LOCK:
        task.n_waiting += 1
    try:
        yield
    finally:
        with _LOCK:
            task.n_waiting -= 1


def is_ready(request: Request[Any], seconds: float = _SILENT_SECONDS) -> bool:
    """Begin some work, unless the reader has stopped it, and return whether it soon has ended."""
    return not _is_stopped(request) and submit(request).wait(seconds)


def _is_stopped(request: Request[Any]) -> bool:
    return bool(st.session_state.get(_STOPPED) == (request.function, request.key))


def _watch_task(
    task: Task, request: Request[Any], place: DeltaGenerator, show: Callable[[Any], object]
) -> None:
    if task.wait(_SILENT_SECONDS):
        return
    large_arrays.trim_memory()  # a worker needs it

    def stop() -> None:
        """Stop work that nobody else wants, and do not begin it again unasked."""
        st.session_state[_STOPPED] = request.function, request.key
        leave(task, this_session())

    show(part := None)
    with place.container(
        horizontal=True, vertical_alignment="bottom", key=f"awaited_{request.name}"
    ):
        bar = show_progress(task, stop, f"stop_{request.name}")
    while not task.wait(_POLL_SECONDS):
        # (Here Streamlit ends the run of a page that was left.)
        bar.progress(min(task.fraction, 1.0), text=_progress_text(task))
        if (newest := task.part) is not None and newest is not part:
            part = newest
            show(part)
    place.empty()


def show_progress(task: Task, stop: Callable[[], None], key: str) -> DeltaGenerator:
    """Show how far a task is, and the button ``key`` that stops it; return the bar."""
    bar = st.progress(min(task.fraction, 1.0), text=_progress_text(task))
    st.button("Cancel", on_click=stop, key=key, width="content")
    return bar


def _progress_text(task: Task) -> str:
    title = f"**{plain(task.title)}**"
    if before := POOL.n_before(task):
        return f"{title} · after {before} other task{'s' * (before > 1)}"
    so_far = time_so_far(task.seconds, task.fraction, task.expected)
    parts = (title, plain(task.message), "stopping" if task.cancelled else "", so_far)
    return " · ".join(filter(None, parts))


def current_job() -> Task | None:
    """Return this session's job, ended or not."""
    return st.session_state.get(_JOB)


def is_busy() -> bool:
    """Whether this session's job is at work."""
    job = current_job()
    return job is not None and not job.ended


def join_job(function: Callable[..., Any], key: Hashable) -> bool:
    """Make the task at work that makes something this session's job, whoever started it."""
    task = _TASKS.get((function, key))
    if task is None or task.ended or task.cancelled:
        return False
    st.session_state[_JOB] = task
    task.sessions.add(this_session())
    return True


def start_job(request: Request[Any]) -> None:
    """Make some work this session's job; another one is stopped first."""
    if not join_job(request.function, request.key):
        cancel_job()
        st.session_state[_JOB] = submit(request)


def cancel_job() -> None:
    """Stop this session's job at its next step; where others wait for it, too, leave it to them."""
    job = current_job()
    if job is not None and not job.ended:
        leave(job, this_session())
        if not job.cancelled:
            del st.session_state[_JOB]


@st.fragment(run_every=_POLL_SECONDS)
def _watch_job() -> None:
    job = current_job()
    if job is None or job.ended:  # or cancelled here, and left to others who wait for it, too
        st.rerun()
    else:
        # Over the page, so that nothing on it moves when the job begins or ends.
        with st.container(key="job", horizontal=True, vertical_alignment="bottom"):
            show_progress(job, cancel_job, "cancel_job")


def job_panel() -> None:
    """Show this session's job while it is at work, and once how it ended."""
    job = current_job()
    if job is None:
        return
    if not job.ended:
        _watch_job()
        return
    del st.session_state[_JOB]
    if job.cancelled:
        text = f"{plain(job.title)} was cancelled; nothing else changed."
        st.info(text, icon=":material/cancel:")
    elif job.error:
        show_error(job.error)
    else:
        st.toast(f"{plain(job.title)} is ready.", icon=":material/check:")
