import dataclasses
import io
from concurrent.futures.process import BrokenProcessPool

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from synthetic import overconfident, run_of

import lore_core as lore
from lore_core.comparison import RunsComparison


@pytest.fixture
def runs():
    return [run_of(seed) for seed in range(3)]


METHODS = [lore.NoRecalibration(), lore.TemperatureScaling(), lore.LoRe(0.5, 5)]


def test_it_is_compare_run_by_run(runs):
    seen = []
    options = {"gamma": 0.5, "n_bins": 5, "min_group_size": 3}
    more = {"feature_map": "pca-2", "group_column": "region", "n_jobs": 1}
    more["progress"] = lambda share, message: seen.append((share, message))
    result = lore.compare_runs(runs, METHODS, **more, **options)
    tables = []
    for run in runs:
        points = lore.embed(run.features, "pca", 2).coordinates
        rows, groups = run.in_split("calibration"), run.evaluation.groups["region"]
        places = {"calibration_embedding": points[rows], "evaluation_embedding": points[~rows]}
        halves = run.calibration, run.evaluation
        tables.append(lore.compare(*halves, METHODS, groups=groups, **places, **options).table)
    stacked = np.stack([table.to_numpy() for table in tables])
    assert list(result.table.index) == ["No recalibration", "Temperature scaling", "LoRe"]
    assert list(result.table.columns) == list(tables[0].columns)
    np.testing.assert_allclose(result.table, stacked.mean(axis=0))
    np.testing.assert_allclose(result.sd, stacked.std(axis=0))
    assert result.n_runs == 3
    assert result.runs["run"].unique().tolist() == ["run0", "run1", "run2"]
    assert seen[-1] == (1.0, "run 3 of 3: run2")
    correlation = result.correlation()
    flat = stacked.reshape(-1, stacked.shape[2])
    columns = list(result.table.columns)
    worst = flat[:, columns.index("max group-wise MCE")]
    for name in ("ECE", "MLCE", "NLL"):
        expected = np.corrcoef(flat[:, columns.index(name)], worst)[0, 1]
        assert correlation[name] == pytest.approx(expected)
    assert "max group-wise MCE" not in correlation


def test_maps_methods_and_processes(runs):
    method = lore.TemperatureScaling()
    lore.compare_runs(runs[:1], [method], feature_map=None, n_jobs=1)
    assert method.n_rows_ == 0
    result = lore.compare_runs(runs[:1], feature_map=None, n_jobs=1)
    assert "LoRe" not in result.table.index
    assert "Isotonic regression" in result.table.index
    assert "MLCE" not in result.table
    result = lore.compare_runs(
        runs[:1], METHODS[:2], feature_map=None, group_column="region", n_jobs=1
    )
    assert np.isnan(result.correlation("NLL")["accuracy"])
    expected = lore.compare_runs(runs, METHODS, feature_map="pca-2", n_jobs=1).runs
    with joblib.parallel_config(backend="threading", n_jobs=2):
        found = lore.compare_runs(runs, METHODS, feature_map="pca-2").runs
    pd.testing.assert_frame_equal(found, expected)
    line = lore.LoRe(0.5, 5, feature_map="pca-1")
    line.label = "LoRe on a line"
    methods = [lore.LoRe(0.5, 5, feature_map="pca-2"), line, lore.SmoothLoRe(gammas=[0.2, 1.0])]
    both = lore.compare_runs(runs[:1], methods, feature_map=["pca-2", "pca-1"], n_jobs=1).table
    plane = lore.compare_runs(runs[:1], [lore.LoRe(0.5, 5)], feature_map="pca-2", n_jobs=1).table
    pd.testing.assert_series_equal(both.loc["LoRe"], plane.loc["LoRe"])
    assert both.loc["LoRe on a line", "NLL"] != both.loc["LoRe", "NLL"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_map": "lda"}, "'feature_map' must be one of pca"),
        ({"feature_map": "pca-x"}, "'feature_map' must be one of pca"),
        ({"group_column": "race"}, r"'group_column' must be one of \['region'\] in run 'run0'"),
    ],
)
def test_misuse(runs, options, message):
    with pytest.raises(lore.InputError, match=message):
        lore.compare_runs(runs, METHODS, n_jobs=1, **options)


def test_runs_that_cannot_be_compared(runs):
    data, _ = overconfident(20)
    with pytest.raises(lore.InputError, match="at least one run"):
        lore.compare_runs([])
    with pytest.raises(lore.InputError, match="has no calibration rows"):
        lore.compare_runs([data])
    bare = lore.Dataset(data.probabilities, data.labels, split=["calibration", "evaluation"] * 10)
    with pytest.raises(lore.InputError, match="has no features"):
        lore.compare_runs([bare])
    result = lore.compare_runs(runs[:1], METHODS[:1], feature_map=None, n_jobs=1)
    with pytest.raises(lore.InputError, match="Give 'group_column'"):
        result.correlation()

    class Ended(lore.TemperatureScaling):
        def _fit_on(self, calibration, *_):
            raise BrokenProcessPool("a process was terminated abruptly")

    with pytest.raises(MemoryError, match="want of memory"):
        lore.compare_runs(runs[:1], [Ended()], feature_map=None, n_jobs=1)


def test_the_nll_without_its_clip():
    labels, split, runs = np.zeros(40, int), np.repeat(["calibration", "evaluation"], 20), []
    for n in (1, 2):  # rows of evaluation with -log p = 20
        p = np.where(np.arange(40) >= 40 - n, np.exp(-20.0), 0.5)
        runs.append(lore.Dataset(np.column_stack([p, 1 - p]), labels, split=split, name=f"{n}"))
    result = lore.compare_runs(runs, METHODS[:1], feature_map=None, n_jobs=1)
    mean = (18.5 * np.log(2) + 1.5 * 20) / 20
    assert f"without that it is {mean:.3f} (3 such rows) with “No rec" in result.note_on_nll


def test_intersections_of_groups_and_the_rows_of_each_run(runs):
    shift = np.where(np.arange(160) % 4 < 2, "day", "night")
    both = [dataclasses.replace(run, groups=run.groups.assign(shift=shift)) for run in runs]
    options = {"feature_map": None, "n_jobs": 1, "n_bins": 5}
    result = lore.compare_runs(both, METHODS[:1], group_column=["region", "shift"], **options)
    for run, found in zip(both, result.runs["max group-wise MCE"], strict=True):
        rows = run.evaluation
        names = rows.groups["region"] + rows.groups["shift"]
        assert found == pytest.approx(
            lore.groupwise_maximum_calibration_error(rows.confidence, rows.outcome, names, n_bins=5)
        )
    assert result.rows["calibration_rows"].tolist() == [80] * 3
    assert result.rows["evaluation_rows"].tolist() == [80] * 3


def compared(**by_method):
    frames = [
        pd.DataFrame({"run": [f"r{i}" for i in range(len(values))], "method": name, "ECE": values})
        for name, values in by_method.items()
    ]
    return RunsComparison(pd.concat(frames, ignore_index=True))


def test_the_paired_interval_is_the_t_test_on_differences():
    none, after = [0.30, 0.20, 0.25, 0.27], [0.21, 0.13, 0.16, 0.16]
    found = compared(none=none, after=after).difference()
    # Differences −.09, −.07, −.09, −.11: mean −.09, sd .016329…, t₃ = 3.1824, half .02598.
    assert found.mean.loc["after", "ECE"] == pytest.approx(-0.09)
    assert found.low.loc["after", "ECE"] == pytest.approx(-0.09 - 0.025984, abs=1e-6)
    assert found.high.loc["after", "ECE"] == pytest.approx(-0.09 + 0.025984, abs=1e-6)
    interval = stats.ttest_rel(after, none).confidence_interval(0.95)
    assert found.low.loc["after", "ECE"] == pytest.approx(interval.low)
    assert found.mean.loc["none", "ECE"] == found.low.loc["none", "ECE"] == 0


def test_differences_to_another_method_turn_their_sign():
    result = compared(a=[1.0, 2.0, 4.0], b=[2.0, 2.0, 3.0])
    to_a, to_b = result.difference("a"), result.difference("b")
    assert to_a.mean.loc["b", "ECE"] == -to_b.mean.loc["a", "ECE"]
    assert to_a.low.loc["b", "ECE"] == -to_b.high.loc["a", "ECE"]
    with pytest.raises(lore.InputError, match="'to' must be one of"):
        result.difference("c")
    result = compared(a=[1.0, 2.0, 3.0], b=[0.0, 1.0, 2.0])
    shuffled = RunsComparison(result.runs.sample(frac=1, random_state=1))
    found = shuffled.difference("a")
    assert found.mean.loc["b", "ECE"] == found.low.loc["b", "ECE"] == -1
    with pytest.raises(lore.InputError, match="'metric' must be one of"):
        compared(a=[1.0]).values("NLL")


def test_the_best_must_beat_every_other_beyond_chance():
    result = compared(a=[0.3], b=[0.1])
    found = result.difference()
    assert found.mean.loc["b", "ECE"] == pytest.approx(-0.2)
    assert np.isnan(found.low.loc["b", "ECE"])
    assert result.best() == {}
    runs = compared(a=[1.0, 2.0], b=[2.0, 3.0]).runs.rename(columns={"ECE": "accuracy"})
    assert RunsComparison(runs).best() == {}
    rng = np.random.default_rng(0)
    run = rng.normal(0, 0.1, 30)  # shared by all methods: pairs do not see it
    far, near = 0.3 + run, 0.1 + run + rng.normal(0, 0.01, 30)
    assert compared(far=far, near=near, won=0.05 + run).best() == {"ECE": "won"}
    tie = compared(far=far, near=near, won=near + rng.normal(0, 0.02, 30) - 0.0001).best()
    assert tie == {}
    # Bonferroni: of k − 1 rivals each interval is taken at 1 − .05/(k − 1).
    gaps = np.array([0.03, 0.02, 0.05, 0.02, 0.005])
    a, rivals = np.full(5, 0.2), {f"c{i}": np.full(5, 1.2) for i in range(8)}
    t = gaps.mean() / gaps.std(ddof=1) * np.sqrt(5)
    assert stats.t.ppf(1 - 0.05 / 2, 4) < t < stats.t.ppf(1 - 0.05 / 9 / 2, 4)
    assert compared(a=a, b=a + gaps).best() == {"ECE": "a"}
    assert compared(a=a, b=a + gaps, **rivals).best() == {}


def test_the_saved_summary_reads_back():
    result = compared(**{"No recalibration": [0.3, 0.2, 0.4], "LoRe": [0.1, 0.1, 0.1]})
    saved = result.frame().to_csv(index=False)
    back = pd.read_csv(io.StringIO(saved)).set_index(["method", "metric"])
    assert back.loc[("No recalibration", "ECE"), "mean"] == pytest.approx(0.3)
    assert back.loc[("LoRe", "ECE"), "runs"] == 3
    paired = result.difference()
    assert back.loc[("LoRe", "ECE"), "difference_high"] == pytest.approx(
        paired.high.loc["LoRe", "ECE"]
    )
    assert not back.isna().any().any()
