import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from lore_core.kernel_sums.schedule import thread_count
from pages.shared import scheduler

SECONDS = 9


class Page(threading.Thread):
    def __init__(self, name, order, **options):
        super().__init__()
        self.begun, self.released, self.settled = (threading.Event() for _ in range(3))
        self.n_before = 0
        self._note, self._options = lambda: order.append(name), options
        self.start()
        assert self.settled.wait(SECONDS)

    def tell(self, n_before):
        self.n_before = n_before
        self.settled.set()

    def run(self):
        with scheduler.page_slot(self.tell, **self._options):
            self._note()
            self.begun.set()
            self.settled.set()
            self.released.wait(SECONDS)

    def end(self):
        self.released.set()
        self.join(SECONDS)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(scheduler, "_NOTICE_SECONDS", 0.0)
    monkeypatch.setattr(scheduler, "_LONG_PAGE_SECONDS", 60.0)
    yield
    assert scheduler.wait_for_pages()


def test_few_pages_run_at_a_time_in_their_order(monkeypatch):
    monkeypatch.setattr(scheduler, "_MAX_PAGES", 2)
    order = []
    pages = [Page(number, order) for number in range(6)]
    assert order == [0, 1]
    assert pages[-1].n_before == 5  # three wait before it, two run
    for ended, next_page in zip(pages, pages[2:], strict=False):
        ended.end()
        assert next_page.begun.wait(SECONDS)
    assert order == list(range(6))
    for page in pages[-2:]:
        page.end()


@pytest.mark.parametrize(
    ("moment", "expected"),
    [(60.0, ["γ", "next γ", "new page"]), (0.0, ["new page", "γ", "next γ"])],
)
def test_a_hand_on_a_control_comes_before_new_pages(monkeypatch, moment, expected):
    """Unless these have waited for long."""
    monkeypatch.setattr(scheduler, "_MAX_PAGES", 1)
    monkeypatch.setattr(scheduler, "_PATIENCE_SECONDS", moment)
    order = []
    first = Page("first", order)
    others = [Page(name, order, is_step=name != "new page") for name in ("new page", "γ", "next γ")]
    for page in others:
        page.released.set()
    first.end()
    for page in others:
        page.join(SECONDS)
    assert order == ["first", *expected]


def test_with_others_at_work_there_is_no_second_thread():
    alone = thread_count(None)
    with scheduler.page_slot():
        assert thread_count(None) == alone
        with scheduler.page_slot():
            assert thread_count(None) == 1
    assert thread_count(None) == alone


def test_a_long_page_does_not_hold_up_the_others(monkeypatch):
    monkeypatch.setattr(scheduler, "_MAX_PAGES", 1)
    long, other = (Page(name, []) for name in ("long", "other"))
    assert not other.begun.is_set()
    monkeypatch.setattr(scheduler, "_LONG_PAGE_SECONDS", 0.0)
    assert other.begun.wait(SECONDS)
    for page in (long, other):
        page.end()


def test_a_page_that_waits_for_work_elsewhere_lets_others_run(monkeypatch):
    monkeypatch.setattr(scheduler, "_MAX_PAGES", 1)
    with scheduler.page_slot(), scheduler.release_slot():
        Page("other", order := []).end()
        assert order == ["other"]


def test_what_nobody_asked_for_waits_for_the_pages(monkeypatch, capsys):
    monkeypatch.setattr(scheduler, "_IDLE_SECONDS", 0.05)
    noted, done = [], threading.Event()
    with scheduler.page_slot():
        scheduler.run_when_idle("early", lambda: noted.append("early"))
        scheduler.run_when_idle("end", done.set, is_last=True)
        for name in ("replaced", "another"):
            scheduler.run_when_idle("key", lambda name=name: noted.append(name))
        scheduler.run_when_idle("bug", lambda: noted.append("a bug") or 1 / 0)
        assert not done.wait(0.3)
    assert done.wait(10)
    assert noted == ["a bug", "another", "early"]
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere arrays lie in no files")
def test_as_many_files_as_can_be_may_be_open():
    resource = pytest.importorskip("resource")
    few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(few, 999), most))
    scheduler.set_up_process()
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, most)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_was_freed_is_given_back(monkeypatch):
    """Small arrays, each kept by the heap; every other one is freed, so that its end stays."""

    def held():
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    monkeypatch.setattr(scheduler, "run_when_idle", lambda key, do, **_: do())
    scheduler.trim_memory()
    arrays = [np.ones(12_000) for _ in range(2_000)]
    del arrays[::2]
    before = held()
    scheduler.trim_memory()
    assert before - held() > 50e6
    assert len(arrays) == 1_000
