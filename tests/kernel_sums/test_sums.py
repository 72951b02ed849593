"""laplacian_sums against hand-derived numbers and the brute force."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from lore_core import kernel_sums
from lore_core.kernel_sums.grid import as_passes, snapped

# What rounded coordinates may change is tested in test_fixed_point.py.
laplacian_sums = partial(kernel_sums.laplacian_sums, tolerance=0)
DIMENSIONS = [1, 2, 3, 4, 10]


def test_hand_derived():
    # Distances from 0 to 0, 1, 3: e^0 + 2 e^-1 + 4 e^-3 at h = 1, and so on.
    e1, e2, e3 = np.exp([-1.0, -2.0, -3.0])
    expected = [1 + 2 * e1 + 4 * e3, e1 + 2 + 4 * e2, e3 + 2 * e2 + 4]
    for d in DIMENSIONS:
        # The first two dimensions share the distance; the others are constant.
        points = np.full((3, d), 7.0)
        points[:, 0] = [0.0, 1.0, 3.0]
        if d > 1:
            points[:, 0] = [0.0, 0.5, 1.0]
            points[:, 1] = [0.0, 0.5, 2.0]
        np.testing.assert_allclose(
            laplacian_sums(points, None, [1, 2, 4], bandwidth=1.0), expected, rtol=1e-15
        )


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize(
    "n", [1, 2, 3, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 144, 500, 511, 512, 513, 1100]
)
def test_self_sums(d, n, rng, brute_sums):
    points = rng.normal(size=(n, d))
    weights = rng.normal(size=n)
    for exclude_self in (False, True):
        got = laplacian_sums(points, None, weights, bandwidth=0.7, exclude_self=exclude_self)
        expected = brute_sums(points, None, weights, 0.7, exclude_self=exclude_self)
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_many_rows(d, rng, brute_sums):
    n = 20_000 if d < 3 else 4_000
    points = rng.normal(size=(n, d))
    weights = rng.random(n)
    for h in (0.05, 50.0):
        got = laplacian_sums(points, None, weights, bandwidth=h)[:50]
        expected = brute_sums(points[:50], points, weights, h)
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize(("n_t", "n_s"), [(1, 1), (1, 300), (300, 1), (200, 333)])
def test_separate_sources(d, n_t, n_s, rng, brute_sums):
    targets = rng.normal(size=(n_t, d))
    sources = rng.normal(size=(n_s, d)) + 0.3
    weights = rng.random(n_s)
    np.testing.assert_allclose(
        laplacian_sums(targets, sources, weights, bandwidth=1.5),
        brute_sums(targets, sources, weights, 1.5),
        rtol=1e-12,
    )


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("m", [1, 2, 3])
def test_weight_columns_and_bandwidths(d, m, rng, brute_sums):
    points = rng.normal(size=(150, d))
    weights = rng.random((150, m))
    # Halves (shared exponentials, a chain longer than is squared), others, unsorted, a repeat.
    bandwidths = np.array([0.3, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.3, 3.0])
    got = laplacian_sums(points, None, weights, bandwidth=bandwidths)
    assert got.shape == (9, 150, m)
    for b, h in enumerate(bandwidths):
        np.testing.assert_allclose(got[b], brute_sums(points, None, weights, h), rtol=1e-12)
    single = laplacian_sums(points, None, weights[:, 0], bandwidth=bandwidths)
    np.testing.assert_allclose(single, got[:, :, 0], rtol=1e-13)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_many_bandwidths_take_several_passes(d, rng, brute_sums, monkeypatch):
    monkeypatch.setattr("lore_core.kernel_sums.grid._PASS_BYTES", 0)
    points = rng.normal(size=(90, d))
    weights = rng.random(90)
    bandwidths = np.geomspace(0.01, 100, 30)
    got = laplacian_sums(points, None, weights, bandwidth=bandwidths)
    expected = [brute_sums(points, None, weights, h) for h in bandwidths]
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_groups(d, rng, brute_sums):
    targets = rng.normal(size=(200, d))
    sources = rng.normal(size=(250, d))
    weights = rng.random(250)
    g = rng.integers(-1, 6, size=200)
    h = rng.integers(-1, 5, size=250)
    h[h == 2] = 9  # group 2 has no source, group 9 no target
    got = laplacian_sums(targets, sources, weights, bandwidth=0.5, target_groups=g, source_groups=h)
    expected = brute_sums(targets, sources, weights, 0.5, groups=(g, h))
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert (got[(g == -1) | (g == 2)] == 0).all()
    got = laplacian_sums(
        targets, None, weights[:200], bandwidth=0.5, target_groups=g, exclude_self=True
    )
    expected = brute_sums(targets, None, weights[:200], 0.5, groups=(g, None), exclude_self=True)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_group_numbers_may_be_anything(rng):
    points = rng.normal(size=(60, 2))
    g = rng.integers(0, 3, size=60)
    numbers = np.array([10**15, 5, 40_000])
    np.testing.assert_array_equal(
        laplacian_sums(points, None, np.ones(60), bandwidth=1.0, target_groups=numbers[g]),
        laplacian_sums(
            points, None, np.ones(60), bandwidth=1.0, target_groups=np.array([2, 0, 1])[g]
        ),
    )


@pytest.mark.parametrize("d", DIMENSIONS)
def test_sources_may_be_the_targets(d, rng):
    points = rng.normal(size=(50, d))
    expected = laplacian_sums(points, None, np.ones(50), bandwidth=1.0)
    np.testing.assert_array_equal(
        laplacian_sums(points, points, np.ones(50), bandwidth=1.0), expected
    )
    np.testing.assert_allclose(
        laplacian_sums(points, points.copy(), np.ones(50), bandwidth=1.0), expected, rtol=1e-13
    )


@pytest.mark.parametrize("d", DIMENSIONS)
def test_exclude_self_does_not_cancel(d):
    # The other point adds e^-60 beside the own 1: a subtraction would leave 0.
    points = np.zeros((2, d))
    points[1, 0] = 60.0
    got = laplacian_sums(points, None, np.ones(2), bandwidth=1.0, exclude_self=True)
    np.testing.assert_allclose(got, np.exp(-60.0), rtol=1e-13)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_no_rows(d):
    none = np.empty((0, d))
    some = np.zeros((3, d))
    assert laplacian_sums(none, None, [], bandwidth=1.0).shape == (0,)
    assert laplacian_sums(none, some, np.ones((3, 2)), bandwidth=[1.0, 2.0]).shape == (2, 0, 2)
    assert (laplacian_sums(some, none, [], bandwidth=1.0) == 0).all()


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e300])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_extreme_weights(d, scale, rng, brute_sums):
    points = rng.normal(size=(80, d))
    weights = np.ones(80) * scale
    got = laplacian_sums(points, None, weights, bandwidth=1.0)
    np.testing.assert_allclose(
        got / scale, brute_sums(points, None, np.ones(80), 1.0), rtol=1e-12, atol=5e-324 / scale
    )


def test_halves_up_to_rounding_share_exponentials(rng, brute_sums):
    h = np.geomspace(0.3, 0.3 * 2**5, 16)  # three an octave, halves of each other but for rounding
    exact = snapped(h)
    np.testing.assert_allclose(exact, h, rtol=1e-15)
    assert len(np.unique(np.frexp(exact)[0])) == 3
    (once,) = as_passes({float(x): 0 for x in exact}, 1, 1)
    assert sum(not entry.squared for entry in once.entries) == 3
    points, weights = rng.normal(size=(90, 2)), rng.random(90)
    expected = [brute_sums(points, None, weights, x) for x in h]
    np.testing.assert_allclose(
        laplacian_sums(points, None, weights, bandwidth=h), expected, rtol=1e-12
    )


def test_snapped_keeps_what_is_no_half():
    h = np.array([0.3, 0.3 * (1 + 1e-14), 0.7, 1e-310, 2e-310, 1e300])
    np.testing.assert_allclose(snapped(h), h, rtol=1e-15)
    assert len(np.unique(snapped(h))) == len(h)
