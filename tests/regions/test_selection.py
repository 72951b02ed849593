import numpy as np
import pytest

from lore_core import InputError, Region, region_report
from lore_core.regions import report_by


def test_box():
    region = Region.box([2, 0], [0, 1])
    inside = region.contains([[1, 0.5], [3, 0.5], [1, 2], [-1, 0.5]])
    assert inside.tolist() == [True, False, False, False]


def test_concave_polygon():
    # An L: the notch at upper right is outside.
    region = Region((0, 2, 2, 1, 1, 0), (0, 0, 1, 1, 2, 2))
    assert region.contains([[0.5, 1.5], [1.5, 0.5], [1.5, 1.5]]).tolist() == [True, True, False]


def test_report_by_hand():
    report = region_report([0.9, 0.7, 0.1], [1, 0, 0], np.array([True, True, False]))
    assert (report.n_rows, report.accuracy) == (2, 0.5)
    assert report.gap == pytest.approx(0.3)
    assert "not off on average, as far as can be told" in report.sentence


def test_report_says_overconfident_only_beyond_chance():
    inside = np.ones(200, dtype=bool)
    assert ": overconfident" in region_report([0.9] * 200, [1, 0] * 100, inside).sentence
    assert ": underconfident" in region_report([0.1] * 200, [1, 0] * 100, inside).sentence


def test_empty_region():
    assert region_report([0.5], [1], np.array([False])).sentence == "No rows lie in this region."


def test_too_few_corners():
    with pytest.raises(InputError, match="at least 3 corners"):
        Region((0, 1), (0, 1))


def test_report_by_name_by_hand():
    by = ["a", "a", "b", "b"]
    frame = report_by(by, [0.9, 0.7, 0.6, 0.2], [0, 1, 1, 0], np.array([True, True, True, False]))
    assert frame["name"].tolist() == ["a", "b"]
    # a: promised 1.6 of 2, got 1; b: promised .6 of 1, got 1.
    assert frame["excess"].tolist() == pytest.approx([0.6, -0.4])
    assert frame["gap"].tolist() == pytest.approx([0.3, -0.4])
    assert (frame["gap_low"] <= frame["gap"]).all()
    assert (frame["gap"] <= frame["gap_high"]).all()
