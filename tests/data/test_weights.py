import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.data.weights import as_weights, effective_rows, linearised
from lore_core.inference.intervals import calibration_intervals
from lore_core.inference.simulation import null_errors
from lore_core.kernel_sums import laplacian_means
from lore_core.metrics.global_metrics import share_interval
from lore_core.recalibration.registry import offered_recalibrators
from lore_core.regions.subgroups.overall import Average, overall_gap


def some_rows(n=120, seed=0, weights=None):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([2, 1, 1], size=n)
    labels = np.array([rng.choice(3, p=row) for row in p])
    z = rng.normal(size=(n, 2))
    groups = pd.DataFrame({"site": rng.choice(["a", "b"], n)})
    return lore.Dataset(p, labels, features=z, groups=groups, weights=weights)


def of_two_classes(c, right, **fields):
    return lore.Dataset(np.column_stack([1 - c, c]), right.astype(int), **fields)


@pytest.fixture(scope="module")
def pair():
    times = np.random.default_rng(1).integers(1, 5, 120)
    weighted, plain = some_rows(weights=times), some_rows()
    return weighted, plain.rows(np.repeat(np.arange(120), times))


def test_kernel_means_and_their_size():
    rng = np.random.default_rng(2)
    # (The last target is so far from all sources that every kernel value underflows.)
    targets = np.vstack([rng.normal(size=(20, 2)), [[1e6, 1e6]]])
    sources, values, w = rng.normal(size=(30, 2)), rng.normal(size=30), rng.uniform(0.1, 9, 30)
    distance = np.abs(targets[:, None] - sources).sum(axis=2)
    k = w * np.exp((distance.min(axis=1, keepdims=True) - distance) / 0.4)
    found = laplacian_means(targets, sources, values, w, bandwidth=0.4)
    np.testing.assert_allclose(found.mean, k @ values / k.sum(axis=1), rtol=1e-9)
    size = k.sum(axis=1) ** 2 / (k**2).sum(axis=1)
    np.testing.assert_allclose(found.effective_size, size, rtol=1e-9)
    near = w @ np.exp(-distance[:-1] / 0.4).T
    np.testing.assert_allclose(found.mass[:-1], near, rtol=1e-12)
    groups, table = rng.integers(0, 3, 30), rng.normal(size=(30, 2))
    h = [0.3, 2.0]
    options = {"bandwidth": h, "target_groups": groups, "exclude_self": True}
    found = laplacian_means(sources, None, table, w, **options)
    apart = np.abs(sources[:, None] - sources).sum(axis=2)
    for b, bandwidth in enumerate(h):
        k = w * np.exp(-apart / bandwidth) * (groups[:, None] == groups)
        np.fill_diagonal(k, 0)
        np.testing.assert_allclose(found.mean[b], k @ table / k.sum(axis=1)[:, None], rtol=1e-9)
        size = k.sum(axis=1) ** 2 / (k**2).sum(axis=1)
        np.testing.assert_allclose(found.effective_size[b], size, rtol=1e-9)
    plain = laplacian_means(targets, sources, values, bandwidth=0.4)
    same = laplacian_means(targets, sources, values, None, bandwidth=0.4)
    assert np.array_equal(plain.mean, same.mean)


def test_equal_weights_are_none():
    assert as_weights([0.3] * 5) is None
    plain, equal = some_rows(), some_rows(weights=np.full(120, 7.5))
    assert equal.weights is None
    assert equal.digest == plain.digest
    # Weights 1 and 3, values 0 and 1: mean 3/4, u = 3/4 + 2·{1·(−3/4), 3·(1/4)}/4 = 3/8, 9/8.
    u = linearised(np.array([0.0, np.nan, 1.0]), np.array([1.0, 9.0, 3.0]))
    np.testing.assert_allclose(u, [3 / 8, np.nan, 9 / 8])
    assert effective_rows(np.array([1.0, 3.0]), 2) == pytest.approx(16 / 10)
    share, low, high = share_interval(np.array([0.0, 1.0]), np.array([1.0, 3.0]))
    n, z = 1.6, 1.959963984540054
    half = z / (1 + z**2 / n) * np.sqrt(0.75 * 0.25 / n + z**2 / (4 * n**2))
    centre = (0.75 + z**2 / (2 * n)) / (1 + z**2 / n)
    assert (share, low, high) == pytest.approx((0.75, centre - half, centre + half))


@pytest.mark.parametrize(
    "method", [*(method for method in offered_recalibrators() if method.takes_weights)], ids=repr
)
def test_a_row_of_weight_2_is_two_rows_where_the_docstring_says_so(pair, method):
    evaluation = some_rows(60, seed=3)
    after = []
    for rows in pair:
        method.fit(rows, rows.features if method.needs_embedding else None)
        points = evaluation.features if method.needs_embedding else None
        after.append(method.recalibrate(evaluation, points).probabilities)
    difference = np.abs(after[0] - after[1]).max()
    words = " ".join(" ".join(kind.__doc__ or "" for kind in type(method).__mro__).split())
    if "row of weight 2 is not two rows" in words:
        assert difference > 1e-4
    else:
        assert "A row of weight 2 is two rows" in words or method.label == "No recalibration"
        assert difference < 2e-6


def test_every_recalibrator_takes_weights_or_refuses():
    """Rows of an enormous weight are what is fitted to, by every method that takes weights."""
    rng = np.random.default_rng(5)
    n = 2000
    c = rng.uniform(0.55, 0.95, n)
    heavy = rng.random(n) < 0.5
    right = rng.random(n) < np.where(heavy, 0.5, c)
    z, w = rng.normal(size=(n, 2)), np.where(heavy, 1e4, 1.0)
    rows = of_two_classes(c, right, features=z, weights=w)
    refused = []
    for method in offered_recalibrators():
        points = rows.features if method.needs_embedding else None
        if not method.takes_weights:
            refused.append(method.label)
            with pytest.raises(lore.InputError, match="lets every calibration row count once"):
                method.fit(rows, points)
            continue
        after = method.fit(rows, points).recalibrate(rows, points)
        if method.label != "No recalibration":
            assert abs(after.confidence.mean() - 0.5) < 0.06, method.label
        kept = lore.load_recalibrator(method.to_bytes(maps=False))
        again = kept.recalibrate(rows, points)
        np.testing.assert_allclose(again.probabilities, after.probabilities, atol=1e-9)
    assert refused == ["Venn–Abers"]


def test_a_file_without_rows_keeps_what_they_count_for():
    rng = np.random.default_rng(6)
    n = 600
    c = rng.uniform(0.5, 1.0, n)
    right, z, w = rng.random(n) < c, rng.normal(size=(n, 2)), rng.lognormal(size=n)
    rows = of_two_classes(c, right, features=z, weights=w)
    method = lore.LoRe(gamma=5.0).fit(rows, rows.features)
    shipped = method.without_rows()
    state = shipped.state()
    assert state["row_weights"].sum() == pytest.approx(n, rel=0.1)
    before, after = (m.recalibrate(rows, rows.features).confidence for m in (method, shipped))
    assert np.abs(before - after).mean() < 0.02


def test_variance_and_skewness_of_a_place():
    """Var D = Σ_R ((1 − f) w)² q(1 − q) + Σ_rest (f w)² q(1 − q), by sums over single rows."""
    rng = np.random.default_rng(7)
    c, w = rng.uniform(0.3, 0.9, 50), rng.lognormal(size=50)
    a = (rng.random(50) < c).astype(float)
    inside = np.arange(50) < 15
    found = Average.of(c, a, "average", w).of_rows(inside)
    share = w[inside].sum() / w.sum()
    each = np.where(inside, 1 - share, -share) * w
    residual = c - a
    mean = np.average(residual[inside], weights=w[inside]) - np.average(residual, weights=w)
    assert float(found.mean) == pytest.approx(mean)
    # (One stratum of these few rows: q is the confidence less the mean gap.)
    q = np.clip(c - np.average(residual, weights=w), 0, 1)
    variance = (each**2 * q * (1 - q)).sum()
    third = (each**3 * q * (1 - q) * (2 * q - 1)).sum()
    assert float(found.error) == pytest.approx(np.sqrt(variance) / w[inside].sum())
    assert float(found.skewness) == pytest.approx(third / variance**1.5)
    spread = w[inside] * (residual - np.average(residual, weights=w) - mean)[inside]
    assert float(found.scatter) == pytest.approx(np.sqrt((spread**2).sum()) / w[inside].sum())


def test_chance_is_drawn_with_the_weights():
    """One row in ten weighs a hundred: chance makes errors as large as some such rows do."""
    rng = np.random.default_rng(8)
    n = 1000
    c, w = rng.uniform(0.5, 1, n), np.where(np.arange(n) % 10 == 0, 100.0, 1.0)
    a = (rng.random(n) < c).astype(float)
    z = rng.normal(size=(n, 2))
    heavy, plain = (
        null_errors(c, z, n_draws=60, weights=weights, random_state=1).ece.mean()
        for weights in (w, None)
    )
    assert heavy > 2 * plain
    ece = lore.expected_calibration_error(c, a, weights=w)
    table = calibration_intervals(c, a, z, weights=w)
    assert table.loc["ECE", "value"] == pytest.approx(ece)
    assert table.loc["ECE", "low"] == 0
    overall = overall_gap(c, a, weights=w)
    assert overall.worth == pytest.approx(effective_rows(w, n))
    assert overall.p_value > 0.01


@pytest.mark.parametrize("bad", [[1, -1], [1, 0], [1, np.nan], [1, 2, 3]])
def test_what_is_no_weight_is_refused(bad):
    with pytest.raises(lore.InputError, match="'weights' must"):
        lore.Dataset([[0.2, 0.8], [0.6, 0.4]], [1, 0], weights=bad)
