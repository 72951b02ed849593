"""What is computed beside the server is what would be computed in it, and ends nothing else."""

from __future__ import annotations

import dataclasses
import json
import time

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core import InputError
from lore_core.dashboard.beside import Task, Workers
from lore_core.dashboard.results_told import result_from, result_told
from lore_core.data.progress import Cancelled
from lore_core.view import View
from lore_core.view.chance import chance_band_of
from lore_core.view.methods import Grouping, comparison_of, recalibrators_of
from pages.shared import beside

LABELS = ["No recalibration", "Temperature scaling", "LoRe"]


@pytest.fixture(scope="module")
def view():
    data = lore.demo.synthetic(600, random_state=3).dataset
    groups = pd.DataFrame({"site": np.where(np.arange(600) % 3, "a", "b")})
    weights = 1.0 + np.arange(600) % 4
    data = dataclasses.replace(data, groups=groups, weights=weights).with_split(0.5)
    return View(data, maps={"PCA 2-D": lore.embed(data.features, "pca")})


@pytest.fixture(scope="module")
def workers():
    made = Workers(1)
    yield made
    made.end()


def same(one, two):
    assert type(one) is type(two)
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, two)
    elif isinstance(one, (pd.DataFrame, pd.Series)):
        assert one.equals(two)
        assert one.axes[0].equals(two.axes[0])
    elif isinstance(one, dict):
        assert list(one) == list(two)
        for name in one:
            same(one[name], two[name])
    elif dataclasses.is_dataclass(one):
        for item in dataclasses.fields(one):
            same(getattr(one, item.name), getattr(two, item.name))
    elif isinstance(one, lore.Recalibrator):
        same(dict(one.state()), dict(two.state()))
    else:
        assert one == two


def here(view, **simulating):
    methods = [recalibrators_of(view)[label] for label in LABELS]
    return comparison_of(view, methods, simulating, grouping=Grouping("site", 20))


def test_the_result_is_the_same_to_the_last_bit(view, workers):
    options = {"labels": LABELS, "grouping": Grouping("site", 20), "measured_on": view.embedding}
    fits = workers.begin(Task("fits", view, options))
    band = workers.begin(Task("chance band", view, {}))
    assert fits.wait(60)
    told = fits.result()
    same(here(view), told)
    options = {"datasets": told.datasets, "measured_on": None}
    simulated = workers.begin(Task("intervals", view, options))
    assert simulated.wait(60)
    same(here(view, n_draws=60), told.with_simulated(simulated.result()))
    same(chance_band_of(view), band.result())


def test_nothing_but_known_kinds_is_made_of_what_is_heard(view):
    with pytest.raises(TypeError, match="is not told of"):
        result_told(object(), view.evaluation)
    told, arrays = result_told({"a": (1, None, np.arange(3.0))}, view.evaluation)
    assert result_from(json.loads(json.dumps(told)), arrays, view.evaluation)["a"][0] == 1
    with pytest.raises(KeyError):
        result_from({"kind": "Popen", "parts": {"dict": []}}, {}, view.evaluation)
    with pytest.raises(ValueError, match="of another kind"):
        result_from({"call": "os.system"}, {}, view.evaluation)


def test_what_the_user_can_fix_is_said(view, workers):
    task = Task("fits", view, {"labels": ["LoRe"] * 2, "grouping": None, "measured_on": None})
    assert workers.begin(task).wait(60)
    with pytest.raises(InputError, match="must be methods with unlike labels"):
        task.result()


def test_who_waits_comes_first_and_what_is_short_before_what_is_long(view, monkeypatch):
    monkeypatch.setattr(Workers, "warm", lambda self: None)
    line = Workers(1)
    left, long, short = (Task("fits", view, {}, seconds) for seconds in (0.1, 9.0, 1.0))
    long.readers = short.readers = [("a reader", 1)]
    for task in (left, long, short):
        line.begin(task)
    assert [line.before(task) for task in (short, long, left)] == [1, 2, 3]
    line.cancel(short)
    assert line.before(long) == 1
    with pytest.raises(InputError, match="It was cancelled"):
        short.result()


def test_what_ends_it_ends_nothing_else(view, workers):
    """Cancelled, or killed by the system; the next task is done by another process."""
    many = lore.demo.synthetic(60_000).dataset
    slow = View(many, maps={"all": lore.embed(many.features, "identity")})
    endings = {"It was cancelled": workers.cancel, "has ended": lambda task: workers.end()}
    for said, ending in endings.items():
        task = workers.begin(Task("chance band", slow, {}))
        while workers.before(task):
            time.sleep(0.01)
        time.sleep(0.3)
        ending(task)
        assert task.wait(20)
        with pytest.raises(InputError, match=said):
            task.result()
    again = workers.begin(Task("chance band", view, {}))
    assert again.wait(60)
    assert again.result().n_draws


def test_what_nobody_wants_any_more_is_stopped(view, workers, monkeypatch):
    workers.warm()
    monkeypatch.setattr(beside, "WORKERS", workers)
    many = lore.demo.synthetic(60_000).dataset
    slow = View(many, maps={"all": lore.embed(many.features, "identity")})

    def cancel(fraction, message):
        raise Cancelled

    asked = beside.Asked("chance band", slow, "slow", "Simulating chance", 1.0)
    with pytest.raises(Cancelled):
        beside.finished(asked, cancel)
    assert beside._TASKS["chance band", "slow"].wait(20)
    # In the same way, after half a minute, where the tabs of all who asked are closed.
    monkeypatch.setattr(beside, "is_there", lambda session: session == "open")
    task = beside.task_of(asked)
    task.sessions = {"open"}
    alone = {}
    for seconds in (0.0, 60.0):
        beside.stop_what_nobody_wants(alone, seconds)
    task.sessions.remove("open")  # the tab is closed
    for seconds in (65.0, 90.0):
        beside.stop_what_nobody_wants(alone, seconds)
        assert not task.cancelled
    beside.stop_what_nobody_wants(alone, 95.0)
    assert task.cancelled
    quick = beside.Asked("chance band", view, "quick", "Simulating chance", 1.0)
    assert beside.finished(quick, None).n_draws
