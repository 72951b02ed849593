import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.comparison.tables import check_metrics, check_subgroups


def table(**rows):
    return pd.DataFrame(
        [(name.replace("_", " "), *of) for name, of in rows.items()],
        columns=["metric", "value", "low", "high"],
    )


def test_a_limit_is_exceeded_where_the_whole_interval_is():
    measured = table(
        ECE=(0.04, 0.01, 0.05),
        MCE=(0.3, 0.21, 0.4),
        smooth_ECE=(0.04, np.nan, np.nan),
        accuracy=(0.8, 0.75, 0.85),
        NLL=(0.5, 0.4, 0.6),
    )

    def result(**limits):
        limits = {name.replace("_", " "): limit for name, limit in limits.items()}
        return list(check_metrics(measured, limits)["result"])

    assert result(ECE=0.03, MCE=0.2, smooth_ECE=0.03) == ["not sure", "exceeded", "exceeded"]
    assert result(ECE=0.04, MCE=0.3, smooth_ECE=0.05) == ["met"] * 3
    assert [*result(accuracy=0.8), *result(accuracy=0.84), *result(accuracy=0.86)] == [
        "met",
        "not sure",
        "exceeded",
    ]
    for limits in ({"EEC": 0.1}, {"mean_confidence": 0.9}, {"ECE": float("nan")}):
        with pytest.raises(lore.InputError, match="a limit must be a number for one of accuracy, "):
            check_metrics(table(ECE=(0.1, 0, 1)), limits)
    with pytest.raises(lore.InputError, match="have no MLCE.*needs features"):
        check_metrics(table(ECE=(0.1, 0, 1)), {"MLCE": 0.1})


def test_the_worst_place_is_the_one_that_is_surely_worst():
    found = [("few", 0.4, 0.05, 0.7), ("many", 0.3, 0.25, 0.35), ("unsure", -0.35, -0.45, -0.27)]
    columns = ["where", "held_out_gap", "held_out_gap_low", "held_out_gap_high"]
    subgroups = pd.DataFrame(found, columns=columns)
    (row,) = check_subgroups(subgroups, 0.26).to_dict(orient="records")
    numbers = {"limit": 0.26, "value": 0.35, "low": 0.27, "high": 0.45}
    assert row == {"check": "worst subgroup", **numbers, "result": "exceeded", "where": "unsure"}
    assert list(check_subgroups(subgroups, 0.3)["result"]) == ["not sure"]
    assert list(check_subgroups(subgroups[:0], 0.0)["result"]) == ["met"]


@pytest.fixture
def grouped(sample):
    c, a, _ = sample
    names = np.array(["big"] * 300 + ["mid"] * 80 + ["tiny"] * 20)
    return c, a, names


def test_report_holds_the_metric_of_each_group_alone(grouped):
    c, a, names = grouped
    report = lore.group_report(c, a, names, n_bins=5, n_draws=50).set_index("group")
    assert report["rows"].tolist() == [300, 80, 20]
    own = names == "mid"
    assert report.loc["mid", "ece"] == pytest.approx(
        lore.expected_calibration_error(c[own], a[own], n_bins=5)
    )
    assert report["small"].tolist() == [False, False, True]
    assert (report["gap_low"] <= report["gap"]).all()
    assert (report["gap"] <= report["gap_high"]).all()
    assert (report["ece_low"] <= report["ece_high"]).all()
    both = np.column_stack([names, np.where(np.arange(len(c)) % 2, "odd", "even")])
    report = lore.group_report(c, a, both, n_draws=0)
    assert "big × odd" in set(report["group"])
    assert np.isnan(report["ece_low"]).all()


def test_methods_side_by_side(grouped):
    c, a, names = grouped
    before = lore.Dataset(
        np.column_stack([c, 1 - c]), 1 - a.astype(int), predictions=np.zeros(len(c))
    )
    after = before.with_confidence(np.full(len(c), a.mean()))
    options = {"n_bins": 5, "min_group_size": 50}
    table = lore.compare_groups({"No recalibration": before, "flat": after}, names, **options)
    for method, data in (("No recalibration", before), ("flat", after)):
        assert table.loc[method, "max_group_mce"] == lore.groupwise_maximum_calibration_error(
            data.confidence, a, names, **options
        )
    # All confidences in one bin: the cells are the groups, of which "tiny" is too small.
    gaps = {name: a.mean() - a[names == name].mean() for name in ("big", "mid")}
    worst = max(gaps, key=lambda name: abs(gaps[name]))
    found = table.loc["flat"]
    assert found["cell"].startswith(f"{worst}, confidence ")
    assert found["cell_gap"] == pytest.approx(gaps[worst])
    assert found["furthest_group"] == found["worst_group"] == worst


def test_cells_of_fewer_than_ten_rows_are_no_worst_cell():
    # Nine rows all wrong at 0.95, ten rows half right at 0.75, in one group.
    c = np.repeat([0.95, 0.75], [9, 10])
    a = np.repeat([0, 1], [14, 5])
    data = lore.Dataset(np.column_stack([c, 1 - c]), 1 - a)
    found = lore.compare_groups({"as it is": data}, ["one"] * 19, n_bins=10).iloc[0]
    assert (found["cell"], found["cell_rows"]) == ("one, confidence 70–80 %", 10)
    assert found["cell_gap"] == pytest.approx(0.25)
    assert found["max_group_mce"] == pytest.approx(0.95)
    nothing = lore.compare_groups({"as it is": data.rows(np.arange(9))}, ["one"] * 9).iloc[0]
    assert np.isnan(nothing["cell_gap"])
    assert nothing["cell_rows"] == 0
