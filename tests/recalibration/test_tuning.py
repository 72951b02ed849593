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
from lore_core.recalibration.tuned_lore import confidence_levels, model_weights
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
    assert table["leave_one_out_nll"].is_monotonic_increasing
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


def test_tuned_is_the_best_candidate_fitted_on_all_rows():
    calibration, cal_z = overconfident(300, seed=1)
    evaluation, z = overconfident(200, seed=2)
    tuned = LoRe.tuned(calibration, {"plane": cal_z, "line": cal_z[:, :1]})
    best = tuned.candidates_.iloc[0]
    assert (tuned.gamma, tuned.n_bins, tuned.feature_map) == (
        best["gamma"], best["n_bins"], best["feature_map"],
    )  # fmt: skip
    maps = {"plane": z, "line": z[:, :1]}
    again = tuned.clone().fit(calibration, {"plane": cal_z, "line": cal_z[:, :1]})
    np.testing.assert_array_equal(
        tuned.recalibrate(evaluation, maps).confidence,
        again.recalibrate(evaluation, maps).confidence,
    )
    alone = TunedLoRe(average=False, levels=False)
    alone.fit(calibration, {"plane": cal_z, "line": cal_z[:, :1]})
    np.testing.assert_allclose(
        alone.recalibrate(evaluation, maps).probabilities,
        tuned.recalibrate(evaluation, maps).probabilities,
        atol=1e-12,
    )


def test_the_average_is_the_weighted_mean_of_the_candidates():
    calibration, cal_z = overconfident(300, seed=1)
    evaluation, z = overconfident(100, seed=2)
    options = {"gammas": [0.2, 1.0], "n_bins": [1, 5], "prior_strengths": [1.0, 10.0]}
    method = TunedLoRe(**options, levels=False).fit(calibration, cal_z)
    trial = leave_one_out(calibration, cal_z, **options)
    weights = model_weights(trial.log_likelihood)
    expected = np.zeros_like(evaluation.probabilities)
    for candidate, weight in zip(trial.candidates, weights, strict=True):
        one = LoRe(**trial.settings(candidate)).fit(calibration, cal_z)
        expected += weight * one.recalibrate(evaluation, z).probabilities
    # Candidates of next to no weight are left out.
    after = method.recalibrate(evaluation, z).probabilities
    np.testing.assert_allclose(after, expected, atol=2e-3)
    assert method.candidates_["weight"].sum() == pytest.approx(1)


def test_weights_are_the_likelihoods_shares():
    rng = np.random.default_rng(0)
    same = np.tile(rng.normal(size=200), (2, 1))
    np.testing.assert_allclose(model_weights(same), [0.5, 0.5])
    worse = same - np.array([[0.0], [1.0]])
    assert model_weights(worse)[0] > 1 - 1e-12


def test_levels_by_hand():
    bins, means = confidence_levels(np.array([0.5, 0.6, 0.6, 0.7, 0.8, 0.9]), 3)
    # Two rows each, but equal ones stay together: 0.5 | 0.6 0.6 0.7 | 0.8 0.9.
    assert bins.assign([0.1, 0.55, 0.6, 0.79, 0.8, 1.0]).tolist() == [0, 0, 1, 1, 2, 2]
    assert means.tolist() == pytest.approx([0.5, 1.9 / 3, 0.85])


def test_tuned_confidences_are_few_levels_above_one_over_k():
    calibration, cal_z = overconfident(343, seed=1)
    evaluation, z = overconfident(200, seed=2)
    method = TunedLoRe().fit(calibration, cal_z)
    after = method.recalibrate(evaluation, z)
    assert len(np.unique(after.confidence.round(12))) <= 7
    assert after.confidence.min() >= 1 / 3 - 1e-12
    assert len(method.candidates_) > 400


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


def test_group_kernel_can_be_tuned():
    data, _ = overconfident(300)
    names = np.array(["a", "b", "c"])[np.arange(300) % 3]
    after = TunedLoRe(kernel="group").fit(data, names).recalibrate(data, names)
    np.testing.assert_allclose(after.probabilities.sum(axis=1), 1)
    assert np.array_equal(after.predictions, data.predictions)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda d, z: LoRe.tuned(d, None), "must be given an embedding"),
        (lambda d, z: TunedLoRe().fit(d, {}), "must be given an embedding"),
        (lambda d, z: LoRe.tuned(d.rows([0]), z[:1]), "at least 2 rows"),
        (lambda d, z: LoRe.tuned(d, z[:5]), "as many rows"),
        (lambda d, z: LoRe.tuned(d, z, bases=[LoRe()]), "'bases' must be global methods"),
        (lambda d, z: LoRe.tuned(d, z, prior_strengths=[-1.0]), "'prior_strengths' must be 0"),
        (lambda d, z: LoRe.tuned(d, z, gammas=[]), "must not be empty"),
        (lambda d, z: LoRe.tuned(d, z, gammas=[0.0]), "'gamma' must be a finite number above 0"),
        (lambda d, z: TunedLoRe().fit(d, z).recalibrate(d), "must be given an embedding"),
        (lambda d, z: TunedLoRe().recalibrate(d, z), "must be fitted"),
    ],
)
def test_misuse(rows, act, message):
    with pytest.raises(InputError, match=message):
        act(*rows)
