import numpy as np
import pandas as pd
import pytest
from synthetic import run_of

from benchmarks.paper import published as pub, tables
from benchmarks.paper.measure import Setting, measure_run, runs_table, within_methods
from lore_core import local_errors
from lore_core.comparison import RunsComparison

SETTING = Setting(n_bins=5, pca_dimensions=2, group_column="region")


def maps_of(run):
    return {"tsne": run.features[:, :2].astype(float), "pca": run.features[:, 1:].astype(float)}


@pytest.fixture(scope="module")
def runs():
    return [run_of(seed, k=2) for seed in range(2)]


def test_every_method_is_measured_on_every_run_with_the_library_s_numbers(runs):
    results = [measure_run(run, SETTING, maps_of(run)) for run in runs]
    frame = runs_table(results)
    assert len(frame) == 2 * len(pub.IN_THE_PAPER)
    assert set(frame["method"]) == set(pub.IN_THE_PAPER)
    known = [column for column in frame if "n_eff" not in column]
    assert not frame[known].isna().any(axis=None)
    points = maps_of(runs[0])["tsne"][runs[0].in_split("evaluation")]
    rows = runs[0].evaluation
    local = local_errors(rows.confidence, rows.outcome, points, gamma=0.2, n_bins=5)
    row = results[0].metrics.loc[pub.NONE]
    assert (row["MLCE (t-SNE)"], row["ALCE (t-SNE)"]) == (local.maximum, local.average)
    assert results[0].n_rows == (80, 80)
    assert set(results[0].worst["group"]) <= {"north", "south"}


def test_correlation_inside_methods_does_not_see_what_lies_between_them():
    x, y = [0.0, 1.0, 2.0, 10.0, 11.0, 12.0], [2.0, 1.0, 0.0, 12.0, 11.0, 10.0]
    frame = pd.DataFrame({"run": [0, 1, 2] * 2, "method": [*"aaabbb"], "x": x, "y": y})
    assert frame["x"].corr(frame["y"]) > 0.9
    assert within_methods(frame, "y")["x"] == pytest.approx(-1.0)
    shown = [tables.short(x) for x in (0.1234, -0.061, 10.06, float("nan"))]
    assert shown == [".123", "−.061", "10.060", "–"]
    assert tables.pair((0.5, 0.1)) == ".500 ± .100"
    assert tables.percent((0.151, 0.027)) == "15.1 ± 2.7"
    cells = tables.bold_lowest([["a", "2", "–"], ["b", "1", "–"]], [[2, np.nan], [1, np.nan]])
    assert cells == [["a", "2", "–"], ["b", "**1**", "–"]]


def reference_runs(shift=0.0):
    """Sixty runs that have the reference's means and spreads; one NLL shifted."""
    rows = []
    for run in range(60):
        side = 1 if run % 2 else -1
        for label, values in pub.REFERENCE.items():
            numbers = zip(pub.REFERENCE_COLUMNS, values, strict=True)
            rows.append(
                {"run": run, "method": label}
                | {metric: mean + side * spread for metric, (mean, spread) in numbers}
            )
    frame = pd.DataFrame(rows)
    frame.loc[frame["method"] == pub.HB, "NLL"] += shift
    return RunsComparison(frame)


def test_agreement_with_the_independent_script_is_to_the_printed_digit():
    one = "Histogram binning, NLL, mean: .478 here, .507 there"
    for shift, differing in ((0.0, []), (-0.029, [one])):
        runs = reference_runs(shift)
        assert tables.is_reference(runs)
        assert tables.disagreements(runs) == (60, differing)
    assert not tables.is_reference(RunsComparison(runs.runs[runs.runs["run"] < 30]))
