"""Which γ: the curve against the band of whole curves."""

from __future__ import annotations

import numpy as np

import lore_core as lore
from lore_core.comparison import conclude_bandwidths
from lore_core.inference import NullBand


def made(draws, gammas):
    draws = np.asarray(draws, dtype=float)
    return NullBand(np.asarray(gammas), draws, draws, draws)


def test_the_band_holds_whole_curves():
    rng = np.random.default_rng(0)
    curves = rng.gamma(4, [0.01, 0.02, 0.005], (4000, 3))
    low, high = made(curves[:2000], [1, 2, 3]).band("alce", 0.9)
    inside = ((curves[2000:] >= low) & (curves[2000:] <= high)).all(axis=1)
    assert abs(inside.mean() - 0.9) < 0.025
    assert made(curves[:50], [1, 2, 3]).excess("alce", curves[:50].mean(axis=0)).tolist() == [0] * 3


def test_bandwidths_without_support_are_passed_over():
    draws = [[np.nan, 0.1, 0.2], [np.nan, 0.2, 0.3], [np.nan, 0.3, 0.1]] * 20
    low, high = made(draws, [0.1, 1, 10]).band("mlce_supported")
    assert np.isnan(low[0])
    assert np.isnan(high[0])
    assert high[1] >= 0.3


def test_a_planted_error_stands_clear_and_a_calibrated_model_does_not():
    for calibrated in (False, True):
        rows = lore.demo.synthetic(3000, calibrated=calibrated).dataset.evaluation
        points = np.asarray(rows.features)
        curve = lore.bandwidth_curve(rows.confidence, rows.outcome, points)
        band = lore.null_band(rows.confidence, points, n_draws=99)
        said = conclude_bandwidths(curve, band, on="a map")
        above = curve.mlce_supported > band.band("mlce_supported")[1]
        assert said.is_significant == above.any() == (not calibrated)
        if said.is_significant:
            assert (
                f"at {above.sum()} of {np.isfinite(curve.mlce_supported).sum()} band"
                in said.sentence
            )
    assert "is open" in conclude_bandwidths(curve, None, on="a map").sentence


def test_few_rows_have_no_neighbours():
    curve = lore.bandwidth_curve([0.5] * 5, [1, 0, 1, 0, 1], np.arange(10.0).reshape(5, 2))
    assert "nothing local can be told" in conclude_bandwidths(curve, None, on="a map").sentence
