"""Local errors of the whole vector: brute force, noise taken off, a test that keeps its level."""

from __future__ import annotations

import numpy as np
import pytest

import lore_core as lore
from lore_core.chance import vector_chance
from lore_core.metrics import class_table, vector_errors


def world(seed, n=400, n_classes=4, *, turned=0.0):
    """Rows whose true classes are drawn from their probabilities, turned to one side of the map."""
    rng = np.random.default_rng(seed)
    p, z = rng.dirichlet(np.full(n_classes, 0.7), n), rng.normal(size=(n, 2))
    q = p.copy()
    side = z[:, 0] > 0
    q[side] = (1 - turned) * p[side] + turned * np.eye(n_classes)[1]
    labels = (q.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=n_classes - 1)
    return lore.Dataset(p, labels), z


def test_against_all_pairs():
    rows, z = world(0, 150)
    found = vector_errors(rows, z, gamma=0.3, n_bins=5)
    bins = np.minimum(np.floor(rows.confidence * 5), 4)
    kernel = np.exp(-np.abs(z[:, None] - z[None]).sum(axis=2) / 0.6)
    weight = kernel * (bins[:, None] == bins)
    weight /= weight.sum(axis=1, keepdims=True)
    residual = rows.probabilities - np.eye(4)[rows.labels]
    assert found.signed == pytest.approx(weight @ residual, abs=1e-12)
    assert found.signed.sum(axis=1) == pytest.approx(0, abs=1e-12)
    # Without every row's product with itself.
    products = residual @ residual.T
    np.fill_diagonal(products, 0.0)
    by_hand = np.einsum("ij,jl,il->i", weight, products, weight)
    assert found.squared == pytest.approx(by_hand, abs=1e-12)
    assert found.effective_size == pytest.approx(1 / (weight**2).sum(axis=1))


def test_the_noise_is_taken_off_and_the_test_keeps_its_level():
    squared, naive, p_values, any_row = [], [], [], []
    for seed in range(60):
        rows, z = world(100 + seed)
        found = vector_errors(rows, z, gamma=0.5)
        chance = vector_chance(rows, z, found, n_draws=39, random_state=1000 + seed)
        squared.append(found.squared[found.supported].mean())
        naive.append(np.square(found.signed[found.supported]).sum(axis=1).mean())
        p_values.append(chance.p_value)
        any_row.append(chance.beyond.any())
    assert abs(np.mean(squared)) < 3 * np.std(squared) / np.sqrt(60)
    assert np.mean(squared) < 0.1 * np.mean(naive)
    assert np.mean(np.array(p_values) <= 0.05) < 0.15
    assert np.mean(any_row) < 0.15
    assert 0.4 < np.mean(p_values) < 0.6


def test_what_is_planted_is_found_where_it_is_and_named():
    rows, z = world(2, 2000, turned=0.4)
    found = vector_errors(rows, z, gamma=0.5)
    chance = vector_chance(rows, z, found)
    assert chance.p_value <= 0.05
    assert z[chance.beyond, 0].mean() > 0.3
    assert (found.most_wrong[chance.beyond] == 1).mean() > 0.9
    table = class_table(rows, found, chance.beyond)
    assert table["rows"].sum() == chance.beyond.sum()
    assert table["gap"].to_numpy() == pytest.approx(
        rows.probabilities.mean(axis=0) - np.bincount(rows.labels) / 2000
    )
    assert "beyond chance by themselves" in chance.sentence


def test_too_narrow_a_kernel_says_so():
    rows, z = world(3, 30)
    chance = vector_chance(rows, z, vector_errors(rows, z, gamma=1e-4))
    assert chance.sentence == "No row has ten effective neighbours: raise γ."
