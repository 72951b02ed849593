import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression

from lore_core import BetaCalibration, Dataset, PlattScaling
from lore_core.recalibration.beta_calibration import total_loss

CURVE = np.array([1.5, 0.8, 0.3])


def told(n, seed, curve=CURVE):
    """P(class 1) = p, delivered by a beta curve."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.01, 0.99, n)
    a, b, m = curve
    share = 1 / (1 + np.exp(-(a * np.log(p) - b * np.log1p(-p) + m)))
    return Dataset(p, (rng.random(n) < share).astype(int)), share


def test_gradient():
    rng = np.random.default_rng(0)
    ends, targets = rng.normal(size=(20, 3)), rng.random(20)
    at = rng.normal(size=3)
    numeric = approx_fprime(at, lambda c: total_loss(c, ends, targets)[0], 1e-7)
    np.testing.assert_allclose(total_loss(at, ends, targets)[1], numeric, atol=1e-4)


def test_it_finds_its_own_curve():
    data, share = told(40_000, 1)
    method = BetaCalibration().fit(data)
    np.testing.assert_allclose(method.coefficients_, CURVE, atol=0.06)
    np.testing.assert_allclose(method.recalibrate(data).probabilities[:, 1], share, atol=0.01)


def test_it_is_a_logistic_regression_on_both_logarithms():
    data, _ = told(3000, 2)
    p = data.probabilities[:, 1]
    ends = np.column_stack([np.log(p), -np.log1p(-p)])
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(ends, data.labels)
    found = BetaCalibration().fit(data).coefficients_
    # Platt's targets count a row and a half otherwise.
    np.testing.assert_allclose(found, [*model.coef_[0], model.intercept_[0]], atol=0.01)


def test_a_slope_below_zero_is_none():
    data, _ = told(4000, 4, (1.5, -0.5, 0.0))
    a, b, _ = BetaCalibration().fit(data).coefficients_
    assert a > 0
    assert b == 0


def test_of_more_classes_it_is_a_curve_of_the_confidence():
    rng = np.random.default_rng(5)
    vectors = rng.dirichlet(np.full(4, 0.4), 20_000)
    top = vectors.argmax(axis=1)
    c = vectors.max(axis=1)
    right = rng.random(len(c)) < 1 / (1 + ((1 - c) / c) ** 0.6)
    labels = np.where(right, top, (top + 1) % 4)
    data = Dataset(vectors, labels)
    platt = PlattScaling().fit(data).recalibrate(data).confidence
    ours = BetaCalibration().fit(data).recalibrate(data)
    np.testing.assert_allclose(ours.confidence, platt, atol=0.02)


@pytest.mark.parametrize("n", [1, 2, 30])
def test_outcomes_that_are_all_alike(n):
    data, _ = told(n, 6)
    method = BetaCalibration().fit(Dataset(data.probabilities, np.ones(n, dtype=int)))
    after = method.recalibrate(data).probabilities
    assert np.isfinite(method.coefficients_).all()
    assert ((after > 0) & (after < 1)).all()
