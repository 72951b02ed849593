"""What the comparing pages ask for is computed while the page before them is looked at."""

from __future__ import annotations

import threading
from collections import OrderedDict
from types import SimpleNamespace

import pytest

from pages.shared import ahead, beside


@pytest.fixture
def asked(monkeypatch):
    """What is asked of the processes beside the server, by its name and key, in its order."""
    noted: list[tuple[str, object]] = []
    original = beside.task_of

    def note(asked, session=None):
        noted.append((asked.name, asked.key))
        return original(asked, session)

    for module in (ahead, beside):
        monkeypatch.setattr(module, "task_of", note)
    monkeypatch.setattr(ahead, "WORKERS", SimpleNamespace(are_there=True))
    monkeypatch.setattr(ahead, "_WANTED", OrderedDict())
    # It is served by the test itself.
    monkeypatch.setattr(ahead, "_THREADS", [threading.current_thread()])
    return noted


@pytest.mark.parametrize("name", ["overview", "landscape", "decisions"])
def test_all_that_comparing_pages_ask_for_was_computed(open_page, made, asked, name):
    page = open_page(name, made(seed=3), gamma=0.5, bins=10)
    (compute,) = ahead._WANTED.values()
    asked.clear()
    compute()
    before = set(asked)
    assert {name for name, _ in before} >= {"fits", "intervals", "curve LoRe", "taught"}
    for other in ("recalibrate", "decisions"):
        asked.clear()
        page.go(other)
        assert asked
        assert set(asked) <= before


def test_what_takes_long_is_left_to_those_who_ask(open_page, made, monkeypatch, asked):
    open_page("landscape", made(seed=4))
    (compute,) = ahead._WANTED.values()
    monkeypatch.setattr(ahead, "_LONGEST", 0.0)
    compute()
    assert not asked


def test_without_rows_to_fit_on_nothing_is_wanted(open_page, made, asked):
    open_page("landscape", made(seed=5, calibration=None))
    assert not ahead._WANTED


def test_of_many_readers_the_last_are_thought_of(open_page, made, monkeypatch, asked):
    page = open_page("landscape", made(seed=6))
    for reader in range(2 * ahead._MOST):
        monkeypatch.setattr(ahead, "this_session", lambda reader=reader: f"reader {reader}")
        page.run()
    assert list(ahead._WANTED) == [f"reader {k}" for k in range(ahead._MOST, 2 * ahead._MOST)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_what_fails_does_not_end_it(open_page, made, monkeypatch, asked):
    said = []

    def fails(*of):
        said.append(of)
        raise RuntimeError("no such column")

    monkeypatch.setattr(ahead, "_THREADS", [])
    monkeypatch.setattr(ahead, "wait_for_ease", lambda: None)
    monkeypatch.setattr(ahead, "_compute", fails)
    page = open_page("landscape", made(seed=7))
    for number in range(1, 4):
        if number > 1:
            page.run()
        ahead._THREADS[0].join(10)
        assert not ahead._THREADS[0].is_alive()
        assert len(said) == number
