import numpy as np
import pandas as pd
import pytest

from lore_core import (
    Dataset,
    HistogramBinning,
    InputError,
    NoRecalibration,
    compare,
    compare_groups,
    groupwise_maximum_calibration_error,
    local_errors,
    reliability_table,
    summarize,
)
from lore_core.chance import affordable_draws, affordable_intervals, bootstrap_draws
from lore_core.chance.bootstrap import N_RESAMPLED
from lore_core.comparison import describe_rows, local_bin_table
from lore_core.metrics.catalogue import MAX_GROUPWISE


def test_unit_weights_reproduce_the_metrics(sample, monkeypatch):
    """A resample that draws every row once must give the plain metrics."""
    c, a, z = sample

    class EveryRowOnce:
        def integers(self, low, high, size):
            return np.arange(size)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: EveryRowOnce())
    losses = pd.DataFrame({"NLL": np.linspace(0, 1, len(c))})
    draw = bootstrap_draws(c, a, z, losses=losses, gamma=0.3, n_draws=1).values.iloc[0]
    errors = local_errors(c, a, z, gamma=0.3)
    table = reliability_table(c, a)
    assert draw["MLCE"] == pytest.approx(errors.maximum)
    assert draw["ALCE"] == pytest.approx(errors.average)
    assert draw["ECE"] == pytest.approx(table.expected_calibration_error)
    assert draw["MCE"] == pytest.approx(table.maximum_calibration_error)
    assert draw["NLL"] == pytest.approx(0.5)


def test_a_resample_weighs_rows_like_repeating_them(sample):
    c, a, z = sample
    draw = bootstrap_draws(c, a, z, gamma=2, n_draws=1, random_state=5).values.iloc[0]
    rows = np.random.default_rng(5).integers(0, len(c), len(c))
    errors = local_errors(c[rows], a[rows], z[rows], gamma=2)
    assert draw["MLCE"] == pytest.approx(errors.maximum)
    supported = local_errors(c, a, z, gamma=2).effective_size >= 10
    assert draw["MLCE supported"] == pytest.approx(errors.absolute[supported[rows]].max())
    assert draw["ALCE"] == pytest.approx(errors.average)
    assert draw["accuracy"] == pytest.approx(a[rows].mean())


def test_draws_with_one_seed_are_paired(sample):
    c, a, _ = sample
    draws = bootstrap_draws(c, a, n_draws=20)
    again = bootstrap_draws(c, a, n_draws=20)
    assert (draws.difference(again) == 0).all().all()


def test_interval_of_the_accuracy_is_the_binomial_one():
    rng = np.random.default_rng(0)
    a = (rng.uniform(size=2000) < 0.8).astype(float)
    low, high = bootstrap_draws(np.full(2000, 0.8), a, n_draws=400).interval().loc["accuracy"]
    half = 1.96 * np.sqrt(0.8 * 0.2 / 2000)
    assert (high - low) / 2 == pytest.approx(half, rel=0.2)


def test_draws_shrink_with_the_work():
    assert affordable_draws(1000, 2) == N_RESAMPLED
    few = affordable_intervals(1000, 2, n_methods=8)
    assert few == {"n_draws": N_RESAMPLED, "local_draws": True, "local_intervals": True}
    many = affordable_intervals(1_000_000, 50)
    assert many == {"n_draws": N_RESAMPLED, "local_draws": False, "local_intervals": False}
    assert affordable_intervals(1000, None)["local_intervals"] is False
    # Resampled, but not simulated; and nothing at all.
    assert affordable_intervals(200_000, 2)["local_draws"]
    assert not affordable_intervals(200_000, 2)["local_intervals"]
    assert affordable_intervals(100_000_000, None)["n_draws"] == 0
    assert 20 <= affordable_draws(200_000, 2) < N_RESAMPLED or affordable_draws(200_000, 2) == 0
    assert affordable_draws(1_000_000, 50) == 0
    assert affordable_draws(100_000, None) == N_RESAMPLED
    assert 20 <= affordable_draws(5_000_000, None) < N_RESAMPLED
    assert affordable_draws(10**9, None) == 0


def test_a_row_of_confidences_only_has_no_vector_metrics():
    data = Dataset([[0.8, 0.1, 0.1]] * 4, [0, 0, 1, 0], complete=False)
    assert "NLL" not in summarize(data).values
    assert "NLL" in summarize(Dataset([[0.8, 0.1, 0.1]] * 4, [0, 0, 1, 0])).values


def planted(n=4000):
    """Fine on average: +0.15 on the right cancels −0.15 on the left."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(n, 2))
    c = np.full(n, 0.7)
    a = (rng.uniform(size=n) < np.where(z[:, 0] > 0, 0.5, 0.9)).astype(float)
    return Dataset(np.column_stack([c, 1 - c]), 1 - a.astype(int), features=z), z


def test_rows_described():
    data, z = planted()
    local = local_errors(data.confidence, data.outcome, z)
    everything = np.ones(len(data), dtype=bool)
    text = describe_rows("All", data, local, everything)
    assert "4,000 rows, promised 70.0 %" in text
    assert "locally the gap runs from −" in text.replace("-", "−")
    assert describe_rows("None", data, local, ~everything) == "None: no rows."


def test_bin_table_holds_only_bins_with_rows(sample):
    c, a, z = sample
    table = local_bin_table(reliability_table(c, a), local_errors(c, a, z))
    assert (table["rows"] > 0).all()
    assert (table["max_lce"] >= table["mean_lce"]).all()


def test_groups_are_resampled_with_everything_else(sample):
    c, a, z = sample
    names = np.array(["big"] * 300 + ["mid"] * 80 + ["tiny"] * 20)
    options = {"n_bins": 5, "groups": names, "min_group_size": 50}
    draws = bootstrap_draws(c, a, z, n_draws=3, random_state=8, **options).values
    alone = bootstrap_draws(c, a, n_draws=3, random_state=8, **options).values
    np.testing.assert_array_equal(draws[MAX_GROUPWISE], alone[MAX_GROUPWISE])
    rng, gaps = np.random.default_rng(8), []
    for draw in draws[MAX_GROUPWISE]:
        rows = rng.integers(0, len(c), len(c))
        kept = rows[names[rows] != "tiny"]
        assert draw == pytest.approx(
            groupwise_maximum_calibration_error(c[kept], a[kept], names[kept], n_bins=5)
        )
        gaps.append(
            max(abs(np.mean((c - a)[kept][names[kept] == name])) for name in ("big", "mid"))
        )
    assert draws["max group gap"].tolist() == pytest.approx(gaps)
    with pytest.raises(InputError, match="'min_group_size' must leave"):
        bootstrap_draws(c, a, n_draws=1, groups=names, min_group_size=301)


def test_global_metrics_have_intervals_where_local_ones_are_too_dear(sample):
    c, a, z = sample
    data = Dataset(np.column_stack([c, 1 - c]), 1 - a.astype(int), predictions=np.zeros(len(c)))
    names = np.array(["a", "b"])[np.arange(len(c)) % 2]
    found = summarize(data, z, groups=names, n_draws=30, local_draws=False)
    assert {"MLCE", "ALCE", MAX_GROUPWISE} <= set(found.values.index)
    assert set(found.draws.values) == set(found.values.index) - {
        "MLCE supported",
        "MLCE",
        "ALCE",
    }
    full = summarize(data, z, groups=names, n_draws=30)
    assert set(full.draws.values) == set(full.values.index)
    for name in found.draws.values:
        np.testing.assert_allclose(found.draws.values[name], full.draws.values[name])


def test_comparing_with_groups_gives_a_paired_interval(sample):
    c, a, _ = sample
    data = Dataset(np.column_stack([c, 1 - c]), 1 - a.astype(int), predictions=np.zeros(len(c)))
    names = np.array(["a", "b"])[np.arange(len(c)) % 2]
    methods = [NoRecalibration(), HistogramBinning(5)]
    result = compare(data, data, methods, groups=names, n_bins=5, n_draws=40)
    by_groups = compare_groups(result.datasets, names, n_bins=5, n_draws=40)
    for method in result.table.index:
        assert result.table.loc[method, MAX_GROUPWISE] == by_groups.loc[method, "max_group_mce"]
        found = [frame.loc[method, MAX_GROUPWISE] for frame in (result.low, result.difference_high)]
        assert found == pytest.approx(by_groups.loc[method, ["low", "difference_high"]].tolist())
