import numpy as np
import pandas as pd
import pytest
from scipy import stats

import lore_core as lore
from lore_core.inference import affordable_intervals
from lore_core.inference.intervals import N_SIMULATED
from lore_core.metrics import wilson_interval
from lore_core.view import View
from lore_core.view.scene import Scene
from lore_core.view.where import errors_of, reliability_of


def test_what_is_simulated_shrinks_with_the_work():
    everything = {"n_draws": N_SIMULATED, "local_intervals": True}
    assert affordable_intervals(1000, 2, n_methods=8) == everything
    assert affordable_intervals(1_000_000, 50) == {**everything, "local_intervals": False}
    assert affordable_intervals(1000, None) == {**everything, "local_intervals": False}
    assert affordable_intervals(100_000_000, None)["n_draws"] == 0
    data = lore.Dataset([[0.8, 0.1, 0.1]] * 4, [0, 0, 1, 0], complete=False)
    assert "NLL" not in lore.summarize(data).values
    assert "NLL" in lore.summarize(lore.Dataset([[0.8, 0.1, 0.1]] * 4, [0, 0, 1, 0])).values


def test_rows_described():
    # Fine on average: +0.2 on the right cancels −0.2 on the left.
    rng = np.random.default_rng(0)
    z = rng.normal(size=(4000, 2))
    a = (rng.uniform(size=4000) < np.where(z[:, 0] > 0, 0.5, 0.9)).astype(int)
    data = lore.Dataset(np.tile([0.7, 0.3], (4000, 1)), 1 - a, features=z)
    view = View(data, gamma=0.3, maps={"map": lore.embed(z, "identity")})
    parts = errors_of(view), reliability_of(view)
    text = Scene(view, *parts, None, view.embedding, "map").sentence
    assert "4,000 rows, mean confidence 70.0 %" in text
    assert "locally the gap runs from −" in text
    assert Scene(view, *parts, 0, view.embedding, "map").sentence.endswith(": no rows.")


def test_means_of_rows_have_intervals_without_simulating(sample):
    c, a, z = sample
    data = lore.Dataset(
        np.column_stack([c, 1 - c]), 1 - a.astype(int), predictions=np.zeros(len(c))
    )
    names = np.array(["a", "b"])[np.arange(len(c)) % 2]
    found = lore.summarize(data, z, groups=names)
    assert list(found.intervals.index) == [
        "accuracy", "mean_confidence", "NLL", "Brier", "ALCE held out", "ECE held out",
        "max group gap", "O/E", "calibration intercept", "calibration slope",
    ]  # fmt: skip
    low, high = stats.t.interval(0.95, len(c) - 1, c.mean(), stats.sem(c))
    assert found.intervals.loc["mean_confidence", ["low", "high"]].tolist() == pytest.approx(
        [low, high]
    )
    wilson = wilson_interval(a.sum(), len(a))
    assert found.intervals.loc["accuracy", ["low", "high"]].tolist() == pytest.approx(list(wilson))
    simulated = lore.summarize(data, z, groups=names, n_draws=39, local_intervals=False)
    assert {"ECE", "MCE"} <= set(simulated.intervals.index)
    assert "ALCE" not in simulated.intervals.index


def test_methods_are_shown_as_soon_as_they_are_measured(sample):
    c, a, _ = sample
    data = lore.Dataset(np.column_stack([1 - c, c]), a.astype(int))
    methods = [lore.NoRecalibration(), lore.PlattScaling(), lore.HistogramBinning(5)]
    shown = []
    result = lore.compare(data, data, methods, show=shown.append)
    assert all(next(iter(item.names)) == "No recalibration" for item in shown)
    assert {len(item.names) for item in shown} <= {1, 2}
    for item in shown:
        pd.testing.assert_frame_equal(item.table, result.table.loc[item.table.index])
        pd.testing.assert_frame_equal(item.low, result.low.loc[item.table.index])
        assert item.ranking == [name for name in result.ranking if name in item.names]
        assert not item.datasets


def test_only_means_of_rows_have_paired_intervals(sample):
    c, a, _ = sample
    data = lore.Dataset(
        np.column_stack([c, 1 - c]), 1 - a.astype(int), predictions=np.zeros(len(c))
    )
    result = lore.compare(data, data, [lore.NoRecalibration(), lore.HistogramBinning(5)], n_bins=5)
    assert set(result.differences) == {"mean_confidence", "NLL", "Brier", "ECE held out"}
    long = result.frame().set_index(["method", "metric"])
    label = result.table.index[1]
    assert long.loc[(label, "ECE"), ["difference_low", "p_value"]].isna().all()
    apart = (
        result.summaries[label].row_values["Brier"]
        - result.summaries["No recalibration"].row_values["Brier"]
    )
    row = long.loc[(label, "Brier")]
    ends = stats.t.interval(0.95, len(c) - 1, apart.mean(), stats.sem(apart))
    assert row[["difference_low", "difference_high"]].tolist() == pytest.approx(ends, abs=1e-3)
    assert row["p_value"] == pytest.approx(stats.ttest_1samp(apart, 0).pvalue, abs=0.02)
