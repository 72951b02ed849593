from functools import partial
from types import SimpleNamespace

import brute
import numpy as np
import pytest

from lore_core import kernel_sums
from lore_core.data.validation import InputError
from lore_core.kernel_sums import laplacian_means
from lore_core.kernel_sums.grid import as_passes, snapped

# What rounded coordinates may change is tested in test_fixed_point.py.
laplacian_sums = partial(kernel_sums.laplacian_sums, tolerance=0)
every_dimension = pytest.mark.parametrize("d", [1, 2, 3, 4, 10])


def agree(targets, sources, weights, h, *, groups=(None, None), rtol=1e-12, atol=0.0, **options):
    of_groups = dict(zip(("target_groups", "source_groups"), groups, strict=True))
    got = laplacian_sums(targets, sources, weights, bandwidth=h, **of_groups, **options)
    expected = brute.kernel_sums(targets, sources, weights, h, groups=groups, **options)
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)
    if np.ndim(weights) == 1:  # so many columns are summed side by side in the plane
        many = np.tile(weights, (9, 1)).T
        got_of_many = laplacian_sums(targets, sources, many, bandwidth=h, **of_groups, **options)
        np.testing.assert_allclose(got_of_many.T, [expected.T] * 9, rtol=rtol, atol=atol)
    return got


@every_dimension
def test_hand_derived(d):
    # Distances from 0 to 0, 1, 3: e^0 + 2 e^-1 + 4 e^-3 at h = 1, and so on.
    e1, e2, e3 = np.exp([-1.0, -2.0, -3.0])
    expected = [1 + 2 * e1 + 4 * e3, e1 + 2 + 4 * e2, e3 + 2 * e2 + 4]
    # The first two dimensions share the distance; the others are constant.
    points = np.full((3, d), 7.0)
    points[:, 0] = [0.0, 1.0, 3.0]
    if d > 1:
        points[:, 0], points[:, 1] = [0.0, 0.5, 1.0], [0.0, 0.5, 2.0]
    found = laplacian_sums(points, None, [1, 2, 4], bandwidth=1.0)
    np.testing.assert_allclose(found, expected, rtol=1e-15)


SIZES = [1, 2, 3, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 144, 500, 511, 512, 513, 1100]


@every_dimension
@pytest.mark.parametrize("exclude_self", [False, True])
def test_any_number_of_rows(d, exclude_self, rng):
    for n in SIZES:
        points, weights = rng.normal(size=(n, d)), rng.normal(size=n)
        agree(points, None, weights, 0.7, exclude_self=exclude_self, atol=1e-13)
    for n_t, n_s in [(1, 1), (1, 300), (300, 1), (200, 333)]:
        sources = rng.normal(size=(n_s, d)) + 0.3
        agree(rng.normal(size=(n_t, d)), sources, rng.random(n_s), 1.5)


@every_dimension
@pytest.mark.parametrize("m", [1, 2, 3, 9, 41])
def test_weight_columns_and_bandwidths(d, m, rng, monkeypatch):
    points, weights = rng.normal(size=(150, d)), rng.random((150, m))
    # Halves (shared exponentials, a chain longer than is squared), others, unsorted, a repeat.
    bandwidths = np.array([0.3, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.3, 3.0])
    got = agree(points, None, weights, bandwidths)
    single = laplacian_sums(points, None, weights[:, 0], bandwidth=bandwidths)
    np.testing.assert_allclose(single, got[:, :, 0], rtol=1e-13)
    monkeypatch.setattr("lore_core.kernel_sums.grid._PASS_BYTES", 0)
    agree(points[:90], None, weights[:90, 0], np.geomspace(0.01, 100, 30))


@every_dimension
def test_groups(d, rng):
    targets, sources = rng.normal(size=(200, d)), rng.normal(size=(250, d))
    weights = rng.random(250)
    g, h = rng.integers(-1, 6, size=200), rng.integers(-1, 5, size=250)
    h[h == 2] = 9  # group 2 has no source, group 9 no target
    got = agree(targets, sources, weights, 0.5, groups=(g, h))
    assert (got[(g == -1) | (g == 2)] == 0).all()
    agree(targets, None, weights[:200], 0.5, groups=(g, None), exclude_self=True)


@every_dimension
def test_numbers_of_groups_and_the_same_sources_change_nothing(d, rng):
    points, g = rng.normal(size=(60, d)), rng.integers(0, 3, size=60)
    one, other = (
        laplacian_sums(points, None, np.ones(60), bandwidth=1.0, target_groups=np.array(of)[g])
        for of in ([10**15, 5, 40_000], [2, 0, 1])
    )
    np.testing.assert_array_equal(one, other)
    none, same, copy = (
        laplacian_sums(points, sources, np.ones(60), bandwidth=1.0)
        for sources in (None, points, points.copy())
    )
    np.testing.assert_array_equal(same, none)
    np.testing.assert_allclose(copy, none, rtol=1e-13)


@every_dimension
def test_no_rows_and_no_cancelling(d):
    none, some = np.empty((0, d)), np.zeros((3, d))
    assert laplacian_sums(none, None, [], bandwidth=1.0).shape == (0,)
    assert laplacian_sums(none, some, np.ones((3, 2)), bandwidth=[1.0, 2.0]).shape == (2, 0, 2)
    assert (laplacian_sums(some, none, [], bandwidth=1.0) == 0).all()
    # The other point adds e^-60 beside the own 1: a subtraction would leave 0.
    points = np.zeros((2, d))
    points[1, 0] = 60.0
    got = laplacian_sums(points, None, np.ones(2), bandwidth=1.0, exclude_self=True)
    np.testing.assert_allclose(got, np.exp(-60.0), rtol=1e-13)


@every_dimension
@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e300])
def test_extreme_weights(d, scale, rng):
    points, weights = rng.normal(size=(80, d)), np.ones(80)
    got = laplacian_sums(points, None, weights * scale, bandwidth=1.0)
    expected = brute.kernel_sums(points, None, weights, 1.0)
    np.testing.assert_allclose(got / scale, expected, rtol=1e-12, atol=5e-324 / scale)


def test_halves_up_to_rounding_share_exponentials(rng):
    h = np.geomspace(0.3, 0.3 * 2**5, 16)  # three an octave, halves of each other but for rounding
    exact = snapped(h)
    np.testing.assert_allclose(exact, h, rtol=1e-15)
    assert len(np.unique(np.frexp(exact)[0])) == 3
    (once,) = as_passes({float(x): 0 for x in exact}, 1, 1)
    assert np.count_nonzero(~once.grid[1]) == 3
    agree(rng.normal(size=(90, 2)), None, rng.random(90), h)
    h = np.array([0.3, 0.3 * (1 + 1e-14), 0.7, 1e-310, 2e-310, 1e300])
    np.testing.assert_allclose(snapped(h), h, rtol=1e-15)
    assert len(np.unique(snapped(h))) == len(h)


def agree_with_and_without_self(points, weights, h):
    for exclude_self in (False, True):
        agree(points, None, weights, h, exclude_self=exclude_self, rtol=2e-12, atol=1e-250)


@every_dimension
def test_ties_duplicates_and_order(d, rng):
    for levels in (1, 2, 5):
        points = rng.integers(0, levels, size=(300, d))
        agree_with_and_without_self(points, rng.random(300), 1.3)
    points, weights = np.sort(rng.normal(size=(200, d)), axis=0), rng.random(200)
    agree_with_and_without_self(points, weights, 0.4)
    agree_with_and_without_self(points[::-1], weights, 0.4)
    points[:, -1] = points[::-1, -1].copy()
    agree_with_and_without_self(points, weights, 0.4)


@every_dimension
def test_dimensions_that_are_constant_within_targets_and_sources(d, rng):
    points, weights = rng.normal(size=(120, d)), rng.random(120)
    near = laplacian_sums(points, points + 1.0, weights, bandwidth=0.5)
    targets = np.column_stack([points, np.zeros(120)])
    sources = np.column_stack([points + 1.0, np.full(120, 1.0)])
    far = laplacian_sums(targets, sources, weights, bandwidth=0.5)
    np.testing.assert_allclose(near, far * np.exp(2.0), rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_shifts_and_scales_that_differ_by_dimension(d, rng):
    points = rng.normal(size=(200, d)) * np.array([1e-8, 1.0, 1e4, 1e-3])[:d]
    for h in (1e-8, 1.0, 1e4):
        agree_with_and_without_self(points, rng.random(200), h)
    points = rng.integers(-50, 50, size=(200, d)) / 64 + 2.0**30
    agree_with_and_without_self(points, rng.random(200), 0.2)


@every_dimension
@pytest.mark.parametrize("size", [1e-310, 1e300, 1.7e308])
def test_extreme_coordinates(d, size, rng):
    points = rng.choice([-1.0, -0.5, 0.5, 1.0], size=(150, d)) * size
    weights = rng.random(150)
    for h in (1e-3, 1.0, min(3 * size, 1e306) if size > 1 else 1.0):
        assert np.isfinite(agree(points, None, weights, h)).all()
    points = rng.integers(0, 3, size=(60, d)) * 1e-310
    agree(points, None, np.ones(60), 1e-310, rtol=1e-9)
    smallest = kernel_sums.laplacian_means(points, None, np.arange(60.0), bandwidth=5e-324)
    assert np.isfinite(smallest.mean).all()


POINTS = np.zeros((3, 2))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((POINTS, None, [1, 2]), {}, "'weights' must have as many rows as 'targets'; got 2 and 3"),
        ((POINTS, np.zeros((2, 2)), [1]), {}, "as many rows as 'sources'"),
        ((POINTS, np.zeros((2, 3)), [1, 1]), {}, "as many dimensions as 'targets'; got 3 and 2"),
        ((POINTS, None, [1, np.nan, 1]), {}, r"'weights' must be finite; got \[nan\] at row 1"),
        ((POINTS, None, ["a", "b", "c"]), {}, "'weights' must hold numbers only"),
        ((POINTS, None, np.ones((3, 0))), {}, "'weights' must have shape"),
        ((POINTS, None, np.ones((3, 1, 1))), {}, "'weights' must have shape"),
        ((POINTS * np.nan, None, [1] * 3), {}, "'targets' must be finite"),
        ((POINTS, [[np.inf, 0]], [1]), {}, "'sources' must be finite; got .* at row 0"),
        ((np.zeros((3, 0)), None, [1] * 3), {}, "'targets' must have shape"),
        ((POINTS, None, [1] * 3), {"bandwidth": 0.0}, "'bandwidth' must be a finite number above"),
        ((POINTS, None, [1] * 3), {"bandwidth": [1, np.inf]}, "'bandwidth' must be a finite"),
        (
            (POINTS, None, [1] * 3),
            {"bandwidth": "wide"},
            "'bandwidth' must be a finite number above 0",
        ),
        ((POINTS, None, [1] * 3), {"bandwidth": []}, "vector of such numbers"),
        ((POINTS, None, [1] * 3), {"bandwidth": [[1.0]]}, "vector of such numbers"),
        ((POINTS, None, [1] * 3), {"target_groups": [0, 1]}, "'target_groups' must have as many"),
        ((POINTS, None, [1] * 3), {"target_groups": [0, 1, -2]}, "got -2 at row 2"),
        ((POINTS, None, [1] * 3), {"target_groups": [0, 1, 0.5]}, "must be whole numbers"),
        ((POINTS, None, [1] * 3), {"target_groups": [[0, 1, 0]]}, "must be one-dimensional"),
        (
            (POINTS, None, [1] * 3),
            {"target_groups": [0, 1, 1], "source_groups": [0, 1, 0]},
            "'source_groups' must be left out",
        ),
        ((POINTS, POINTS + 1, [1] * 3), {"target_groups": [0] * 3}, "'source_groups' is missing"),
        ((POINTS, POINTS + 1, [1] * 3), {"exclude_self": True}, "'exclude_self' must be False"),
        ((POINTS, None, [1] * 3), {"n_jobs": 0}, "'n_jobs' must be a whole number"),
    ],
)
def test_refused(arguments, options, message):
    with pytest.raises(InputError, match=message):
        laplacian_sums(*arguments, **({"bandwidth": 1.0} | options))


def test_what_is_taken():
    with pytest.raises(InputError, match="'values' must be finite"):
        laplacian_means(POINTS, None, [1, 1, np.inf], bandwidth=1.0)
    found = laplacian_sums([0.0, 1.0], None, [1, 1], bandwidth=1.0)
    np.testing.assert_allclose(found, 1 + np.exp(-1.0))
    found = laplacian_sums(SimpleNamespace(coordinates=POINTS), None, [1] * 3, bandwidth=1.0)
    np.testing.assert_array_equal(found, 3.0)
