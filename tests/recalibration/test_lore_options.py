import numpy as np
import pytest
from brute import bin_index

from lore_core import (
    Dataset,
    HistogramBinning,
    InputError,
    LoRe,
    NoRecalibration,
    PlattScaling,
    TemperatureScaling,
)


def slow(c, z, cal_c, cal_a, cal_z, *, gamma, n_bins, s=0.0, b=None, cal_b=None, lowest=0.0):
    """p' row by row; b: the base's confidences, or None for the bin's accuracy."""
    index, cal_index = bin_index(c, n_bins), bin_index(cal_c, n_bins)
    result = np.array(c if b is None else b, dtype=float)
    for i in range(len(c)):
        rows = cal_index == index[i]
        if rows.any():
            k = np.exp(-np.abs(cal_z[rows] - z[i]).sum(axis=1) / (z.shape[1] * gamma))
            if b is None:
                toward = cal_a[rows].mean()
                result[i] = (k @ cal_a[rows] + s * toward) / (k.sum() + s)
            else:
                result[i] = b[i] + k @ (cal_a[rows] - cal_b[rows]) / (k.sum() + s)
    return np.clip(result, lowest, 1.0)


def test_by_hand():
    calibration = Dataset([[0.9, 0.1]] * 2, [0, 1])
    evaluation = Dataset([[0.9, 0.1]], [0])
    z, at = [[0.0], [np.log(4)]], [[0.0]]
    # Weights 1 (right) and 1/4 (wrong).
    plain = LoRe(1.0, 5).fit(calibration, z)
    assert plain.recalibrate(evaluation, at).confidence[0] == pytest.approx(1 / 1.25)
    # 0.75 pseudo-rows at the bin's accuracy 1/2.
    pulled = LoRe(1.0, 5, prior_strength=0.75).fit(calibration, z)
    assert pulled.recalibrate(evaluation, at).confidence[0] == pytest.approx(1.375 / 2)
    # Leftover of the base 0.9: 0.1 and −0.9, weighted, over 1.25 + 0.75.
    based = LoRe(1.0, 5, prior_strength=0.75, base=NoRecalibration()).fit(calibration, z)
    expected = 0.9 + (0.1 - 0.225) / 2
    assert based.recalibrate(evaluation, at).confidence[0] == pytest.approx(expected)


@pytest.mark.parametrize("gamma", [0.05, 0.4, 5.0])
@pytest.mark.parametrize("s", [0.0, 2.0, 50.0])
@pytest.mark.parametrize("base", [None, TemperatureScaling(), PlattScaling()])
@pytest.mark.parametrize("n_bins", [1, 6])
@pytest.mark.parametrize("floor", [False, True])
def test_every_option_is_its_formula(rows, gamma, s, base, n_bins, floor):
    calibration, cal_z, evaluation, z = rows
    method = LoRe(gamma, n_bins, floor=floor, prior_strength=s, base=base)
    after = method.fit(calibration, cal_z).recalibrate(evaluation, z)
    b = cal_b = None
    if base is not None:
        fitted = base.clone().fit(calibration)
        b = fitted.recalibrate(evaluation).confidence
        cal_b = fitted.recalibrate(calibration).confidence
    expected = slow(
        evaluation.confidence,
        z,
        calibration.confidence,
        calibration.outcome,
        cal_z,
        gamma=gamma,
        n_bins=n_bins,
        s=s,
        b=b,
        cal_b=cal_b,
        lowest=1 / 3 if floor else 0.0,
    )
    np.testing.assert_allclose(after.confidence, expected, atol=1e-10)
    np.testing.assert_allclose(after.probabilities.sum(axis=1), 1)
    assert np.array_equal(after.predictions, evaluation.predictions)


def test_only_pseudo_rows_leave_what_is_pulled_toward(rows):
    calibration, cal_z, evaluation, z = rows
    options = {"n_bins": 6, "prior_strength": np.inf}
    bins = HistogramBinning(6).fit(calibration).recalibrate(evaluation)
    after = LoRe(**options).fit(calibration, cal_z).recalibrate(evaluation, z)
    np.testing.assert_allclose(after.confidence, bins.confidence)
    scaled = TemperatureScaling().fit(calibration).recalibrate(evaluation)
    based = LoRe(**options, base=TemperatureScaling()).fit(calibration, cal_z)
    np.testing.assert_allclose(based.recalibrate(evaluation, z).probabilities, scaled.probabilities)


def test_far_from_all_rows_only_what_is_pulled_toward_is_left(rows):
    calibration, cal_z, evaluation, z = rows
    base = LoRe(0.1, 6, prior_strength=1.0, base=TemperatureScaling()).fit(calibration, cal_z)
    scaled = TemperatureScaling().fit(calibration).recalibrate(evaluation)
    after = base.recalibrate(evaluation, z + 1e6)
    np.testing.assert_allclose(after.confidence, scaled.confidence)


def test_the_base_changes_the_other_classes_too(rows):
    calibration, cal_z, evaluation, z = rows
    after = LoRe(base=TemperatureScaling(), prior_strength=5).fit(calibration, cal_z)
    p = after.recalibrate(evaluation, z).probabilities
    q = TemperatureScaling().fit(calibration).recalibrate(evaluation).probabilities
    others = np.arange(3) != evaluation.predictions[:, None]
    p, q = p[others].reshape(-1, 2), q[others].reshape(-1, 2)
    # In the proportions the base gives them.
    np.testing.assert_allclose(p[:, 0] * q[:, 1], p[:, 1] * q[:, 0], atol=1e-12)


def test_one_of_several_maps(rows):
    calibration, cal_z, evaluation, z = rows
    cal_maps, maps = {"flat": cal_z[:, :1], "plane": cal_z}, {"plane": z, "flat": z[:, :1]}
    alone = LoRe(0.3, 4).fit(calibration, cal_z).recalibrate(evaluation, z)
    named = LoRe(0.3, 4, feature_map="plane").fit(calibration, cal_maps)
    np.testing.assert_array_equal(named.recalibrate(evaluation, maps).confidence, alone.confidence)
    first = LoRe(0.3, 4).fit(calibration, cal_maps)
    assert first.state()["points"].shape[1] == 1


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda d, z: LoRe(feature_map="umap").fit(d, {"pca": z}), "'feature_map' must be one of"),
        (lambda d, z: LoRe().fit(d, {}), "at least one map"),
    ],
)
def test_misuse(rows, act, message):
    with pytest.raises(InputError, match=message):
        act(rows[0], rows[1])
