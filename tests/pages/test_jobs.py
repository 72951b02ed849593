"""Work in the background ends in one of three ways, and says which."""

from __future__ import annotations

import time

import pytest

from lore_core import InputError
from pages.shared import jobs
from pages.shared.jobs import Job, at_this_pace, time_so_far

PATIENCE = 30


def finished(job):
    end = time.monotonic() + PATIENCE
    while job.running:
        assert time.monotonic() < end
        time.sleep(0.01)
    return job


def work_that(raises):
    def work(progress):
        progress(0.5, "half")
        raise raises

    return work


def test_the_result_is_handed_over():
    found = []
    job = finished(Job("a sum", lambda progress: 1 + 1, found.append, 1.0))
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
    job = finished(Job("a sum", work_that(raises), found.append, 1.0))
    assert job.error == said
    assert (found, job.fraction) == ([], 0.5)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_bug_is_not_taken_for_success():
    job = finished(Job("a sum", work_that(ZeroDivisionError("oh")), print, 1.0))
    assert job.error == "a sum failed (ZeroDivisionError); the terminal says more."


def test_cancelling_stops_at_the_next_step():
    steps = []

    def work(progress):
        for step in range(10_000):
            progress(step / 10_000, "step")
            steps.append(step)
            time.sleep(0.005)

    job = Job("steps", work, print, 1.0)
    while not steps:
        time.sleep(0.01)
    job.cancelled = True
    finished(job)
    assert len(steps) < 10_000
    assert job.error is None


def test_the_time_is_never_more_than_expected():
    assert time_so_far(3.2, 0.1, 8.0) == "3 s of about 8 s"
    assert time_so_far(48.0, 0.1, 8.0) == "48 s, longer than expected"
    assert time_so_far(48.0, 0.5, 8.0) == "48 s of about 96 s"
    assert time_so_far(48.0, 1.2, 8.0) == "48 s of about 48 s"


def test_an_estimate_learns_from_what_the_same_work_took():
    name = "work of half a second"
    assert at_this_pace(name, 2.0) == 2.0
    for _ in range(2):  # once learned it stays
        finished(Job(name, lambda progress: time.sleep(0.5), print, at_this_pace(name, 5.0)))
        assert at_this_pace(name, 5.0) == pytest.approx(0.5, rel=0.5)


def test_what_it_says_is_text(monkeypatch):
    """A run may be called as a picture is written."""
    said = {}
    monkeypatch.setattr(jobs.st, "progress", lambda share, text: said.update(text=text))
    monkeypatch.setattr(jobs.st, "button", lambda *args, **options: None)
    job = Job("![a](https:host)", lambda progress: time.sleep(0.3), lambda found: None, 1.0)
    job.message = "reading run 1 of 2: ![b](https:host)"
    monkeypatch.setattr(jobs, "current_job", lambda: job)
    jobs._watch.__wrapped__()
    assert "![" not in said["text"]
    assert "host" in said["text"]


def there(monkeypatch, *sessions):
    monkeypatch.setattr(jobs, "is_there", lambda session: session in sessions)
    monkeypatch.setattr(jobs, "PATIENCE", 0.2)
    monkeypatch.setattr(jobs, "_EVERY", 0.01)


def steps(progress):
    for _ in range(300):
        progress(0.5, "half")
        time.sleep(0.01)


def test_work_that_nobody_waits_for_is_stopped(monkeypatch):
    there(monkeypatch, "open")
    closed, shared = (
        Job("a", steps, lambda _: None, 1.0),
        Job("b", lambda _: 1, lambda _: None, 1.0),
    )
    closed.readers |= {"closed"}
    finished(closed)
    assert closed.cancelled
    kept = Job("c", lambda progress: [steps(progress)], lambda _: None, 1.0)
    kept.readers |= {"closed", "open"}
    time.sleep(0.6)
    assert not kept.cancelled
    kept.cancelled = True
    finished(kept)
    finished(shared)


def test_cancelling_leaves_it_to_others_who_wait(monkeypatch):
    there(monkeypatch, "other")
    job = Job("a", steps, lambda _: None, 1.0)
    job.readers |= {"me", "other"}
    state = {jobs._KEY: job}
    monkeypatch.setattr(jobs.st, "session_state", state)
    monkeypatch.setattr(jobs, "this_session", lambda: "me")
    jobs.cancel_job()
    assert not job.cancelled
    assert not state
    there(monkeypatch)
    state[jobs._KEY] = job
    jobs.cancel_job()
    assert job.cancelled
    finished(job)
