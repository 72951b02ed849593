import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression as SklearnIsotonic
from sklearn.linear_model import LogisticRegression
from synthetic import overconfident

from lore_core import (
    BetaCalibration,
    Dataset,
    IsotonicRegression,
    MMCEOptimization,
    PlattScaling,
    expected_calibration_error,
)
from lore_core.recalibration import VennAbers, maximum_mean_calibration_error
from lore_core.recalibration.logistic import soft_loss
from lore_core.recalibration.registry import offered_recalibrators


def binary(confidence, right):
    c = np.asarray(confidence, dtype=float)
    return Dataset(np.column_stack([c, 1 - c]), 1 - np.asarray(right), predictions=np.zeros(len(c)))


def test_platt_and_mmce_by_hand():
    # 3 right, 1 wrong: targets 4/5 and 1/3, mean (3 · 0.8 + 1/3) / 4 = 41/60.
    data = binary([0.9] * 4, [1, 1, 1, 0])
    after = PlattScaling().fit(data).recalibrate(data)
    np.testing.assert_allclose(after.confidence, 41 / 60, rtol=1e-12)
    # r = (−0.9, 0.4), |c − c'| = 0.3: 0.81 + 0.16 − 2 · 0.36 e^(−0.75), over 4.
    expected = np.sqrt((0.97 - 0.72 * np.exp(-0.75)) / 4)
    assert maximum_mean_calibration_error([0.9, 0.6], [0, 1]) == pytest.approx(expected)


def test_platt_minimises_the_cross_entropy_of_smoothed_targets():
    data, _ = overconfident(700)
    a = data.outcome
    target = np.where(a == 1, (a.sum() + 1) / (a.sum() + 2), 1 / (len(a) - a.sum() + 2))
    odds = np.log(data.confidence) - np.log1p(-data.confidence)

    def loss(parameters):
        z = parameters[0] * odds + parameters[1]
        return np.sum(np.logaddexp(0, z) - target * z)

    found = minimize(loss, [1.0, 0.0], method="BFGS", options={"gtol": 1e-7})
    method = PlattScaling().fit(data)
    assert [method.slope_, method.intercept_] == pytest.approx(found.x, abs=1e-4)
    expected = expit(method.slope_ * odds + method.intercept_)
    np.testing.assert_allclose(method.recalibrate(data).confidence, expected, rtol=1e-9)


@pytest.mark.parametrize("right", [[1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 1, 1]])
def test_platt_stays_finite_where_outcomes_are_all_alike_or_separated(right):
    data = binary([0.6, 0.7, 0.8, 0.9], right)
    after = PlattScaling().fit(data).recalibrate(data)
    assert ((after.confidence > 0) & (after.confidence < 1)).all()
    certain = Dataset([[1.0, 1e-30, 0.0], [1.0, 0.0, 0.0], [0.7, 0.2, 0.1]], [0, 1, 1])
    assert np.isfinite(PlattScaling().fit(certain).recalibrate(certain).probabilities).all()


def test_isotonic_by_hand(rows):
    # Right: 0, 1, 0, 1 as confidence rises; the middle pair is pooled to 1/2.
    data = binary([0.6, 0.7, 0.8, 0.9], [0, 1, 0, 1])
    method = IsotonicRegression().fit(data)
    new = method.recalibrate(binary([0.5, 0.7, 0.75, 0.85, 0.99], [1] * 5)).confidence
    assert new.tolist() == pytest.approx([0.0, 0.5, 0.5, 0.75, 1.0])
    calibration, _, evaluation, _ = rows
    theirs = SklearnIsotonic(y_min=0, y_max=1, out_of_bounds="clip")
    theirs.fit(calibration.confidence, calibration.outcome)
    ours = IsotonicRegression().fit(calibration).recalibrate(evaluation)
    expected = theirs.predict(evaluation.confidence)
    np.testing.assert_allclose(ours.confidence, expected, atol=1e-12)


def double_sum(c, a):
    r = a - c
    kernel = np.exp(-np.abs(c[:, None] - c[None, :]) / 0.4)
    return np.sqrt(r @ kernel @ r) / len(c)


def test_mmce_optimization_finds_the_smallest_over_all_temperatures():
    data, _ = overconfident(400)
    c, a = data.confidence, data.outcome
    assert maximum_mean_calibration_error(c, a) == pytest.approx(double_sum(c, a), rel=1e-10)
    method = MMCEOptimization().fit(data)

    def at(temperature):
        p = data.probabilities ** (1 / temperature)
        p = p / p.sum(axis=1, keepdims=True)
        return double_sum(p.max(axis=1), data.outcome)

    grid = min(at(t) for t in np.geomspace(0.05, 20, 300))
    assert at(method.temperature_) <= grid + 1e-12
    assert 1.5 < method.temperature_ < 4
    calibrated, _ = overconfident(8000, sharpness=1.0)
    assert MMCEOptimization().fit(calibrated).temperature_ == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("k", [2, 5])
def test_every_method_keeps_the_class_and_the_sum(k):
    calibration, cal_z = overconfident(400, k=k, seed=1)
    evaluation, z = overconfident(300, k=k, seed=2)
    before = expected_calibration_error(evaluation.confidence, evaluation.outcome)
    methods = offered_recalibrators(0.4, 5)
    assert len({method.label for method in methods}) == len(methods)
    for method in methods:
        local = method.needs_embedding
        method.fit(calibration, cal_z if local else None)
        after = method.recalibrate(evaluation, z if local else None)
        assert np.array_equal(after.predictions, evaluation.predictions), method.label
        np.testing.assert_allclose(after.probabilities.sum(axis=1), 1, err_msg=method.label)
        assert (after.probabilities >= 0).all()
        error = expected_calibration_error(after.confidence, after.outcome)
        assert error < before or method.label == "No recalibration", method.label


def test_venn_abers_is_isotonic_regression_with_each_row_as_each_outcome():
    rng = np.random.default_rng(0)
    # Ties among calibration rows, and with new ones; new ones beyond both ends.
    c = rng.integers(55, 96, 120) / 100
    outcome = (rng.random(120) < c - 0.2).astype(float)
    data = Dataset(np.column_stack([c, 1 - c]), np.where(outcome == 1, 0, 1))
    method = VennAbers().fit(data)
    new = np.concatenate([np.arange(51, 100) / 100, [0.7003, 0.8811]])
    found = method.recalibrate(Dataset(np.column_stack([new, 1 - new]), np.zeros(len(new), int)))
    for confidence, text in zip(new, found.confidence, strict=True):
        p = []
        for added in (0.0, 1.0):
            fit = SklearnIsotonic(y_min=0, y_max=1, out_of_bounds="clip")
            fit.fit(np.append(c, confidence), np.append(outcome, added))
            p.append(float(fit.predict([confidence])[0]))
        assert text == pytest.approx(p[1] / (1 - p[0] + p[1]), abs=1e-9)


def test_venn_abers_without_rows_is_that_of_joined_confidences():
    data, _ = overconfident(400, seed=1)
    method = VennAbers().fit(data)
    saved = method.without_rows()
    assert saved.count_.sum() == 400
    assert saved.count_.min() >= 10
    after, exact = (item.recalibrate(data).confidence for item in (saved, method))
    assert 0 < exact.min() < exact.max() < 1
    assert np.abs(after - exact).mean() < 0.03


CURVE = np.array([1.5, 0.8, 0.3])


def reported_rows(n, seed, curve=CURVE):
    """P(class 1) = p, delivered by a beta curve."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.01, 0.99, n)
    a, b, m = curve
    share = 1 / (1 + np.exp(-(a * np.log(p) - b * np.log1p(-p) + m)))
    return Dataset(p, (rng.random(n) < share).astype(int)), share


def test_gradient_of_beta_calibration():
    rng = np.random.default_rng(0)
    ends, targets = rng.normal(size=(20, 3)), rng.random(20)
    at = rng.normal(size=3)
    numeric = approx_fprime(at, lambda c: soft_loss(ends @ c, targets)[0], 1e-7)
    gradient = ends.T @ soft_loss(ends @ at, targets)[1]
    np.testing.assert_allclose(gradient, numeric, atol=1e-4)
    data, share = reported_rows(40_000, 1)
    method = BetaCalibration().fit(data)
    np.testing.assert_allclose(method.coefficients_, CURVE, atol=0.06)
    np.testing.assert_allclose(method.recalibrate(data).probabilities[:, 1], share, atol=0.01)
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


def test_beta_calibration_is_a_logistic_regression_on_both_logarithms():
    data, _ = reported_rows(3000, 2)
    p = data.probabilities[:, 1]
    ends = np.column_stack([np.log(p), -np.log1p(-p)])
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(ends, data.labels)
    found = BetaCalibration().fit(data).coefficients_
    # Platt's targets count a row and a half otherwise.
    np.testing.assert_allclose(found, [*model.coef_[0], model.intercept_[0]], atol=0.01)
    # A slope below zero is none.
    data, _ = reported_rows(4000, 4, (1.5, -0.5, 0.0))
    a, b, _ = BetaCalibration().fit(data).coefficients_
    assert a > 0
    assert b == 0


@pytest.mark.parametrize("n", [1, 2, 30])
def test_beta_calibration_of_outcomes_that_are_all_alike(n):
    data, _ = reported_rows(n, 6)
    method = BetaCalibration().fit(Dataset(data.probabilities, np.ones(n, dtype=int)))
    after = method.recalibrate(data).probabilities
    assert np.isfinite(method.coefficients_).all()
    assert ((after > 0) & (after < 1)).all()
