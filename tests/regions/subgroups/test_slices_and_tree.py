import numpy as np
import pytest
from scipy import sparse

from lore_core.regions.subgroups.average import Average
from lore_core.regions.subgroups.candidates import level_tree
from lore_core.regions.subgroups.slices import slice_tables
from lore_core.regions.variables.cutting import cut


@pytest.mark.parametrize("columns", [(0,), (1,), (0, 1), (1, 2)])
@pytest.mark.parametrize("against", ["zero", "same confidence"])
def test_sums_are_those_of_the_rows_that_hold_the_slice(columns, against):
    rng = np.random.default_rng(3)
    n = 500
    c = rng.uniform(0.5, 1, n)
    a = (rng.random(n) < c).astype(float)
    number = rng.normal(size=n)
    number[::50] = np.nan
    items = [
        cut("number", number, n_parts=5),
        cut("name", rng.choice(["x", "y", "z"], n)),
        cut("few", rng.choice([1, 2], n)),
    ]
    average = Average.of(c, a, against)
    slices, sums = slice_tables(items, columns, average)
    assert len(slices) == len(sums) == len(set(slices))
    for conditions, found in zip(slices, sums, strict=True):
        rows = np.logical_and.reduce([item.holds(items) for item in conditions])
        for stratum in range(average.n_strata):
            here = rows & (average.stratum == stratum)
            assert found[stratum] == pytest.approx(average.moments[here].sum(axis=0))
        assert found.shape == average.total.shape


def test_words_of_a_range_hold_exactly_its_rows():
    values = np.arange(100.0)
    (item,) = [cut("age", values, n_parts=4)]
    average = Average.of(np.full(100, 0.7), np.ones(100), "zero")
    for (condition,) in slice_tables([item], (0,), average)[0]:
        said = condition.predicate([item]).value
        rows = values[condition.holds([item])]
        if said.startswith("< "):
            assert rows.max() < float(said[2:]) <= rows.max() + 1
        elif said.startswith("≥ "):
            assert rows.min() >= float(said[2:]) > rows.min() - 1
        else:
            low, high = map(float, said.split(" to "))
            assert rows.min() >= low
            assert rows.max() < high


def _line(n):
    ones = np.ones(n - 1)
    return sparse.csr_array(sparse.diags_array([ones, ones], offsets=[-1, 1]))


def test_a_country_with_two_peaks():
    x = np.arange(300)
    field = 0.1 + 0.5 * np.exp(-(((x - 80) / 20) ** 2)) + 0.3 * np.exp(-(((x - 220) / 20) ** 2))
    nodes = level_tree(field, _line(300), min_rows=10, lowest=0.05)
    country, *inner = nodes
    assert len(country.rows) == 300
    assert country.parent is None
    tops = [k for k, node in enumerate(nodes) if all(k != other.parent for other in nodes)]
    assert sorted(int(np.median(nodes[k].rows)) // 10 for k in tops) == [8, 22]
    for node in inner:
        around = nodes[node.parent]
        assert set(node.rows) < set(around.rows)
        assert node.level > around.level
        assert (field[node.rows] >= node.level).all()


def test_signs_have_trees_of_their_own_and_small_parts_none():
    field = np.concatenate([np.full(40, 0.2), np.zeros(20), np.full(40, -0.3), np.full(5, 0.4)])
    nodes = level_tree(field, _line(105), min_rows=10, lowest=0.05)
    assert [(node.sign, len(node.rows)) for node in nodes] == [(1, 40), (-1, 40)]
    assert level_tree(np.full(50, np.nan), _line(50), min_rows=5, lowest=0.05) == []
