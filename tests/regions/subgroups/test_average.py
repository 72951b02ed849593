import numpy as np
import pytest
from scipy import stats

from lore_core.regions.subgroups.average import Average, upper_tail


def _rows(seed, n=400):
    rng = np.random.default_rng(seed)
    c = rng.uniform(0.55, 0.99, n)
    return c, (rng.random(n) < c).astype(float), rng


def test_a_hand_derived_case():
    c = np.array([0.8, 0.8, 0.6, 0.6])
    a = np.array([1.0, 0.0, 1.0, 1.0])
    found = Average.of(c, a, "zero").of_rows(np.array([1, 2]))
    # Residuals 0.8 and −0.4.
    assert found.n == 2
    assert found.mean == pytest.approx(0.2)
    assert found.error == pytest.approx(np.sqrt(0.16 + 0.24) / 2)
    # They scatter by 0.6 around it, and it is the mean of two.
    assert found.scatter == pytest.approx(0.6 / np.sqrt(2))
    # Against the average, mean residual (−0.2 + 0.8 − 0.4 − 0.4)/4 = −0.05.
    assert Average.of(c, a, "average").of_rows(np.array([1, 2])).mean == pytest.approx(0.25)


@pytest.mark.parametrize("against", ["average", "same confidence"])
def test_all_rows_are_no_worse_than_their_average(against):
    c, a, _ = _rows(0)
    found = Average.of(c, a, against).of_rows(np.arange(len(c)))
    assert found.mean == pytest.approx(0.0, abs=1e-12)
    assert found.error == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("against", ["zero", "average", "same confidence"])
def test_moments_are_those_of_simulated_outcomes(against):
    c, _, rng = _rows(1, 600)
    inside = rng.random(600) < 0.3
    draws = []
    for _ in range(1500):
        a = (rng.random(600) < c).astype(float)
        draws.append(float(Average.of(c, a, against).of_rows(inside).mean))
    said = Average.of(c, (rng.random(600) < c).astype(float), against).of_rows(inside)
    assert np.mean(draws) == pytest.approx(0.0, abs=4 * np.std(draws) / np.sqrt(1500))
    assert np.std(draws) == pytest.approx(float(said.error), rel=0.1)


def test_p_values_are_near_the_exact_ones():
    # Rows of one confidence: the number of mistakes is binomial.
    n, c = 60, 0.9
    for mistakes in range(3, 16):
        a = np.ones(n)
        a[:mistakes] = 0
        found = Average.of(np.full(n, c), a, "zero").of_rows(np.arange(n))
        exact = stats.binom.sf(mistakes - 1, n, 1 - c)
        assert float(found.p_value(1)) == pytest.approx(exact, rel=0.35)


def test_the_tail_of_no_skewness_is_normal_and_of_an_exponential_is_its_own():
    t = np.linspace(-3, 5, 9)
    assert upper_tail(t, np.zeros(9)) == pytest.approx(stats.norm.sf(t))
    assert upper_tail(t, np.full(9, 2.0)) == pytest.approx(np.minimum(np.exp(-(t + 1)), 1))
    assert upper_tail(-t, np.full(9, -2.0)) == pytest.approx(1 - np.minimum(np.exp(-(t + 1)), 1))
