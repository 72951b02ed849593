import threading
import time

import pytest

from lore_core import InputError
from lore_core.dashboard.worker_pool import Request, Task, WorkerPool
from lore_core.data.progress import Cancelled
from pages.shared import tasks
from pages.shared.tasks import stop_unwanted, time_so_far

SECONDS = 30


def begun(function, **more):
    return tasks.submit(Request(function, {}, title="a sum", lane="server", **more))


def ended(task):
    assert task.wait(SECONDS)
    return task


def work_that(raises):
    def work(progress):
        progress(0.5, "half")
        raise raises

    return work


def until_cancelled(begun):
    def work(progress):
        while True:
            progress(0.5, "half")
            begun.set()
            threading.Event().wait(0.01)

    return work


def test_the_result_is_handed_over():
    found = []
    task = ended(begun(lambda progress: 1 + 1, keep=found.append))
    assert found == [2]
    assert task.error is None


@pytest.mark.parametrize(
    ("raises", "said"),
    [
        (InputError("'x' must be y."), "'x' must be y."),
        (MemoryError(), "a sum needs more memory than this machine has; use fewer rows."),
        (ZeroDivisionError("oh"), "a sum failed (ZeroDivisionError); the terminal says more."),
    ],
)
def test_what_went_wrong_is_said(raises, said, capsys):
    found = []
    task = ended(begun(work_that(raises), keep=found.append))
    assert task.error == said
    assert (found, task.fraction) == ([], 0.5)
    assert ("oh" in capsys.readouterr().err) == isinstance(raises, ZeroDivisionError)


def test_cancelling_stops_at_the_next_step_and_lets_the_next_begin():
    at_work, found = threading.Event(), []
    task = begun(until_cancelled(at_work), keep=found.append)
    others = [begun(lambda progress, k=k: k, keep=found.append) for k in range(3)]
    assert at_work.wait(SECONDS)
    assert [tasks.POOL.n_before(other) for other in others] == [1, 2, 3]
    for stopped in (others[1], task):
        tasks.POOL.cancel(stopped)
    for one in (task, *others):
        ended(one)
    assert (found, task.error) == ([0, 2], "It was cancelled.")


def test_the_time_is_never_more_than_expected():
    assert time_so_far(3.2, 0.1, 8.0) == "3 s of about 8 s"
    assert time_so_far(48.0, 0.1, 8.0) == "48 s, longer than expected"
    assert time_so_far(48.0, 0.5, 8.0) == "48 s of about 96 s"
    assert time_so_far(48.0, 1.2, 8.0) == "48 s of about 48 s"


def test_what_it_says_is_text(monkeypatch):
    """A run may be called as a picture is written."""
    shown = {}
    monkeypatch.setattr(tasks.st, "progress", lambda share, text: shown.update(text=text))
    monkeypatch.setattr(tasks.st, "button", lambda *args, **options: None)
    task = Task(Request(print, {}, title="![a](https:host)"))
    task.report(0.5, "reading run 1 of 2: ![b](https:host)")
    tasks.show_progress(task, print, "cancel")
    assert "![" not in shown["text"]
    assert shown["text"].count("host") == 2


def test_cancelling_leaves_it_to_others_who_wait(monkeypatch):
    there, at_work, state = {"other"}, threading.Event(), {}
    monkeypatch.setattr(tasks, "is_there", there.__contains__)
    monkeypatch.setattr(tasks.st, "session_state", state)
    monkeypatch.setattr(tasks, "this_session", lambda: "me")
    function = until_cancelled(at_work)
    tasks.start_job(Request(function, {}, "a key", lane="server"))
    job = tasks.current_job()
    job.sessions.add("other")
    assert tasks.is_busy()
    tasks.cancel_job()
    assert not job.cancelled
    assert tasks.current_job() is None
    assert tasks.join_job(function, "a key")
    there.clear()
    tasks.cancel_job()
    assert job.cancelled
    ended(job)
    assert not tasks.join_job(function, "a key")


def test_how_a_job_ended_is_shown_once(monkeypatch):
    messages = []
    job = ended(begun(work_that(Cancelled())))
    job.cancelled = True
    monkeypatch.setattr(tasks.st, "session_state", {"_job": job})
    monkeypatch.setattr(tasks.st, "info", lambda text, icon: messages.append(text))
    for _ in range(2):
        tasks.job_panel()
    assert messages == ["a sum was cancelled; nothing else changed."]
    assert tasks.current_job() is None


def test_a_job_whose_readers_have_left_is_stopped(monkeypatch):
    """After half a minute: a reload takes one."""
    there = {"open"}
    monkeypatch.setattr(tasks, "is_there", there.__contains__)
    job = begun(until_cancelled(threading.Event()), key="a key")
    job.sessions |= {"closed", "open"}
    now = time.monotonic()
    stop_unwanted(now + 60.0)
    there.clear()
    stop_unwanted(now + 85.0)
    assert not job.cancelled
    stop_unwanted(now + 90.0)
    ended(job)


def wait_until_ended(progress):
    threading.Event().wait()


def add_up(numbers, progress):
    return sum(numbers)


def test_a_task_that_nobody_wants_any_more_is_stopped(monkeypatch):
    pool = WorkerPool(1)
    pool.start()
    monkeypatch.setattr(tasks, "POOL", pool)

    def cancel(fraction, message):
        raise Cancelled

    request = Request(wait_until_ended, {}, "a key")
    task = tasks.submit(request)
    with pytest.raises(Cancelled):
        tasks.wait_for(request, cancel)
    assert task.wait(SECONDS)
    assert task.cancelled
    monkeypatch.setattr(tasks, "is_there", lambda session: False)
    task = tasks.submit(request, "closed")
    for seconds in (9.0, 31.0):
        assert not task.cancelled
        stop_unwanted(time.monotonic() + seconds)
    assert task.wait(SECONDS)
    assert task.cancelled
    assert tasks.wait_for(Request(add_up, {"numbers": [1, 2]}), None) == 3
    pool.shutdown()
