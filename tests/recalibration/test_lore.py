import numpy as np
import pytest
from brute import lore as brute_lore
from scipy.optimize import minimize_scalar
from synthetic import overconfident as make

from lore_core import (
    Dataset,
    HistogramBinning,
    InputError,
    LoRe,
    NoRecalibration,
    TemperatureScaling,
    compare,
    negative_log_likelihood,
)


def test_temperature_undoes_the_sharpening_and_minimises_nll():
    data, _ = make(4000)
    assert NoRecalibration().fit(data).recalibrate(data) is data
    method = TemperatureScaling().fit(data)
    assert method.temperature_ == pytest.approx(2.5, rel=0.1)

    def nll(t):
        p = data.probabilities ** (1 / t)
        return negative_log_likelihood(p / p.sum(1, keepdims=True), data.labels)

    grid = minimize_scalar(nll, bounds=(0.5, 5), method="bounded", options={"xatol": 1e-8})
    assert method.temperature_ == pytest.approx(grid.x, rel=1e-4)
    after = method.recalibrate(data)
    np.testing.assert_allclose(after.probabilities.sum(1), 1)
    assert np.array_equal(after.predictions, data.predictions)


def test_histogram_binning_is_the_calibration_accuracy_of_the_bin():
    calibration = Dataset([[0.9, 0.1]] * 4 + [[0.6, 0.4]], [0, 0, 0, 1, 1])
    evaluation = Dataset([[0.88, 0.12], [0.61, 0.39], [0.25, 0.75]], [0, 0, 0])
    after = HistogramBinning(n_bins=10).fit(calibration).recalibrate(evaluation)
    # Bin .8–.9 has no calibration row (0.9 lies in the next): confidence kept. .6–.7: accuracy 0.
    assert after.confidence.tolist() == pytest.approx([0.88, 0.0, 0.75])
    data, _ = make(300, seed=3)
    code = np.arange(300) % 2
    after = LoRe(n_bins=4).fit(data, 1e6 * code).recalibrate(data, 1e6 * code)
    for group in (0, 1):
        alone = data.rows(code == group)
        alone = HistogramBinning(4).fit(alone).recalibrate(alone)
        np.testing.assert_allclose(after.confidence[code == group], alone.confidence)


@pytest.mark.parametrize("gamma", [1e-7, 0.2, 3.0, 1e7])
def test_lore_matches_brute_force(rows, gamma):
    calibration, cal_z, evaluation, z = rows
    method = LoRe(gamma=gamma, n_bins=8).fit(calibration, cal_z)
    after = method.recalibrate(evaluation, z)
    expected = brute_lore(
        evaluation.confidence, z, calibration.confidence, calibration.outcome, cal_z, gamma, 8
    )
    np.testing.assert_allclose(after.confidence, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(after.probabilities.sum(1), 1)
    assert np.array_equal(after.predictions, evaluation.predictions)


@pytest.mark.parametrize("gamma", [1e10, 1e308])  # the double of which is no number
def test_lore_at_large_bandwidth_is_histogram_binning(rows, gamma):
    calibration, cal_z, evaluation, z = rows
    far = LoRe(gamma).fit(calibration, cal_z).recalibrate(evaluation, z)
    bins = HistogramBinning().fit(calibration).recalibrate(evaluation)
    np.testing.assert_allclose(far.confidence, bins.confidence, atol=1e-8)


def test_lore_at_small_bandwidth_is_the_nearest_calibration_row():
    calibration = Dataset([[0.9, 0.1]] * 3, [0, 1, 0])
    evaluation = Dataset([[0.9, 0.1]], [0])
    method = LoRe(gamma=1e-6).fit(calibration, [[0.0], [10.0], [30.0]])
    assert method.recalibrate(evaluation, [[12.0]]).confidence[0] == 0.0
    assert method.recalibrate(evaluation, [[21.0]]).confidence[0] == 1.0
    # Where the bin is empty the confidence stays.
    calibration = Dataset([[0.95, 0.05]] * 2, [0, 1])
    evaluation = Dataset([[0.6, 0.4], [0.95, 0.05]], [0, 0])
    method = LoRe(n_bins=10).fit(calibration, [[0.0], [1.0]])
    assert method.without_neighbours(evaluation).tolist() == [True, False]
    assert method.recalibrate(evaluation, [[0.0], [0.0]]).confidence[0] == 0.6


def test_the_vector_keeps_its_class_and_its_proportions():
    data = Dataset([[0.6, 0.3, 0.1], [1.0, 0.0, 0.0]], [0, 1])
    after = data.with_confidence([0.2, 0.4])
    np.testing.assert_allclose(after.probabilities, [[0.2, 0.6, 0.2], [0.4, 0.3, 0.3]])
    assert after.predictions.tolist() == [0, 0]
    # A rest barely above zero is rescaled without overflow.
    sure = Dataset([[1.0, 5e-324, 0.0], [1.0, 1e-310, 1e-310]], [0, 1])
    vectors = sure.with_confidence([0.4, 0.5]).probabilities
    np.testing.assert_allclose(vectors, [[0.4, 0.6, 0.0], [0.5, 0.25, 0.25]], rtol=1e-12)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda d, z: LoRe().recalibrate(d, z), "LoRe must be fitted before"),
        (lambda d, z: LoRe().fit(d), "LoRe must be given an embedding"),
        (lambda d, z: LoRe().fit(d, z).recalibrate(d, z[:, :1]), "dimensions LoRe was fitted on"),
        (lambda d, z: compare(d, d, [LoRe(), LoRe()]), "methods with unlike labels"),
        (lambda d, z: LoRe(feature_map="umap").fit(d, {"pca": z}), "'feature_map' must be one of"),
        (lambda d, z: LoRe().fit(d, {}), "at least one map"),
    ],
)
def test_misuse(act, message):
    data, z = make(50)
    with pytest.raises(InputError, match=message):
        act(data, z)


def test_lore_by_hand():
    calibration = Dataset([[0.9, 0.1]] * 2, [0, 1])
    evaluation, z, at = Dataset([[0.9, 0.1]], [0]), [[0.0], [np.log(4)]], [[0.0]]
    # Weights 1 (right) and 1/4 (wrong).
    plain = LoRe(1.0, 5).fit(calibration, z)
    assert plain.recalibrate(evaluation, at).confidence[0] == pytest.approx(1 / 1.25)


def test_one_of_several_maps(rows):
    calibration, cal_z, evaluation, z = rows
    cal_maps, maps = {"flat": cal_z[:, :1], "plane": cal_z}, {"plane": z, "flat": z[:, :1]}
    alone = LoRe(0.3, 4).fit(calibration, cal_z).recalibrate(evaluation, z)
    named = LoRe(0.3, 4, feature_map="plane").fit(calibration, cal_maps)
    np.testing.assert_array_equal(named.recalibrate(evaluation, maps).confidence, alone.confidence)
    first = LoRe(0.3, 4).fit(calibration, cal_maps)
    assert first.state()["points"].shape[1] == 1
