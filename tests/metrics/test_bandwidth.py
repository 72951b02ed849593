import dataclasses

import numpy as np
import pytest

import lore_core as lore
from benchmarks.paper.pictures import mean_bandwidth_curve


def test_curve_is_each_bandwidth_on_its_own(sample):
    c, a, z = sample
    curve = lore.bandwidth_curve(c, a, z, [0.05, 0.2, 3.0], n_bins=5)
    for k, gamma in enumerate(curve.gamma):
        lce = lore.local_calibration_error(c, a, z, gamma=gamma, n_bins=5)
        assert curve.mlce[k] == pytest.approx(lce.max(), rel=1e-12)
        assert curve.alce[k] == pytest.approx(lce.mean(), rel=1e-12)


@pytest.mark.parametrize("share_points", [False, True])
def test_limits(sample, share_points):
    c, a, z = sample
    z = z if share_points else z + np.linspace(0.0, 1.0, len(z))[:, None]
    assert (len(np.unique(z, axis=0)) < len(z)) == share_points
    curve = lore.bandwidth_curve(c, a, z, [1e-8, 1e8])
    assert curve.mlce[0] == pytest.approx(curve.mlce_zero, abs=1e-9)
    assert curve.alce[0] == pytest.approx(curve.alce_zero, abs=1e-9)
    assert curve.mlce[1] == pytest.approx(lore.maximum_calibration_error(c, a), abs=1e-6)
    assert curve.alce[1] == pytest.approx(lore.expected_calibration_error(c, a), abs=1e-6)
    assert (curve.mlce_infinity, curve.alce_infinity) == (
        lore.maximum_calibration_error(c, a),
        lore.expected_calibration_error(c, a),
    )


def test_supported_mlce_passes_over_rows_that_stand_alone():
    # Twelve rows at one point with gap −.05, one far away in another bin with gap +.55.
    c, a = [0.95] * 12 + [0.55], [1] * 12 + [0]
    curve = lore.bandwidth_curve(c, a, [[0.0]] * 13, [0.1, 1e6], n_bins=10)
    assert curve.mlce == pytest.approx([0.55, 0.55])
    assert curve.mlce_supported == pytest.approx([0.05, 0.05])
    assert curve.mlce_supported_infinity == pytest.approx(0.05)
    alone = lore.bandwidth_curve([0.9], [1], [[0.0]], [1.0])
    assert np.isnan(alone.mlce_supported).all()
    assert np.isnan(alone.mlce_supported_infinity)
    # Two rows in one bin at distance ln 2 with γ = 1: k = 1/2. Outcomes 1 and 0; the other row is
    # also the whole rest of the bin, so p = (½·a' + a') / (½ + 1) = a': 0 and 1, clipped.
    best = lore.suggest_bandwidth([0.9, 0.9], [1, 0], [[0.0], [np.log(2)]], [1.0])
    assert best.loss[0, 0] == pytest.approx(-np.log(1e-6))
    with pytest.raises(lore.InputError, match="some confidence bin holds two rows"):
        lore.suggest_bandwidth([0.1, 0.9], [0, 1], [[0.0], [1.0]])


def test_suggestion_finds_the_size_of_a_planted_pattern():
    """Accuracy alternates in cells of side 1: γ far below the cell and above noise wins."""
    rng = np.random.default_rng(3)
    z = rng.uniform(0, 4, size=(4000, 2))
    accuracy = np.where((np.floor(z).sum(axis=1) % 2) == 0, 0.95, 0.55)
    a = (rng.uniform(size=len(z)) < accuracy).astype(float)
    best = lore.suggest_bandwidth(np.full(len(z), 0.75), a, z)
    assert 0.02 < best.gamma < 0.4
    assert not best.at_edge
    assert best.n_rows == 4000
    rng = np.random.default_rng(4)
    z = rng.normal(size=(2000, 2))
    a = (rng.uniform(size=2000) < 0.7).astype(float)
    best = lore.suggest_bandwidth(np.full(2000, 0.7), a, z)
    assert best.gamma > 1 or best.gamma < 0.02


def test_mean_and_spread_over_runs():
    # Twelve rows at one point: gaps −.05 and +.95 together, .45 for all; one in the second run.
    one = lore.bandwidth_curve([0.95] * 12, [1, 0] * 6, [[0.0]] * 12, [0.2, 5.0])
    two = lore.bandwidth_curve([0.95], [1], [[0.0]], [0.2, 5.0])
    found = mean_bandwidth_curve([one, two])
    assert found.n_runs == 2
    assert found.mlce == pytest.approx([0.25, 0.25])
    assert np.array(found.bounds["mlce"]) == pytest.approx(np.array([[0.05] * 2, [0.45] * 2]))
    assert found.mlce_infinity == pytest.approx(0.25)
    # Only the first run has a row with ten effective neighbours.
    assert found.mlce_supported == pytest.approx([0.45, 0.45])
    for end in found.bounds["mlce_supported"]:
        assert end == pytest.approx([0.45, 0.45])
    assert np.isnan(mean_bandwidth_curve([two]).mlce_supported).all()
    np.testing.assert_array_equal(found.gamma, [0.2, 5.0])
    curve = lore.bandwidth_curve([0.95], [1], [[0.0]], [0.2, 5.0])
    other = dataclasses.replace(curve, gamma=np.array([0.2, 4.0]))
    for curves in ([], [curve, other]):
        with pytest.raises(lore.InputError, match="one curve or more, all of the same 'gamma'"):
            mean_bandwidth_curve(curves)


def test_suggested_bins_are_judged_on_the_same_rows():
    """Confidence says all there is to know: more bins predict better, and locality adds nothing."""
    rng = np.random.default_rng(8)
    c = rng.uniform(0.05, 0.95, 3000)
    a = (rng.uniform(size=3000) < c).astype(float)
    z = rng.normal(size=(3000, 2))
    best = lore.suggest_bandwidth(c, a, z, [0.1, 1.0, 10.0], n_bins=(1, 2, 10))
    assert best.n_bins == 10
    assert best.loss.shape == (3, 3)
    assert best.tried_bins == (1, 2, 10)
    for bins, loss in zip(best.tried_bins, best.loss, strict=True):
        alone = lore.suggest_bandwidth(c, a, z, [0.1, 1.0, 10.0], n_bins=bins)
        np.testing.assert_allclose(alone.loss[0], loss)
    assert best.gain < 3 * best.gain_error
    with pytest.raises(lore.InputError, match="at least one number of bins"):
        lore.suggest_bandwidth(c, a, z, n_bins=())


def test_gain_over_the_bin_alone():
    rng = np.random.default_rng(9)
    z = np.repeat([[-3.0], [3.0]], 500, axis=0) + rng.normal(size=(1000, 1)) * 0.1
    a = (rng.uniform(size=1000) < np.where(z[:, 0] > 0, 0.95, 0.55)).astype(float)
    best = lore.suggest_bandwidth(np.full(1000, 0.75), a, z, [0.3], n_bins=1)
    others = (a.sum() - a) / 999
    plain = -(a * np.log(others) + (1 - a) * np.log1p(-others)).mean()
    assert best.gain == pytest.approx(plain - best.loss[0, 0])
    assert best.gain > 5 * best.gain_error > 0
