"""Threads, parts, progress and stopping."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lore_core.kernel_sums import laplacian_means, laplacian_sums, warmup
from lore_core.progress import Cancelled


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


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_many_callers_at_once(d, rng):
    points = rng.normal(size=(3_000, d))
    targets = rng.normal(size=(500, d)) * 3

    def call(_: int) -> np.ndarray:
        return laplacian_means(targets, points, points, bandwidth=0.01).mean

    expected = call(0)
    with ThreadPoolExecutor(8) as pool:
        for got in pool.map(call, range(8)):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("exclude_self", [False, True])
def test_parts_are_joined(d, exclude_self, rng, brute_sums, monkeypatch):
    monkeypatch.setattr("lore_core.kernel_sums.compute.PART_ROWS", {2: 50, 3: 70})
    points = rng.normal(size=(1_111, d))
    g = np.repeat([0, 1], [1_000, 111])
    weights = rng.random((1_111, 2))
    got = laplacian_sums(
        points, None, weights, bandwidth=0.4, target_groups=g, exclude_self=exclude_self
    )
    expected = brute_sums(points, None, weights, 0.4, groups=(g, None), exclude_self=exclude_self)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("jobs", [1, 3])
def test_progress_rises_to_one(d, jobs, rng, monkeypatch):
    monkeypatch.setattr("lore_core.kernel_sums.schedule._WORTH_THREADS", 0)
    seen: list[float] = []
    points = rng.normal(size=(400, d))
    laplacian_means(
        points * 1e3, points, np.ones(400), bandwidth=[0.1, 3.0], n_jobs=jobs,
        progress=seen.append,
    )  # fmt: skip
    assert seen == sorted(seen)
    assert seen[0] > 0
    assert seen[-1] == 1.0


@pytest.mark.parametrize("jobs", [1, 3])
def test_progress_can_stop(jobs, rng, monkeypatch):
    monkeypatch.setattr("lore_core.kernel_sums.schedule._WORTH_THREADS", 0)
    points = rng.normal(size=(3_000, 5))
    calls = []

    def refuse(fraction: float) -> bool:
        calls.append(fraction)
        return False

    with pytest.raises(Cancelled, match="returned False"):
        laplacian_sums(points, None, np.ones(3_000), bandwidth=1.0, n_jobs=jobs, progress=refuse)
    assert len(calls) == 1
    assert calls[0] < 1

    def fail(fraction: float) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        laplacian_sums(points, None, np.ones(3_000), bandwidth=1.0, n_jobs=jobs, progress=fail)


def test_many_small_groups(rng, brute_sums):
    points = rng.normal(size=(1_500, 2))
    g = rng.integers(0, 400, size=1_500)
    got = laplacian_sums(
        np.tile(points, (20, 1)),
        None,
        np.ones(30_000),
        bandwidth=1.0,
        target_groups=np.concatenate([g + 400 * copy for copy in range(20)]),
        n_jobs=2,
    )
    expected = brute_sums(points, None, np.ones(1_500), 1.0, groups=(g, None))
    np.testing.assert_allclose(got.reshape(20, -1), np.tile(expected, (20, 1)), rtol=1e-13)


def test_inputs_are_left_alone(rng):
    points = np.asfortranarray(rng.normal(size=(100, 2)))
    weights = np.ones(100)
    before = points.copy()
    for array in (points, weights):
        array.flags.writeable = False
    laplacian_sums(points, None, weights, bandwidth=[1.0, 2.0])
    np.testing.assert_array_equal(points, before)


def test_warmup_leaves_nothing_to_compile(rng):
    from lore_core.kernel_sums import blocked, sweep1d, sweep2d, sweep3d, underflow

    kernels = [
        sweep1d.line_sweep, sweep2d.plane_tree, sweep2d.plane_join, sweep3d.space_tree,
        sweep3d.space_join, blocked.block_within, blocked.block_between, underflow.direct_means,
    ]  # fmt: skip
    warmup()
    assert [len(kernel.signatures) for kernel in kernels] == [1] * len(kernels)
    for d in (1, 2, 3, 5):
        points = rng.normal(size=(70, d)).astype(np.float32)
        points.flags.writeable = False
        laplacian_means(points, points[:9] + 1e3, np.ones((9, 2)), bandwidth=[0.1, 1.0])
        laplacian_sums(points, None, np.ones(70, dtype=int), bandwidth=1, exclude_self=True)
    assert [len(kernel.signatures) for kernel in kernels] == [1] * len(kernels)
