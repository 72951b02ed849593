import brute
import numpy as np
import pytest

from lore_core.data.validation import InputError
from lore_core.kernel_sums import laplacian_means, laplacian_sums
from lore_core.kernel_sums.blocked import distances
from lore_core.kernel_sums.compiled import compiled
from lore_core.kernel_sums.exponential import half_power, square
from lore_core.kernel_sums.fixed_point import as_fixed_point
from lore_core.kernel_sums.grid import rates
from lore_core.kernel_sums.pairs import kernel_values


@pytest.fixture(autouse=True)
def _round_small_problems_too(monkeypatch):
    monkeypatch.setattr("lore_core.kernel_sums.plans._WORTH_ROUNDING", 0.0)


def _finest_bandwidth(points, tolerance=1e-6):
    """The smallest bandwidth (within a factor of 2) at which coordinates are still rounded."""
    h = 1e9
    while as_fixed_point(points.T.copy(), h / 2, tolerance) is not None:
        h /= 2
    return h


@pytest.mark.parametrize("d", [8, 10, 100])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_means_are_within_the_tolerance(d, shift, rng):
    points = rng.normal(size=(400, d)) * rng.uniform(0.1, 3.0, size=d) + shift
    values = rng.uniform(-1, 1, size=400)
    finest = _finest_bandwidth(points)
    usual = max(finest, 0.2 * d)
    for h, tolerance in [(finest, 1e-6), (usual, 1e-6), (_finest_bandwidth(points, 1e-4), 1e-4)]:
        got = laplacian_means(points, None, values, bandwidth=h, tolerance=tolerance)
        mean, size = brute.kernel_means(points, None, values, h)
        assert np.abs(got.mean - mean).max() <= tolerance * np.ptp(values) / 2
        np.testing.assert_allclose(got.effective_size, size, rtol=5 * tolerance)
        sums = laplacian_sums(points, None, values + 1, bandwidth=h, tolerance=tolerance)
        exact = laplacian_sums(points, None, values + 1, bandwidth=h, tolerance=0)
        np.testing.assert_allclose(sums, exact, rtol=tolerance)
        # Where terms of several sources count, rounding shows: it is really done.
        assert h < usual or (sums != exact).any()


def test_the_bound_is_nearly_reached():
    # Every coordinate of one source is rounded up, every one of the other down.
    d = 16
    points = np.zeros((6, d))
    points[:2] = [[-1.0], [1.0]]
    _, unit = as_fixed_point(points.T.copy(), 1.0, 1.0e-4)
    centre = points.mean(axis=0)
    points[2:4] = centre + 0.25 + 0.49 * unit
    points[4:] = centre + 0.25 - 0.49 * unit
    points[[3, 5]] *= -1
    columns, again = as_fixed_point(points.T.copy(), 1.0, 1.0e-4)
    assert again == unit
    whole = np.empty(6 * 6, dtype=np.int32)
    distances(columns.T.copy(), 0, 6, columns, 0, 6, whole)
    exact = np.abs(points[:, None] - points[None]).sum(axis=2)
    error = np.abs(whole.reshape(6, 6) * unit - exact).max()
    assert 0.9 * d * unit < error <= d * unit


def test_distances_are_exact(rng):
    columns = rng.integers(-(2**25), 2**25, size=(19, 40)).astype(np.int32)
    out = np.empty(3 * 40, dtype=np.int32)
    distances(columns.T.copy(), 5, 3, columns, 0, 40, out)
    wide = columns.astype(np.int64)
    expected = np.abs(wide[:, 5:8, None] - wide[:, None, :]).sum(axis=0)
    np.testing.assert_array_equal(out.reshape(3, 40), expected)
    for points, h in (
        (rng.normal(size=(50, 7)), 1e6),
        (np.zeros((9, 0)), 1),
        (np.zeros((9, 5)), 1),
    ):
        assert as_fixed_point(points.T.copy(), h, 1e-4) is None


@pytest.mark.parametrize(
    ("scale", "h"),
    [
        (np.ones(12), 1e-3),  # a small bandwidth
        (np.r_[1e9, np.ones(11)], 12.0),  # one dimension far larger than the others
        (np.full(12, 1e200), 1.0),
        (np.full(12, 1e300), 1e300),  # sums that overflow
        (np.full(12, 1e-300), 1e-300),
    ],
)
def test_where_the_bound_does_not_hold_nothing_is_rounded(scale, h, rng):
    points = rng.normal(size=(150, 12)) * scale
    assert as_fixed_point(points.T.copy(), h, 1e-6) is None
    values = rng.random(150)
    got = laplacian_means(points, None, values, bandwidth=h)
    np.testing.assert_allclose(got.mean, brute.kernel_means(points, None, values, h)[0], rtol=1e-12)


def test_far_offsets_cost_nothing_and_equal_points_stay_equal(rng):
    points, values = rng.integers(0, 4096, size=(200, 10)) / 1024.0, rng.random(200)
    near = laplacian_means(points, None, values, bandwidth=4.0)
    far = laplacian_means(points + 2.0**40, None, values, bandwidth=4.0)
    np.testing.assert_allclose(far.mean, near.mean, rtol=1e-12)
    twice = np.repeat(rng.normal(size=(30, 20)), 2, axis=0)
    got = laplacian_sums(twice, None, np.ones(60), bandwidth=20.0, tolerance=1e-4)
    np.testing.assert_array_equal(got[::2], got[1::2])
    h = _finest_bandwidth(twice)
    assert (laplacian_sums(twice, None, np.ones(60), bandwidth=h) >= 2.0).all()


@pytest.mark.parametrize("tolerance", [-1e-9, 1.5, np.nan, "little", None])
def test_refused_tolerance(tolerance):
    for call in (laplacian_sums, laplacian_means):
        with pytest.raises(InputError, match="'tolerance' must be a number in"):
            call(np.zeros((3, 2)), None, [1, 1, 1], bandwidth=1.0, tolerance=tolerance)


@compiled
def _half_powers(a, out):
    for i in range(len(a)):
        out[i] = half_power(a[i])


def test_half_power_is_exact_to_rounding(rng):
    a = np.concatenate([rng.uniform(0, 994, 50_000), 10 ** rng.uniform(-320, 2.9, 50_000), [0.0]])
    out = np.empty_like(a)
    _half_powers(a, out)
    np.testing.assert_allclose(out, np.exp2(-a), rtol=4e-16)
    assert out[-1] == 1.0
    ends = np.array([995.0, 1000.0, 1080.0, 1e300, np.inf])
    _half_powers(ends, out)
    np.testing.assert_array_equal(out[: len(ends)], 0.0)
    assert square(0.5) == 0.25
    assert square(1e-149) == 1e-149**2
    assert square(1e-155) == 0.0


@pytest.mark.parametrize("h", [5e-324, 1e-310, 1e-290, 1e-6, 1.0, 1e6, 1e300, 1.7e308])
def test_kernel_values_at_any_bandwidth(h):
    with np.errstate(over="ignore", under="ignore"):
        distance = np.array([0.0, 0.5, 1.0, 3.0, 100.0, 680.0, 1e300, np.inf]) * h
    k = np.empty(len(distance))
    (lift,), (rate,) = rates(np.array([h]))
    kernel_values(distance, len(distance), lift, rate, False, k)
    with np.errstate(over="ignore"):
        expected = np.exp(-distance / h)
    np.testing.assert_allclose(k, expected, rtol=1e-12, atol=1e-299)
