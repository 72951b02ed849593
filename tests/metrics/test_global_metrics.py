import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit, logit
from scipy.stats import binomtest
from sklearn.metrics import brier_score_loss, log_loss

import lore_core as lore
from lore_core.figures import isotonic_figure
from lore_core.metrics import (
    calibration_line,
    groupwise_calibration_error,
    isotonic_reliability,
    multicalibration_error,
    smooth_calibration_error,
    wilson_interval,
)
from lore_core.metrics.global_metrics import counted_groups, exact_interval
from lore_core.metrics.proper_scores import clip_note, unclipped_nll


def test_bins_by_hand():
    # Two bins of 2: [0.1, 0.3] → conf .2, acc .5, gap −.3; [0.7, 0.9] → conf .8, acc .5, gap +.3.
    # One more row 0.8 that is wrong: conf .8, acc 1/3, gap .4667 on 3 rows.
    c, a = [0.1, 0.3, 0.7, 0.9, 0.8], [0, 1, 1, 0, 0]
    high = 0.8 - 1 / 3
    assert lore.expected_calibration_error(c, a, n_bins=2) == pytest.approx(
        2 / 5 * 0.3 + 3 / 5 * high
    )
    assert lore.maximum_calibration_error(c, a, n_bins=2) == pytest.approx(high)
    assert lore.reliability_table(c, a, n_bins=2).gap == pytest.approx([-0.3, high])
    # Bin 9 has one row with a gap of .95; bin 5 has 40 rows with a gap of .05.
    c = np.array([0.95] + [0.55] * 40)
    a = np.array([0] + [1] * 20 + [0] * 20)
    table = lore.reliability_table(c, a, n_bins=10)
    assert table.worst_bin() == 9
    assert table.worst_bin(min_count=30) == 5
    assert table.best_bin(min_count=1000) == 5  # none has 1000: the fullest
    c, a = np.array([0.1, 0.2, 0.6, 0.7, 0.8, 0.9]), np.array([0, 1, 0, 1, 1, 1])
    within = np.array([True, False, False, False, True, True])
    table = lore.reliability_table(c, a, n_bins=3, binning="equal-mass", within=within)
    np.testing.assert_array_equal(table.count, [1, 0, 2])
    np.testing.assert_allclose(table.accuracy, [0, np.nan, 1])
    np.testing.assert_array_equal(
        table.bins.edges, lore.reliability_table(c, a, n_bins=3, binning="equal-mass").bins.edges
    )


def test_nll_and_brier_match_sklearn():
    rng = np.random.default_rng(0)
    for k in (2, 4):
        p, y = rng.dirichlet(np.ones(k), 50), rng.integers(0, k, 50)
        assert lore.negative_log_likelihood(p, y) == pytest.approx(log_loss(y, p, labels=range(k)))
        expected = (
            brier_score_loss(y, p[:, 1]) if k == 2 else ((p - np.eye(k)[y]) ** 2).sum(1).mean()
        )
        assert lore.brier_score(p, y) == pytest.approx(expected)
    assert lore.negative_log_likelihood([[1.0, 0.0]], [1]) == pytest.approx(-np.log(1e-6))
    clipped = unclipped_nll(lore.Dataset([[1.0, 0.0], [0.5, 0.5]], [1, 0]))
    assert "infinite (1 such row) with “a”, 0.500 (2" in clip_note({"a": clipped, "c": (2, 0.5)})


def test_groupwise_by_hand():
    # Group x: gap +.4 in one bin. Group y: two bins, gaps −.2 and +.9.
    c = [0.9, 0.9, 0.8, 0.1, 0.9]
    a = [1, 0, 1, 1, 0]
    g = ["x", "x", "y", "y", "y"]
    frame = groupwise_calibration_error(c, a, g, n_bins=2).set_index("group")
    assert frame.loc["x", "mce"] == pytest.approx(0.4)
    # y, upper bin: mean confidence .85, accuracy .5; lower bin: .1 against 1.
    assert frame.loc["y", "mce"] == pytest.approx(0.9)
    assert frame.loc["y", "rows"] == 3
    assert lore.groupwise_maximum_calibration_error(c, a, g, n_bins=2) == pytest.approx(0.9)


def test_intervals_are_scipys():
    frame = groupwise_calibration_error([0.9] * 40, [1] * 30 + [0] * 10, ["a", "b"] * 20)
    for _, row in frame.iterrows():
        low, high = binomtest(round(row["accuracy"] * 20), 20).proportion_ci(0.975, "exact")
        assert (row["gap_low"], row["gap_high"]) == pytest.approx((0.9 - high, 0.9 - low))
    low, high = exact_interval([0, 20, 7], [20, 20, 20], level=0.9)
    for k, bounds in zip([0, 20, 7], zip(low, high, strict=True), strict=True):
        assert bounds == pytest.approx(tuple(binomtest(k, 20).proportion_ci(0.9, "exact")))
    low, high = wilson_interval(7, 20)
    expected = binomtest(7, 20).proportion_ci(method="wilson")
    assert (float(low), float(high)) == pytest.approx((expected.low, expected.high))


def test_groups_count_from_ten_rows_on_or_the_largest():
    assert counted_groups([5, 12, 40]).tolist() == [False, True, True]
    assert counted_groups([5, 12, 40], 30).tolist() == [False, False, True]
    assert counted_groups([5, 8], 30).tolist() == [False, True]
    c, a, g = [0.9] * 5 + [0.9], [1] * 5 + [0], ["big"] * 5 + ["tiny"]
    assert lore.groupwise_maximum_calibration_error(c, a, g, min_group_size=2) == pytest.approx(0.1)
    with pytest.raises(lore.InputError, match="the largest has 5 rows, got 9"):
        lore.groupwise_maximum_calibration_error(c, a, g, min_group_size=9)


@pytest.mark.parametrize(
    ("c", "a", "message"),
    [
        ([0.5, np.nan], [0, 1], "'confidence' must be finite; got nan at row 1"),
        ([0.5, 2], [0, 1], r"must lie in \[0, 1\]; got 2 at row 1"),
        ([0.5], [0, 1], "'confidence' must have as many rows as 'outcome'; got 1 and 2"),
        ([0.5], [0.5], "'outcome' must hold only 0 and 1; got 0.5 at row 0"),
        ([], [], "must have at least one row"),
        (["high"], [1], "'confidence' must hold numbers only; got 'high' at row 0"),
    ],
)
def test_bad_input_is_told_in_one_sentence(c, a, message):
    with pytest.raises(lore.InputError, match=message):
        lore.expected_calibration_error(c, a)


def test_a_hand_derived_case_and_limits():
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
    # One confidence: smoothing moves the gap about and takes nothing from it.
    assert smooth_calibration_error([0.8] * 10, [1] * 5 + [0] * 5) == pytest.approx(0.3, abs=1e-6)
    assert smooth_calibration_error([0.0, 1.0], [0, 1]) == pytest.approx(0, abs=1e-6)
    assert smooth_calibration_error([1.0, 0.0], [0, 1]) > 0.3


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
    for seed in range(60):
        rng = np.random.default_rng(seed)
        c = rng.beta(3, 1, 400).round(2)
        a = (rng.random(400) < c).astype(float)
        found = isotonic_reliability(c, a, n_draws=99, random_state=seed + 999)
        p.append(found.miscalibration_p)
        within = (found.frequency >= found.band_low) & (found.frequency <= found.band_high)
        inside.append(np.average(within, weights=found.count))
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


def error(limits):
    """Return the standard error behind a 95 % interval."""
    return (limits[2] - limits[1]) / 2 / stats.norm.ppf(0.975)


def test_the_line_through_two_confidences_by_hand():
    """Right 3 of 4 at 0.5, whose log-odds are 0, and 9 of 10 at 0.8; then with weights."""
    c, a = np.repeat([0.5, 0.8], [4, 10]), np.array([1, 1, 1, 0, *[1] * 9, 0])
    at = logit(0.8)
    intercept, slope = calibration_line(c, a)
    assert slope[0] == pytest.approx((np.log(9) - np.log(3)) / at)
    # A share s of n rows has the variance 1 / (n s (1 − s)) in log-odds.
    assert error(slope) == pytest.approx(np.sqrt(1 / (4 * 3 / 16) + 1 / 0.9) / at)
    p = expit(intercept[0] + np.array([0, at]))
    assert [4, 10] @ p == pytest.approx(12)
    assert error(intercept) == pytest.approx(1 / np.sqrt([4, 10] @ (p * (1 - p))))
    # One confidence; rows of weights 1 and 3 are worth (Σw)²/Σw² = 8 rows of ten.
    intercept, slope = calibration_line([0.8] * 10, [1] * 5 + [0] * 5, weights=[1, 3] * 5)
    right = (2 * 3 + 3) / 20
    assert intercept[0] == pytest.approx(logit(right) - at)
    assert error(intercept) == pytest.approx(1 / np.sqrt(8 * right * (1 - right)))
    assert np.isnan(slope).all()


def test_of_the_likeliest_line_no_residual_is_left():
    rng, n = np.random.default_rng(0), 300
    c, w = rng.beta(4, 1, n), rng.lognormal(size=n)
    c[:3] = [0.0, 1.0, 1.0]
    a, x = rng.random(n) < c**2, logit(np.clip(c, 1e-6, 1 - 1e-6))
    intercept, slope = calibration_line(c, a, weights=w)
    assert w @ (a - expit(intercept[0] + x)) == pytest.approx(0, abs=1e-6)
    shift = optimize.brentq(lambda shift: w @ (a - expit(shift + slope[0] * x)), -9, 9)
    assert (w * x) @ (a - expit(shift + slope[0] * x)) == pytest.approx(0, abs=1e-6)
    assert np.isnan(calibration_line(c, np.ones(n))).all()  # no wrong row
    intercept, slope = calibration_line(c, c >= np.median(c))
    assert np.isfinite(intercept).all()
    assert np.isnan(slope).all()


def test_95_of_100_lines_cover_the_truth():
    held = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x, w = rng.normal(1, 1, 800), rng.lognormal(sigma=0.7, size=800)
        for k, true, odds in ((0, 0.4, 0.4 + x), (1, 0.7, 0.7 * x)):
            line = calibration_line(expit(x), rng.random(800) < expit(odds), weights=w)
            held[k].append(line[k][1] < true < line[k][2])
    assert np.mean(held, axis=1) == pytest.approx(0.95, abs=0.035)


def test_the_multicalibration_error_is_the_largest_range_of_sums():
    rng, n = np.random.default_rng(3), 400
    c, group = rng.beta(4, 1, n).round(2), rng.choice(["a", "b", "c"], n, p=[0.7, 0.28, 0.02])
    a, w = rng.random(n) < c - 0.35 * (group == "b"), rng.lognormal(size=n)

    def sigmas(rows):
        upto = [(w * (a - c))[rows & (c <= at)].sum() for at in (-1, *np.unique(c[rows]))]
        return np.ptp(upto) / np.sqrt((w**2 * c * (1 - c))[rows].sum())

    counted = [np.ones(n, dtype=bool), *(group == name for name in "ab")]
    assert (group == "c").sum() < 10
    expected = max(sigmas(rows) for rows in counted)
    assert multicalibration_error(c, a, group, weights=w) == pytest.approx(expected)
    assert expected > sigmas(counted[0])
    # Alone, and right on average everywhere: the largest step of (a − c) / √Σ c(1 − c).
    assert multicalibration_error([0.5] * 10, [0, 1] * 5, ["x"] * 10) == 0
    assert multicalibration_error([0.5] * 10, [1] * 10, ["x"] * 10) == pytest.approx(np.sqrt(10))
