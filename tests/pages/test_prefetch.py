"""What the comparing pages ask for is computed while the page before them is looked at."""

from __future__ import annotations

import threading
from collections import OrderedDict
from types import SimpleNamespace

import pytest

from pages.shared import prefetch, tasks


@pytest.fixture
def asked(monkeypatch):
    """What is asked of the worker pool, by its name and key, in its order."""
    noted: list[tuple[str, object]] = []
    original = tasks.submit

    def note(request, session=None):
        noted.append((request.name, request.key))
        return original(request, session)

    for module in (prefetch, tasks):
        monkeypatch.setattr(module, "submit", note)
    monkeypatch.setattr(prefetch, "POOL", SimpleNamespace(is_warm=True))
    monkeypatch.setattr(prefetch, "_WANTED", OrderedDict())
    # It is served by the test itself.
    monkeypatch.setattr(prefetch, "_THREADS", [threading.current_thread()])
    return noted


@pytest.mark.parametrize("name", ["overview", "landscape", "decisions"])
def test_all_that_comparing_pages_ask_for_was_computed(open_page, made, asked, name):
    page = open_page(name, made(seed=3), gamma=0.5, bins=10)
    (compute,) = prefetch._WANTED.values()
    asked.clear()
    compute()
    before = set(asked)
    assert {name for name, _ in before} >= {
        "fit_methods",
        "simulate_intervals",
        "measure_curve LoRe",
        "estimate_gains",
    }
    for other in ("recalibrate", "decisions"):
        asked.clear()
        page.go(other)
        assert asked
        assert set(asked) <= before


def test_what_takes_long_is_left_to_those_who_ask(open_page, made, monkeypatch, asked):
    open_page("landscape", made(seed=4))
    (compute,) = prefetch._WANTED.values()
    monkeypatch.setattr(prefetch, "_MAX_SECONDS", 0.0)
    compute()
    assert not asked


def test_without_rows_to_fit_on_nothing_is_wanted(open_page, made, asked):
    open_page("landscape", made(seed=5, calibration=None))
    assert not prefetch._WANTED


def test_of_many_readers_the_last_are_thought_of(open_page, made, monkeypatch, asked):
    page = open_page("landscape", made(seed=6))
    for reader in range(2 * prefetch._MAX_READERS):
        monkeypatch.setattr(prefetch, "this_session", lambda reader=reader: f"reader {reader}")
        page.run()
    assert list(prefetch._WANTED) == [
        f"reader {k}" for k in range(prefetch._MAX_READERS, 2 * prefetch._MAX_READERS)
    ]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_what_fails_does_not_end_it(open_page, made, monkeypatch, asked):
    said = []

    def fails(*of):
        said.append(of)
        raise RuntimeError("no such column")

    monkeypatch.setattr(prefetch, "_THREADS", [])
    monkeypatch.setattr(prefetch, "wait_until_idle", lambda: None)
    monkeypatch.setattr(prefetch, "_compute", fails)
    page = open_page("landscape", made(seed=7))
    for number in range(1, 4):
        if number > 1:
            page.run()
        prefetch._THREADS[0].join(10)
        assert not prefetch._THREADS[0].is_alive()
        assert len(said) == number
