import numpy as np
import pytest
from scipy import stats

from lore_core.figures import isotonic_figure
from lore_core.metrics import isotonic_reliability, smooth_calibration_error


def test_a_hand_derived_case():
    # Right 1 of 2 at 0.4, 0 of 2 at 0.6, 2 of 2 at 0.9: the first two are pooled to 1 of 4.
    found = isotonic_reliability([0.4, 0.4, 0.6, 0.6, 0.9, 0.9], [1, 0, 0, 0, 1, 1])
    np.testing.assert_allclose(found.confidence, [0.4, 0.6, 0.9])
    np.testing.assert_array_equal(found.count, [2, 2, 2])
    np.testing.assert_allclose(found.frequency, [0.25, 0.25, 1])
    score = (0.36 + 0.16 + 0.36 + 0.36 + 0.01 + 0.01) / 6
    left = (0.75**2 + 3 * 0.25**2) / 6
    assert found.score == pytest.approx(score)
    assert found.uncertainty == pytest.approx(0.25)
    assert found.miscalibration == pytest.approx(score - left)
    assert found.discrimination == pytest.approx(0.25 - left)


@pytest.mark.parametrize("n", [50, 5000])
def test_the_parts_make_the_score(n):
    rng = np.random.default_rng(n)
    c = rng.beta(4, 1, n)
    a = (rng.random(n) < c**2).astype(float)
    found = isotonic_reliability(c, a)
    whole = found.miscalibration - found.discrimination + found.uncertainty
    assert found.score == pytest.approx(np.square(c - a).mean(), abs=1e-12)
    assert whole == pytest.approx(found.score, abs=1e-12)
    assert found.count.sum() == n
    assert (np.diff(found.frequency) >= 0).all()
    assert f"{found.score:.4f}" in found.sentence


def test_right_confidences_are_in_the_band_and_wrong_ones_are_told():
    p, inside = [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        c = rng.beta(3, 1, 400).round(2)
        a = (rng.random(400) < c).astype(float)
        found = isotonic_reliability(c, a, n_draws=99, random_state=seed + 999)
        p.append(found.miscalibration_p)
        inside.append(
            np.average(
                (found.frequency >= found.band_low) & (found.frequency <= found.band_high),
                weights=found.count,
            )
        )
    assert stats.kstest(p, "uniform").pvalue > 0.01
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)
    wrong = isotonic_reliability(c, (rng.random(400) < c**3).astype(float), n_draws=99)
    assert wrong.miscalibration_p == pytest.approx(0.01)
    assert wrong.miscalibration > 5 * wrong.chance_miscalibration


@pytest.mark.parametrize(("n", "off"), [(40, 0.0), (40, 0.3), (150, 0.1)])
def test_the_smooth_error_is_its_integral(n, off):
    rng = np.random.default_rng(n)
    c = rng.random(n)
    a = (rng.random(n) < np.clip(c - off, 0, 1)).astype(float)
    t = (np.arange(8000) + 0.5) / 8000

    def error(sigma):
        smooth = np.zeros_like(t)
        for image in (2 * k + sign * c for k in range(-3, 4) for sign in (1, -1)):
            smooth += stats.norm.pdf(t[:, None], image, sigma) @ (a - c)
        return np.abs(smooth).mean() / n

    found = smooth_calibration_error(c, a)
    assert error(found) == pytest.approx(found, abs=1e-5)


def test_limits_of_the_smooth_error():
    # One confidence: smoothing moves the gap about and takes nothing from it.
    assert smooth_calibration_error([0.8] * 10, [1] * 5 + [0] * 5) == pytest.approx(0.3, abs=1e-6)
    assert smooth_calibration_error([0.0, 1.0], [0, 1]) == pytest.approx(0, abs=1e-6)
    assert smooth_calibration_error([1.0, 0.0], [0, 1]) > 0.3


@pytest.mark.parametrize("n", [30, 4000])
def test_the_diagram_draws_what_was_found(n):
    rng = np.random.default_rng(n)
    c = rng.beta(3, 1, n).round(1 if n == 30 else 6)
    found = isotonic_reliability(c, (rng.random(n) < c**2).astype(float))
    chart = isotonic_figure(found, rows=f"{n} rows")
    line = next(trace for trace in chart.figure.data if trace.name == "right")
    np.testing.assert_allclose(
        line.y, np.interp(line.x, 100 * found.confidence, 100 * found.frequency), atol=1e-9
    )
    assert set(np.round(100 * found.frequency, 9)) == set(np.round(line.y, 9))
    rows = next(trace for trace in chart.figure.data if trace.name == "rows")
    assert np.sum(rows.y) == n
    assert len(chart.table) == len(found.confidence)
