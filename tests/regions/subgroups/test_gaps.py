from itertools import product

import numpy as np
import pytest
from scipy import sparse, stats

from lore_core.regions.subgroups import overall
from lore_core.regions.subgroups.candidates import (
    SAME,
    Condition,
    conditions_of,
    distinct_ranges,
    level_tree,
    slice_tables,
)
from lore_core.regions.subgroups.overall import Average, overall_gap
from lore_core.regions.variables.cutting import cut


def _rows(seed, n=400):
    rng = np.random.default_rng(seed)
    c = rng.uniform(0.55, 0.99, n)
    return c, (rng.random(n) < c).astype(float), rng


def test_averages_and_the_overall_gap_by_hand():
    c = np.array([0.8, 0.8, 0.6, 0.6])
    a = np.array([1.0, 0.0, 1.0, 1.0])
    found = Average.of(c, a, "zero").of_rows(np.array([1, 2]))
    # Residuals 0.8 and −0.4.
    assert found.n == 2
    assert found.mean == pytest.approx(0.2)
    assert found.error == pytest.approx(np.sqrt(0.16 + 0.24) / 2)
    # They scatter by 0.6 around it, and it is the mean of two.
    assert found.scatter == pytest.approx(0.6 / np.sqrt(2))
    # Against the average, mean residual (−0.2 + 0.8 − 0.4 − 0.4)/4 = −0.05.
    assert Average.of(c, a, "average").of_rows(np.array([1, 2])).mean == pytest.approx(0.25)
    found = overall_gap([0.9, 0.9, 0.9, 0.9, 0.3, 0.3], [1, 1, 0, 0, 0, 0], n_bins=10)
    assert found.gap == pytest.approx(0.7 - 1 / 3)
    # Gaps 0.4 on four rows and 0.3 on two.
    assert found.error == pytest.approx((4 * 0.4 + 2 * 0.3) / 6)
    assert found.n_rows == 6


@pytest.mark.parametrize("against", ["average", "same confidence"])
def test_all_rows_are_no_worse_than_their_average(against):
    c, a, _ = _rows(0)
    found = Average.of(c, a, against).of_rows(np.arange(len(c)))
    assert found.mean == pytest.approx(0.0, abs=1e-12)
    assert found.error == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("against", ["zero", "average", "same confidence"])
def test_moments_are_those_of_simulated_outcomes(against):
    c, _, rng = _rows(1, 600)
    inside = rng.random(600) < 0.3
    draws = []
    for _ in range(1500):
        a = (rng.random(600) < c).astype(float)
        draws.append(float(Average.of(c, a, against).of_rows(inside).mean))
    text = Average.of(c, (rng.random(600) < c).astype(float), against).of_rows(inside)
    assert np.mean(draws) == pytest.approx(0.0, abs=4 * np.std(draws) / np.sqrt(1500))
    assert np.std(draws) == pytest.approx(float(text.error), rel=0.1)


def test_p_values_are_near_the_exact_ones():
    # Rows of one confidence: the number of mistakes is binomial.
    n, c = 60, 0.9
    for mistakes in range(3, 16):
        a = np.ones(n)
        a[:mistakes] = 0
        found = Average.of(np.full(n, c), a, "zero").of_rows(np.arange(n))
        exact = stats.binom.sf(mistakes - 1, n, 1 - c)
        assert float(found.p_value(1)) == pytest.approx(exact, rel=0.35)


def test_p_values_of_right_confidences_are_uniform(monkeypatch):
    # The rank of an error among simulated ones is uniform however many those are.
    monkeypatch.setattr(overall, "_N_SIMULATED", 399)
    gap, error = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        c = rng.beta(6, 1, 300)
        found = overall_gap(c, (rng.random(300) < c).astype(float), random_state=seed + 999)
        gap.append(found.gap_p)
        error.append(found.error_p)
    # Half an outcome is taken off the gap, so its p-values may only be too large.
    assert stats.kstest(gap, "uniform", alternative="greater").pvalue > 0.01
    assert stats.kstest(error, "uniform").pvalue > 0.01


def test_the_level_that_is_named_is_not_that_of_a_lone_row():
    # 200 rows of 0.9 of which 140 are right, and one of 0.7 that is wrong: 0.7 is further off.
    confidence, outcome = [0.9] * 200 + [0.7], [1] * 140 + [0] * 61
    found = overall_gap(confidence, outcome, n_bins=10)
    assert (found.worst_rows, found.worst_gap) == (200, pytest.approx(0.2))
    # Nothing is surely off: the most rows × gap.
    found = overall_gap([0.5, 0.5, 0.9], [1, 0, 1], n_bins=10)
    assert (found.worst_rows, found.worst_gap) == (1, pytest.approx(-0.1))
    rng = np.random.default_rng(0)
    c = rng.uniform(0.5, 1, 4000)
    a = (rng.random(4000) < np.clip(c - 0.12 * np.sin((c - 0.5) * 4 * np.pi), 0, 1)).astype(float)
    found = overall_gap(c, a)
    assert found.error_p < 0.002
    assert abs(found.gap) < 0.03
    assert abs(found.worst_gap) > 0.08
    assert found.worst_low < found.worst_high


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
    ranges, sums = slice_tables(items, columns, average)
    slices = list(product(*(conditions_of(items[k], k) for k in columns)))
    sums = sums.reshape(-1, *sums.shape[-2:])
    tails = [(4, 1), (3, 2)] if columns == (0,) else []  # of a number, without missing values
    slices += [(Condition(0, *of),) for of in tails]
    assert [of.shape[1] - len(tails) for of in ranges] == [
        len(conditions_of(items[k], k)) for k in columns
    ]
    assert len(slices) == len(sums) == len(set(slices))
    for conditions, found in zip(slices, sums, strict=True):
        rows = np.logical_and.reduce([item.holds(items) for item in conditions])
        for stratum in range(average.n_strata):
            here = rows & (average.stratum == stratum)
            assert found[stratum] == pytest.approx(average.moments[here].sum(axis=0))
        assert found.shape == average.total.shape


def test_of_ranges_nearly_the_same_the_first_is_kept():
    rng = np.random.default_rng(0)
    item = cut("x", rng.integers(0, 40, 400), n_parts=12)
    ranges = np.array([(part.first, part.end) for part in conditions_of(item, 0)]).T
    order = rng.permutation(ranges.shape[1])
    rows = [set(np.flatnonzero(part.holds([item]))) for part in conditions_of(item, 0)]
    kept = []
    for k in order:
        if all(len(rows[k] & rows[j]) <= SAME * len(rows[k] | rows[j]) for j in kept):
            kept.append(k)
    assert 10 < len(kept) < 30
    assert distinct_ranges(item, ranges, order, 100).tolist() == kept
    assert distinct_ranges(item, ranges, order, 7).tolist() == kept[:7]


def test_short_ranges_must_be_further_off():
    c, a = np.full(1000, 0.8), (np.arange(1000) % 10 < 5).astype(float)
    average = Average.of(c, a, "zero")
    for n_rows, errors in ((1000, 1.645), (100, np.sqrt(2 * np.log(np.e / 0.1)))):
        found = average.of_rows(np.arange(n_rows))
        error = 0.5 / np.sqrt(n_rows)  # of the rows' own scatter, more than √(0.8 · 0.2)
        assert float(found.lower_bound) == pytest.approx(0.3 - 1.645 * error)
        assert float(found.lower_bound_of_many) == pytest.approx(0.3 - errors * error)


def test_words_of_a_range_hold_exactly_its_rows():
    values = np.arange(100.0)
    (item,) = [cut("age", values, n_parts=4)]
    for condition in conditions_of(item, 0):
        text = condition.predicate([item]).value
        rows = values[condition.holds([item])]
        if text.startswith("< "):
            assert rows.max() < float(text[2:]) <= rows.max() + 1
        elif text.startswith("≥ "):
            assert rows.min() >= float(text[2:]) > rows.min() - 1
        else:
            low, high = map(float, text.split(" to "))
            assert rows.min() >= low
            assert rows.max() < high


def _line(n):
    ones = np.ones(n - 1)
    return sparse.csr_array(sparse.diags_array([ones, ones], offsets=[-1, 1]))


def test_a_country_with_two_peaks():
    x = np.arange(300)
    field = 0.1 + 0.5 * np.exp(-(((x - 80) / 20) ** 2)) + 0.3 * np.exp(-(((x - 220) / 20) ** 2))
    nodes = level_tree(field, _line(300), min_rows=10, lowest=0.05)
    country, *inner = map(set, nodes)
    assert len(country) == 300
    tops = [rows for rows in inner if not any(other < rows for other in inner)]
    assert sorted(int(np.median(list(rows))) // 10 for rows in tops) == [8, 22]
    for rows in inner:
        assert rows < country
        assert field[list(rows)].min() > field[list(country)].min()
    field = np.concatenate([np.full(40, 0.2), np.zeros(20), np.full(40, -0.3), np.full(5, 0.4)])
    nodes = level_tree(field, _line(105), min_rows=10, lowest=0.05)
    assert [(int(np.sign(field[rows[0]])), len(rows)) for rows in nodes] == [(1, 40), (-1, 40)]
    assert level_tree(np.full(50, np.nan), _line(50), min_rows=5, lowest=0.05) == []
