import numpy as np
import pandas as pd
import pytest

from lore_core import Dataset, InputError, Region, local_errors, region_report
from lore_core.regions import (
    class_positions,
    drawn_rows,
    row_table,
    rows_with,
    telling_column,
    worst_rows,
)


@pytest.fixture
def rows(sample):
    c, a, z = sample
    site = {"site": np.arange(len(c)) % 3}
    names = {"groups": site, "metadata": site | {"age": np.arange(len(c))}}
    p, top = np.column_stack([c, 1 - c]), np.zeros(len(c))
    data = Dataset(p, 1 - a.astype(int), features=z, predictions=top, **names)
    return data, local_errors(c, a, z), z


def test_worst_rows_and_their_table(rows):
    _, errors, _ = rows
    within = errors.bin_index > 8
    worst = worst_rows(errors, within=within, n_rows=7, min_effective_size=5)
    allowed = within & (errors.effective_size >= 5)
    expected = np.sort(errors.absolute[allowed])[::-1][:7]
    np.testing.assert_array_equal(errors.absolute[worst], expected)
    data, errors, _ = rows
    table = row_table(data, np.array([5, 2]), errors)
    assert table["row"].tolist() == [5, 2]
    assert table["age"].tolist() == [5, 2]
    assert list(table.columns).count("site") == 1
    assert table["confidence"].tolist() == data.confidence[[5, 2]].tolist()
    assert table["lce"].tolist() == errors.absolute[[5, 2]].tolist()
    none = row_table(data, np.array([], dtype=int), errors)
    assert len(none) == 0
    assert list(none.columns) == list(row_table(data, np.array([0]), errors).columns)
    data, _, z = rows
    subgroups = class_positions(data, z, np.ones(len(data), dtype=bool))
    assert subgroups["name"].tolist() == ["0"]  # the other class is never predicted
    assert ((z == subgroups[["x", "y"]].to_numpy()[0]).all(axis=1)).any()


def test_drawn_rows_hold_the_worst_and_no_row_twice():
    within = np.arange(1000) % 2 == 0
    drawn = drawn_rows(within, np.array([4, 10]), 50)
    assert len(drawn) == len(set(drawn)) == 50
    assert {4, 10} <= set(drawn)
    assert within[drawn].all()
    assert np.array_equal(drawn, drawn_rows(within, np.array([4, 10]), 50))


def test_the_longest_words_tell_most_of_a_row():
    columns = {"source": ["the same"] * 3, "note": ["a b", "", "c d e"], "age": [3, 4, 5]}
    data = Dataset([[0.5, 0.5]] * 3, [0, 1, 0], metadata=columns)
    assert telling_column(data).tolist() == ["a b", "", "c d e"]
    assert telling_column(Dataset([[0.5, 0.5]] * 3, [0, 1, 0])) is None


@pytest.fixture
def named_rows():
    return Dataset(
        np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]]),
        np.array([0, 1, 1, 0]),
        class_names=("Shirt", "Coat"),
        groups=pd.DataFrame({"Site": ["north", "South, far", "north", "south"]}),
        metadata=pd.DataFrame(
            {"age": [20, 61, np.nan, 60], "note": ["a shirt?", None, "x=1", "12:30"]}
        ),
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", [0, 1, 2, 3]),
        ("shirt", [0, 2, 3]),  # predicted or true Shirt, or a note of one
        ("predicted: shirt", [0, 2]),
        ("predicted: shirt, true: coat", [2]),
        ("site: SOU", [1, 3]),
        ("site: SOUTH", [3]),  # a whole value
        ("age >= 60", [1, 3]),
        ("age > 60", [1]),
        ("age = 20", [0]),
        ("confidence < 0.75, site: north", [2]),
        ("x=1", [2]),  # no column is called x
        ("12:30", [3]),
        ("nothing of the kind", []),
    ],
)
def test_rows_that_words_ask_for(named_rows, words, expected):
    assert np.flatnonzero(rows_with(named_rows, words)).tolist() == expected


def test_regions_hold_what_lies_inside():
    region = Region.box([2, 0], [0, 1])
    inside = region.contains([[1, 0.5], [3, 0.5], [1, 2], [-1, 0.5]])
    assert inside.tolist() == [True, False, False, False]
    # An L: the notch at upper right is outside.
    region = Region((0, 2, 2, 1, 1, 0), (0, 0, 1, 1, 2, 2))
    assert region.contains([[0.5, 1.5], [1.5, 0.5], [1.5, 1.5]]).tolist() == [True, True, False]
    with pytest.raises(InputError, match="at least 3 corners"):
        Region((0, 1), (0, 1))


def test_report_by_hand():
    report = region_report([0.9, 0.7, 0.1], [1, 0, 0], np.array([True, True, False]))
    assert (report.n_rows, report.accuracy) == (2, 0.5)
    assert report.gap == pytest.approx(0.3)
    assert "not significantly miscalibrated" in report.sentence
    inside = np.ones(200, dtype=bool)
    assert ": overconfident" in region_report([0.9] * 200, [1, 0] * 100, inside).sentence
    assert ": underconfident" in region_report([0.1] * 200, [1, 0] * 100, inside).sentence
    assert region_report([0.5], [1], np.array([False])).sentence == "No rows lie in this region."
