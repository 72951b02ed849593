import numpy as np
import pytest
from brute import slce

import lore_core as lore
from lore_core.inference import intervals
from lore_core.kernel_sums import laplacian_means
from lore_core.metrics.means import central_interval


def _planted(seed, n=600, shift=0.0):
    made = lore.demo.synthetic(2 * n, random_state=seed)
    rows = made.dataset.in_split("evaluation")
    data = made.dataset.evaluation
    rng = np.random.default_rng(seed + 10_000)
    accuracy = np.clip(data.confidence - made.true_gap[rows] - shift, 0, 1)
    outcome = (rng.random(len(data)) < accuracy).astype(float)
    return data.confidence, outcome, np.asarray(data.features), accuracy


def test_inversion_and_shrinking_by_hand():
    truth = np.array([0.0, 1.0, 2.0])
    low, high = np.array([0.5, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])
    # Values up to 1 are what no error at all shows; 1.5 needs between 0.5 and 1.5.
    assert intervals.inverted_interval(0.7, truth, low, high) == (0.0, pytest.approx(0.4))
    assert intervals.inverted_interval(1.5, truth, low, high) == (
        pytest.approx(0.5),
        pytest.approx(1.5),
    )
    assert intervals.inverted_interval(0.1, truth, low, high) == (0.0, 0.0)
    # Nothing of this pattern makes 9.
    assert intervals.inverted_interval(9.0, truth, low, high) is None
    gap, noise = np.array([0.2, -0.2, 0.1, 0.0]), np.array([0.01, 0.01, 0.04, 0.01])
    np.testing.assert_allclose(intervals.shrunk_gap(gap, noise), [0.15, -0.15, 0.0, 0.0])


def test_values_are_the_metrics():
    c, a, z, _ = _planted(0, n=150)
    found = lore.calibration_intervals(c, a, z, gamma=0.3, n_bins=4, n_draws=39)
    error = np.abs(slce(c, a, z, 0.3, 4))
    table = lore.reliability_table(c, a, n_bins=4)
    expected = [
        table.expected_calibration_error,
        table.maximum_calibration_error,
        error.mean(),
        error.max(),
        lore.local_errors(c, a, z, gamma=0.3, n_bins=4).supported_maximum(),
    ]
    np.testing.assert_allclose(found["value"], expected)
    assert list(found.index) == ["ECE", "MCE", "ALCE", "MLCE", "MLCE supported"]
    alone = lore.calibration_intervals(c, a, z, gamma=1e-6, n_bins=4, n_draws=39)
    assert "MLCE supported" not in alone.index  # no row has ten neighbours there
    assert (found["low"] <= found["high"]).all()
    assert list(lore.calibration_intervals(c, a, n_draws=39).index) == ["ECE", "MCE"]


def test_coverage_where_errors_cancel():
    """Calibrated on average, wrong locally: the truth is small beside the noise."""
    held = {"ECE": [], "ALCE": []}
    for seed in range(30):
        c, a, z, accuracy = _planted(seed)
        found = lore.calibration_intervals(c, a, z, n_draws=40, random_state=seed)
        table = lore.reliability_table(c, accuracy > 0.5)
        index = table.bins.assign(c)
        ece = np.abs(np.bincount(index, weights=c - accuracy)).sum() / len(c)
        means = laplacian_means(z, None, c - accuracy, bandwidth=0.4, target_groups=index)
        truth = {"ECE": ece, "ALCE": np.abs(means.mean).mean()}
        for name, value in truth.items():
            held[name].append(found["low"][name] <= value <= found["high"][name])
    assert np.mean(held["ECE"]) >= 0.8
    assert np.mean(held["ALCE"]) >= 0.8


def test_the_supported_maximum_may_be_the_only_place_that_is_wrong():
    """Of such truths those belong to the interval that do not make the value too large."""
    rng, n, c = np.random.default_rng(0), 400, 0.75
    z = rng.normal(size=(n, 2))
    away = np.abs(z[:, None] - z[None]).sum(axis=2)
    kernel = np.exp(-away / 0.4)
    gap = np.zeros(n)
    for place in rng.choice(n, 12, replace=False):
        gap[np.argsort(away[place])[:12]] = 0.3
    a = (rng.random(n) < c - gap).astype(float)
    mean = kernel / kernel.sum(axis=1, keepdims=True)
    mean = mean[1 / (mean**2).sum(axis=1) >= 10]  # of rows with ten effective neighbours

    def largest(gaps):
        return np.abs(mean @ gaps).max(axis=0)

    error = mean @ (c - a)
    place = np.abs(error).argmax()
    nearest, pattern = np.argsort(-mean[place]), np.zeros((n, 1))
    share = np.cumsum(mean[place][nearest])
    pattern[nearest[: 1 + np.searchsorted(share, 0.9)]] = error[place]
    truths = []
    for accuracy in (np.clip(c - size * pattern, 0, 1) for size in np.linspace(0, 2, 41)):
        low = np.quantile(largest(c - (rng.random((n, 400)) < accuracy)), 0.025)
        truths += [largest(c - accuracy)[0]] if low <= np.abs(error[place]) else []
    found = lore.calibration_intervals(np.full(n, c), a, z, n_bins=1, n_draws=200)
    assert found.loc["MLCE supported", "high"] > 0.95 * max(truths)


def test_certain_and_perfect_rows():
    found = lore.calibration_intervals(np.ones(50), np.ones(50), np.zeros((50, 1)), n_draws=39)
    assert (found[["value", "low", "high"]] == 0).all(axis=None)
    seen = []
    lore.calibration_intervals(
        [0.5, 0.6], [0, 1], [[0.0], [1.0]], n_draws=39, progress=lambda share, _: seen.append(share)
    )
    assert seen[-1] == 1.0
    assert seen == sorted(seen)
    wrong = lore.calibration_intervals(np.ones(50), np.zeros(50), np.zeros((50, 1)), n_draws=39)
    assert (wrong[["value", "low", "high"]] == 1).all(axis=None)
    with pytest.raises(lore.InputError, match=r"'n_draws' must be a whole number in \[39"):
        lore.calibration_intervals([0.5], [1], n_draws=38)


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_middle_of_draws_holds_the_next_one_as_often_as_it_says(level):
    rng = np.random.default_rng(4)
    draws = rng.exponential(size=(60, 20_000))
    low, high = central_interval(draws, level)
    further = rng.exponential(size=20_000)
    assert ((low <= further) & (further <= high)).mean() == pytest.approx(level, abs=0.006)


def test_bins_with_many_rows_are_drawn_as_a_whole(monkeypatch):
    rng = np.random.default_rng(3)
    # Few are wrong: the number of right ones leans.
    confidence = np.r_[rng.uniform(0.97, 1.0, 5_500), rng.uniform(0.4, 0.9, 500)]
    outcome = (rng.random(6_000) < confidence - 0.01).astype(float)
    found = {}
    for many in (1, 10_000):
        monkeypatch.setattr(intervals, "MANY_ROWS", many)
        found[many] = lore.calibration_intervals(confidence, outcome, n_bins=10, n_draws=2_000)
    ends = ["low", "high"]
    np.testing.assert_allclose(found[1][ends], found[10_000][ends], rtol=0.03, atol=1e-4)
    assert not found[1][ends].equals(found[10_000][ends])
