import numpy as np
import pytest
from scipy import stats

import lore_core as lore
from lore_core.inference.significance import two_sided_p_value


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.fixture
def calibrated(rng):
    """400 rows of right confidences: c, a, z."""
    c = rng.beta(5, 1, 400)
    return c, (rng.random(400) < c).astype(float), rng.normal(size=(400, 2))


def _weights(c, z, gamma, n_bins):
    index = np.minimum((c * n_bins).astype(int), n_bins - 1)
    k = np.exp(-np.abs(z[:, None] - z[None]).sum(axis=2) / (z.shape[1] * gamma))
    k[index[:, None] != index[None]] = 0.0
    return k / k.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("gamma", [0.05, 0.3, 4.0])
def test_moments_are_those_of_the_weighted_sum(calibrated, gamma):
    c, a, z = calibrated
    found = lore.local_significance(c, a, z, gamma=gamma, n_bins=5, min_effective_size=2.0)
    w = _weights(c, z, gamma, 5)
    np.testing.assert_allclose(found.signed, w @ (c - a), atol=1e-12)
    np.testing.assert_allclose(found.standard_error, np.sqrt(w**2 @ (c * (1 - c))), rtol=1e-10)
    np.testing.assert_allclose(found.effective_size, 1 / (w**2).sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(found.z, (w @ (c - a)) / np.sqrt(w**2 @ (c * (1 - c))), rtol=1e-9)
    third = w**3 @ (c * (1 - c) * (2 * c - 1))
    skewness = third / found.standard_error**3
    p = two_sided_p_value(found.signed, found.standard_error, skewness, found.effective_size)
    shown = found.effective_size >= 2
    np.testing.assert_allclose(found.p_value[shown], p[shown], rtol=1e-7)
    assert np.isnan(found.p_value[~shown]).all()


def test_moments_of_weighted_rows_against_simulation(calibrated, rng):
    """S = Σ w k (c − a) / Σ w k of drawn outcomes: how it scatters, and how often p is small."""
    c, a, z = calibrated
    weight = rng.lognormal(size=400)
    k = _weights(c, z, 0.5, 1) * weight
    k /= k.sum(axis=1, keepdims=True)
    found = lore.local_significance(c, a, z, gamma=0.5, n_bins=1, weights=7 * weight)
    np.testing.assert_allclose(found.signed, k @ (c - a), atol=1e-12)
    np.testing.assert_allclose(found.effective_size, 1 / (k**2).sum(axis=1), rtol=1e-9)
    drawn = np.stack([k @ (c - (rng.random(400) < c)) for _ in range(4000)])
    np.testing.assert_allclose(drawn.std(axis=0), found.standard_error, rtol=0.08)
    third = k**3 @ (c * (1 - c) * (2 * c - 1)) / found.standard_error**3
    p = two_sided_p_value(found.signed, found.standard_error, third, found.effective_size)
    shown = found.tested
    np.testing.assert_allclose(found.p_value[shown], p[shown], rtol=1e-7)
    plain = lore.local_significance(c, a, z, gamma=0.5, n_bins=1)
    assert np.median(found.standard_error / plain.standard_error) > 1.2
    small = [
        two_sided_p_value(one, found.standard_error, third, found.effective_size)[shown] <= 0.05
        for one in drawn[:1000]
    ]
    assert 0.03 < np.mean(small) < 0.06
    with pytest.raises(lore.InputError, match="as many rows as 'weights'"):
        lore.local_significance(c, a, z, weights=weight[1:])


def _equal_rows(c, n):
    """p-values of n rows at one place, S = mistakes/n − (1 − c), and their exact distribution."""
    wrong = np.arange(0, n + 1)
    error, skew = np.sqrt(c * (1 - c) / n), (2 * c - 1) / np.sqrt(n * c * (1 - c))
    p = two_sided_p_value(wrong / n - (1 - c), np.full(n + 1, error), np.full(n + 1, skew), n)
    return p, stats.binom.pmf(wrong, n, 1 - c)


@pytest.mark.parametrize(("c", "n"), [(0.9, 30), (0.98, 100), (0.6, 25), (0.3, 60)])
def test_p_values_of_equal_rows_are_blakers(c, n):
    p, chance = _equal_rows(c, n)
    wrong = np.arange(0, n + 1)
    tail = np.minimum(np.cumsum(chance), np.cumsum(chance[::-1])[::-1])
    # Blaker's definition: outcomes whose smaller tail is no larger than the observed one.
    exact = np.array([chance[tail <= seen * (1 + 1e-9)].sum() for seen in tail])
    middle = exact - 0.5 * chance
    small = (np.abs(wrong - n * (1 - c)) > 1) & (exact < 0.15) & (exact > 5e-4)
    assert small.sum() >= 4
    # Near the mid-p, which is right on average, and never far above the exact one.
    assert (p[small] >= 0.8 * middle[small]).all()
    assert (p[small] <= 1.5 * exact[small]).all()


@pytest.mark.parametrize("n", [10, 20, 50, 200, 1000])
@pytest.mark.parametrize("confidences", [(0.2, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 0.98)])
def test_five_in_a_hundred_equal_places_have_p_below_five_percent(n, confidences):
    shares = []
    for c in np.linspace(*confidences, 60):
        p, chance = _equal_rows(c, n)
        shares.append([chance[p <= alpha].sum() for alpha in (0.05, 0.01, 0.001)])
    five, one, tenth = np.mean(shares, axis=0)
    assert 0.035 <= five <= 0.055
    assert one <= 0.0105
    assert tenth <= 0.0011


def test_the_light_side_has_no_end():
    """All right at 90 %: rare, not impossible, as the gamma distribution of a few rows says."""
    for n in (12, 40, 200):
        p, _ = _equal_rows(0.9, n)
        assert p[0] >= 0.9 * 0.9**n
    # Of ten rows promised 99 % one wrong is 1 in 10; none wrong is no news, so the tail is one.
    p, chance = _equal_rows(0.99, 10)
    assert p[0] == 1.0
    assert 0.3 * chance[1] < p[1] < chance[1:].sum()


def test_p_value_limits():
    one, many = np.ones(1), np.inf
    # No skewness: the normal distribution; continuous in the skewness, on both sides.
    normal = two_sided_p_value(2 * one, one, 0 * one, many)
    assert normal[0] == pytest.approx(2 * stats.norm.sf(2.0))
    for skew in (1e-3, 1e-4, 2e-5, -2e-5, -1e-4, -1e-3):
        p = two_sided_p_value(2 * one, one, skew * one, many)
        assert p[0] == pytest.approx(normal[0], rel=2 * abs(skew) + 1e-6)
    assert two_sided_p_value(-2 * one, one, -0.5 * one, 30) == two_sided_p_value(
        2 * one, one, 0.5 * one, 30
    )
    # A confidence of 1 is never wrong.
    assert two_sided_p_value(0.1 * one, 0 * one, 0 * one, 30)[0] == 0.0
    assert two_sided_p_value(0 * one, 0 * one, 0 * one, 30)[0] == 1.0
    assert np.isnan(two_sided_p_value(np.nan * one, one, 0 * one, 30)[0])


@pytest.mark.parametrize("skew", [-3.0, -0.5, 0.0, 0.5, 3.0])
def test_larger_errors_are_rarer(skew):
    t = np.linspace(0.0, 12.0, 400)
    p = two_sided_p_value(t, np.ones(400), np.full(400, skew), 1e6)
    assert (np.diff(p) <= 1e-15).all()
    assert p[0] == 1.0


def test_certain_rows():
    z = np.zeros((20, 1))
    right = lore.local_significance(np.ones(20), np.ones(20), z)
    assert (right.p_value == 1).all()
    assert (right.z == 0).all()
    one_wrong = lore.local_significance(np.ones(20), np.arange(20) > 0, z)
    assert (one_wrong.p_value == 0).all()
    assert one_wrong.significant(0.01).all()


def test_too_few_neighbours_are_not_tested(calibrated):
    c, a, z = calibrated
    found = lore.local_significance(c, a, z, gamma=1e-4)
    assert not found.tested.any()
    assert found.masked_share == 1.0
    assert not found.significant(0.5).any()
    found = lore.local_significance(np.minimum(c + 0.1, 1.0), a, z, gamma=0.5, n_bins=1)
    p = found.p_value[found.tested]
    n = len(p)
    order = np.argsort(p)
    factor = n * (1 / np.arange(1, n + 1)).sum() / np.arange(1, n + 1)
    expected = np.empty(n)
    expected[order] = np.minimum(np.minimum.accumulate((p[order] * factor)[::-1])[::-1], 1)
    np.testing.assert_allclose(found.adjusted[found.tested], expected)
    largest = found.p_value[found.significant(0.05)].max()
    assert 0 < largest < 0.05
    np.testing.assert_array_equal(found.significant(0.05), found.p_value <= largest)


def test_calibrated_rows_are_rarely_called_significant():
    """FDR under the null is the chance of any discovery at all: at most q (here almost never)."""
    any_found, small = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        c = 1 - rng.exponential(0.05, 500).clip(0, 0.5)
        a = (rng.random(500) < c).astype(float)
        found = lore.local_significance(c, a, rng.normal(size=(500, 2)), gamma=0.2)
        any_found.append(found.significant(0.2).any())
        small.append((found.p_value[found.tested] <= 0.05).mean())
    assert np.mean(any_found) <= 0.2
    assert 0.01 <= np.mean(small) <= 0.065


@pytest.mark.parametrize("q", [0.0, 1.0, -0.1, np.nan])
def test_rates_that_are_none(calibrated, q):
    c, a, z = calibrated
    with pytest.raises(lore.InputError, match="'q' must lie strictly between 0 and 1"):
        lore.local_significance(c, a, z).significant(q)
