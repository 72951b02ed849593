import numpy as np
import pytest

from lore_core import (
    Dataset,
    compare_groups,
    expected_calibration_error,
    group_report,
    groupwise_maximum_calibration_error,
)


@pytest.fixture
def grouped(sample):
    c, a, _ = sample
    names = np.array(["big"] * 300 + ["mid"] * 80 + ["tiny"] * 20)
    return c, a, names


def test_report_holds_the_metric_of_each_group_alone(grouped):
    c, a, names = grouped
    report = group_report(c, a, names, n_bins=5, n_draws=50).set_index("group")
    assert report["rows"].tolist() == [300, 80, 20]
    own = names == "mid"
    assert report.loc["mid", "ece"] == pytest.approx(
        expected_calibration_error(c[own], a[own], n_bins=5)
    )
    assert report["small"].tolist() == [False, False, True]
    assert (report["gap_low"] <= report["gap"]).all()
    assert (report["gap"] <= report["gap_high"]).all()
    assert (report["ece_low"] <= report["ece_high"]).all()


def test_intersections(grouped):
    c, a, names = grouped
    both = np.column_stack([names, np.where(np.arange(len(c)) % 2, "odd", "even")])
    report = group_report(c, a, both, n_draws=0)
    assert "big × odd" in set(report["group"])
    assert np.isnan(report["ece_low"]).all()


def test_methods_side_by_side(grouped):
    c, a, names = grouped
    before = Dataset(np.column_stack([c, 1 - c]), 1 - a.astype(int), predictions=np.zeros(len(c)))
    after = before.with_confidence(np.full(len(c), a.mean()))
    options = {"n_bins": 5, "min_group_size": 50}
    table = compare_groups({"No recalibration": before, "flat": after}, names, **options)
    for method, data in (("No recalibration", before), ("flat", after)):
        assert table.loc[method, "max_group_mce"] == groupwise_maximum_calibration_error(
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
    data = Dataset(np.column_stack([c, 1 - c]), 1 - a)
    found = compare_groups({"as it is": data}, ["one"] * 19, n_bins=10).iloc[0]
    assert (found["cell"], found["cell_rows"]) == ("one, confidence 70–80 %", 10)
    assert found["cell_gap"] == pytest.approx(0.25)
    assert found["max_group_mce"] == pytest.approx(0.95)
    nothing = compare_groups({"as it is": data.rows(np.arange(9))}, ["one"] * 9).iloc[0]
    assert np.isnan(nothing["cell_gap"])
    assert nothing["cell_rows"] == 0
