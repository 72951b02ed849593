"""Pages of many readers take turns, and none is held up by a long one."""

from __future__ import annotations

import threading
import time

from lore_core.dashboard.background_tasks import warm_pages
from lore_core.kernel_sums.schedule import thread_count
from pages.shared import scheduler
from pages.shared.tasks import Job


def page(seconds, noted, told):
    def run():
        with scheduler.page_slot(told.append):
            noted.append(time.monotonic())
            time.sleep(seconds)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_few_pages_run_at_a_time_in_their_order(monkeypatch):
    monkeypatch.setattr(scheduler, "_MAX_PAGES", 2)
    monkeypatch.setattr(scheduler, "_TELL_SECONDS", 0.05)
    noted, told = [], []
    for thread in [page(0.3, noted, told) for _ in range(6)]:
        thread.join()
    starts = [when - noted[0] for when in noted]
    assert starts[1] < 0.25 < starts[2]
    assert starts[3] < 0.55 < starts[4]
    assert sorted(told)[-1] == 5  # the last one: three wait before it, two run
    assert not scheduler._runs
    assert not scheduler._waiting


def test_a_hand_on_a_control_comes_before_new_pages(monkeypatch):
    monkeypatch.setattr(scheduler, "_MAX_PAGES", 1)
    order, started = [], []

    def wait(name, is_step):
        def run():
            with scheduler.page_slot(is_step=is_step):
                order.append(name)

        thread = threading.Thread(target=run)
        thread.start()
        n_before = len(started)
        started.append(thread)
        while len(scheduler._waiting) <= n_before:
            time.sleep(0.01)
        return thread

    with scheduler.page_slot():
        one = wait("new page", False)
        scheduler._waiting[0].since -= 2 * scheduler._MOMENT_SECONDS  # it has waited for long
        others = [wait(*which) for which in (("another", False), ("γ", True), ("next γ", True))]
    for thread in (one, *others):
        thread.join()
    assert order == ["new page", "γ", "next γ", "another"]


def test_with_others_at_work_there_is_no_second_thread():
    alone = thread_count(None)
    with scheduler.page_slot():
        assert thread_count(None) == alone
        with scheduler.page_slot():
            assert thread_count(None) == 1
    assert thread_count(None) == alone


def test_a_long_page_does_not_hold_up_the_others(monkeypatch):
    monkeypatch.setattr(scheduler, "_MAX_PAGES", 1)
    monkeypatch.setattr(scheduler, "_LONG_PAGE_SECONDS", 0.2)
    noted = []
    long = page(2.0, noted, [])
    time.sleep(0.05)
    page(0.0, noted, []).join()
    assert long.is_alive()
    assert 0.1 < noted[1] - noted[0] < 1.0
    long.join()


def test_a_job_says_how_many_come_before_it():
    free, said = threading.Event(), []
    jobs = [Job("a", lambda progress: free.wait(9), said.append, 1.0) for _ in range(3)]
    end = time.monotonic() + 9
    while "2 earlier jobs" not in jobs[2].message and time.monotonic() < end:
        jobs[0].wait(0.02)
    assert jobs[1].message == "waiting for 1 earlier job to finish"
    assert jobs[2].message == "waiting for 2 earlier jobs to finish"
    free.set()
    assert all(job.wait(9) for job in jobs)
    assert said == [True] * 3


def test_a_page_that_waits_for_work_elsewhere_lets_others_run(monkeypatch):
    monkeypatch.setattr(scheduler, "_MAX_PAGES", 1)
    done, noted = threading.Event(), []

    def wait():
        with scheduler.page_slot(), scheduler.release_slot():
            done.wait(9)

    waiting = threading.Thread(target=wait)
    waiting.start()
    page(0.0, noted, []).join(5)
    assert noted
    done.set()
    waiting.join()
    assert not scheduler._runs
    assert not scheduler._waiting


def test_what_nobody_asked_for_waits_for_the_pages(monkeypatch):
    monkeypatch.setattr(scheduler, "_IDLE_SECONDS", 0.05)
    monkeypatch.setattr(scheduler, "_MOMENT_SECONDS", 0.1)
    monkeypatch.setattr(scheduler, "_was_seen", threading.Event())
    done = threading.Event()
    scheduler.run_when_idle(done.set)
    assert not done.wait(0.3)  # no page was seen
    with scheduler.page_slot():
        with scheduler.page_slot():
            pass
        assert not done.wait(0.3)  # one runs
    assert done.wait(10)


def test_an_idle_server_can_warm_up():
    warm_pages()  # (It would end a thread of the server with a traceback.)
