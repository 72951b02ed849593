import dataclasses

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import log_softmax, logit, softmax
from sklearn.linear_model import LogisticRegression

from lore_core import Dataset, InputError, PlattScaling, SmoothLoRe, negative_log_likelihood
from lore_core.recalibration import (
    BoostingRecalibration,
    LogisticRecalibration,
    MatrixScaling,
    boosting,
    load_recalibrator,
)
from lore_core.recalibration.boosting import GrowingTrees, cuts_of, sum_of_trees
from lore_core.recalibration.dataset_rows import parts
from lore_core.recalibration.logistic import LogisticProblem


def rows_with(n, seed, scale, odds_of):
    """Rows whose predicted class is right with odds that depend on confidence and features."""
    rng = np.random.default_rng(seed)
    vectors = rng.dirichlet(np.full(3, 0.6), n)
    x = rng.normal(size=(n, 4)) * scale + 7
    top, c = vectors.argmax(axis=1), vectors.max(axis=1)
    right = rng.random(n) < 1 / (1 + np.exp(-odds_of(np.log(c / (1 - c)), x, top)))
    return Dataset(vectors, np.where(right, top, (top + 1) % 3), features=x)


def rows_along_a_feature(n, seed, effect=1.0):
    """Confidences that are wrong along the second feature and where class 1 is predicted."""

    def odds(told, x, top):
        return 0.7 * told + effect * ((x[:, 1] - 7) / 10 - (top == 1)) + 0.3

    return rows_with(n, seed, [1, 10, 0, 5], odds)


def rows_in_a_square(n, seed, effect=2.0):
    """Confidences that are too high in one square of the first two features, by ``effect``."""

    def odds(told, x, top):
        return told - effect * ((x[:, 0] > 7) & (x[:, 1] > 7))

    return rows_with(n, seed, [1, 10, 1, 5], odds)


def nll(data):
    return negative_log_likelihood(data.probabilities, data.labels)


def test_gradient_of_the_regression():
    rng = np.random.default_rng(0)
    inputs, pull = rng.normal(size=(25, 3)), np.array([0.0, 0, 1, 1, 1, 1, 1])
    predicted = rng.integers(0, 4, 25)
    problem = LogisticProblem(inputs, rng.random(25), None, np.zeros(7), pull, predicted)
    at = rng.normal(size=7)
    value, gradient = problem.penalised(at, 0.6)
    numeric = approx_fprime(at, lambda p: problem.penalised(p, 0.6)[0], 1e-7)
    np.testing.assert_allclose(gradient, numeric, atol=1e-4)
    assert value == pytest.approx(problem.loss(at) + 0.3 * (at[2:] ** 2).sum())
    data = rows_along_a_feature(4000, 1)
    ours = LogisticRecalibration(strength=1e-9).fit(data).recalibrate(data).confidence
    odds, classes = logit(data.confidence), np.arange(1, 3) == data.predictions[:, None]
    design = np.column_stack([odds, data.features, classes])
    design = (design - design.mean(axis=0)) / np.fmax(design.std(axis=0), 1e-12)
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(design, data.outcome)
    np.testing.assert_allclose(ours, model.predict_proba(design)[:, 1], atol=2e-3)


def test_the_regression_finds_the_feature_and_the_class():
    calibration, evaluation = rows_along_a_feature(3000, 2), rows_along_a_feature(3000, 3)
    method = LogisticRecalibration().fit(calibration)
    assert method.slope_ == pytest.approx(0.7, abs=0.1)
    np.testing.assert_allclose(method.weights_, [0, 1, 0, 0], atol=0.12)
    assert method.of_class_[1] - method.of_class_[0] == pytest.approx(-1, abs=0.25)
    platt = PlattScaling().fit(calibration).recalibrate(evaluation)
    assert nll(method.recalibrate(evaluation)) < nll(platt) - 0.05
    calibration, evaluation = (rows_along_a_feature(1000, seed, effect=0) for seed in (4, 5))
    method = LogisticRecalibration().fit(calibration)
    platt = PlattScaling().fit(calibration).recalibrate(evaluation).confidence
    np.testing.assert_allclose(method.recalibrate(evaluation).confidence, platt, atol=0.03)


METHODS = [LogisticRecalibration(), BoostingRecalibration()]


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("n", [1, 2, 5, 60, 81])
def test_few_rows(method, n):
    after = method.clone().fit(rows_along_a_feature(n, 6)).recalibrate(rows_along_a_feature(50, 7))
    assert np.isfinite(after.probabilities).all()


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_it_needs_the_features_of_the_fit(method):
    data = rows_along_a_feature(50, 8)
    fitted = method.clone().fit(data)
    bare = Dataset(data.probabilities, data.labels)
    for act in (method.clone().fit, fitted.recalibrate):
        with pytest.raises(InputError, match="must have the features of every row; 'data' has"):
            act(bare)
    fewer = Dataset(data.probabilities, data.labels, features=data.features[:, :2])
    with pytest.raises(InputError, match=f"must have the 4 features {method.label} was"):
        fitted.recalibrate(fewer)


def grown(data, n_trees, w=None):
    growing = GrowingTrees.of(data, data.features, np.ones((1, len(data))) if w is None else w)
    for _ in range(n_trees):
        growing.add()
    return growing


def test_a_tree_by_hand():
    """One feature that is 0 or 1, two classes of p = 1/2: two leaves, two Newton steps."""
    side = np.repeat([0.0, 1.0], 60)
    labels = 1 - np.concatenate([np.arange(60) < 45, np.arange(60) < 15])
    made = grown(Dataset(np.full((120, 2), 0.5), labels, features=side[:, None]), 1).sum(0, 1)
    # A leaf of 45 rows of class 0 and 15 of class 1: Σ (y − p) = 22.5 − 7.5, Σ p (1 − p) + 1 = 16;
    # both classes move, so each by half (1 − 1/K).
    step = 0.2 * 0.5 * 15 / 16
    seen = np.column_stack([np.zeros((2, 2)), [0.0, 1.0]])
    np.testing.assert_allclose(sum_of_trees(made, seen), [[step, -step], [-step, step]])
    assert set(made["threshold"].ravel()) == {0.5, np.finfo(float).max}


def test_trees_focus_where_one_of_many_columns_decides_the_class():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(1000, 60))
    bands, slope = np.floor(3.3 * x[:, 7]) % 2, rng.random(1000) < 0.5 + 0.3 * np.sign(x[:, 7])
    for labels, is_focused in ((bands, True), (slope, False)):
        data = Dataset(np.full((1000, 2), 0.5), labels.astype(int), features=x)
        knows = np.array([*(parts(data) != one for one in range(5)), np.ones(1000)], dtype=float)
        trees, vectors = boosting.chosen_trees(data, x, knows, parts(data), None)
        assert ((trees["column"] == 9).mean() > 0.3) == is_focused
        seen, sums = np.column_stack([np.log(data.probabilities), x]), []
        for focused in (False, True):
            growing = GrowingTrees.of(data, x, knows, focused=focused)
            number, left_out = boosting.chosen_number(growing, parts(data), None, None)
            sums.append([sum_of_trees(growing.sum(-1, number), seen), np.log(left_out)])
        tried = [(total, log_softmax(logs, axis=1)) for total, logs in [*sums, np.mean(sums, 0)]]
        best = max(tried, key=lambda item: item[1][range(1000), data.labels].sum())
        np.testing.assert_allclose(sum_of_trees(trees, seen), best[0], atol=1e-12)
        np.testing.assert_allclose(np.log(vectors), best[1], atol=1e-9)


def test_cuts_are_the_best_and_leaves_newton_steps_of_weighted_rows():
    """Every cut of two classes by trying all, and every leaf by its sums."""
    rng = np.random.default_rng(7)
    x, p = rng.normal(size=(400, 2)).round(1), rng.uniform(0.1, 0.9, 400)
    x[:, 1] = np.floor(x[:, 1])
    labels = (rng.random(400) < np.where(x[:, 0] > 0, p, p * (x[:, 1] < 0.5))).astype(int)
    w = rng.lognormal(size=400)
    data = Dataset(np.column_stack([1 - p, p]), labels, features=x)
    made = grown(data, 1, w[None]).sum(0, 1)
    columns = np.column_stack([np.log(data.probabilities), x])
    cuts = [cuts_of(values) for values in columns.T]
    assert [len(of) for of in cuts[:2]] == [63, 63]
    assert not np.isin(cuts[2], x[:, 0]).any()
    np.testing.assert_array_equal(cuts[3], np.unique(x[:, 1])[:-1] + 0.5)
    slope, bend = w * (labels - p), w * p * (1 - p)

    def gain(above, here):
        sides = (above & here, ~above & here)
        after = sum(slope[side].sum() ** 2 / bend[side].sum() for side in sides if side.any())
        enough = min(side.sum() for side in sides) >= 20
        return enough * (after - slope[here].sum() ** 2 / bend[here].sum())

    leaf = np.zeros(400, dtype=int)
    tree = zip(*(made[part][0] for part in ("parent", "column", "threshold")), strict=True)
    for number, (parent, column, threshold) in enumerate(tree, start=1):
        tried = [
            gain(values > cut, leaf == one)
            for one in range(number)
            for values, of in zip(columns.T, cuts, strict=True)
            for cut in of
        ]
        above, here = columns[:, column] > threshold, leaf == parent
        assert gain(above, here) == pytest.approx(max(tried))
        leaf[above & here] = number
    for one in range(8):
        expected = 0.2 * 0.5 * slope[leaf == one].sum() / (bend[leaf == one].sum() + 1)
        np.testing.assert_allclose(made["step"][0, one], [-expected, expected], atol=1e-12)
    many = sum_of_trees(made, np.tile(columns, (100, 1)))  # more than are summed at once
    np.testing.assert_array_equal(many, made["step"][0, np.tile(leaf, 100)])


def test_trees_find_what_is_wrong_in_one_place_or_say_that_nothing_is():
    calibration, evaluation = rows_in_a_square(3000, 1), rows_in_a_square(3000, 2)
    method, scaling = (of.fit(calibration) for of in (BoostingRecalibration(), MatrixScaling()))
    assert method.remark == ""
    after = method.recalibrate(evaluation)
    assert nll(after) < nll(scaling.recalibrate(evaluation)) - 0.01
    assert np.array_equal(after.predictions, evaluation.predictions)
    rng = np.random.default_rng(4)
    vectors = rng.dirichlet(np.ones(3), 1000)
    labels = (rng.random((1000, 1)) > vectors.cumsum(axis=1)).sum(axis=1)
    calibration, evaluation = Dataset(vectors, labels, features=rng.normal(size=(1000, 4))), after
    method = BoostingRecalibration().fit(calibration)
    assert method.remark == "no trees: matrix scaling alone"
    expected = MatrixScaling().fit(calibration).recalibrate(evaluation).probabilities
    assert np.array_equal(method.recalibrate(evaluation).probabilities, expected)


def weak_rows(n, seed):
    """Classes of four quadrants, and a rare fifth, of which the classifier knows one half-plane."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6))
    labels = np.where(rng.random(n) < 0.1, rng.integers(0, 4, n), 2 * (x[:, 0] > 0) + (x[:, 1] > 0))
    labels[:2] = 4
    side = np.where((x[:, 0] > 0)[:, None], [1, 1, 3, 3, 0.1], [3, 3, 1, 1, 0.1])
    vectors = side * rng.uniform(0.8, 1.2, size=(n, 5))
    return Dataset(vectors / vectors.sum(axis=1, keepdims=True), labels, features=x)


def test_left_out_vectors_are_those_of_trees_on_the_other_rows():
    """Also where the only rows of a class are left out; and a file gives the same numbers."""
    data, new = weak_rows(1200, 1), weak_rows(400, 2)
    method = BoostingRecalibration().fit(data)
    assert len(method.step_) > 5
    assert nll(method.recalibrate(new)) < nll(MatrixScaling().fit(data).recalibrate(new)) - 0.2
    again = load_recalibrator(method.to_bytes()).recalibrate(new).probabilities
    assert np.array_equal(again, method.recalibrate(new).probabilities)
    fold = np.where(data.labels == 4, 2, parts(data))
    knows = np.array([*(fold != one for one in range(5)), np.ones(len(data))], dtype=float)
    growing = grown(data, 0, knows)
    number, vectors = boosting.chosen_number(growing, fold, None, None)
    here = fold == 2
    columns = np.column_stack([np.log(data.probabilities), data.features])[here]
    logs = columns[:, :5] + sum_of_trees(growing.sum(2, number), columns)
    np.testing.assert_allclose(vectors[here], softmax(logs, axis=1), atol=1e-12)
    # Labels of rows that a sum is not to know change nothing of it.
    other = dataclasses.replace(data, labels=np.where(here, 0, data.labels))
    again = grown(other, number, knows).sum(2, number)["step"]
    np.testing.assert_allclose(again, growing.sum(2, number)["step"], atol=1e-12)
    assert abs(BoostingRecalibration(n_trees=40).fit(data).step_).max() <= 0.2 * 4


def test_smooth_lore_boosts_a_weak_model_and_leaves_a_network_alone():
    weak = weak_rows(1200, 3)
    assert isinstance(SmoothLoRe().fit(weak, weak.features[:, :2]).first_, BoostingRecalibration)
    rng = np.random.default_rng(5)
    x = rng.normal(size=(1200, 6))
    logits = x @ rng.normal(size=(6, 3))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    network = Dataset(softmax(2.5 * logits, axis=1), labels, features=x)
    first, alone = SmoothLoRe().fit(network, x[:, :2]).first_, MatrixScaling().fit(network)
    assert type(first) is MatrixScaling
    for values in ("rest_", "diagonal_"):
        assert np.array_equal(getattr(first, values), getattr(alone, values))
