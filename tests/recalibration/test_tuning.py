"""LoRe tuned: leaving out by formula is leaving out in fact; weights and levels are as said."""

import numpy as np
import pytest
from synthetic import overconfident

from lore_core import (
    Dataset,
    InputError,
    LoRe,
    NoRecalibration,
    PlattScaling,
    TemperatureScaling,
    TunedLoRe,
    negative_log_likelihood,
)
from lore_core.recalibration.averaging import (
    confidence_levels,
    fewest_levels,
    global_line,
    model_weights,
    on_line,
    stacked_weights,
)
from lore_core.recalibration.tuning import cross_fitted, leave_one_out, parts


class Given(NoRecalibration):
    """A base that was fitted elsewhere: leaving a row out does not change it."""

    label = "given"


@pytest.fixture
def rows():
    return overconfident(60, seed=4)


@pytest.mark.parametrize("base", [None, Given()])
def test_each_row_is_predicted_as_if_it_were_not_there(rows, base):
    data, z = rows
    trial = leave_one_out(
        data, z, gammas=[0.1, 0.8], n_bins=[1, 9], bases=[base], prior_strengths=[0.0, 3.0]
    )
    for candidate, confidence, log_likelihood in zip(
        trial.candidates, trial.confidence, trial.log_likelihood, strict=True
    ):
        method = LoRe(**trial.settings(candidate))
        for i in range(len(data)):
            others = np.arange(len(data)) != i
            method.fit(data.rows(others), z[others])
            left_out = method.recalibrate(data.rows([i]), z[[i]])
            assert left_out.confidence[0] == pytest.approx(confidence[i], abs=1e-12)
            expected = -negative_log_likelihood(left_out.probabilities, data.labels[[i]])
            assert log_likelihood[i] == pytest.approx(expected, abs=1e-9)


def test_candidates_are_every_combination_and_no_correction(rows):
    data, z = rows
    trial = leave_one_out(
        data, {"a": z, "b": z[:, :1]}, gammas=[0.1, 0.8, 2], n_bins=[1, 9], prior_strengths=[0, 3]
    )
    # 2 maps × 2 bins × 3 bases × 3 γ × 2 s; none at all: 2 partitions without, 1 with each base.
    assert len(trial.candidates) == 72 + 4
    keys = {
        (c.feature_map, c.gamma, c.n_bins, c.base_label, c.prior_strength) for c in trial.candidates
    }
    assert len(keys) == 76
    table = trial.table()
    assert (np.diff(table["leave_one_out_nll"]) >= 0).all()
    assert table["leave_one_out_nll"][0] == pytest.approx(-trial.log_likelihood.mean(1).max())


def test_a_cross_fitted_base_never_saw_the_row():
    data, _ = overconfident(53, seed=5)
    found = cross_fitted(PlattScaling(), data).confidence
    part = parts(data)
    assert np.bincount(part).tolist() == [11, 11, 11, 10, 10]
    for own in range(5):
        others = PlattScaling().fit(data.rows(part != own))
        np.testing.assert_allclose(
            found[part == own], others.recalibrate(data.rows(part == own)).confidence
        )
    # Alike in right and wrong rows.
    right = np.bincount(part, weights=data.outcome)
    assert right.max() - right.min() <= 1


def test_without_averaging_it_is_the_best_candidate_fitted_on_all_rows():
    calibration, cal_z = overconfident(300, seed=1)
    evaluation, z = overconfident(200, seed=2)
    cal_maps, maps = {"plane": cal_z, "line": cal_z[:, :1]}, {"plane": z, "line": z[:, :1]}
    tuned = TunedLoRe(average=False, line=False, levels=False).fit(calibration, cal_maps)
    best = LoRe(**(trial := leave_one_out(calibration, cal_maps)).settings(trial.best))
    best.fit(calibration, cal_maps)
    row = tuned.candidates_.iloc[0]
    assert (best.gamma, best.n_bins, best.feature_map) == tuple(
        row[["gamma", "n_bins", "feature_map"]]
    )
    np.testing.assert_allclose(
        tuned.recalibrate(evaluation, maps).confidence,
        best.recalibrate(evaluation, maps).confidence,
        atol=1e-12,
    )
    with pytest.warns(DeprecationWarning, match=r"use TunedLoRe\(average=False"):
        same = LoRe.tuned(calibration, cal_maps)
    np.testing.assert_array_equal(
        same.recalibrate(evaluation, maps).probabilities,
        best.recalibrate(evaluation, maps).probabilities,
    )
    assert same.candidates_["base"].tolist() == tuned.candidates_["base"].tolist()


def test_the_average_is_the_weighted_mean_of_the_candidates():
    calibration, cal_z = overconfident(300, seed=1)
    evaluation, z = overconfident(100, seed=2)
    options = {"gammas": [0.2, 1.0], "n_bins": [1, 5], "prior_strengths": [1.0, 10.0]}
    method = TunedLoRe(**options, line=False, levels=False).fit(calibration, cal_z)
    trial = leave_one_out(calibration, cal_z, **options)
    share = np.where(calibration.outcome == 1, trial.confidence, 1 - trial.confidence)
    weights = stacked_weights(np.log(np.maximum(share, 1e-6)))
    expected = np.zeros(len(evaluation))
    for candidate, weight in zip(trial.candidates, weights, strict=True):
        one = LoRe(**trial.settings(candidate)).fit(calibration, cal_z)
        expected += weight * one.recalibrate(evaluation, z).confidence
    after = method.recalibrate(evaluation, z).confidence
    # Candidates of next to no weight are left out.
    np.testing.assert_allclose(after, expected, atol=1e-3)
    assert method.candidates_["weight"].sum() == pytest.approx(1)


def test_weights_are_the_likelihoods_shares():
    rng = np.random.default_rng(0)
    same = np.tile(rng.normal(size=200), (2, 1))
    np.testing.assert_allclose(model_weights(same), [0.5, 0.5])
    worse = same - np.array([[0.0], [1.0]])
    assert model_weights(worse)[0] > 1 - 1e-12


def test_stacking_steps_are_em_from_half_way():
    rng = np.random.default_rng(0)
    likelihood = rng.uniform(0.1, 1, size=(3, 40))
    logs = np.log(likelihood)
    weights = (model_weights(logs) + 1 / 3) / 2
    for _ in range(4):
        # The share of each row that each candidate accounts for, row by row.
        shares = np.array([weights * likelihood[:, i] for i in range(40)])
        weights = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(stacked_weights(logs, 4), weights, atol=1e-12)


def test_stacking_steps_raise_the_likelihood_of_the_average():
    rng = np.random.default_rng(1)
    logs = np.log(rng.uniform(0.05, 1, size=(20, 100)))
    reached = [np.log(stacked_weights(logs, k) @ np.exp(logs)).sum() for k in (0, 5, 20, 200)]
    assert (np.diff(reached) > 0).all()
    assert stacked_weights(logs).sum() == pytest.approx(1)


def test_two_half_right_candidates_are_both_kept():
    """The better on the whole has nearly all the likelihood, but the average needs the other."""
    logs = np.log(np.array([[0.9] * 60 + [0.3] * 40, [0.3] * 60 + [0.9] * 40]))
    assert model_weights(logs)[0] > 0.9
    # The best average has weight w: 60·0.6/(0.3 + 0.6w) = 40·0.6/(0.9 − 0.6w), w = 0.7.
    np.testing.assert_allclose(stacked_weights(logs), [0.7, 0.3], atol=0.05)
    np.testing.assert_allclose(stacked_weights(logs, 500), [0.7, 0.3], atol=1e-6)


def test_the_global_line_is_the_best_of_all_lines():
    rng = np.random.default_rng(2)
    confidence = rng.uniform(0.5, 0.99, 300)
    outcome = (rng.uniform(size=300) < confidence - 0.1).astype(float)
    slope, intercept = global_line(confidence, outcome)

    def loss(a, b):
        p = 1 / (1 + np.exp(-(a * np.log(confidence / (1 - confidence)) + b)))
        hit = np.where(outcome == 1, p, 1 - p)
        return -np.log(hit).sum() + 5 * ((a - 1) ** 2 + b**2)

    best = loss(slope, intercept)
    for a in (slope - 0.01, slope, slope + 0.01):
        for b in (intercept - 0.01, intercept, intercept + 0.01):
            assert best <= loss(a, b) + 1e-9
    assert intercept < -0.1
    straight = on_line(confidence, slope, intercept)
    assert abs(straight.mean() - outcome.mean()) < 0.5 * abs(confidence.mean() - outcome.mean())


def test_without_evidence_the_line_changes_nothing():
    p = np.array([0.6, 0.6, 0.6, 0.6, 0.6])
    slope, intercept = global_line(p, np.array([1.0, 1.0, 1.0, 0.0, 0.0]))
    assert (slope, intercept) == pytest.approx((1, 0), abs=1e-6)
    np.testing.assert_allclose(on_line(np.array([0.2, 0.9]), 1, 0), [0.2, 0.9])
    assert on_line(np.array([0.0, 1.0]), 1, 0) == pytest.approx([1e-4, 1 - 1e-4])


def test_levels_by_hand():
    # 0.8·∛64 = 3.2, three levels. Weights √(p(1 − p)): 0.5 → 0.5, 0.8 → 0.4, 0.98 → 0.14.
    # In all 20·0.5 + 20·0.4 + 24·0.14 = 21.36: cut after 7.12 = 14.2 rows of 0.5 (equal ones stay
    # together, so after all) and 14.24, which is 10.6 rows into 0.8.
    rows = np.array([0.5] * 20 + [0.8] * 20 + [0.98] * 24)
    bins, means = confidence_levels(rows)
    assert bins.assign([0.1, 0.79, 0.8, 0.97, 0.98, 1.0]).tolist() == [0, 0, 1, 1, 1, 1]
    assert means.tolist() == pytest.approx([0.5, (20 * 0.8 + 24 * 0.98) / 44])


def test_levels_tell_doubtful_rows_apart_rather_than_sure_ones():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.uniform(0.5, 0.9, 50), rng.uniform(0.998, 1.0, 950)])
    bins, _ = confidence_levels(rows)
    size = np.bincount(bins.assign(rows), minlength=bins.n_bins)
    assert bins.n_bins == 8
    weight = np.bincount(bins.assign(rows), weights=np.sqrt(rows * (1 - rows)))
    # Equal weights, up to a row; equal numbers would have put all 50 with sure ones.
    assert weight.max() - weight.min() < 1
    assert size[0] < 20


def test_as_few_levels_as_a_share_of_the_nll_pays():
    # Told 0.75 instead of 0.9 and 0.6 (both 500 times), rows lose 0.5623 − 0.4990 nats of 0.4990
    # each: 12.7 %. Two levels lose nothing.
    entropy = lambda p, q: -p * np.log(q) - (1 - p) * np.log(1 - q)  # noqa: E731
    own = (entropy(0.9, 0.9) + entropy(0.6, 0.6)) / 2
    price = (entropy(0.9, 0.75) + entropy(0.6, 0.75)) / 2 / own - 1
    assert price == pytest.approx(0.127, abs=0.001)
    rows = np.repeat([0.6, 0.9], 500)
    for share, means in [(0.126, [0.6, 0.9]), (0.128, [0.75])]:
        assert fewest_levels(rows, share)[1].tolist() == pytest.approx(means)
    # Never more than 0.8·∛1000 = 8.
    assert fewest_levels(np.linspace(0.01, 0.99, 1000), 0.0)[0].n_bins == 8
    assert fewest_levels(np.array([0.7]), 0.03)[1].tolist() == [0.7]


def test_one_level_and_certain_rows():
    bins, means = confidence_levels(np.array([0.7, 0.9]))
    assert (bins.n_bins, means.tolist()) == (1, pytest.approx([0.8]))
    bins, means = confidence_levels(np.ones(100))
    assert means[bins.assign([1.0])].tolist() == [1.0]


def test_tuned_confidences_are_few_levels():
    calibration, cal_z = overconfident(343, seed=1)
    evaluation, z = overconfident(200, seed=2)
    method = TunedLoRe().fit(calibration, cal_z)
    after = method.recalibrate(evaluation, z)
    assert len(np.unique(after.confidence.round(12))) <= 6
    assert len(method.candidates_) > 400
    # Each level says the mean of the left-out calibration rows in it, after the line.
    trial = leave_one_out(calibration, cal_z)
    weights = method.candidates_.set_index(["gamma", "n_bins", "base", "prior_strength"])["weight"]
    keys = [(c.gamma, c.n_bins, c.base_label, c.prior_strength) for c in trial.candidates]
    left_out = on_line(weights.loc[keys].to_numpy() @ trial.confidence, *method.line_)
    level = method.levels_.assign(left_out)
    for own in range(method.levels_.n_bins):
        assert method.level_confidence_[own] == pytest.approx(left_out[level == own].mean())


def test_a_classifier_off_as_a_whole_is_right_as_a_whole_afterwards():
    """Below 1/K in half of the plane, where candidates are clipped: the line makes up for it."""
    rng = np.random.default_rng(0)

    def half_wrong(n):
        z = rng.uniform(-1, 1, size=(n, 2))
        right = rng.uniform(size=n) < np.where(z[:, 0] > 0, 0.9, 0.2)
        c = rng.uniform(0.9, 0.999, n)
        return Dataset(np.column_stack([c, 1 - c]), 1 - right), z

    (calibration, cal_z), (evaluation, z) = half_wrong(800), half_wrong(4000)
    gaps = {}
    for line in (True, False):
        after = TunedLoRe(line=line).fit(calibration, cal_z).recalibrate(evaluation, z)
        gaps[line] = abs(after.confidence.mean() - evaluation.accuracy)
    assert gaps[False] > 0.1
    assert gaps[True] < 0.05


def test_a_row_is_corrected_as_if_alone():
    """Which rows are corrected together changes nothing."""
    calibration, cal_z = overconfident(200, seed=1)
    evaluation, z = overconfident(100, seed=2)
    method = TunedLoRe().fit(calibration, cal_z)
    whole = method.recalibrate(evaluation, z).probabilities
    part = method.recalibrate(evaluation.rows(np.arange(10)), z[:10]).probabilities
    np.testing.assert_allclose(part, whole[:10], atol=1e-12)


def test_tuning_helps_where_the_error_is_local():
    """Right in one half of the plane, guessing in the other, and equally sure in both."""
    rng = np.random.default_rng(0)

    def half_right(n):
        z = rng.uniform(-1, 1, size=(n, 2))
        right = np.where(z[:, 0] > 0, rng.uniform(size=n) < 0.95, rng.uniform(size=n) < 0.5)
        c = rng.uniform(0.85, 0.95, n)
        return Dataset(np.column_stack([c, 1 - c]), 1 - right), z

    (calibration, cal_z), (evaluation, z) = half_right(500), half_right(2000)
    tuned = TunedLoRe().fit(calibration, cal_z).recalibrate(evaluation, z)
    scaled = TemperatureScaling().fit(calibration).recalibrate(evaluation)
    assert (
        negative_log_likelihood(tuned.probabilities, tuned.labels)
        < negative_log_likelihood(scaled.probabilities, scaled.labels) - 0.1
    )


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("right", [0, 1])
def test_a_handful_of_calibration_rows(n, right):
    calibration = Dataset([[0.9, 0.1]] * n, [1 - right] * n)
    evaluation, z = overconfident(20, k=2)
    after = TunedLoRe().fit(calibration, np.arange(n)).recalibrate(evaluation, z[:, 0])
    np.testing.assert_allclose(after.probabilities.sum(axis=1), 1)
    if n == 1:
        np.testing.assert_allclose(after.confidence, evaluation.confidence)


def test_many_rows_are_tuned_on_a_part():
    data, z = overconfident(500)
    trial = leave_one_out(data, z, max_rows=100)
    assert trial.confidence.shape[1] == len(trial.rows) == 100
    assert len(np.unique(trial.rows)) == 100


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda d, z: leave_one_out(d, None), "must be given an embedding"),
        (lambda d, z: TunedLoRe().fit(d, {}), "must be given an embedding"),
        (lambda d, z: leave_one_out(d.rows([0]), z[:1]), "at least 2 rows"),
        (lambda d, z: leave_one_out(d, z[:5]), "as many rows"),
        (lambda d, z: leave_one_out(d, z, bases=[LoRe()]), "'bases' must be global methods"),
        (lambda d, z: leave_one_out(d, z, prior_strengths=[-1.0]), "'prior_strengths' must be 0"),
        (lambda d, z: leave_one_out(d, z, gammas=[]), "must not be empty"),
        (lambda d, z: leave_one_out(d, z, gammas=[0.0]), "'gamma' must be a finite number above 0"),
        (lambda d, z: TunedLoRe().fit(d, z).recalibrate(d), "must be given an embedding"),
        (lambda d, z: TunedLoRe().recalibrate(d, z), "must be fitted"),
    ],
)
def test_misuse(rows, act, message):
    with pytest.raises(InputError, match=message):
        act(*rows)
