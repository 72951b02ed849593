from functools import partial

import brute
import numpy as np
import pytest

from lore_core import kernel_sums
from lore_core.kernel_sums.api import means_by_bandwidth

# What rounded coordinates may change is tested in test_fixed_point.py.
laplacian_means = partial(kernel_sums.laplacian_means, tolerance=0)
every_dimension = pytest.mark.parametrize("d", [1, 2, 3, 4, 10])
BANDWIDTHS = np.logspace(-6, 6, 13)


def agree(got, *arguments, part=..., rtol=1e-12, **options):
    mean, size = brute.kernel_means(*arguments, **options)
    np.testing.assert_allclose(got.mean[part], mean, rtol=rtol)
    np.testing.assert_allclose(got.effective_size[part], size, rtol=rtol)


@every_dimension
@pytest.mark.parametrize("exclude_self", [False, True])
def test_self_means_at_any_bandwidth(d, exclude_self, rng):
    points, g = rng.normal(size=(220, d)), rng.integers(-1, 4, size=220)
    values = rng.normal(size=(220, 2)) + 3.0
    options = {"groups": (g, None), "exclude_self": exclude_self}
    got = laplacian_means(
        points, None, values, bandwidth=BANDWIDTHS, target_groups=g, exclude_self=exclude_self
    )
    for b, h in enumerate(BANDWIDTHS):
        agree(got, points, None, values, h, part=b, **options)
    mass = brute.kernel_sums(points, None, np.ones(220), BANDWIDTHS, **options)
    np.testing.assert_allclose(got.mass, mass, rtol=1e-12, atol=1e-290)


@every_dimension
def test_separate_sources_at_any_bandwidth(d, rng):
    targets, sources = rng.normal(size=(150, d)) * 2, rng.normal(size=(180, d))
    values = rng.random(180)
    got = laplacian_means(targets, sources, values, bandwidth=BANDWIDTHS)
    assert got.mean.shape == got.mass.shape == got.effective_size.shape == (13, 150)
    for b, h in enumerate(BANDWIDTHS):
        agree(got, targets, sources, values, h, part=b)


@every_dimension
def test_effective_size_where_only_the_square_underflows(d, rng):
    sources, values = rng.normal(size=(100, d)), np.arange(100.0)
    targets = sources[:20] + 500.0 * np.eye(d)[0]
    got = laplacian_means(targets, sources, values, bandwidth=1.0)
    assert (got.mass > 1e-230).all()
    agree(got, targets, sources, values, 1.0)


@every_dimension
@pytest.mark.parametrize("far", [690.0, 705.0, 720.0, 744.0, 1e4, 1e12])
def test_underflow_is_not_zero(d, far):
    # Distances and their differences are exact here, whatever the order of addition.
    steps = np.arange(100)
    sources = np.zeros((100, d))
    sources[:, 0] = steps / 16
    sources[:, -1] += steps % 8 / 4
    targets, values = sources[::10] + np.eye(d)[0] * far, np.cos(steps)
    got = laplacian_means(targets, sources, values, bandwidth=1.0)
    agree(got, targets, sources, values, 1.0, rtol=1e-11)
    assert far < 1e4 or (got.mass == 0).all()


@every_dimension
@pytest.mark.parametrize("copies", [40, 700])
def test_more_ties_than_the_search_asks_for(d, copies, rng):
    sources = np.repeat(rng.integers(0, 2, size=(3, d)) * 1.0, copies, axis=0)
    sources[copies:] += 10.0
    values = rng.random(3 * copies)
    got = laplacian_means(sources[:1] + 0.5, sources, values, bandwidth=1e-6)
    np.testing.assert_allclose(got.mean, [values[:copies].mean()], rtol=1e-12)
    np.testing.assert_allclose(got.effective_size, [copies], rtol=1e-12)


@every_dimension
def test_limits(d, rng):
    points, values = rng.normal(size=(90, d)), rng.random(90)
    wide = laplacian_means(points, None, values, bandwidth=1e300)
    np.testing.assert_allclose(wide.mean, values.mean(), rtol=1e-14)
    np.testing.assert_allclose(wide.effective_size, 90, rtol=1e-14)
    narrow = laplacian_means(points, None, values, bandwidth=1e-300)
    np.testing.assert_array_equal(narrow.mean, values)
    np.testing.assert_array_equal(narrow.effective_size, 1.0)
    twice = np.repeat(points[:45], 2, axis=0)
    others = laplacian_means(twice, None, values, bandwidth=1e-9, exclude_self=True)
    expected = values.reshape(45, 2)[:, ::-1].ravel()
    np.testing.assert_allclose(others.mean, expected, rtol=1e-15)
    np.testing.assert_allclose(others.mass, 1.0)
    # Further away than floats reach.
    sources = np.full((2, d), -1.5e308)
    sources[1] /= 2
    far = laplacian_means(np.full((1, d), 1.5e308), sources, [1.0, 2.0], bandwidth=1.0)
    np.testing.assert_array_equal(far.mean, [2.0])


@every_dimension
def test_targets_without_a_source(d, rng):
    points, g, alone = rng.normal(size=(6, d)), np.array([0, 0, 1, -1, 2, 2]), [2, 3]
    got = laplacian_means(
        points, None, np.ones(6), bandwidth=1.0, target_groups=g, exclude_self=True
    )
    assert np.isnan(got.mean[alone]).all()
    assert (got.mass[alone] == 0).all()
    assert (got.effective_size[alone] == 0).all()
    np.testing.assert_allclose(got.mean[[0, 1, 4, 5]], 1.0)
    empty = laplacian_means(points, np.empty((0, d)), np.empty((0, 3)), bandwidth=1.0)
    assert np.isnan(empty.mean).all()
    assert empty.mean.shape == (6, 3)


@every_dimension
@pytest.mark.parametrize("scale", [1e-300, 1e-40, 1e307])
def test_extreme_values(d, scale, rng):
    sources, values = rng.normal(size=(100, d)), rng.random(100)
    targets = np.concatenate([sources[:5], sources[:5]])
    targets[5:, 0] += 630.0  # masses near 1e-273
    got = laplacian_means(targets, sources, values * scale, bandwidth=1.0)
    mean, _ = brute.kernel_means(targets, sources, values, 1.0)
    np.testing.assert_allclose(got.mean / scale, mean, rtol=1e-12)


@every_dimension
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


@pytest.mark.parametrize("effective_size", [True, False])
def test_bandwidth_by_bandwidth_the_means_are_the_same(effective_size, rng):
    z, values = rng.normal(size=(400, 2)), rng.normal(size=(400, 3))
    values[:, 1] *= 1e-9
    z[:3] += 500.0  # their kernel sums underflow, to one another as well at small bandwidths
    groups, h = rng.integers(-1, 3, 400), np.array([0.4, 0.1, 0.05, 0.1, 3.0, 0.0004])
    arguments = z, z[::2] + 0.01, values[::2]
    options = {"bandwidth": h, "target_groups": groups, "source_groups": groups[::2]}
    options["effective_size"] = effective_size
    together = laplacian_means(*arguments, **options)
    seen = []
    for b, means in means_by_bandwidth(*arguments, **options):
        seen.append(b)
        np.testing.assert_array_equal(means.mean, together.mean[b])
        np.testing.assert_array_equal(means.mass, together.mass[b])
        np.testing.assert_array_equal(means.effective_size, together.effective_size[b])
    assert sorted(seen) == list(range(len(h)))
