import numpy as np
import pytest

from lore_core import (
    Dataset,
    compare_groups,
    expected_calibration_error,
    group_report,
    groupwise_maximum_calibration_error,
)
from lore_core.comparison import worst_group_error


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


def test_small_groups_have_wide_intervals(grouped):
    report = group_report(*grouped, n_bins=5).set_index("group")
    width = report["gap_high"] - report["gap_low"]
    assert width["tiny"] > width["mid"] > width["big"]


def test_intersections(grouped):
    c, a, names = grouped
    both = np.column_stack([names, np.where(np.arange(len(c)) % 2, "odd", "even")])
    report = group_report(c, a, both, n_draws=0)
    assert "big × odd" in set(report["group"])
    assert np.isnan(report["ece_low"]).all()


def test_worst_group_is_the_metric_and_draws_are_paired(grouped):
    c, a, names = grouped
    value, draws = worst_group_error(c, a, names, n_bins=5, n_draws=60)
    assert value == groupwise_maximum_calibration_error(c, a, names, n_bins=5)
    again = worst_group_error(c, a, names, n_bins=5, n_draws=60)[1]
    assert np.array_equal(draws, again)


def test_a_draw_is_the_metric_of_the_repeated_rows(grouped):
    c, a, names = grouped
    _, draws = worst_group_error(c, a, names, n_bins=5, n_draws=1, random_state=3)
    rows = np.random.default_rng(3).integers(0, len(c), len(c))
    expected = groupwise_maximum_calibration_error(c[rows], a[rows], names[rows], n_bins=5)
    assert draws[0] == pytest.approx(expected)


def test_min_group_size_leaves_out(grouped):
    c, a, names = grouped
    value, _ = worst_group_error(c, a, names, n_bins=5, min_group_size=50, n_draws=5)
    kept = names != "tiny"
    assert value == pytest.approx(
        groupwise_maximum_calibration_error(c[kept], a[kept], names[kept], n_bins=5)
    )


def test_methods_side_by_side(grouped):
    c, a, names = grouped
    before = Dataset(np.column_stack([c, 1 - c]), 1 - a.astype(int), predictions=np.zeros(len(c)))
    after = before.with_confidence(np.full(len(c), a.mean()))
    table = compare_groups({"No recalibration": before, "flat": after}, names, n_bins=5, n_draws=40)
    assert table.loc["No recalibration", "difference"] == 0
    assert table.loc["No recalibration", ["difference_low", "difference_high"]].tolist() == [0, 0]
    assert table.loc["flat", "max_group_mce"] == groupwise_maximum_calibration_error(
        after.confidence, after.outcome, names, n_bins=5
    )
    assert table.loc["flat", "worst_group"] in {"big", "mid", "tiny"}
