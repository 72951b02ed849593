"""What is computed beside the server is what would be computed in it, and ends nothing else."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import tempfile
import time

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core import InputError
from lore_core.dashboard.beside import Task, Workers
from lore_core.dashboard.large_arrays import Apart, mapped, new_file, path_of
from lore_core.dashboard.results_told import result_from, result_told
from lore_core.data.progress import Cancelled
from lore_core.view import View
from lore_core.view.inference import (
    chance_band_of,
    vector_band_of,
    vector_chance_of,
    vector_curve_of,
    vector_errors_of,
)
from lore_core.view.methods import Grouping, comparison_of, recalibrators_of
from pages.shared import beside

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the pipe takes all")
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
    same(here(view).without_row_values(), told)
    confidences = {name: item.confidence for name, item in told.datasets.items()}
    options = {"confidences": confidences, "measured_on": None}
    simulated = workers.begin(Task("intervals", view, options))
    assert simulated.wait(60)
    same(here(view, n_draws=60).without_row_values(), told.with_simulated(simulated.result()))
    same(chance_band_of(view), band.result())


def test_the_whole_vector_is_the_same_to_the_last_bit(view, workers):
    # (Of weighted rows nothing is said of it.)
    alike = View(dataclasses.replace(view.dataset, weights=None), maps=view.maps)
    expected = {
        "vector errors": vector_errors_of(alike),
        "vector chance": vector_chance_of(alike),
        "vector curve": vector_curve_of(alike),
        "vector band": vector_band_of(alike),
    }
    for work, result in expected.items():
        task = workers.begin(Task(work, alike, {}))
        assert task.wait(60)
        same(result, task.result())


@only_linux
def test_large_arrays_come_in_a_file(view, workers, monkeypatch, tmp_path):
    """Told of as all others are, the same to the last bit, and nothing of them stays behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    many = lore.demo.synthetic(700_000).dataset.with_split(0.2)
    large = View(many)
    labels = ["No recalibration", "Platt scaling"]
    task = workers.begin(
        Task("fits", large, {"labels": labels, "grouping": None, "measured_on": None})
    )
    assert task.wait(60)
    told = task.result()
    methods = [recalibrators_of(large)[label] for label in labels]
    expected = comparison_of(large, methods, {})
    same(expected.without_row_values(), told)
    same(expected.differences, told.differences)
    same(expected.most_probable(), told.most_probable())
    assert not list(tmp_path.iterdir())
    assert task.n_bytes_apart > 10 * task.n_bytes
    after = told.datasets["Platt scaling"]
    assert isinstance(after.probabilities.base.base, np.memmap)
    assert not after.confidence.flags.writeable
    np.testing.assert_array_equal(after.confidence, expected.datasets["Platt scaling"].confidence)


@only_linux
def test_where_there_is_no_room_they_come_by_the_pipe(monkeypatch, tmp_path):
    arrays = {"large": np.arange(2.0**20), "small": np.arange(3)}
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    file = new_file()
    path = path_of(file)
    with Apart(path) as apart:
        kept = apart.keep(arrays["large"])
        half = kept[: len(kept) // 2]  # of the same address
        rest, begin = apart.put({**arrays, "large": kept, "half": half})
        assert apart.keep(arrays["small"]) is arrays["small"]
    assert list(rest) == ["small"]
    assert len(arrays["large"]) * 8 == begin["half"][2] > begin["large"][2] == 0
    same({"large": arrays["large"], "half": half.copy()}, mapped(file, begin))
    (tmp_path / "folder").mkdir()
    for nowhere in (None, str(tmp_path / "folder"), str(tmp_path / "no" / "file")):
        with Apart(nowhere) as apart:
            assert apart.put(arrays) == (arrays, {})
            assert apart.keep(arrays["large"]) is arrays["large"]
    for wrong in (["<f8", [2**21], 0], ["<f8", [3 * 2**19], 8], ["|O", [8], 0], ["<f8", [-1], 0]):
        with pytest.raises(ValueError, match="of another kind"):
            mapped(file, {"large": wrong})
    file.close()


def test_after_warming_up_a_fit_imports_nothing(view):
    """In a fresh process, as those beside the server are."""
    code = """
import sys
import lore_core as lore
from lore_core.dashboard import worker
from lore_core.view import View
worker.warm_up()
before = set(sys.modules)
data = lore.demo.synthetic(300).dataset.with_split(0.5)
view = View(data, maps={"map": lore.embed(data.features, "identity")})
before |= {name for name in sys.modules if "demo" in name}
labels = [item.label for item in lore.standard_recalibrators()]
made = worker.fitted(view, None, labels, None, view.embedding)
confidences = {name: item.confidence for name, item in made.datasets.items()}
assert worker.simulated(view, None, confidences, None)
print(sorted(set(sys.modules) - before))
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_nothing_but_known_kinds_is_made_of_what_is_heard(view):
    with pytest.raises(TypeError, match="is not told of"):
        result_told(object(), view.evaluation)
    told, arrays = result_told({"a": (1, None, np.arange(3.0))}, view.evaluation)
    assert result_from(json.loads(json.dumps(told)), arrays, view.evaluation)["a"][0] == 1
    popen = {"kind": "Popen", "parts": {"dict": []}, "known": {"dict": []}}
    with pytest.raises(KeyError):
        result_from(popen, {}, view.evaluation)
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


def test_a_server_that_ends_as_a_task_begins_leaves_no_traceback(view):
    """Another thread closes what the task is told by; an exception in a thread fails a test."""
    workers = Workers(1)
    assert workers.begin(Task("chance band", view, {})).wait(60)
    workers._workers[0]._process.stdin.close()
    task = workers.begin(Task("chance band", view, {}))
    assert task.wait(60)
    with pytest.raises(InputError, match="has ended"):
        task.result()
    workers.end()


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
