import dataclasses

import numpy as np
import pytest
from synthetic import overconfident

from lore_core import Dataset, InputError, Predictor, SmoothLoRe
from lore_core.data.probabilities import expit, logit
from lore_core.recalibration import LevelLoRe, LogisticRecalibration, MatrixScaling
from lore_core.recalibration.smooth_tuning import (
    GAMMAS,
    confidence_levels,
    fewest_levels,
    fewest_sums,
    fitted_bases,
    global_line,
    leave_one_out_smooth,
    model_weights,
    most_levels,
    on_line,
    part_of,
    parts,
    stacked_weights,
    ways_to_part,
)


@pytest.fixture(scope="module")
def rows():
    return overconfident(90, k=4, seed=4)


@pytest.fixture(scope="module")
def fitted(rows):
    return SmoothLoRe().fit(*rows)


@pytest.fixture(scope="module")
def levels(rows):
    return SmoothLoRe(levels=True).fit(*rows)


def by_pairs(z, others_z, same, state_like, candidate, start, accuracy):
    """Say what a candidate says of one row at z, from the rows that count."""
    outcome, b = state_like
    d = len(z)
    kernel = np.exp(-np.abs(z - others_z).sum(axis=1) / (d * candidate.gamma)) * same
    if candidate.base is None:
        total = kernel.sum() + candidate.strength
        right = (kernel * outcome).sum() + candidate.strength * accuracy
        return np.clip(right / total if total > 0 else start[0], 1e-4, 1 - 1e-4)
    b = b[:, candidate.base]
    off, spread = (kernel * (outcome - b)).sum(), (kernel * b * (1 - b)).sum()
    delta = 0.0 if np.isinf(candidate.strength) else off / (spread + candidate.strength)
    return expit(logit(start[candidate.base]) + delta)


def test_each_row_is_corrected_by_the_others(rows):
    data, z = rows
    _, _, changed, starts = fitted_bases(data)
    ways = ways_to_part(changed, [1, 3])
    candidates, confidence, log_likelihood = leave_one_out_smooth(
        [z], changed, starts, ways, np.array([0.1, 0.8]), None
    )
    # 2 γ × 3 ways × (2 bases × 4 + 4), and each base alone.
    assert len(candidates) == 2 * 3 * 12 + 2
    others = ~np.eye(len(data), dtype=bool)
    for i in (0, 17, 55):
        for candidate, said in zip(candidates, confidence, strict=True):
            part = part_of(ways[candidate.partition], changed.confidence, changed.predictions)
            same = (part == part[i]) & others[i]
            accuracy = data.outcome[same].mean() if same.any() else starts[i, 0]
            known = (data.outcome, starts)
            expected = by_pairs(z[i], z, same, known, candidate, starts[i], accuracy)
            assert said[i] == pytest.approx(expected, abs=1e-9)
    outcome = np.where(data.outcome == 1, confidence, 1 - confidence)
    np.testing.assert_allclose(log_likelihood, np.log(outcome), atol=1e-9)


def test_no_start_saw_the_outcome_of_its_row(rows):
    data, _ = rows
    first, (logistic,), changed, starts = fitted_bases(data)
    part = parts(data)
    here = part == 2
    again = MatrixScaling(strength=first.strength_).fit(data.rows(~here))
    # (A product of other rows may round its last bit otherwise.)
    expected = again.recalibrate(data.rows(here)).probabilities
    np.testing.assert_allclose(changed.probabilities[here], expected, rtol=1e-14)
    more = LogisticRecalibration(strength=logistic.strength_).fit(changed.rows(~here))
    expected = more.recalibrate(changed.rows(here)).confidence
    np.testing.assert_allclose(starts[here, 1], expected, atol=1e-12)


@pytest.mark.parametrize("name", ["fitted", "levels"])
def test_new_rows_are_corrected_by_the_calibration_rows(rows, name, request):
    data, z = rows
    new, new_z = overconfident(12, k=4, seed=5)
    method = request.getfixturevalue(name)
    state = method.state()
    _, _, changed, cal_starts = fitted_bases(data)
    first = method.first_.recalibrate(new)
    starts = np.column_stack(
        [first.confidence, *(more.recalibrate(first).confidence for more in method.more_)]
    )
    expected = np.zeros(len(new))
    ways = ways_to_part(changed, [1, 5])
    kept = {tuple(part["bin_index"]): part for part in state["partitions"]}
    for way in ways:
        known = part_of(way, changed.confidence, changed.predictions)
        if tuple(known) not in kept:
            continue
        place = list(kept).index(tuple(known))
        part = part_of(way, first.confidence, new.predictions)
        for member in state["members"]:
            if member["partition"] != place:
                continue
            candidate = type("Candidate", (), member)
            for i in range(len(new)):
                same = known == part[i]
                accuracy = data.outcome[same].mean() if same.any() else starts[i, 0]
                expected[i] += member["weight"] * by_pairs(
                    new_z[i], z, same, (data.outcome, cal_starts), candidate, starts[i], accuracy
                )
    expected = on_line(expected, *method.line_)
    after = method.recalibrate(new, new_z)
    if name == "levels":
        assert set(after.confidence.round(12)) <= set(method.level_confidence_.round(12))
        assert 1 < len(method.level_confidence_) <= round(0.8 * len(data) ** (1 / 3))
        assert np.abs(after.confidence - expected).max() < 0.3
        return
    np.testing.assert_allclose(after.confidence, expected, atol=1e-9)
    own = np.arange(len(new)), new.predictions
    soft = state["other_classes"]
    shares = (first.probabilities + soft["offset"]) ** (1 / soft["temperature"])
    rest = after.probabilities.copy()
    shares[own] = rest[own] = 0.0
    np.testing.assert_allclose(
        rest / rest.sum(axis=1, keepdims=True), shares / shares.sum(axis=1, keepdims=True)
    )
    np.testing.assert_array_equal(after.predictions, new.predictions)


def test_it_finds_what_no_global_method_can():
    """Rows of one place are right half as often as all others; their vectors do not show it."""

    def planted(seed):
        rng = np.random.default_rng(seed)
        z = rng.uniform(-1, 1, size=(1500, 2))
        here = np.hypot(z[:, 0] - 0.4, z[:, 1]) < 0.35
        right = rng.random(1500) < np.where(here, 0.4, 0.8)
        vectors = np.tile([0.8, 0.1, 0.1], (1500, 1))
        return Dataset(vectors, np.where(right, 0, rng.integers(1, 3, 1500)), features=z), z, here

    data, z, _ = planted(0)
    new, new_z, here = planted(1)
    after = SmoothLoRe().fit(data, z).recalibrate(new, new_z).confidence
    # Of the 0.35 between what all rows and those of the place should be told, most is found.
    assert after[here].mean() < 0.55
    assert after[~here].mean() == pytest.approx(0.8, abs=0.03)
    # Of two maps the one that shows the place counts.
    data, new = (dataclasses.replace(part, features=None) for part in (data, new))
    method = SmoothLoRe().fit(data, {"hides": np.random.default_rng(2).permutation(z), "shows": z})
    assert sum(item["weight"] for item in method.members_ if item["map"] == 1) > 0.8
    after = method.recalibrate(new, {"hides": new_z[::-1], "shows": new_z}).confidence
    assert after[here].mean() < 0.55


def test_a_name_the_prediction_on_top_and_no_features(rows, fitted, levels):
    expected = levels.recalibrate(*rows).probabilities
    np.testing.assert_array_equal(LevelLoRe().fit(*rows).recalibrate(*rows).probabilities, expected)
    assert sum(member["weight"] for member in fitted.members_) == pytest.approx(1)
    data, z = rows
    given = fitted.recalibrate(data, z).probabilities
    kept = SmoothLoRe(keep_class=True).fit(data, z).recalibrate(data, z).probabilities
    own = np.arange(len(data)), data.predictions
    moved = given.max(axis=1) > given[own]
    assert 0 < moved.sum() < len(data)
    np.testing.assert_allclose(kept[own], kept.max(axis=1))
    np.testing.assert_allclose(kept[~moved], given[~moved])
    method = SmoothLoRe().fit(dataclasses.replace(data, features=None), z)
    assert method.more_ == []
    given = Predictor(method).predict(data.probabilities, coordinates=z)
    expected = method.recalibrate(dataclasses.replace(data, features=None), z).probabilities
    np.testing.assert_array_equal(given, expected)
    with pytest.raises(InputError, match="LoRe smooth must be given an embedding"):
        SmoothLoRe().fit(data)


@pytest.mark.parametrize("n", [2, 3])
def test_next_to_no_rows(n):
    data, z = overconfident(n, k=3, seed=1)
    after = SmoothLoRe().fit(data, z).recalibrate(data, z)
    assert np.isfinite(after.probabilities).all()
    with pytest.raises(InputError, match="must have two calibration rows or more; got one"):
        SmoothLoRe().fit(data.rows([0]), z[:1])


def test_many_rows_are_corrected_part_by_part(rows, fitted, monkeypatch):
    whole = fitted.recalibrate(*rows)
    monkeypatch.setattr("lore_core.recalibration.smooth_lore._MOST_ROWS", 40)
    parts = fitted.recalibrate(*rows)
    np.testing.assert_allclose(parts.probabilities, whole.probabilities, rtol=0, atol=1e-12)


def test_of_many_rows_a_part_chooses_the_weights(rows):
    data, z = rows
    some = SmoothLoRe(max_rows=30).fit(data, z)
    chosen = np.sort(np.random.default_rng(0).choice(len(data), 30, replace=False))
    _, _, changed, starts = fitted_bases(data)
    ways = ways_to_part(changed, [1, 5])
    *_, log_likelihood = leave_one_out_smooth(
        [z[chosen]], changed.rows(chosen), starts[chosen], ways, np.array(GAMMAS), None
    )
    weights = stacked_weights(log_likelihood, 20)
    weights[weights < 1e-3 * weights.max()] = 0.0
    expected = weights[weights > 0] / weights.sum()
    np.testing.assert_allclose([member["weight"] for member in some.members_], expected)
    assert len(some.outcome_) == len(data)


def test_of_many_rows_only_kernel_sums_that_gain_are_computed(rows, fitted, monkeypatch):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 4_000)
    outcome = (rng.random(4_000) < p).astype(float)
    # A fair guess, the truth twice over, and its opposite; the last are the largest sums.
    confidence = np.stack([np.full(4_000, 0.5), p, p, 1 - p])
    weights = np.array([0.1, 0.4, 0.3, 0.2])
    sums = [(False, 0.1), (False, 0.2), (True, 0.1), (True, 0.2)]
    found = fewest_sums(sums, weights, confidence, outcome, None)
    np.testing.assert_array_equal(found > 0, [True, True, False, False])
    alone = fewest_sums(sums[:2], weights[[1, 0]], confidence[[0, 1]], outcome, None)
    np.testing.assert_array_equal(alone, weights[[1, 0]])  # the better of two stays, if larger
    monkeypatch.setattr("lore_core.recalibration.smooth_lore._MANY_ROWS", 10)
    some = SmoothLoRe().fit(*rows)
    assert 0 < len(some.members_) < len(fitted.members_) / 4
    assert sum(member["weight"] for member in some.members_) == pytest.approx(1.0)


def test_beyond_3d_some_calibration_rows_are_the_neighbours_of_many(monkeypatch):
    data, z = overconfident(60, k=3, seed=2)
    z = np.random.default_rng(1).normal(size=(60, 4))
    method = SmoothLoRe(gammas=[0.2]).fit(data, z)
    state = method.state()
    monkeypatch.setattr("lore_core.recalibration.smooth_lore._MOST_BEYOND_3D", 25)
    chosen = np.random.default_rng(0).choice(60, 25, replace=False)

    def moved(row):
        points = state["maps"][0]["points"].copy()
        points[row] += 0.5
        other = {**state, "maps": [{**state["maps"][0], "points": points}]}
        made = SmoothLoRe.restored({}, other, label=method.label, n_rows=60)
        return made.recalibrate(data, z).confidence

    before = method.recalibrate(data, z).confidence
    others = np.setdiff1d(np.arange(60), chosen)
    np.testing.assert_array_equal(moved(others), before)
    assert np.abs(moved(chosen[:1]) - before).max() > 1e-6


def test_weights_are_the_likelihoods_shares_and_stacking_is_em():
    rng = np.random.default_rng(0)
    same = np.tile(rng.normal(size=200), (2, 1))
    np.testing.assert_allclose(model_weights(same), [0.5, 0.5])
    worse = same - np.array([[0.0], [1.0]])
    assert model_weights(worse)[0] > 1 - 1e-12
    likelihood = rng.uniform(0.1, 1, size=(3, 40))
    logs = np.log(likelihood)
    weights = (model_weights(logs) + 1 / 3) / 2
    for _ in range(4):
        # The share of each row that each candidate accounts for, row by row.
        shares = np.array([weights * likelihood[:, i] for i in range(40)])
        weights = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(stacked_weights(logs, 4), weights, atol=1e-12)


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
    bins, means = confidence_levels(np.array([0.7, 0.9]), 1)
    assert (bins.n_bins, means.tolist()) == (1, pytest.approx([0.8]))
    bins, means = confidence_levels(np.ones(100), 4)
    assert means[bins.assign([1.0])].tolist() == [1.0]
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
