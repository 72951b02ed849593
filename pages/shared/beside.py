"""Long work that pages wait for, done beside the server and shared by all who ask for it."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lore_core.dashboard.beside import WORKERS, Task
from lore_core.dashboard.worker import WORK
from lore_core.data.progress import Progress, tell
from lore_core.view import View
from pages.shared.calm import aside
from pages.shared.header import plain
from pages.shared.jobs import (
    PATIENCE,
    at_this_pace,
    is_there,
    learn_pace,
    this_session,
    time_so_far,
)

#: Results that are kept: at most so many, and of so many bytes in memory and on the disk.
_MOST, _MOST_BYTES, _MOST_APART = 256, 2**30, 2**33
#: Seconds until a reader is told what is waited for, and between two words about it.
_SILENT, _EVERY = 0.3, 0.5
#: Seconds between two looks whether anybody who wants some work is still there.
_GLANCE = 5.0
#: What a reader has stopped.
_STOPPED = "_stopped"
_TASKS: OrderedDict[Hashable, Task] = OrderedDict()
_LOCK = threading.Lock()


@dataclass(frozen=True, eq=False)
class Asked:
    """Some work, as a page asks for it."""

    work: str  #: What; see :class:`~lore_core.dashboard.beside.Task`
    view: View  #: Of what
    key: Hashable  #: What its result depends on
    title: str  #: What is done, in words
    expected: float  #: Seconds it takes, a rough estimate
    options: Mapping[str, Any] = field(default_factory=dict)  #: What else is asked
    of: str = ""  #: What tells it from other work of its kind on one page

    @property
    def name(self) -> str:
        """Its name on the page."""
        return f"{self.work} {self.of}".rstrip()


def task_of(asked: Asked, session: str | None = None) -> Task:
    """Return the work, begun if nobody has asked for it before.

    ``session``: whose work it is; by default the one whose page runs.
    """
    work, key = asked.work, asked.key
    with _LOCK:
        task = _TASKS.get((work, key))
        if task is None or task.failed:
            task = Task(work, asked.view, asked.options, at_this_pace(asked.title, asked.expected))
            if WORKERS.are_there:
                WORKERS.begin(task)
                _look_after()
            else:  # no server, and nobody else who could be held up
                task.end(WORK[work](asked.view, None, **asked.options))
            _TASKS[work, key] = task
        task.sessions.add(this_session() if session is None else session)
        _TASKS.move_to_end((work, key))
        _forget()
        return task


def _forget() -> None:
    """Forget the oldest results beyond what is kept, and none that is waited for."""
    for key, task in list(_TASKS.items())[:-1]:
        total = sum(item.n_bytes for item in _TASKS.values())
        apart = sum(item.n_bytes_apart for item in _TASKS.values())
        if len(_TASKS) <= _MOST and total <= _MOST_BYTES and apart <= _MOST_APART:
            return
        if task.ended:
            del _TASKS[key]


@cache
def _look_after() -> None:
    """Look now and then, from here on, whether those who have asked for work are still there."""

    def look() -> None:
        alone: dict[Task, float] = {}
        while True:
            time.sleep(_GLANCE)
            stop_what_nobody_wants(alone, time.monotonic())

    threading.Thread(target=look, daemon=True).start()


def stop_what_nobody_wants(alone: dict[Task, float], now: float) -> None:
    """Stop work whose readers have all closed their tabs, and not come back.

    ``alone``: since when each task has been so; kept here from one look to the next.
    """
    with _LOCK:
        undone = [task for task in _TASKS.values() if not task.ended]
    for task in [task for task in alone if task not in undone]:
        del alone[task]
    for task in undone:
        # (What has no session waits in the background, and stops it by itself.)
        if any(not session or is_there(session) for session in list(task.sessions)):
            alone.pop(task, None)
        elif now - alone.setdefault(task, now) >= PATIENCE:
            WORKERS.cancel(task)


def awaited(asked: Asked, place: DeltaGenerator | None = None) -> Any:
    """Return what comes of some work, and say meanwhile how far it is.

    Who goes to another page leaves the work to be done; it is there when the page is seen again.
    Who closes the tab does not.

    ``place``: where it is said; by default here.
    """
    if _is_stopped(asked):
        _offer(asked.title, place)
    task = task_of(asked)
    if not task.ended:
        with _waiting(task), aside():
            _watch(task, asked, place)
    return task.result()


def finished(asked: Asked, progress: Progress | None) -> Any:
    """Return what comes of some work, for who waits for it in the background.

    ``progress``: told how far it is; where it raises, the work is stopped unless others wait.
    """
    task = task_of(asked)
    try:
        with _waiting(task):
            while not task.wait(_EVERY):
                tell(progress, min(task.fraction, 1.0), task.message)
    finally:
        if not task.readers and not task.ended:
            WORKERS.cancel(task)
    return task.result()


@contextmanager
def _waiting(task: Task) -> Iterator[None]:
    """Count as one who waits for a task."""
    reader = this_session(), object()
    task.readers.append(reader)
    try:
        yield
    finally:
        with suppress(ValueError):  # who has cancelled waits no longer
            task.readers.remove(reader)


def is_ready(asked: Asked, seconds: float) -> bool:
    """Begin some work, unless the reader has stopped it, and return whether it soon has ended."""
    return not _is_stopped(asked) and task_of(asked).wait(seconds)


def _is_stopped(asked: Asked) -> bool:
    return bool(st.session_state.get(_STOPPED) == (asked.work, asked.key))


def _watch(task: Task, asked: Asked, place: DeltaGenerator | None) -> None:
    start = time.monotonic()
    if task.wait(_SILENT):
        return
    shown = (place or st).empty()
    with shown.container(horizontal=True, vertical_alignment="bottom", key=f"awaited_{asked.name}"):
        bar = st.progress(0.0, text=f"**{asked.title}**")
        stop = (asked.work, asked.key), task
        st.button("Cancel", key=f"stop_{asked.name}", on_click=_stop, args=stop, width="content")
    expected = at_this_pace(asked.title, asked.expected)
    while not task.wait(_EVERY):
        elapsed, before = time.monotonic() - start, WORKERS.before(task)
        said = (
            f"{before} of other readers come before"
            if before
            else f"{plain(task.message)} · {time_so_far(elapsed, task.fraction, expected)}"
        )
        # (Here Streamlit ends the run of a page that was left.)
        bar.progress(min(task.fraction, 1.0), text=f"**{asked.title}** · {said}")
    shown.empty()
    if task.seconds:
        learn_pace(asked.title, expected, task.seconds)


def _stop(name: Hashable, task: Task) -> None:
    """Stop work that nobody else waits for, and do not begin it again unasked."""
    st.session_state[_STOPPED] = name
    # (The run of the page whose button it was may not have ended yet.)
    for reader in [item for item in task.readers if item[0] == this_session()]:
        with suppress(ValueError):
            task.readers.remove(reader)
    if not task.readers and not task.ended:
        WORKERS.cancel(task)


def _offer(title: str, place: DeltaGenerator | None) -> None:
    """Say that something was stopped, let the reader begin it again, and end the page."""
    with (place or st).container():
        st.info(f"{title}: cancelled; nothing else changed.", icon=":material/cancel:")
        st.button("Begin again", key="begin_again", on_click=_begin_again)
    st.stop()


def _begin_again() -> None:
    st.session_state.pop(_STOPPED, None)
