import json

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import lore_core as lore
from lore_core import regions
from lore_core.regions import SavedSubgroup
from lore_core.regions.enrichment import region_label
from lore_core.regions.subgroups.saved import (
    describe_measured,
    link_text,
    read_link_text,
    subgroups_json,
)
from lore_core.regions.subgroups.verdict import describe_subgroup, generated_name, name_of_subgroup
from lore_core.regions.variables.attributes import Predicate, telling_attributes

N = 1600


def data(seed=0, n=N, *, off=0.25, columns=True, features=True):
    """Rows of which one site is overconfident, and one spot of the map."""
    rng = np.random.default_rng(seed)
    site = rng.choice(["north", "south", "east"], n)
    age = rng.integers(18, 90, n)
    z = rng.normal(size=(n, 2))
    c = rng.uniform(0.55, 0.99, n)
    spot = (z[:, 0] - 1) ** 2 + z[:, 1] ** 2 < 0.5
    p = c - off * (site == "east") * columns - off * spot * (not columns)
    predicted = rng.integers(0, 2, n)
    labels = np.where(rng.random(n) < p, predicted, 1 - predicted)
    probability = np.where(predicted == 1, c, 1 - c)
    named = {"groups": {"site": site}, "metadata": {"age": age}} if columns else {}
    wide = np.hstack([z, rng.normal(size=(n, 30)) * 1e-6])
    more = {"features": wide if not columns else z} if features else {}
    return lore.Dataset(np.column_stack([1 - probability, probability]), labels, **named, **more)


@pytest.fixture(scope="module")
def found():
    rows = data()
    return rows, lore.find_subgroups(rows)


@pytest.fixture(scope="module")
def on_map():
    rows = data(3, 3000, columns=False)
    return rows, rows.features[:, :2]


texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=20)
ends = st.floats(-1e6, 1e6)
conditions = st.one_of(
    st.builds(Predicate, texts, texts),
    st.builds(Predicate, texts, texts, ends, st.just(np.inf) | ends),
    st.builds(Predicate, texts, texts, st.just(-np.inf), ends),
    st.builds(Predicate, texts, texts, words=st.lists(texts, min_size=1).map(tuple)),
)


@settings(deadline=None, derandomize=True)
@given(st.lists(conditions, min_size=1, max_size=2), texts, texts)
def test_a_file_and_a_link_hold_the_definition(parts, name, note):
    saved = SavedSubgroup(tuple(parts), name=name, note=note, found_on="a", gap=0.5)
    (read,) = regions.load_subgroups(subgroups_json([saved]).encode())
    assert (read.conditions, read.name, read.note) == (saved.conditions, name, note)
    assert (read.id, read.gap) == (saved.id, saved.gap)
    (linked,) = read_link_text(link_text([saved], 10_000))
    assert (linked.conditions, linked.name, linked.note) == (saved.conditions, name, note)
    assert linked.id == saved.id
    assert SavedSubgroup(tuple(reversed(parts))).id == saved.id


def test_a_link_holds_as_many_as_fit():
    listed = [SavedSubgroup((Predicate("site", f"s{k}"),)) for k in range(50)]
    text = link_text(listed, 300)
    assert len(text) <= 300
    assert 2 <= len(read_link_text(text)) < 50
    assert link_text(listed, 5) == ""


def test_a_slice_is_the_same_set_on_other_data(found, tmp_path):
    rows, search = found
    path = tmp_path / "subgroups.json"
    regions.save_subgroups(path, regions.saved_subgroups(search, rows))
    saved = regions.load_subgroups(path)
    assert [item.id for item in saved] == [item.id for item in search.subgroups]
    for item, subgroup in zip(saved, search.subgroups, strict=True):
        np.testing.assert_array_equal(np.flatnonzero(item.mask(rows)), subgroup.rows)
        assert item.words == name_of_subgroup(subgroup)
        assert item.gap == subgroup.held.gap
    new = data(1)
    inside = saved[0].mask(new)
    np.testing.assert_array_equal(inside, np.asarray(new.groups["site"]) == "east")
    table = regions.measure_subgroups(new, saved[:1])
    report = lore.region_report(new.confidence, new.outcome, inside)
    first = table.iloc[0]
    assert (first["rows"], first["gap"]) == (report.n_rows, report.gap)
    assert (first["gap_low"], first["gap_high"]) == (report.gap_low, report.gap_high)
    assert first["sentence"].startswith(report.sentence)
    assert not first["found_here"]
    assert "1 of 1 subgroups measured on new rows is significantly wrong" in describe_measured(
        table
    )


def test_on_the_rows_that_found_it_its_gap_is_that_held_out(found):
    rows, search = found
    table = regions.measure_subgroups(rows, regions.saved_subgroups(search, rows))
    assert table["found_here"].all()
    assert table["sentence"].str.contains("had a part in finding it; held out the gap was").all()
    assert "No subgroup was measured on rows that had no part" in describe_measured(table)


def test_what_a_calibrated_model_confirms():
    rows = data()
    saved = regions.saved_subgroups(lore.find_subgroups(rows), rows)
    assert saved
    wrong = 0
    for seed in range(200):
        table = regions.measure_subgroups(data(100 + seed, 300, off=0.0, features=False), saved[:1])
        wrong += int(table["p_adjusted"].iloc[0] <= 0.05)
    assert wrong <= 20  # of 200; at most 5 % are expected


def test_a_region_keeps_its_id_and_name_at_another_bandwidth(on_map):
    rows, z = on_map
    first = lore.find_subgroups(rows, z, gamma=0.2)
    (region,) = [item for item in first.subgroups if item.is_region][:1]
    known = [
        item if item.id != region.id else SavedSubgroup(**{**vars(item), "name": "The spot"})
        for item in regions.saved_subgroups(first, rows)
    ]
    other = lore.find_subgroups(rows, z, gamma=0.25)
    same = regions.identified(other, rows, known)
    named = [item for item in same.subgroups if item.name == "The spot"]
    assert [item.id for item in named] == [region.id]
    assert not np.array_equal(named[0].rows, region.rows)
    assert "rows of “The spot”" in describe_subgroup(named[0])
    assert regions.saved_subgroups(same, rows)[same.subgroups.index(named[0])].id == region.id


def test_a_region_is_known_on_its_own_rows_only(on_map, tmp_path):
    rows, z = on_map
    search = lore.find_subgroups(rows, z)
    saved = [item for item in regions.saved_subgroups(search, rows) if not item.conditions]
    regions.save_subgroups(tmp_path / "regions.json", saved)
    (read, *_) = regions.load_subgroups(tmp_path / "regions.json")
    again = lore.Dataset(np.flip(rows.probabilities, axis=1), rows.labels)
    np.testing.assert_array_equal(read.mask(again), read.mask(rows))
    with pytest.raises(lore.InputError, match="must be those it was found on"):
        read.mask(data(4, 3000, columns=False))
    table = regions.measure_subgroups(data(4, 3000, columns=False), [read])
    assert table["sentence"].iloc[0].startswith("Not measured: ")
    assert np.isnan(table["gap"].iloc[0])


_GOOD = json.loads(subgroups_json([SavedSubgroup((Predicate("site", "east"),))]))


def _changed(**parts):
    return {**_GOOD, "subgroups": [{**_GOOD["subgroups"][0], **parts}]}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "must be JSON"),
        ("[1]", "must hold 'lore-lens-subgroups' as its format"),
        ({**_GOOD, "format": "other"}, "as its format"),
        ({**_GOOD, "schema": 2}, "must have schema 1; got 2"),
        (_changed(name=3), "a text as 'subgroups: name'"),
        (_changed(rows=["x"]), "a whole number"),
        (_changed(rows=[-1]), "a whole number from 0"),
        (_changed(conditions=[]), "has neither"),
        (_changed(rows=[1]), "has both"),
        (_changed(conditions=[{"column": "a"}]), "the parts column, value"),
        ({**_GOOD, "subgroups": [{}]}, "the parts conditions, rows"),
    ],
)
def test_a_bad_file_gets_a_sentence(content, says):
    text = content if isinstance(content, str) else json.dumps(content)
    with pytest.raises(lore.InputError, match=says):
        regions.load_subgroups(text.encode())


@pytest.mark.parametrize("text", ["", "{", "[1]", "[[1,2,3]]", '[["a","b",[["c"]],""]]'])
def test_a_bad_link_is_refused(text):
    with pytest.raises(lore.InputError):
        read_link_text(text)


def test_images_of_a_region_are_named_by_what_is_measured_of_them():
    rng = np.random.default_rng(0)
    n = 1500
    pixels = rng.integers(60, 200, (n, 8, 8, 3))
    dark = np.arange(n) < 300
    pixels[dark] //= 5
    classes = rng.integers(0, 3, n)
    rows = lore.Dataset(
        np.full((n, 3), 1 / 3),
        classes,
        predictions=np.where(dark, 0, classes),
        images=pixels.astype(np.uint8),
        class_names=("airplane", "bird", "car"),
    )
    known = telling_attributes(rows)
    for inside, name in (
        (dark, "Mostly dark images predicted airplane"),
        (rng.random(n) < 0.2, "Rows in one region of the map"),
    ):
        label = region_label(inside, known)
        assert generated_name(a_region(label=label)) == name


def a_region(**parts):
    held = regions.Held(9, *[0.5] * 11)
    return regions.Subgroup(np.arange(9), 1, (), 0.9, 0.5, held, np.arange(4), **parts)


def test_coordinates_are_the_last_resort(on_map):
    rows, z = on_map
    for subgroup in lore.find_subgroups(rows, z).subgroups:
        if subgroup.is_region and not subgroup.label:
            middle = np.median(z[subgroup.rows], axis=0)
            assert subgroup.centre == pytest.approx(tuple(middle))
            assert generated_name(subgroup).startswith("Rows around (")
    label = (Predicate("predicted class", "car"), Predicate("predicted class", "bus"))
    assert generated_name(a_region(label=label)) == "Rows mostly predicted car or bus"
    assert (
        generated_name(a_region(label=(Predicate("site", "east"),))) == "Rows mostly with site east"
    )


def test_at_most_one_in_twenty_sets_drawn_at_random_has_a_label():
    rng = np.random.default_rng(1)
    rows = data(5, 400)
    known = telling_attributes(rows)
    named = sum(bool(region_label(rng.random(400) < 0.3, known)) for _ in range(200))
    assert named <= 20
