import numpy as np
import pandas as pd
import pytest

import lore_core as lore


def classifier(n, k, strength, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    scores = 2 * rng.normal(size=(n, k))
    scores[np.arange(n), labels] += 2 * strength
    powers = np.exp(scores)
    return powers / powers.sum(axis=1, keepdims=True), labels


def file_of(path, probabilities, labels):
    np.savez(path, probs=probabilities, labels=labels)
    return path


@pytest.mark.parametrize("seed", range(5))
def test_an_order_of_classes_that_fits_by_chance(tmp_path, seed):
    for strength in (0, 2, 4):
        p, labels = classifier(300, 1000, strength, seed)
        assert len(lore.load(file_of(tmp_path / "a.npz", p, labels))) == 300


@pytest.mark.parametrize("seed", range(5))
def test_an_order_of_classes_that_fits_other_rows(tmp_path, seed):
    p, labels = classifier(300, 1000, 5, seed)
    order = np.random.default_rng(100 + seed).permutation(1000)
    for wrong in (order[labels], (labels + 1) % 1000):
        with pytest.raises(lore.InputError, match="stood for other classes"):
            lore.load(file_of(tmp_path / "a.npz", p, wrong))


def test_labels_drawn_with_any_seed(tmp_path):
    for seed in range(10):
        p, labels = classifier(100, 10, 5, seed)
        with pytest.raises(lore.InputError, match="stood for other classes"):
            lore.load(file_of(tmp_path / "a.npz", p, 9 - labels))


@pytest.mark.parametrize("k", [3, 10, 200])
@pytest.mark.parametrize("decimals", [2, 3, 4])
@pytest.mark.parametrize("kind", ["float64", "float32", "float16"])
def test_rounded_probabilities(tmp_path, k, decimals, kind):
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.full(k, 0.5), 200)
    given = p.round(decimals).astype(kind)
    labels = np.array([rng.choice(k, p=row) for row in p])
    frame = pd.DataFrame(given, columns=[f"p_{j}" for j in range(k)]).assign(label=labels)
    frame.to_parquet(tmp_path / "a.parquet")
    read = lore.load(tmp_path / "a.parquet").probabilities
    np.testing.assert_allclose(read.sum(axis=1), 1, atol=1e-12)
    # Half a unit by the rounding and as much by what undoes it, or what float16 and 1e-3 miss.
    assert np.abs(read - p).max() <= max(1.0 * 10.0**-decimals, 1e-3)
    np.testing.assert_allclose(lore.Dataset(given, labels).probabilities, read, atol=1e-12)


def test_one_decimal_of_few_classes():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 100).round(1)
    assert len(lore.Dataset(p, rng.integers(3, size=100))) == 100


@pytest.mark.parametrize(
    "p",
    [
        [[0.5, 0.2], [0.5, 0.5]],  # a third class is missing
        [[0.51, 0.42, 0.05], [0.3, 0.3, 0.4]],  # two hundredths are more than three roundings
        [[0.123456789, 0.8, 0.1], [0.3, 0.3, 0.4]],  # not rounded
        [[0.0] * 200, [0.005] * 200],  # nothing is left
    ],
)
def test_sums_that_rounding_does_not_explain(p):
    with pytest.raises(lore.InputError, match="must sum to 1"):
        lore.Dataset(p, [0, 1])


@pytest.mark.parametrize("what", ["p", "c"])
def test_thousands_of_columns(tmp_path, what):
    rng = np.random.default_rng(0)
    k = 3000 if what == "p" else 3
    p, labels = classifier(60, k, 3, 1)
    frame = pd.DataFrame(p, columns=[f"p_{j}" for j in range(k)]).assign(label=labels)
    if what == "c":
        more = rng.choice(list("abc"), size=(60, 3000))
        frame = frame.join(pd.DataFrame(more, columns=[f"c_{j}" for j in range(3000)]))
    frame.to_csv(tmp_path / "wide.csv", index=False)
    assert len(lore.load(tmp_path / "wide.csv", isolate=True)) == 60


def test_very_many_classes(tmp_path):
    p, labels = classifier(20, 20_000, 5, 0)
    read = lore.load(file_of(tmp_path / "a.npz", p, labels), isolate=True)
    assert read.n_classes == 20_000
