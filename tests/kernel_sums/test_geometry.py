"""Ties, duplicates, order and extreme coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from lore_core.kernel_sums import laplacian_means, laplacian_sums

DIMENSIONS = [1, 2, 3, 4]


def _check(points, weights, h, brute_sums):
    for exclude_self in (False, True):
        got = laplacian_sums(points, None, weights, bandwidth=h, exclude_self=exclude_self)
        expected = brute_sums(points, None, weights, h, exclude_self=exclude_self)
        np.testing.assert_allclose(got, expected, rtol=2e-12, atol=1e-250)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("levels", [1, 2, 5])
def test_ties_and_duplicates(d, levels, rng, brute_sums):
    _check(rng.integers(0, levels, size=(300, d)), rng.random(300), 1.3, brute_sums)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_sorted_and_reversed(d, rng, brute_sums):
    points = np.sort(rng.normal(size=(200, d)), axis=0)
    weights = rng.random(200)
    _check(points, weights, 0.4, brute_sums)
    _check(points[::-1], weights, 0.4, brute_sums)
    points[:, -1] = points[::-1, -1].copy()
    _check(points, weights, 0.4, brute_sums)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_constant_dimensions_change_nothing(d, rng):
    points = rng.normal(size=(120, d))
    wide = np.column_stack([np.full(120, 3.0), points, np.full(120, -1e9)])
    weights = rng.random(120)
    np.testing.assert_array_equal(
        laplacian_sums(wide, None, weights, bandwidth=0.5),
        laplacian_sums(points, None, weights, bandwidth=0.5),
    )
    # Constant within targets and within sources, but not the same: it counts.
    np.testing.assert_allclose(
        laplacian_sums(points, points + 1.0, weights, bandwidth=0.5),
        laplacian_sums(
            np.column_stack([points, np.zeros(120)]),
            np.column_stack([points + 1.0, np.full(120, 1.0)]),
            weights,
            bandwidth=0.5,
        )
        * np.exp(2.0),
        rtol=1e-12,
    )


@pytest.mark.parametrize("d", [2, 3, 4])
def test_scales_differ_by_dimension(d, rng, brute_sums):
    points = rng.normal(size=(200, d)) * np.array([1e-8, 1.0, 1e4, 1e-3])[:d]
    for h in (1e-8, 1.0, 1e4):
        _check(points, rng.random(200), h, brute_sums)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_shifted_coordinates(d, rng, brute_sums):
    _check(rng.integers(-50, 50, size=(200, d)) / 64 + 2.0**30, rng.random(200), 0.2, brute_sums)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("size", [1e-310, 1e300, 1.7e308])
def test_extreme_coordinates(d, size, rng, brute_sums):
    points = rng.choice([-1.0, -0.5, 0.5, 1.0], size=(150, d)) * size
    weights = rng.random(150)
    for h in (1e-3, 1.0, min(3 * size, 1e306) if size > 1 else 1.0):
        got = laplacian_sums(points, None, weights, bandwidth=h)
        assert np.isfinite(got).all()
        np.testing.assert_allclose(got, brute_sums(points, None, weights, h), rtol=1e-12)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_subnormal_bandwidth(d, rng, brute_sums):
    points = rng.integers(0, 3, size=(60, d)) * 1e-310
    got = laplacian_sums(points, None, np.ones(60), bandwidth=1e-310)
    np.testing.assert_allclose(got, brute_sums(points, None, np.ones(60), 1e-310), rtol=1e-9)
    smallest = laplacian_means(points, None, np.arange(60.0), bandwidth=5e-324)
    assert np.isfinite(smallest.mean).all()
