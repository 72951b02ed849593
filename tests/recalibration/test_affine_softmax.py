import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from sklearn.linear_model import LogisticRegression

from lore_core import Dataset, TemperatureScaling, negative_log_likelihood
from lore_core.data.probabilities import log_share, log_softmax, softmax
from lore_core.recalibration import (
    DirichletCalibration,
    MatrixScaling,
    VectorScaling,
    affine_problem as affine,
)
from lore_core.recalibration.affine_softmax import kept_on_top

KINDS = [VectorScaling, MatrixScaling, DirichletCalibration]


def drawn(n, k, seed, truth=None):
    """Rows told softmax(z), whose labels follow softmax(truth(z)); z sums to 0 in every row."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, k)) * 2
    z[:, 0] += 3 * z[:, -1]  # one direction in which rows differ most
    z -= z.mean(axis=1, keepdims=True)
    labels = ((z if truth is None else truth(z)) + rng.gumbel(size=(n, k))).argmax(axis=1)
    return Dataset(softmax(z), labels)


def centred(data):
    logs = np.log(data.probabilities)
    return logs - logs.mean(axis=1, keepdims=True)


def of_vector(z):
    return z * [0.5, 0.9, 0.3, 0.7] + [0.0, 0.5, -0.5, 0.0]


def of_matrix(z):
    return z @ (0.6 * np.eye(4) - 0.4 * np.roll(np.eye(4), 1, axis=1))


def nll(data):
    return negative_log_likelihood(data.probabilities, data.labels)


@pytest.mark.parametrize(("k", "directions"), [(4, 0), (6, 3)])
def test_gradient(monkeypatch, k, directions):
    monkeypatch.setattr(affine, "BLOCK", 7 * k)
    rng = np.random.default_rng(0)
    u = np.linalg.qr(rng.normal(size=(k, k)))[0][:, :directions]
    problem = affine.AffineProblem(rng.normal(size=(30, k)), rng.integers(0, k, 30), u)
    penalties = affine.Penalties(0.7, 0.3, 0.2)
    parameters = rng.normal(size=2 * k + (u.size or k * k))
    if not directions:
        parameters[2 * k :].reshape(k, k)[np.eye(k, dtype=bool)] = 0.0
    value, gradient = problem.penalised(parameters, penalties)
    numeric = approx_fprime(parameters, lambda p: problem.penalised(p, penalties)[0], 1e-6)
    free = np.ones(len(parameters), dtype=bool)
    if not directions:
        free[2 * k :] = ~np.eye(k, dtype=bool).ravel()
        assert (gradient[~free] == 0).all()
    np.testing.assert_allclose(gradient[free], numeric[free], atol=2e-4)
    # By hand: W as one matrix.
    w, b = parameters[:k], parameters[k : 2 * k]
    rest = parameters[2 * k :].reshape(k, -1)
    z = problem.logs @ (np.diag(w) + rest @ (u.T if directions else np.eye(k))).T + b
    by_hand = -log_softmax(z)[np.arange(30), problem.labels].sum()
    squares = 0.7 * ((w - w.mean()) ** 2).sum() + 0.3 * (b**2).sum() + 0.2 * (rest**2).sum()
    assert value == pytest.approx(by_hand + squares / 2)
    assert problem.loss(parameters) == pytest.approx(by_hand)


@pytest.mark.parametrize("has_rest", [True, False])
def test_curvature_is_what_the_gradient_changes_by(has_rest):
    rng = np.random.default_rng(4)
    k, n = 4, 40
    rows = rng.normal(size=(n, k)), rng.integers(0, k, n)
    problem = affine.AffineProblem(*rows, np.empty((k, 0)), rng.uniform(0.5, 2, n))
    penalties = affine.Penalties(0.7, 0.3, 0.2)
    parameters = rng.normal(size=2 * k + k * k * has_rest)
    free = np.ones(len(parameters), dtype=bool)
    if has_rest:
        free[2 * k :] = ~np.eye(k, dtype=bool).ravel()
        parameters[~free] = 0.0
    steps = 1e-5 * np.eye(len(parameters))[free]

    def gradient(at):
        return problem.penalised(at, penalties)[1]

    numeric = [gradient(parameters + step) - gradient(parameters - step) for step in steps]
    found = problem.curvature(parameters, penalties)
    np.testing.assert_allclose(found[free], np.array(numeric) / 2e-5, atol=1e-6)


def fitted(data, penalties, *, centred=True):
    return affine.fit_affine(data, {1.0: penalties}, centred=centred, keep_class=False)


def test_without_a_penalty_it_is_what_plain_regressions_find():
    data = drawn(600, 4, 1, of_matrix)
    state = fitted(data, affine.Penalties(0.0, 1e-9, 1e-9), centred=False)
    logs = np.log(data.probabilities)
    model = LogisticRegression(C=1e9, max_iter=10_000, tol=1e-10).fit(logs, data.labels)
    found = softmax(logs * state["diagonal"] + logs @ state["rest"].T + state["bias"])
    np.testing.assert_allclose(found, model.predict_proba(logs), atol=2e-3)
    data = drawn(500, 3, 2, lambda z: z * [0.5, 0.9, 0.3] + [0.0, 0.5, -0.5])
    state = fitted(data, affine.Penalties(0.0, 1e-9))
    logs = centred(data)

    def loss(p):
        return -log_softmax(logs * p[:3] + p[3:])[np.arange(500), data.labels].mean()

    best = minimize(loss, [1, 1, 1, 0, 0, 0.0], method="BFGS", options={"gtol": 1e-8})
    found = np.concatenate([state["diagonal"], state["bias"]])
    assert loss(found) == pytest.approx(best.fun, abs=1e-7)
    np.testing.assert_allclose(state["diagonal"], best.x[:3], atol=5e-3)
    data = drawn(800, 2, 3, lambda z: 0.5 * z + [0.0, 1.0])
    state = fitted(data, affine.Penalties(1.0, 1e-9))
    odds = np.log(data.probabilities[:, 1] / data.probabilities[:, 0])
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(odds[:, None], data.labels)
    assert state["diagonal"].mean() == pytest.approx(model.coef_[0, 0], abs=1e-3)
    assert np.diff(state["bias"])[0] == pytest.approx(model.intercept_[0], abs=2e-3)


@pytest.mark.parametrize(
    ("kind", "truth"),
    [(VectorScaling, of_vector), (MatrixScaling, of_matrix), (DirichletCalibration, of_matrix)],
)
def test_a_truth_of_its_kind_is_found(kind, truth):
    calibration, evaluation = drawn(4000, 4, 5, truth), drawn(4000, 4, 6, truth)
    known = evaluation.with_probabilities(softmax(truth(centred(evaluation))))
    temperature = nll(TemperatureScaling().fit(calibration).recalibrate(evaluation))
    assert nll(kind().fit(calibration).recalibrate(evaluation)) < nll(known) + 0.01 < temperature


@pytest.mark.parametrize("kind", KINDS)
def test_few_rows_and_classes_without_any(kind):
    rows = drawn(40, 12, 7, lambda z: z / 3)
    rows = rows.rows(rows.labels != 4)
    fresh = drawn(2000, 12, 8, lambda z: z / 3)
    after = kind().fit(rows).recalibrate(fresh)
    if kind is DirichletCalibration:  # Its diagonal is free.
        assert after.probabilities[:, 4].mean() < 0.01 < fresh.probabilities[:, 4].mean()
        after, fresh = (item.rows(fresh.labels != 4) for item in (after, fresh))
    assert nll(after) < nll(fresh)
    one = kind().fit(rows.rows(slice(0, 1))).recalibrate(fresh)
    assert np.isfinite(one.probabilities).all()
    same = Dataset(np.full((30, 3), 1 / 3), np.arange(30) % 3)
    np.testing.assert_allclose(kind().fit(same).recalibrate(same).probabilities, 1 / 3, atol=1e-6)


def test_of_many_classes_the_rest_sees_the_principal_directions():
    def truth(z):
        return z / 2 + 0.2 * z[:, :1] * np.sin(np.arange(z.shape[1]))

    calibration, evaluation = drawn(3000, 80, 9, truth), drawn(2000, 80, 10, truth)
    method = MatrixScaling().fit(calibration)
    assert method.rest_.shape == (80, 32)
    directions = method.state()["directions"]
    np.testing.assert_allclose(directions.T @ directions, np.eye(32), atol=1e-9)
    temperature = TemperatureScaling().fit(calibration).recalibrate(evaluation)
    assert nll(method.recalibrate(evaluation)) < nll(temperature) - 0.1


def test_a_class_that_is_to_stay_on_top_takes_no_more_than_it_needs():
    rng = np.random.default_rng(0)
    vectors = rng.dirichlet(np.ones(4), 6)
    predicted = rng.integers(0, 4, 6)
    limited = kept_on_top(vectors, predicted)
    np.testing.assert_allclose(limited.sum(axis=1), 1)
    for p, q, top in zip(vectors, limited, predicted, strict=True):
        assert q[top] == q.max()
        limits = [{"type": "ineq", "fun": lambda x, j=j, t=top: x[t] - x[j]} for j in range(4)]
        limits.append({"type": "eq", "fun": lambda x: x.sum() - 1})
        loss = lambda x, p=p: -(p * np.log(np.maximum(x, 1e-12))).sum()  # noqa: E731
        known = {"constraints": limits, "bounds": [(1e-9, 1)] * 4, "options": {"ftol": 1e-12}}
        np.testing.assert_allclose(q, minimize(loss, np.full(4, 0.25), **known).x, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_keeping_the_class(kind):
    data = drawn(400, 4, 11, of_vector)
    free, limited = (kind(keep_class=keep).fit(data).recalibrate(data) for keep in (False, True))
    index = np.arange(400)
    assert (free.probabilities.argmax(axis=1) != data.predictions).any()
    best = limited.probabilities.max(axis=1)
    np.testing.assert_allclose(limited.probabilities[index, data.predictions], best, rtol=1e-12)


@pytest.mark.parametrize(("n", "k"), [(3, 2), (20_000, 7), (40, 3_000)])
def test_the_share_of_one_label_is_that_of_the_whole_softmax(n, k):
    rng = np.random.default_rng(0)
    logs, labels = rng.normal(size=(n, k)), rng.integers(k, size=n)
    expected = log_softmax(logs * 0.7)[np.arange(n), labels]
    np.testing.assert_array_equal(log_share(logs, labels, 0.7), expected)
