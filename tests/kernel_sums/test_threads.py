import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import brute
import numpy as np
import pytest

from lore_core.data.progress import Cancelled
from lore_core.kernel_sums import laplacian_means, laplacian_sums, schedule


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_any_number_of_threads_gives_the_same(d, rng):
    n = 40_000 if d < 3 else 4_000
    points = rng.normal(size=(n, d))
    g = rng.integers(0, 3, size=n)
    one, four = (
        laplacian_sums(points, None, np.ones(n), bandwidth=0.5, target_groups=g, n_jobs=jobs)
        for jobs in (1, 4)
    )
    np.testing.assert_array_equal(one, four)


@pytest.mark.parametrize("d", [1, 2, 3, 5, 10])
def test_many_callers_at_once(d, rng):
    points = rng.normal(size=(3_000, d))
    targets = rng.normal(size=(500, d)) * 3

    def call(_):
        return laplacian_means(targets, points, points, bandwidth=0.01).mean

    expected = call(0)
    with ThreadPoolExecutor(8) as pool:
        for got in pool.map(call, range(8)):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("exclude_self", [False, True])
def test_parts_are_joined(d, exclude_self, rng, monkeypatch):
    monkeypatch.setattr("lore_core.kernel_sums.plans.PART_ROWS", {2: (50, 50), 3: (70, 70)})
    points = rng.normal(size=(1_111, d))
    g = np.repeat([0, 1], [1_000, 111])
    weights = rng.random((1_111, 2))
    got = laplacian_sums(
        points, None, weights, bandwidth=0.4, target_groups=g, exclude_self=exclude_self
    )
    expected = brute.kernel_sums(
        points, None, weights, 0.4, groups=(g, None), exclude_self=exclude_self
    )
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("jobs", [1, 3])
def test_progress_rises_to_one(d, jobs, rng, monkeypatch):
    monkeypatch.setattr("lore_core.kernel_sums.schedule._WORTH_THREADS", 0)
    seen, points = [], rng.normal(size=(400, d))
    options = {"bandwidth": [0.1, 3.0], "n_jobs": jobs, "progress": seen.append}
    laplacian_means(points * 1e3, points, np.ones(400), **options)
    assert seen == sorted(seen)
    assert seen[0] > 0
    assert seen[-1] == 1.0


def test_many_small_groups_and_inputs_are_left_alone(rng):
    points = np.asfortranarray(rng.normal(size=(1_500, 2)))
    many, before, ones = np.tile(points, (20, 1)), points.copy(), np.ones(30_000)
    g = rng.integers(0, 400, size=1_500)
    groups = np.concatenate([g + 400 * copy for copy in range(20)])
    for array in (many, points, groups, ones):
        array.flags.writeable = False
    got = laplacian_sums(many, None, ones, bandwidth=1.0, target_groups=groups, n_jobs=2)
    expected = laplacian_sums(points, None, ones[:1_500], bandwidth=1.0, target_groups=g)
    np.testing.assert_allclose(got.reshape(20, -1), np.tile(expected, (20, 1)), rtol=1e-13)
    brutal = brute.kernel_sums(points, None, np.ones(1_500), 1.0, groups=(g, None))
    np.testing.assert_allclose(expected, brutal, rtol=1e-13)
    np.testing.assert_array_equal(points, before)


def test_threads_are_as_many_as_the_libraries_may_use(monkeypatch):
    processors = schedule.thread_count(None)
    with schedule.limited_threads(1):
        assert schedule.thread_count(None) == 1
        assert schedule.thread_count(2) == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "1,2")
    assert schedule.thread_count(None) == 1
    monkeypatch.undo()
    assert schedule.thread_count(None) == processors >= 1
    assert schedule.thread_count(10**6) <= 2 * max(os.cpu_count() or 1, 1)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(("n", "d"), [(150_000, 2), (30_000, 3), (6_000, 50)])
def test_nothing_runs_after_a_stop(n, d, jobs, rng):
    calls = []

    def stop(fraction):
        calls.append(fraction)
        if fraction > 0.2:
            raise Cancelled("enough")

    threads = threading.active_count()
    options = {"bandwidth": d * 0.2, "n_jobs": jobs, "progress": stop}
    with pytest.raises(Cancelled, match="enough"):
        laplacian_means(rng.normal(size=(n, d)), None, rng.random(n), **options)
    assert 0.2 < calls[-1] < 0.7
    assert all(fraction <= 0.2 for fraction in calls[:-1])
    assert threading.active_count() == threads


PROGRAM = """
import ctypes, sys
from pathlib import Path
import numpy as np
from lore_core.kernel_sums import compiled, laplacian_means

# Not ru_maxrss: a new process starts with the peak of the one that made it.
def status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1])

n, d = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
points, values = rng.normal(size=(n, d)), rng.random(n)
bins = rng.integers(0, 2, size=n)
laplacian_means(points[:2000], None, values[:2000], bandwidth=0.3)
for groups in (bins, None):
    ctypes.CDLL(None).malloc_trim(0)  # what was freed does not count as there before
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew from here
    before = status("VmRSS:")
    laplacian_means(points, None, values, bandwidth=0.3, n_jobs=2, target_groups=groups)
    print((status("VmHWM:") - before) * 1024 / n)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self")
@pytest.mark.parametrize(("n", "d"), [(1_000_000, 1), (1_000_000, 2), (250_000, 3)])
def test_at_most_200_bytes_a_row(n, d):
    # (What does not grow with the rows counts too, for more a row where there are fewer.)
    command = [sys.executable, "-c", PROGRAM, str(n), str(d)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    for of_row in done.stdout.split():
        assert 20 < float(of_row) <= 200
