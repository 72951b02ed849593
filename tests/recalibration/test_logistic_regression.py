import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression

from lore_core import Dataset, InputError, PlattScaling, negative_log_likelihood
from lore_core.recalibration import BoostingRecalibration, LogisticRecalibration
from lore_core.recalibration.logistic_regression import LogisticProblem


def rows(n, seed, effect=1.0, k=3):
    """Confidences that are wrong along the second feature and where class 1 is predicted."""
    rng = np.random.default_rng(seed)
    vectors = rng.dirichlet(np.full(k, 0.6), n)
    x = rng.normal(size=(n, 4)) * [1, 10, 0, 5] + 7
    top, c = vectors.argmax(axis=1), vectors.max(axis=1)
    odds = 0.7 * np.log(c / (1 - c)) + effect * ((x[:, 1] - 7) / 10 - (top == 1)) + 0.3
    right = rng.random(n) < 1 / (1 + np.exp(-odds))
    return Dataset(vectors, np.where(right, top, (top + 1) % k), features=x)


def nll(data):
    return negative_log_likelihood(data.probabilities, data.labels)


def test_gradient():
    rng = np.random.default_rng(0)
    problem = LogisticProblem(rng.normal(size=(25, 3)), rng.integers(0, 4, 25), rng.random(25), 4)
    at = rng.normal(size=8)
    value, gradient = problem.penalised(at, 0.6)
    numeric = approx_fprime(at, lambda p: problem.penalised(p, 0.6)[0], 1e-7)
    np.testing.assert_allclose(gradient, numeric, atol=1e-4)
    assert value == pytest.approx(problem.loss(at) + 0.3 * (at[1:-1] ** 2).sum())


def test_it_is_scikit_learns_regression():
    data = rows(4000, 1)
    method = LogisticRecalibration(strength=1e-9).fit(data)
    c = data.confidence
    design = np.column_stack(
        [np.log(c / (1 - c)), data.features, *(data.predictions == k for k in (1, 2))]
    )
    deviation = design.std(axis=0)
    design = (design - design.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(design, data.outcome)
    theirs = model.predict_proba(design)[:, 1]
    np.testing.assert_allclose(method.recalibrate(data).confidence, theirs, atol=2e-3)


def test_it_finds_the_feature_and_the_class():
    calibration, evaluation = rows(3000, 2), rows(3000, 3)
    method = LogisticRecalibration().fit(calibration)
    assert method.slope_ == pytest.approx(0.7, abs=0.1)
    np.testing.assert_allclose(method.weights_, [0, 1, 0, 0], atol=0.12)
    assert method.of_class_[1] - method.of_class_[0] == pytest.approx(-1, abs=0.25)
    platt = PlattScaling().fit(calibration).recalibrate(evaluation)
    assert nll(method.recalibrate(evaluation)) < nll(platt) - 0.05


def test_where_features_say_nothing_it_is_platt_scaling():
    calibration, evaluation = rows(1000, 4, effect=0), rows(1000, 5, effect=0)
    method = LogisticRecalibration().fit(calibration)
    platt = PlattScaling().fit(calibration).recalibrate(evaluation).confidence
    np.testing.assert_allclose(method.recalibrate(evaluation).confidence, platt, atol=0.03)


METHODS = [LogisticRecalibration(), BoostingRecalibration()]


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("n", [1, 2, 5, 60, 81])
def test_few_rows(method, n):
    after = method.clone().fit(rows(n, 6)).recalibrate(rows(50, 7))
    assert ((after.confidence > 0) & (after.confidence < 1)).all()


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_it_needs_the_features_of_the_fit(method):
    data = rows(50, 8)
    fitted = method.clone().fit(data)
    bare = Dataset(data.probabilities, data.labels)
    for act in (method.clone().fit, fitted.recalibrate):
        with pytest.raises(InputError, match="must have the features of every row; 'data' has"):
            act(bare)
    fewer = Dataset(data.probabilities, data.labels, features=data.features[:, :2])
    with pytest.raises(InputError, match=f"must have the 4 features {method.label} was"):
        fitted.recalibrate(fewer)
