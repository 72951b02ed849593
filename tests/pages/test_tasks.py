"""Work in the background ends in one of three ways, says which, and goes with its readers."""

from __future__ import annotations

import threading

import pytest

from lore_core import InputError
from lore_core.dashboard.worker_pool import WorkerPool
from lore_core.data.progress import Cancelled
from pages.shared import tasks
from pages.shared.tasks import Job, Request, expected_duration, stop_unwanted, time_so_far

SECONDS = 30


def ended(job):
    assert job.wait(SECONDS)
    for thread in threading.enumerate():  # what it raises belongs to this test
        if thread.name == f"job-{job.name}":
            thread.join(SECONDS)
    return job


def work_that(raises):
    def work(progress):
        progress(0.5, "half")
        raise raises

    return work


def until_cancelled(begun):
    """Work that goes on until it is cancelled; ``begun``: set once it is at work."""

    def work(progress):
        while True:
            progress(0.5, "half")
            begun.set()
            threading.Event().wait(0.01)

    return work


def test_the_result_is_handed_over():
    found = []
    job = ended(Job("a sum", lambda progress: 1 + 1, found.append, 1.0))
    assert found == [2]
    assert job.error is None


@pytest.mark.parametrize(
    ("raises", "said"),
    [
        (InputError("'x' must be y."), "'x' must be y."),
        (MemoryError(), "a sum needs more memory than this machine has; use fewer rows."),
    ],
)
def test_what_the_user_can_fix_is_said(raises, said):
    found = []
    job = ended(Job("a sum", work_that(raises), found.append, 1.0))
    assert job.error == said
    assert (found, job.fraction) == ([], 0.5)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_bug_is_not_taken_for_success():
    job = ended(Job("a sum", work_that(ZeroDivisionError("oh")), print, 1.0))
    assert job.error == "a sum failed (ZeroDivisionError); the terminal says more."


def test_cancelling_stops_at_the_next_step():
    begun, found = threading.Event(), []
    job = Job("steps", until_cancelled(begun), found.append, 1.0)
    assert begun.wait(SECONDS)
    job.cancelled = True
    ended(job)
    assert (found, job.error) == ([], None)


def test_the_time_is_never_more_than_expected():
    assert time_so_far(3.2, 0.1, 8.0) == "3 s of about 8 s"
    assert time_so_far(48.0, 0.1, 8.0) == "48 s, longer than expected"
    assert time_so_far(48.0, 0.5, 8.0) == "48 s of about 96 s"
    assert time_so_far(48.0, 1.2, 8.0) == "48 s of about 48 s"


def test_an_estimate_learns_from_what_the_same_work_took():
    name = "work of half a second"
    assert expected_duration(name, 2.0) == 2.0
    for _ in range(2):  # once learned it stays
        tasks.record_duration(name, expected_duration(name, 5.0), 0.5)
        assert expected_duration(name, 5.0) == pytest.approx(0.5)


def test_what_it_says_is_text(monkeypatch):
    """A run may be called as a picture is written."""
    said, begun = {}, threading.Event()
    monkeypatch.setattr(tasks.st, "progress", lambda share, text: said.update(text=text))
    monkeypatch.setattr(tasks.st, "button", lambda *args, **options: None)
    job = Job("![a](https:host)", until_cancelled(begun), print, 1.0)
    assert begun.wait(SECONDS)
    job.cancelled = True
    ended(job).message = "reading run 1 of 2: ![b](https:host)"
    tasks.show_progress(job)
    assert "![" not in said["text"]
    assert "host" in said["text"]


def test_cancelling_leaves_it_to_others_who_wait(monkeypatch):
    there, begun, state = {"other"}, threading.Event(), {}
    monkeypatch.setattr(tasks, "is_there", there.__contains__)
    monkeypatch.setattr(tasks.st, "session_state", state)
    monkeypatch.setattr(tasks, "this_session", lambda: "me")
    tasks.start_job("a key", "a", until_cancelled(begun), print, 1.0)
    job = tasks.current_job()
    job.sessions.add("other")
    assert tasks.is_busy()
    tasks.cancel_job()
    assert not job.cancelled
    assert tasks.current_job() is None
    assert tasks.join_job("a key")
    there.clear()
    tasks.cancel_job()
    assert job.cancelled
    ended(job)
    assert not tasks.join_job("a key")


def test_a_job_whose_readers_have_left_is_stopped(monkeypatch):
    """After half a minute: a reload takes one."""
    there, begun = {"open"}, threading.Event()
    monkeypatch.setattr(tasks, "is_there", there.__contains__)
    job = Job("a", until_cancelled(begun), print, 1.0)
    job.sessions |= {"closed", "open"}
    alone = {}
    for seconds in (0.0, 60.0):
        stop_unwanted(alone, seconds)
    there.clear()
    for seconds in (65.0, 90.0):
        stop_unwanted(alone, seconds)
        assert not job.cancelled
    stop_unwanted(alone, 95.0)
    ended(job)


def wait_until_ended(progress):
    """Work of a worker that goes on until it is ended."""
    threading.Event().wait()


def add_up(numbers, progress):
    """Work that is done at once."""
    return sum(numbers)


def test_a_task_that_nobody_wants_any_more_is_stopped(monkeypatch):
    pool = WorkerPool(1)
    pool.warm()
    monkeypatch.setattr(tasks, "POOL", pool)

    def cancel(fraction, message):
        raise Cancelled

    request = Request(wait_until_ended, {}, "a key", "Waiting", 1.0)
    task = tasks.submit(request)
    with pytest.raises(Cancelled):
        tasks.wait_for(request, cancel)
    assert task.wait(SECONDS)
    assert task.cancelled
    monkeypatch.setattr(tasks, "is_there", lambda session: False)
    task = tasks.submit(request, "closed")
    alone = {}
    for seconds in (0.0, 31.0):
        assert not task.cancelled
        stop_unwanted(alone, seconds)
    assert task.wait(SECONDS)
    assert task.cancelled
    assert tasks.wait_for(Request(add_up, {"numbers": [1, 2]}, "", "Adding", 1.0), None) == 3
    pool.shutdown()
