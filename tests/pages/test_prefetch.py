from collections import Counter
from types import SimpleNamespace

import pytest

from lore_core.recalibration import Recalibrator
from pages.shared import compute, methods, session, tasks


@pytest.fixture
def asked(monkeypatch):
    noted: list[tuple[str, object]] = []
    original = tasks.submit

    def note(request, session=None):
        noted.append((request.name, request.key))
        return original(request, session)

    for module in (methods, tasks):
        monkeypatch.setattr(module, "submit", note)
    return noted


@pytest.fixture
def wanted(monkeypatch):
    waiting: dict[object, object] = {}
    monkeypatch.setattr(methods, "POOL", SimpleNamespace(is_started=True))
    monkeypatch.setattr(methods, "run_when_idle", waiting.__setitem__)
    return waiting


def test_all_that_comparing_pages_ask_for_was_computed(open_page, made, asked, wanted):
    page = open_page("landscape", made(seed=3), gamma=0.5, bins=10)
    (prepare,) = wanted.values()
    asked.clear()
    prepare()
    before = set(asked)
    names = "fit_methods", "intervals_of", "curve_of LoRe", "estimate_gains", "remaining_of"
    assert {name for name, _ in before} >= {*names}
    for other in ("overview", "recalibrate", "decisions"):
        asked.clear()
        page.go(other)
        assert asked or other == "overview"
        assert set(asked) <= before


def test_the_first_page_finds_what_was_prepared(open_page, made, monkeypatch):
    data = made(seed=8)
    monkeypatch.setattr(session, "read_ahead", lambda _: SimpleNamespace(dataset=data))
    methods.prepare_data(())
    monkeypatch.delattr(compute.where, "errors_of")
    monkeypatch.delattr(compute.where, "subgroups_of")
    open_page("landscape", data)


def test_what_does_not_depend_on_the_bandwidth_is_fitted_once(open_page, made, asked, monkeypatch):
    n_fits: Counter[str] = Counter()
    fit = Recalibrator.fit

    def counted(method, *arguments, **named):
        n_fits[method.label] += 1
        return fit(method, *arguments, **named)

    monkeypatch.setattr(Recalibrator, "fit", counted)
    page = open_page("recalibrate", made(seed=6), gamma=0.5)
    first = n_fits.copy()
    assert first
    page.set("gamma", 0.3)
    assert n_fits - first <= Counter({"LoRe": 1, "No recalibration": 1})


def test_what_takes_long_is_left_to_those_who_ask(open_page, made, monkeypatch, asked, wanted):
    open_page("landscape", made(seed=4))
    (prepare,) = wanted.values()
    monkeypatch.setattr(methods, "_MAX_SECONDS", 0.0)
    prepare()
    assert not asked


def test_without_rows_to_fit_on_nothing_is_wanted(open_page, made, wanted):
    open_page("landscape", made(seed=5, calibration=None))
    assert not wanted


def test_a_reload_is_no_end_of_what_is_computed_ahead(open_page, made, monkeypatch, asked, wanted):
    open_page("landscape", made(seed=6))
    (prepare,) = wanted.values()
    monkeypatch.setattr(tasks, "is_there", lambda session: False)
    prepare()
    assert "fit_methods" in {name for name, _ in asked}
