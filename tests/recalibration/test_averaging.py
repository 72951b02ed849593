import numpy as np
import pytest

from lore_core.recalibration.smooth_tuning import (
    confidence_levels,
    fewest_levels,
    global_line,
    model_weights,
    most_levels,
    on_line,
    stacked_weights,
)


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


def test_two_half_right_candidates_are_both_kept():
    """The better on the whole has nearly all the likelihood, but the average needs the other."""
    logs = np.log(np.array([[0.9] * 60 + [0.3] * 40, [0.3] * 60 + [0.9] * 40]))
    assert model_weights(logs)[0] > 0.9
    # The best average has weight w: 60·0.6/(0.3 + 0.6w) = 40·0.6/(0.9 − 0.6w), w = 0.7.
    np.testing.assert_allclose(stacked_weights(logs, 20), [0.7, 0.3], atol=0.05)
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
    bins, means = confidence_levels(rows, most_levels(len(rows)))
    assert bins.assign([0.1, 0.79, 0.8, 0.97, 0.98, 1.0]).tolist() == [0, 0, 1, 1, 1, 1]
    assert means.tolist() == pytest.approx([0.5, (20 * 0.8 + 24 * 0.98) / 44])


def test_levels_tell_doubtful_rows_apart_rather_than_sure_ones():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.uniform(0.5, 0.9, 50), rng.uniform(0.998, 1.0, 950)])
    bins, _ = confidence_levels(rows, most_levels(len(rows)))
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
    bins, means = confidence_levels(np.array([0.7, 0.9]), 1)
    assert (bins.n_bins, means.tolist()) == (1, pytest.approx([0.8]))
    bins, means = confidence_levels(np.ones(100), 4)
    assert means[bins.assign([1.0])].tolist() == [1.0]
