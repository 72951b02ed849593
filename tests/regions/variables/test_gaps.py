import numpy as np
import pandas as pd
import pytest

from lore_core import Dataset, InputError, gap_along, rank_variables
from lore_core.metrics import wilson_interval
from lore_core.regions import describe_variable, gap_grid, smooth_gap


def test_names_by_hand():
    site = ["b", "a", "b", None, "a"]
    table = gap_along([0.9, 0.8, 0.7, 0.5, 0.6], [1, 0, 0, 1, 1], site)
    assert table["value"].tolist() == ["a", "b", "missing"]
    assert table["rows"].tolist() == [2, 2, 1]
    assert table["gap"].tolist() == pytest.approx([0.7 - 0.5, 0.8 - 0.5, -0.5])
    low, high = wilson_interval([1, 1, 1], [2, 2, 1])
    assert table["gap_low"].tolist() == pytest.approx(list([0.7, 0.8, 0.5] - high))
    assert table["gap_high"].tolist() == pytest.approx(list([0.7, 0.8, 0.5] - low))
    assert (table["border"] == "").all()
    n = 5000
    rng = np.random.default_rng(0)
    names = np.where(rng.random(n) < 0.5, "big", [f"n{i}" for i in range(n)])
    table = gap_along(np.full(n, 0.7), np.ones(n), names)
    assert len(table) == 20
    assert table["value"].iloc[-1].startswith("other (")
    assert table["rows"].sum() == n
    assert table.loc[table["value"] == "big", "rows"].item() == (names == "big").sum()


def test_parts_of_a_number_by_brute_force(sample):
    c, a, z = sample
    table = gap_along(c, a, z[:, 0], n_bins=5)
    borders = [float(text.replace("−", "-")) for text in table["border"][:-1]]
    edges = [-np.inf, *borders, np.inf]
    for k, row in enumerate(table.itertuples()):
        inside = [i for i in range(len(c)) if edges[k] <= z[i, 0] < edges[k + 1]]
        assert row.rows == len(inside)
        assert row.gap == pytest.approx(np.mean(c[inside]) - np.mean(a[inside]))
    assert table["rows"].sum() == len(c)


def test_grid_by_brute_force(sample):
    c, a, z = sample
    site = np.array(["p", "q", "r"])[np.arange(len(c)) % 3]
    grid = gap_grid(c, a, z[:, 0], site, n_bins=3, min_rows=45)
    assert len(grid) == 9
    assert grid["rows"].sum() == len(c)
    cut = gap_along(c, a, z[:, 0], n_bins=3)
    border = [float(text.replace("−", "-")) for text in cut["border"][:-1]]
    part = np.searchsorted(border, z[:, 0], side="right")
    for row in grid.itertuples():
        inside = (part == cut["value"].tolist().index(row.x)) & (site == row.y)
        assert row.rows == inside.sum()
        assert row.gap == pytest.approx((c - a)[inside].mean())
        assert row.shown == (inside.sum() >= 45)
    assert grid["x"].cat.categories.tolist() == cut["value"].tolist()


def test_nothing_to_rank_or_to_smooth():
    grid = gap_grid([0.5, 0.6], [1, 0], ["a", "b"], ["u", "v"], min_rows=1)
    assert grid["rows"].tolist() == [1, 0, 0, 1]
    assert grid["shown"].tolist() == [True, False, False, True]
    assert smooth_gap([0.5, 0.5], [1, 0], [1.0, 1.0]).empty
    assert smooth_gap([0.5, 0.5], [1, 0], [1.0, np.nan]).empty
    with pytest.raises(InputError, match="must hold numbers only to be smoothed"):
        smooth_gap([0.5, 0.5], [1, 0], ["a", "b"])
    data = Dataset([0.3, 0.6], [0, 1])
    ranking = rank_variables(data)
    assert ranking.empty
    assert {"variable", "p_adjusted", "spread", "worst_value"} <= set(ranking.columns)
    table = gap_along(data.confidence, data.outcome, ["a", "b"])
    assert describe_variable("site", table, ranking).endswith("rows).")
    with pytest.raises(InputError, match="'n_bins' must be a whole number"):
        gap_along([0.5], [1], ["a"], n_bins=1)
    with pytest.raises(InputError, match="as many rows"):
        gap_along([0.5], [1], ["a", "b"])


def test_smooth_gap_by_brute_force(sample):
    c, a, z = sample
    x = np.round(z[:, 0], 1)  # ties
    curve = smooth_gap(c, a, x)
    u = [((x < v).sum() + (x <= v).sum()) / 2 / len(x) for v in x]
    for point in curve.iloc[::20].itertuples():
        k = np.exp(-np.abs(np.array(u) - point.share) / 0.06)
        assert point.gap == pytest.approx((k * (c - a)).sum() / k.sum())
        assert point.n_eff == pytest.approx(k.sum() ** 2 / (k**2).sum())
        assert point.low < point.gap < point.high
    assert curve["value"].is_monotonic_increasing


def test_the_intervals_cover():
    rng = np.random.default_rng(2)
    n, hit, band = 900, [], []
    x = np.sort(rng.normal(size=n))
    c = rng.uniform(0.5, 0.99, n)
    true_gap = 0.15 * np.tanh(x)
    share = (np.arange(n) + 0.5) / n
    for _ in range(300):
        a = rng.random(n) < c - true_gap
        table = gap_along(c, a, x, n_bins=6)
        borders = [float(t.replace("−", "-")) for t in table["border"][:-1]]
        part = np.searchsorted(borders, x, side="right")
        truth = np.bincount(part, true_gap.clip(c - 1, c)) / np.bincount(part)
        hit.append((table["gap_low"] <= truth) & (truth <= table["gap_high"]))
        curve = smooth_gap(c, a, x).iloc[::15]
        k = np.exp(-np.abs(share[None] - curve["share"].to_numpy()[:, None]) / 0.06)
        smoothed = (k * true_gap.clip(c - 1, c)).sum(axis=1) / k.sum(axis=1)
        band.append((curve["low"] <= smoothed) & (smoothed <= curve["high"]))
    assert 0.93 < np.mean(hit) < 0.985
    assert 0.93 < np.mean(band) < 0.985


def classifier(seed, n=800, *, error=0.0):
    """Calibrated, but for an error on one side of the first column."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "y": rng.gamma(1, 1, n),
            "site": rng.choice(list("abcdef"), n),
            "few": np.where(np.arange(n) < 5, "rare", "common"),
        }
    )
    top = 1 - 0.5 * rng.beta(0.6, 1.5, n)
    right = rng.random(n) < top - error * (frame["x"] > 0.5)
    predicted = rng.integers(0, 2, n)
    probabilities = np.where(predicted == 1, top, 1 - top)
    truth = np.where(right, predicted, 1 - predicted)
    frame["answer"] = np.array(["no", "yes"])[truth]
    return Dataset(probabilities, truth, predictions=predicted, metadata=frame)


def test_the_variable_behind_the_error_comes_first():
    data = classifier(1, error=0.3)
    ranking = rank_variables(data, n_bins=8)
    assert ranking["variable"].iloc[0] == "x"
    assert ranking["p_adjusted"].iloc[0] < 1e-6
    assert (ranking["p_adjusted"].iloc[1:] > 0.01).all()
    assert ranking["spread"].iloc[0] == pytest.approx(0.14, abs=0.05)
    assert float(ranking["worst_value"].iloc[0].removeprefix("≥ ").split()[0]) > 0.4
    assert ranking["worst_gap"].iloc[0] > 0.2
    assert "answer" not in set(ranking["variable"]), "the truth explains any error"
    assert "few" not in set(ranking["variable"]), "one name with enough rows: nothing to compare"
    table = gap_along(data.confidence, data.outcome, data.metadata["x"], n_bins=8)
    text = describe_variable("x", table, ranking)
    assert "a significant difference (p < 0.001, adjusted for the" in text
    assert "not a significant difference" in describe_variable("y", table, ranking)
    none = describe_variable("y", table, ranking.assign(p_adjusted=0.05))
    assert none.startswith(f"None of the {len(ranking)} variables tested makes a")


def test_furthest_off_is_sure_and_large_not_only_one_of_them():
    # Gaps of 5 points on 4,000 rows, 20 on 300 and 30 on 25, all at a confidence of 80 %.
    sizes, right = {"many": 4000, "some": 300, "few": 25}, {"many": 3000, "some": 180, "few": 12}
    site = np.repeat(list(sizes), list(sizes.values()))
    wrong = np.concatenate([np.arange(sizes[k]) >= right[k] for k in sizes]).astype(int)
    probabilities = np.tile([0.8, 0.2], (len(site), 1))
    data = Dataset(probabilities, wrong, metadata=pd.DataFrame({"site": site}))
    first = rank_variables(data).set_index("variable").loc["site"]
    assert first["worst_value"] == "some"
    assert first["worst_rows"] == 300
    assert first["worst_gap"] == pytest.approx(0.2)


def test_the_test_keeps_its_level():
    ranked = (rank_variables(classifier(seed), n_bins=6) for seed in range(100, 190))
    p = np.concatenate([item["p_value"].to_numpy() for item in ranked])
    assert len(p) > 200
    assert np.mean(p < 0.05) < 0.075
    assert np.mean(p < 0.01) < 0.025
    assert 0.4 < np.mean(p < 0.5) < 0.6
