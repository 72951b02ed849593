"""laplacian_means: ratios, effective sizes, both limits, and no silent zero."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from lore_core import kernel_sums
from lore_core.kernel_sums.api import means_by_bandwidth, means_of_all_and_some

# What rounded coordinates may change is tested in test_fixed_point.py.
laplacian_means = partial(kernel_sums.laplacian_means, tolerance=0)
DIMENSIONS = [1, 2, 3, 4, 10]
BANDWIDTHS = np.logspace(-6, 6, 13)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("exclude_self", [False, True])
def test_self_means_at_any_bandwidth(d, exclude_self, rng, brute_means, brute_sums):
    points = rng.normal(size=(220, d))
    values = rng.normal(size=(220, 2)) + 3.0
    g = rng.integers(-1, 4, size=220)
    options = {"groups": (g, None), "exclude_self": exclude_self}
    got = laplacian_means(
        points, None, values, bandwidth=BANDWIDTHS, target_groups=g, exclude_self=exclude_self
    )
    for b, h in enumerate(BANDWIDTHS):
        mean, size = brute_means(points, None, values, h, **options)
        np.testing.assert_allclose(got.mean[b], mean, rtol=1e-12)
        np.testing.assert_allclose(got.effective_size[b], size, rtol=1e-12)
        mass = brute_sums(points, None, np.ones(220), h, **options)
        np.testing.assert_allclose(got.mass[b], mass, rtol=1e-12, atol=1e-290)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_separate_sources_at_any_bandwidth(d, rng, brute_means):
    targets = rng.normal(size=(150, d)) * 2
    sources = rng.normal(size=(180, d))
    values = rng.random(180)
    got = laplacian_means(targets, sources, values, bandwidth=BANDWIDTHS)
    assert got.mean.shape == got.mass.shape == got.effective_size.shape == (13, 150)
    for b, h in enumerate(BANDWIDTHS):
        mean, size = brute_means(targets, sources, values, h)
        np.testing.assert_allclose(got.mean[b], mean, rtol=1e-12)
        np.testing.assert_allclose(got.effective_size[b], size, rtol=1e-12)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_effective_size_where_only_the_square_underflows(d, rng, brute_means):
    sources = rng.normal(size=(100, d))
    targets = sources[:20].copy()
    targets[:, 0] += 500.0
    got = laplacian_means(targets, sources, np.arange(100.0), bandwidth=1.0)
    assert (got.mass > 1e-230).all()
    mean, size = brute_means(targets, sources, np.arange(100.0), 1.0)
    np.testing.assert_allclose(got.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(got.effective_size, size, rtol=1e-12)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("far", [690.0, 705.0, 720.0, 744.0, 1e4, 1e12])
def test_underflow_is_not_zero(d, far, brute_means):
    # Distances and their differences are exact here, whatever the order of addition.
    steps = np.arange(100)
    sources = np.zeros((100, d))
    sources[:, 0] = steps / 16
    sources[:, -1] += steps % 8 / 4
    targets = sources[::10] + np.eye(d)[0] * far
    values = np.cos(steps)
    got = laplacian_means(targets, sources, values, bandwidth=1.0)
    mean, size = brute_means(targets, sources, values, 1.0)
    np.testing.assert_allclose(got.mean, mean, rtol=1e-11)
    np.testing.assert_allclose(got.effective_size, size, rtol=1e-11)
    if far >= 1e4:
        assert (got.mass == 0).all()


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("copies", [40, 700])
def test_more_ties_than_the_search_asks_for(d, copies, rng):
    sources = np.repeat(rng.integers(0, 2, size=(3, d)) * 1.0, copies, axis=0)
    sources[copies:] += 10.0
    values = rng.random(3 * copies)
    target = sources[:1] + 0.5
    got = laplacian_means(target, sources, values, bandwidth=1e-6)
    np.testing.assert_allclose(got.mean, [values[:copies].mean()], rtol=1e-12)
    np.testing.assert_allclose(got.effective_size, [copies], rtol=1e-12)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_excluded_self_with_duplicates(d, rng):
    points = np.repeat(rng.normal(size=(20, d)), 2, axis=0)
    values = rng.random(40)
    got = laplacian_means(points, None, values, bandwidth=1e-9, exclude_self=True)
    np.testing.assert_allclose(got.mean, values.reshape(20, 2)[:, ::-1].ravel(), rtol=1e-15)
    np.testing.assert_allclose(got.mass, 1.0)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_limits(d, rng):
    points = rng.normal(size=(90, d))
    values = rng.random(90)
    wide = laplacian_means(points, None, values, bandwidth=1e300)
    np.testing.assert_allclose(wide.mean, values.mean(), rtol=1e-14)
    np.testing.assert_allclose(wide.effective_size, 90, rtol=1e-14)
    narrow = laplacian_means(points, None, values, bandwidth=1e-300)
    np.testing.assert_array_equal(narrow.mean, values)
    np.testing.assert_array_equal(narrow.effective_size, 1.0)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_targets_without_a_source(d, rng):
    points = rng.normal(size=(6, d))
    g = np.array([0, 0, 1, -1, 2, 2])
    got = laplacian_means(
        points, None, np.ones(6), bandwidth=1.0, target_groups=g, exclude_self=True
    )
    alone = [2, 3]
    assert np.isnan(got.mean[alone]).all()
    assert (got.mass[alone] == 0).all()
    assert (got.effective_size[alone] == 0).all()
    np.testing.assert_allclose(got.mean[[0, 1, 4, 5]], 1.0)
    empty = laplacian_means(points, np.empty((0, d)), np.empty((0, 3)), bandwidth=1.0)
    assert np.isnan(empty.mean).all()
    assert empty.mean.shape == (6, 3)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_further_away_than_floats_reach(d):
    sources = np.full((2, d), -1.5e308)
    sources[1] /= 2
    got = laplacian_means(np.full((1, d), 1.5e308), sources, [1.0, 2.0], bandwidth=1.0)
    np.testing.assert_array_equal(got.mean, [2.0])


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("scale", [1e-300, 1e-40, 1e307])
def test_extreme_values(d, scale, rng, brute_means):
    sources = rng.normal(size=(100, d))
    values = rng.random(100)
    targets = np.concatenate([sources[:5], sources[:5]])
    targets[5:, 0] += 630.0  # masses near 1e-273
    got = laplacian_means(targets, sources, values * scale, bandwidth=1.0)
    mean, _ = brute_means(targets, sources, values, 1.0)
    np.testing.assert_allclose(got.mean / scale, mean, rtol=1e-12)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_without_effective_sizes_the_means_are_the_same(d, rng):
    points, values = rng.normal(size=(300, d)), rng.random(300)
    options = {"bandwidth": [1e-4, 0.3, 7.0], "exclude_self": True}
    full = laplacian_means(points, None, values, **options)
    bare = laplacian_means(points, None, values, effective_size=False, **options)
    np.testing.assert_allclose(bare.mean, full.mean, rtol=1e-13)
    np.testing.assert_allclose(bare.mass, full.mass, rtol=1e-13)
    assert bare.effective_size.shape == full.effective_size.shape
    assert np.isnan(bare.effective_size).all()
    assert np.isfinite(full.effective_size).all()


@pytest.mark.parametrize("d", [1, 2, 3, 9])
def test_means_of_all_and_some_are_those_of_two_calls(d):
    rng = np.random.default_rng(d)
    z, values = rng.normal(size=(700, d)), rng.normal(size=(700, 2))
    groups, some = rng.integers(0, 5, 700), rng.random(700) < 0.5
    some[groups == 3] = False  # a group none of which are among them
    some[groups == 4] = True
    z[0] += 900.0  # far from all others: the kernel underflows
    groups[0], some[0] = 1, False
    of_all, of_some = means_of_all_and_some(z, values, some, bandwidth=0.2, groups=groups)
    all_alone = laplacian_means(z, None, values, bandwidth=0.2, target_groups=groups)
    some_alone = laplacian_means(
        z,
        z[some],
        values[some, 0],
        bandwidth=0.2,
        target_groups=groups,
        source_groups=groups[some],
    )
    assert np.isnan(of_some.mean[groups == 3]).all()
    assert of_some.mass[0] == 0
    assert np.isfinite(of_some.mean[0])
    for found, alone in ((of_all, all_alone), (of_some, some_alone)):
        for name in ("mean", "mass", "effective_size"):
            one, other = getattr(found, name), getattr(alone, name)
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("effective_size", [True, False])
def test_bandwidth_by_bandwidth_the_means_are_the_same(effective_size, rng):
    z, values = rng.normal(size=(400, 2)), rng.normal(size=(400, 3))
    values[:, 1] *= 1e-9
    z[:3] += 500.0  # their kernel sums underflow, to one another as well at small bandwidths
    groups, h = rng.integers(-1, 3, 400), np.array([0.4, 0.1, 0.05, 0.1, 3.0, 0.0004])
    sources, of = z[::2] + 0.01, groups[::2]
    together = laplacian_means(
        z,
        sources,
        values[::2],
        bandwidth=h,
        target_groups=groups,
        source_groups=of,
        effective_size=effective_size,
    )
    first, seen = [0, 2, 1, 0, 2, 1], []
    for b, means in means_by_bandwidth(
        z,
        sources,
        values[::2],
        bandwidth=h,
        target_groups=groups,
        source_groups=of,
        effective_size=effective_size,
        first=first,
    ):
        seen.append(b)
        np.testing.assert_array_equal(means.mean, together.mean[b][:, first[b] :])
        np.testing.assert_array_equal(means.mass, together.mass[b])
        np.testing.assert_array_equal(means.effective_size, together.effective_size[b])
    assert sorted(seen) == list(range(len(h)))
