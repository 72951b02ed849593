from dataclasses import replace

import numpy as np
import pytest

import lore_core as lore
from lore_core.inference import class_table, describe_classes, vector_chance
from lore_core.metrics import vector_errors


def world(seed, n=400, n_classes=4, *, turned=0.0):
    """Rows whose true classes are drawn from their probabilities, turned to one side of the map."""
    rng = np.random.default_rng(seed)
    p, z = rng.dirichlet(np.full(n_classes, 0.7), n), rng.normal(size=(n, 2))
    q = p.copy()
    side = z[:, 0] > 0
    q[side] = (1 - turned) * p[side] + turned * np.eye(n_classes)[1]
    labels = (q.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=n_classes - 1)
    return lore.Dataset(p, labels), z


def all_pairs(rows, z, gamma, n_bins):
    """Weights w_ij of every pair of rows, and p − onehot(y)."""
    bins = np.minimum(np.floor(rows.confidence * n_bins), n_bins - 1)
    kernel = np.exp(-np.abs(z[:, None] - z[None]).sum(axis=2) / (2 * gamma))
    weight = kernel * (bins[:, None] == bins)
    weight /= weight.sum(axis=1, keepdims=True)
    return weight, rows.probabilities - np.eye(rows.n_classes)[rows.labels]


def test_against_all_pairs():
    rows, z = world(0, 150)
    found = vector_errors(rows, z, gamma=0.3, n_bins=5)
    weight, residual = all_pairs(rows, z, 0.3, 5)
    assert found.signed == pytest.approx(weight @ residual, abs=1e-12)
    assert found.signed.sum(axis=1) == pytest.approx(0, abs=1e-12)
    # Without every row's product with itself.
    products = residual @ residual.T
    np.fill_diagonal(products, 0.0)
    by_hand = np.einsum("ij,jl,il->i", weight, products, weight)
    assert found.squared == pytest.approx(by_hand, abs=1e-12)
    assert found.effective_size == pytest.approx(1 / (weight**2).sum(axis=1))
    known = 1 / (weight**2).sum(axis=1) >= 10
    assert 0 < known.sum() < 150
    for k in range(4):
        products = np.outer(residual[:, k], residual[:, k])
        np.fill_diagonal(products, 0.0)
        of_rows = np.einsum("ij,jl,il->i", weight, products, weight)
        assert found.class_squared[k] == pytest.approx(of_rows[known].mean(), abs=1e-12)
    assert found.class_squared.sum() == pytest.approx(found.squared[known].mean(), abs=1e-12)
    assert found.supported_maximum() == pytest.approx(np.sqrt(by_hand[known].max()))


def test_a_test_counts_how_many_draws_reach_the_data():
    """Of drawn classes the squared errors, of rows and classes, are those of such data."""
    rows, z = world(6, 200)
    found = vector_errors(rows, z, gamma=0.4, n_bins=4)
    chance = vector_chance(rows, z, found, n_draws=39, random_state=8)
    rng, upto = np.random.default_rng(8), rows.probabilities.cumsum(axis=1)
    drawn = [found]
    for _ in range(39):
        labels = (upto <= rng.random((200, 1)) * upto[:, -1:]).sum(axis=1)
        drawn.append(vector_errors(replace(rows, labels=labels), z, gamma=0.4, n_bins=4))
    of_all = np.array([item.squared[found.supported()] for item in drawn])
    of_class = np.array([item.class_squared for item in drawn])
    mean, spread = of_all.mean(axis=1), np.sqrt(np.square(of_all).mean(axis=0))
    assert chance.p_value == (mean >= mean[0]).mean()
    assert chance.chance_level == pytest.approx(np.sqrt(np.sort(mean[1:])[37]))
    assert chance.class_level == pytest.approx(np.sqrt(np.sort(of_class[1:], axis=0)[37]))
    limit = np.sort((of_all[1:] / spread).max(axis=1))[37]
    assert list(chance.beyond[found.supported()]) == list(of_all[0] / spread > limit)
    scaled = of_class / np.sqrt(np.square(of_class).mean(axis=0))
    reached = (scaled[1:].max(axis=1)[:, None] >= scaled[0]).sum(axis=0)
    assert chance.class_p_value == pytest.approx((1 + reached) / 40)


def test_the_noise_is_taken_off_and_the_test_keeps_its_level():
    squared, naive, p_values, any_row, any_class = [], [], [], [], []
    for seed in range(60):
        rows, z = world(100 + seed)
        found = vector_errors(rows, z, gamma=0.5)
        chance = vector_chance(rows, z, found, n_draws=39, random_state=1000 + seed)
        squared.append(found.squared[found.supported()].mean())
        naive.append(np.square(found.signed[found.supported()]).sum(axis=1).mean())
        p_values.append(chance.p_value)
        any_row.append(chance.beyond.any())
        any_class.append((chance.class_p_value <= 0.05).any())
    assert abs(np.mean(squared)) < 3 * np.std(squared) / np.sqrt(60)
    assert np.mean(squared) < 0.1 * np.mean(naive)
    assert np.mean(np.array(p_values) <= 0.05) < 0.15
    assert np.mean(any_row) < 0.15
    assert np.mean(any_class) < 0.15
    assert 0.4 < np.mean(p_values) < 0.6


def test_what_is_planted_is_found_where_it_is_and_named():
    rows, z = world(2, 2000, turned=0.4)
    found = vector_errors(rows, z, gamma=0.5)
    chance = vector_chance(rows, z, found)
    assert chance.p_value <= 0.05
    assert z[chance.beyond, 0].mean() > 0.3
    assert (found.most_wrong[chance.beyond] == 1).mean() > 0.9
    table = class_table(rows, found, chance)
    assert table.index[0] == "1"
    assert table["p_value"].iloc[0] == pytest.approx(1 / (1 + chance.n_draws))
    assert (table["local"].diff().dropna() <= 0).all()
    assert table["rows"].sum() == chance.beyond.sum()
    plain = class_table(rows, found).sort_index()
    assert plain["gap"].to_numpy() == pytest.approx(
        rows.probabilities.mean(axis=0) - np.bincount(rows.labels) / 2000
    )
    for k in range(4):
        target_rows = rows.target(k)
        own = lore.expected_calibration_error(target_rows.confidence, target_rows.outcome)
        assert plain["ece"].iloc[k] == own
    said = describe_classes(table)
    assert said.startswith("The worst class is “1”: its probability is off by ")
    assert "points too low." in said
    assert "significant by themselves" in chance.sentence


def test_too_narrow_a_kernel_says_so():
    rows, z = world(3, 30)
    chance = vector_chance(rows, z, vector_errors(rows, z, gamma=1e-4))
    assert chance.sentence == "No row has ten effective neighbours: raise γ."
    assert describe_classes(class_table(rows, vector_errors(rows, z, gamma=1e-4), chance)) == ""
    rows, z = world(7, 1500, n_classes=2, turned=0.5)
    errors = vector_errors(rows, z, gamma=0.5)
    assert errors.class_squared[0] == pytest.approx(errors.class_squared[1])
    table = class_table(rows, errors, vector_chance(rows, z, errors))
    assert describe_classes(table).startswith("Of two classes each is off by what the other is")


def test_what_no_model_that_is_right_could_show_is_beyond_chance():
    """Where every probability is 0 or 1 no draw has an error: the data's are no chance."""
    n = 200
    sure = np.tile([1.0, 0.0, 0.0], (n, 1))
    labels = np.where(np.arange(n) < 20, 1, 0)
    z = np.linspace(0, 1, n)[:, None]
    rows = lore.Dataset(sure, labels)
    errors = vector_errors(rows, z, gamma=0.1)
    chance = vector_chance(rows, z, errors, n_draws=39)
    assert chance.beyond[:20].all()
    assert list(chance.class_p_value) == [1 / 40, 1 / 40, 1.0]
    assert chance.class_level == pytest.approx([0, 0, 0], abs=1e-6)
