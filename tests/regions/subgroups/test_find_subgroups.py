import dataclasses

import numpy as np
import pytest

import lore_core as lore
from lore_core.regions.enrichment import region_label
from lore_core.regions.subgroups.candidates import Candidate, Held, Tried
from lore_core.regions.subgroups.find import find_subgroups, halves_of
from lore_core.regions.subgroups.overall import overall_gap
from lore_core.regions.subgroups.verdict import conclude, describe_subgroup, detectable_gap
from lore_core.regions.variables.attributes import Predicate, rows_holding
from lore_core.regions.variables.cutting import cut


def _data(seed, n=2000, *, gap=None, shift=0.0):
    """Binary rows with a place, a number and two features; ``gap`` maps columns to a gap a row."""
    rng = np.random.default_rng(seed)
    c = rng.uniform(0.6, 0.95, n)
    site = rng.choice(["north", "south", "east"], n, p=[0.6, 0.3, 0.1])
    age = rng.integers(18, 80, n).astype(float)
    z = rng.normal(size=(n, 2))
    off = shift + (np.zeros(n) if gap is None else gap(site, age, z))
    predicted = rng.integers(0, 2, n)
    right = rng.random(n) < np.clip(c - off, 0, 1)
    p = np.where(predicted[:, None] == np.arange(2), c[:, None], 1 - c[:, None])
    labels = np.where(right, predicted, 1 - predicted)
    more = {"groups": {"place": site}, "metadata": {"age": age, "row_id": rng.permutation(n)}}
    return lore.Dataset(p, labels, features=z, **more)


def _verdict(data):
    target_rows = data.target("top-label")
    search = find_subgroups(data, data.features)
    return conclude(overall_gap(target_rows.confidence, target_rows.outcome), search), search


def test_a_planted_value_is_the_headline():
    data = _data(0, gap=lambda site, age, z: 0.3 * (site == "east"))
    said, search = _verdict(data)
    assert said.level == "local"
    assert search.subgroups[0].conditions == (Predicate("place", "east"),)
    assert said.sentence.startswith("Overconfident by ")
    assert "rows with place east (held-out, 95 % CI" in said.sentence
    assert (np.asarray(data.groups["place"])[search.subgroups[0].rows] == "east").all()
    assert search.subgroups[0].held.gap == pytest.approx(0.3, abs=0.12)
    data = _data(20, 2500, gap=lambda site, age, z: 0.3 * (age > 60))
    verdict, search = _verdict(data)
    row, first = search.frame().iloc[0], search.subgroups[0]
    assert verdict.subgroup is first
    assert (row["confidence"], row["accuracy"]) == (first.confidence, first.accuracy)
    assert row["rows"] == first.n_rows == len(first.rows)
    assert (row["held_out_n_rows"], row["held_out_gap"]) == (first.held.n_rows, first.held.gap)


def test_many_rows_that_are_off_come_before_few_that_are_further_off():
    def gap(site, age, z):
        return np.where((site == "east") & (age < 28), 0.5, 0.16 * (site == "south"))

    subgroups = _verdict(_data(0, 10_000, gap=gap))[1].subgroups
    assert subgroups[0].conditions == (Predicate("place", "south"),)
    assert any(Predicate("place", "east") in subgroup.conditions for subgroup in subgroups[1:])


def test_planted_ranges_blobs_and_pairs_are_found():
    data = _data(1, 3000, gap=lambda site, age, z: 0.3 * (age < 28))
    (subgroup, *_) = _verdict(data)[1].subgroups
    (part,) = subgroup.conditions
    assert part.column == "age"
    assert 23 <= float(part.value.removeprefix("< ")) == part.high <= 33
    for rows in (data, data.rows(np.arange(0, len(data), 7))):
        np.testing.assert_array_equal(
            rows_holding(subgroup.conditions, rows), rows.metadata["age"] < part.high
        )
    # The tails of a column, neither of which fills a sixth of it.
    data = _data(5, 6000, gap=lambda site, age, z: 0.3 * (np.abs(z[:, 0]) > 1.96))
    (subgroup,) = _verdict(data)[1].subgroups
    (part,) = subgroup.conditions
    assert str(part) == f"f_0 outside {part.high:g} to {part.low:g}".replace("-", "−")
    assert [part.high, part.low] == pytest.approx([-1.96, 1.96], abs=0.1)
    x = data.features[:, 0]
    np.testing.assert_array_equal(np.flatnonzero((x < part.high) | (x >= part.low)), subgroup.rows)
    np.testing.assert_array_equal(np.flatnonzero(rows_holding((part,), data)), subgroup.rows)
    data = _data(2, 6000, gap=lambda site, age, z: 0.35 * (np.abs(z - 1).sum(axis=1) < 0.7))
    subgroup = _verdict(data)[1].subgroups[0]
    planted = np.abs(data.features - 1).sum(axis=1) < 0.7
    assert planted[subgroup.rows].mean() > 0.6
    assert planted[subgroup.rows].sum() > 0.6 * planted.sum()
    data = _data(
        3, 6000, gap=lambda site, age, z: np.where((site == "south") == (age > 50), 0.12, -0.03)
    )
    found = {
        frozenset(part.column for part in subgroup.conditions)
        for subgroup in _verdict(data)[1].subgroups
    }
    assert frozenset({"place", "age"}) in found


def test_underconfidence_has_the_other_sign():
    data = _data(4, gap=lambda site, age, z: -0.25 * (site == "south"))
    subgroup = _verdict(data)[1].subgroups[0]
    assert subgroup.sign == -1
    assert subgroup.held.gap_high < 0
    assert describe_subgroup(subgroup).startswith("Underconfident by ")
    levels = [_verdict(_data(100 + seed, 600))[0].level for seed in range(12)]
    assert levels.count("good") >= 11


def test_a_region_is_named_by_what_most_of_its_rows_hold():
    inside = np.arange(100) < 40
    parts = np.repeat(["a", "b", "c", "d"], [15, 15, 10, 60])
    half = np.repeat(["x", "y"], 50)
    none = np.tile(["u", "v"], 50)
    columns = [cut(name, values) for name, values in (("n", none), ("p", parts))]
    assert region_label(inside, columns) == (Predicate("p", "a"), Predicate("p", "b"))
    classes = cut("predicted class", half)
    assert region_label(inside, [*columns, classes]) == (Predicate("predicted class", "x"),)
    assert region_label(inside, columns[:1]) == ()
    assert region_label(inside, [cut("all", np.full(100, "same"))]) == ()


def test_halves_are_drawn_and_alike_in_confidence():
    data = lore.Dataset(np.random.default_rng(0).uniform(0.5, 1, 1001), np.ones(1001, int))
    c, together = data.confidence, 0
    for seed in range(30):
        (half, other), (again, first) = halves_of(data, random_state=seed).turns
        one = half.searched
        assert sorted([*one, *other]) == list(range(1001))
        np.testing.assert_array_equal(one, first)
        np.testing.assert_array_equal(other, again.searched)
        assert abs(c[one].mean() - c[other].mean()) < 0.003
        together += np.isin([3, 500], one).sum() != 1
    # Any two rows that do not follow each other in confidence are together half of the time.
    assert 5 <= together <= 25


def test_a_gap_everywhere_is_said_once_and_is_no_place():
    said, search = _verdict(_data(5, 3000, shift=0.15))
    assert said.level == "global"
    assert search.against == "average"
    assert search.subgroups == []
    assert "15" in said.sentence or "14" in said.sentence or "16" in said.sentence
    data = _data(6, 3000, shift=0.06, gap=lambda site, age, z: 0.25 * (site == "east"))
    said, search = _verdict(data)
    assert search.subgroups[0].conditions == (Predicate("place", "east"),)
    # All rows are off by more than what the subgroup adds to it.
    assert said.level == "global"
    assert said.sentence.startswith("Overconfident by ")
    assert "Worst subgroup: overconfident by" in said.evidence
    assert "with place east" in said.evidence


def test_identifiers_and_the_truth_are_no_places():
    data = _data(7, 3000, gap=lambda site, age, z: 0.3 * (site == "east"))
    truth = data.labels
    finer = [f"{k}{i % 3}" for i, k in enumerate(truth)]
    names = {"groups": {"truth": truth.astype(str), "finer": finer}}
    names["metadata"] = {"row_id": data.metadata["row_id"], "right": data.outcome}
    assert find_subgroups(dataclasses.replace(data, **names)).subgroups == []


def test_what_could_have_been_found_gets_smaller_with_rows():
    gaps = []
    for n in (500, 2000, 8000):
        data = _data(8, n).target("top-label")
        gaps.append(detectable_gap(overall_gap(data.confidence, data.outcome), 0.04))
    assert gaps[0] > 1.8 * gaps[1] > 3.2 * gaps[2]
    data = _data(9, 200)
    with pytest.raises(lore.InputError, match="'against' must be auto, zero"):
        find_subgroups(data, against="nothing")
    with pytest.raises(lore.InputError, match="alpha"):
        find_subgroups(data, alpha=0)
    with pytest.raises(lore.InputError, match="embedding"):
        find_subgroups(data, data.features[:10])


@pytest.mark.parametrize(
    ("sign", "gap", "p_adjusted", "expected"),
    [
        (1, (0.1, 0.02, 0.18), 0.05, True),
        (-1, (-0.1, -0.18, -0.02), 0.05, True),
        (1, (0.1, 0.02, 0.18), 0.06, False),  # chance
        (1, (0.1, -0.01, 0.21), 0.01, False),  # the gap itself may be 0
        (-1, (-0.1, -0.21, 0.01), 0.01, False),
        (1, (0.019, 0.01, 0.03), 0.01, False),  # of no consequence
    ],
)
def test_confirmed_is_beyond_chance_and_itself_wrong(sign, gap, p_adjusted, expected):
    numbers = dict.fromkeys((field.name for field in dataclasses.fields(Held)), 0.0)
    numbers |= dict(zip(("gap", "gap_low", "gap_high"), gap, strict=True))
    held = Held(**{**numbers, "n_rows": 100, "p_adjusted": p_adjusted})
    found = Candidate(interest=0.0, excess=float(sign), lower_bound=0.0, conditions=())
    tried = Tried(**vars(found), held_out=np.arange(100), held=held)
    assert tried.confirmed(0.05) is expected
