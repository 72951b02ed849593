import numpy as np
import pytest

from lore_core import (
    InputError,
    bandwidth_curve,
    expected_calibration_error,
    local_calibration_error,
    maximum_calibration_error,
    suggest_bandwidth,
)


def test_curve_is_each_bandwidth_on_its_own(sample):
    c, a, z = sample
    curve = bandwidth_curve(c, a, z, [0.05, 0.2, 3.0], n_bins=5)
    for k, gamma in enumerate(curve.gamma):
        lce = local_calibration_error(c, a, z, gamma=gamma, n_bins=5)
        assert curve.mlce[k] == pytest.approx(lce.max(), rel=1e-12)
        assert curve.alce[k] == pytest.approx(lce.mean(), rel=1e-12)


def test_limits(sample):
    c, a, z = sample
    curve = bandwidth_curve(c, a, z, [1e-8, 1e8])
    assert curve.mlce[0] == pytest.approx(curve.mlce_zero, abs=1e-9)
    assert curve.alce[0] == pytest.approx(curve.alce_zero, abs=1e-9)
    assert curve.mlce[1] == pytest.approx(maximum_calibration_error(c, a), abs=1e-6)
    assert curve.alce[1] == pytest.approx(expected_calibration_error(c, a), abs=1e-6)
    assert (curve.mlce_infinity, curve.alce_infinity) == (
        maximum_calibration_error(c, a),
        expected_calibration_error(c, a),
    )


def test_supported_mlce_passes_over_rows_that_stand_alone():
    # Twelve rows at one point with gap −.05, one far away in another bin with gap +.55.
    c, a = [0.95] * 12 + [0.55], [1] * 12 + [0]
    curve = bandwidth_curve(c, a, [[0.0]] * 13, [0.1, 1e6], n_bins=10)
    assert curve.mlce == pytest.approx([0.55, 0.55])
    assert curve.mlce_supported == pytest.approx([0.05, 0.05])
    assert curve.mlce_supported_infinity == pytest.approx(0.05)
    alone = bandwidth_curve([0.9], [1], [[0.0]], [1.0])
    assert np.isnan(alone.mlce_supported).all()
    assert np.isnan(alone.mlce_supported_infinity)


def test_suggestion_finds_the_size_of_a_planted_pattern():
    """Accuracy alternates in cells of side 1: γ far below the cell and above noise wins."""
    rng = np.random.default_rng(3)
    z = rng.uniform(0, 4, size=(4000, 2))
    accuracy = np.where((np.floor(z).sum(axis=1) % 2) == 0, 0.95, 0.55)
    a = (rng.uniform(size=len(z)) < accuracy).astype(float)
    best = suggest_bandwidth(np.full(len(z), 0.75), a, z)
    assert 0.02 < best.gamma < 0.4
    assert not best.at_edge
    assert best.n_rows == 4000


def test_suggestion_without_a_pattern_prefers_no_locality():
    rng = np.random.default_rng(4)
    z = rng.normal(size=(2000, 2))
    a = (rng.uniform(size=2000) < 0.7).astype(float)
    best = suggest_bandwidth(np.full(2000, 0.7), a, z)
    assert best.gamma > 1 or best.gamma < 0.02


def test_leave_one_out_loss_by_hand():
    # Two rows in one bin at distance ln 2 with γ = 1: k = 1/2. Outcomes 1 and 0; the other row is
    # also the whole rest of the bin, so p = (½·a' + a') / (½ + 1) = a': 0 and 1, clipped.
    best = suggest_bandwidth([0.9, 0.9], [1, 0], [[0.0], [np.log(2)]], [1.0])
    assert best.negative_log_likelihood[0] == pytest.approx(-np.log(1e-6))


def test_suggestion_needs_company():
    with pytest.raises(InputError, match="some confidence bin holds two rows"):
        suggest_bandwidth([0.1, 0.9], [0, 1], [[0.0], [1.0]])
