import dataclasses
import functools
import os
import subprocess
import sys
import tempfile
import threading
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest

import lore_core as lore
from lore_core import InputError, embed
from lore_core.dashboard.background_tasks import fit_methods
from lore_core.dashboard.worker_pool import Request, Task, WorkerPool
from lore_core.kernel_sums.schedule import limited_threads
from lore_core.view import View
from lore_core.view.inference import chance_band_of, vector_chance_of, vector_errors_of
from lore_core.view.methods import Grouping, comparison_of, intervals_of, recalibrators_of

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the pipe takes all")
LABELS = ["No recalibration", "Temperature scaling", "LoRe"]
SECONDS = 120


@pytest.fixture(scope="module")
def view():
    data = lore.demo.synthetic(600, random_state=3).dataset
    groups = pd.DataFrame({"site": np.where(np.arange(600) % 3, "a", "b")})
    weights = 1.0 + np.arange(600) % 4
    data = dataclasses.replace(data, groups=groups, weights=weights).with_split(0.5)
    return View(data, maps={"PCA 2-D": lore.embed(data.features, "pca")})


@pytest.fixture(scope="module")
def pool():
    made = WorkerPool(1)
    yield made
    made.shutdown()


def done(pool, function, *, lane="short", **arguments):
    task = pool.submit(Task(Request(function, arguments, lane=lane)))
    assert task.wait(SECONDS)
    return task


def wait_until_ended(progress):
    progress(0.5, "at work")
    threading.Event().wait()


def end_itself(progress):
    os._exit(11)


def add_up(numbers, progress):
    return sum(numbers)


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
        for item in filter(attrgetter("compare"), dataclasses.fields(one)):
            same(getattr(one, item.name), getattr(two, item.name))
    elif isinstance(one, lore.Recalibrator):
        same(dict(one.state()), dict(two.state()))
    else:
        assert one == two


def test_the_result_is_the_same_to_the_last_bit(view, pool):
    arguments = {"labels": LABELS, "grouping": Grouping("site", 20), "measured_on": view.embedding}
    told = done(pool, fit_methods, view=view, **arguments).result()
    methods = [recalibrators_of(view)[label] for label in LABELS]
    here = functools.partial(comparison_of, view, methods, grouping=Grouping("site", 20))
    same(here({}).without_row_values(), told)
    assert np.shares_memory(told.datasets["LoRe"].labels, view.evaluation.labels)
    confidences = {name: item.confidence for name, item in told.datasets.items()}
    arguments = {"confidences": confidences, "measured_on": None}
    simulated = done(pool, intervals_of, view=view, **arguments).result()
    same(here({"n_draws": 60}).without_row_values(), told.with_simulated(simulated))
    same(chance_band_of(view), done(pool, chance_band_of, view=view).result())
    wider = view.with_(gamma=2 * view.gamma)
    arguments = {"labels": LABELS, "grouping": None, "measured_on": view.embedding}
    again = done(pool, fit_methods, view=wider, **arguments, earlier=told).result()
    fresh = done(pool, fit_methods, view=wider, **arguments).result()
    same(fresh, again)
    assert again.recalibrators["LoRe"].gamma == wider.gamma
    alike = View(dataclasses.replace(view.dataset, weights=None), maps=view.maps)
    for function in (vector_errors_of, vector_chance_of):
        same(function(alike), done(pool, function, view=alike).result())


def test_a_learned_map_is_the_same_and_its_process_ends(pool):
    def processes():
        return set(psutil.Process().children(recursive=True))

    done(pool, add_up, numbers=[])
    before = processes()
    features = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    arguments = {"features": features, "method": "tsne", "n_iter": 20}
    task = pool.submit(Task(Request(embed, arguments, lane="long")))
    assert any(task.message or task.wait(0.01) for _ in range(100 * SECONDS))
    (of_map,) = processes() - before
    assert task.wait(SECONDS)
    made = task.result()
    with limited_threads(1):  # several would spin while they wait, for half a minute
        here = embed(features, "tsne", 2, n_iter=20)
    assert made.coordinates == pytest.approx(here.coordinates, abs=1e-9)
    assert made.description == here.description
    assert made.transform(features[:5]) == pytest.approx(here.transform(features[:5]), abs=1e-9)
    failed = done(pool, embed, lane="long", features=features[:5], method="tsne")
    assert failed.error == "'features' must have at least 10 rows for t-SNE; got 5."
    gone = (of_map not in processes() or threading.Event().wait(0.01) for _ in range(100 * SECONDS))
    assert any(gone)


def test_methods_are_seen_before_all_are_measured(view, pool):
    arguments = {"view": view, "labels": [*LABELS, "LoRe smooth"], "grouping": None}
    task = pool.submit(Task(Request(fit_methods, {**arguments, "measured_on": view.embedding})))
    parts = []
    while not task.wait(0.005):
        parts += [task.part] if task.part is not None else []
    whole = task.result()
    assert parts[0].names == {LABELS[0]: LABELS[0]}
    for part in parts:
        pd.testing.assert_frame_equal(part.table, whole.table.loc[part.table.index])
    assert task.part is None


@only_linux
def test_large_arrays_come_in_a_file(pool, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    large = View(lore.demo.synthetic(350_000).dataset.with_split(0.2))
    labels = ["No recalibration", "Platt scaling"]
    task = done(pool, fit_methods, view=large, labels=labels, grouping=None, measured_on=None)
    told = task.result()
    methods = [recalibrators_of(large)[label] for label in labels]
    expected = comparison_of(large, methods, {})
    same(expected.without_row_values(), told)
    same(expected.differences, told.differences)
    same(expected.most_probable, told.most_probable)
    assert not list(tmp_path.iterdir())
    assert task.n_file_bytes > 10 * task.n_bytes
    after = told.datasets["Platt scaling"]
    assert not after.confidence.flags.writeable
    np.testing.assert_array_equal(after.confidence, expected.datasets["Platt scaling"].confidence)


def test_who_waits_comes_first_and_what_is_short_before_what_is_long(monkeypatch):
    monkeypatch.setattr(WorkerPool, "start", lambda self: None)
    line = WorkerPool(1)
    left, long, short = (
        Task(Request(fit_methods, {}, seconds=seconds)) for seconds in (0.1, 9.0, 1.0)
    )
    long.n_waiting = short.n_waiting = 1
    another = Task(Request(embed, {}, lane="long"))
    for task in (left, long, short, another):
        line.submit(task)
    assert [line.n_before(task) for task in (short, long, left, another)] == [1, 2, 3, 1]
    line.cancel(short)
    assert line.n_before(long) == 1
    with pytest.raises(InputError, match="It was cancelled"):
        short.result()


def test_what_ends_it_ends_nothing_else(pool):
    task = pool.submit(Task(Request(wait_until_ended, {})))
    assert any(task.message or task.wait(0.01) for _ in range(100 * SECONDS))
    pool.cancel(task)
    assert task.wait(20)
    with pytest.raises(InputError, match="It was cancelled"):
        task.result()
    task = done(pool, end_itself)
    with pytest.raises(InputError, match="has ended"):
        task.result()
    assert done(pool, add_up, numbers=[1, 2]).result() == 3


def test_what_the_user_can_fix_is_said_and_a_bug_in_the_terminal(view, pool, capfd):
    arguments = {"labels": ["LoRe"] * 2, "grouping": None, "measured_on": None}
    with pytest.raises(InputError, match="must be methods with unlike labels"):
        done(pool, fit_methods, view=view, **arguments).result()
    task = done(pool, add_up, numbers=threading.Lock())
    assert "has ended" in task.error
    assert "cannot pickle" in capfd.readouterr().err
    assert done(pool, add_up, numbers=[1, 2]).result() == 3


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
def test_it_ends_with_the_server():
    code = (
        "import numpy as np; from lore_core import embed\n"
        "from lore_core.dashboard.worker_pool import Request, Task, WorkerPool\n"
        "rows = np.random.default_rng(0).normal(size=(30_000, 4))\n"
        "arguments = {'features': rows, 'method': 'tsne'}\n"
        "request = Request(embed, arguments, lane='long')\n"
        "task = WorkerPool(1).submit(Task(request))\n"
        "while not task.wait(0.01): task.message and print(task.message, flush=True)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(lore.__file__).parents[1])}
    command = [sys.executable, "-c", code]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, **pipes) as server:
        assert server.stdout.readline()
        children = psutil.Process(server.pid).children(recursive=True)
        assert len(children) > 1  # one of them forks the others
        server.kill()
        assert not psutil.wait_procs(children, SECONDS)[1]
        assert b"Traceback" not in server.stderr.read()
