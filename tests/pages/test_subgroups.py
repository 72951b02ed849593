import numpy as np
import pytest

import lore_core as lore
from lore_core import regions
from lore_core.regions.subgroups.saved import subgroups_json
from lore_core.regions.subgroups.verdict import describe_subgroup, evidence_of, name_of_subgroup
from lore_core.regions.variables.attributes import Predicate
from lore_core.view import View
from pages.shared import subgroups as shared
from pages.shared.subgroups import gap_line, title_of

METHODS = ("No recalibration", "Temperature scaling")


@pytest.fixture(scope="module")
def planted():
    return lore.demo.synthetic(5000, random_state=1).dataset


@pytest.fixture(scope="module")
def maps(planted):
    return {"PCA 2-D": lore.embed(planted.features, "pca", 2, random_state=0)}


@pytest.fixture(scope="module")
def view(planted, maps):
    return View(planted, maps=maps)


@pytest.fixture(scope="module")
def search(planted, view):
    return lore.find_subgroups(planted.evaluation, view.points(), gamma=0.2)


def _outlined(page):
    return [item["name"] for item in page.scene["regions"]]


def test_places_are_listed_and_outlined(open_page, planted, search):
    page = open_page("landscape", planted)
    assert len(search.subgroups) >= 2
    text = page.plain
    for subgroup in search.subgroups:
        assert describe_subgroup(subgroup) in text
        assert evidence_of(subgroup, search) in text
    assert search.sentence in text
    assert len(_outlined(page)) == len(search.subgroups) - text.count("lie scattered on this map")


def test_the_overview_says_the_verdict_and_lists_its_places(open_page, planted, view, search):
    target_rows = planted.evaluation.target()
    overall = lore.regions.overall_gap(target_rows.confidence, target_rows.outcome)
    said = lore.regions.conclude(overall, search)
    page = open_page("overview", planted, overview_tab="How sure is this?")
    text = page.plain
    assert text.count(said.sentence) == 1
    assert said.evidence in text
    assert search.sentence in text
    links = [item.proto.label.replace("\\", "") for item in page.app.get("page_link")]
    for number, subgroup in enumerate(search.subgroups[:4], start=1):
        named = f"-badge[{number}] **{name_of_subgroup(subgroup)}**"
        assert any(named in link for link in links)
        assert gap_line(subgroup, search.n_rows) in text
    drawn = page.sent("overview_map")
    assert [region["number"] for region in drawn["regions"]] == list(range(len(search.subgroups)))
    assert drawn["gammas"] is None
    text = open_page("overview", planted, overview_tab="All metrics").plain
    chance = lore.null_errors(target_rows.confidence, view.points(), gamma=0.2)
    errors = lore.local_errors(
        target_rows.confidence, target_rows.outcome, view.points(), gamma=0.2
    )
    assert lore.describe_maximum(errors, chance) in text


def test_looking_closer_reports_on_the_place(open_page, planted, view, search):
    page = open_page("landscape", planted)
    page.click(f"inspect_{search.subgroups[0].id}")
    rows = planted.evaluation
    subgroup = search.subgroups[0]
    report = lore.region_report(rows.confidence, rows.outcome, search.mask(0))
    text = page.plain
    assert f"**1 · {name_of_subgroup(subgroup)}** · {report.sentence}" in text
    assert evidence_of(subgroup, search)[1:] in text
    assert set(_outlined(page)) <= {"1"}


def test_a_link_names_a_place(open_page, planted, search):
    page = open_page("landscape", planted, subgroup=search.subgroups[1].id)
    assert f"**2 · {name_of_subgroup(search.subgroups[1])}**" in page.plain
    page = open_page("landscape", planted, subgroup="99999999")
    assert "names a subgroup, 99999999, that was not found among these rows" in page.text
    assert "subgroup" not in page.app.query_params


def test_a_given_name_is_shown_everywhere_and_comes_with_the_link(open_page, planted, search):
    first = search.subgroups[0]
    page = open_page("landscape", planted, methods=METHODS)
    page.app.session_state[f"rename_{first.id}"] = True
    page.run().set(f"name_{first.id}", "Odd ones").set(f"note_{first.id}", "Ask the labellers.")
    assert "rows of “Odd ones”" in page.plain
    assert f"{name_of_subgroup(first)}." in page.plain
    assert "*Ask the labellers.*" in page.plain
    link = dict(page.app.query_params)
    assert "rows of “Odd ones”" in open_page("landscape", planted, **link).plain
    page.go("recalibrate")
    assert "held-out rows of “Odd ones”" in page.plain


def test_a_file_brings_subgroups_that_the_search_does_not_find(open_page, planted):
    (column, *_) = planted.groups.columns
    value = str(np.asarray(planted.evaluation.groups[column])[0])
    mine = regions.SavedSubgroup((Predicate(column, value),), name="Mine")
    other = regions.SavedSubgroup((Predicate("nowhere", "x"),), name="Elsewhere")
    page = open_page("landscape", planted)
    page.upload(("s.json", subgroups_json([mine, other]).encode()))
    table = regions.measure_subgroups(planted.evaluation, [mine])
    if mine.id not in {item.id for item in lore.find_subgroups(planted.evaluation).subgroups}:
        assert "**Mine**, not found by this search" in page.plain
        assert table["sentence"][0] in page.plain
    assert "must have a column 'nowhere'; it has none" in page.plain
    page.click(f"inspect_{mine.id}")
    inside = mine.mask(planted.evaluation)
    rows = planted.evaluation
    assert lore.region_report(rows.confidence, rows.outcome, inside).sentence in page.plain
    page = open_page("landscape", planted).upload(("s.json", b"{}"))
    assert "'lore-lens-subgroups' as its format" in page.app.error[0].value


def test_a_scattered_headline_is_drawn_as_dots(open_page):
    rng = np.random.default_rng(0)
    n = 5000
    odd, z = np.arange(n) % 5 == 0, rng.normal(size=(n, 2))
    right, predicted = rng.random(n) < np.where(odd, 0.45, 0.8), rng.integers(0, 2, n)
    p = np.where(predicted[:, None] == np.arange(2), 0.8, 0.2)
    kind = np.where(odd, "odd", "even")
    split = np.where(rng.random(n) < 0.5, "calibration", "evaluation")
    labels, groups = np.where(right, predicted, 1 - predicted), {"kind": kind}
    rows = lore.Dataset(p, labels, features=z, groups=groups, split=split)
    embedded = lore.embed(z, "pca", 2, random_state=0)
    points = embedded.coordinates[rows.in_split("evaluation")]
    for name, of in (("landscape", "landscape"), ("overview", "overview_map")):
        page = open_page(name, rows)
        (dots,) = page.sent(of)["dots"]
        inside = np.asarray(rows.evaluation.groups["kind"]) == "odd"
        assert len(dots["at"]) == min(int(inside.sum()), 400)
        assert {tuple(at) for at in dots["at"]} <= {tuple(z.round(5)) for z in points[inside]}
        assert "Coloured rings mark rows of the headline's subgroup" in page.plain
        assert page.sent(of)["regions"] == []


def test_subgroups_before_and_after_and_as_groups(open_page, planted, search):
    page = open_page("recalibrate", planted, methods=METHODS, recalibrate_tab="Subgroups")
    table = page.table("held-out rows", "No recalibration")
    assert list(table["held-out rows"]) == [len(item.held_out) for item in search.subgroups]
    rows = planted.evaluation
    for text, item in zip(table["No recalibration"], search.subgroups, strict=True):
        gap = (rows.confidence - rows.outcome)[item.held_out].mean() * 100
        assert float(text.split()[0].replace("−", "-")) == pytest.approx(gap, abs=0.06)
    worst = {"fairness_tab": "Worst group of each method"}
    page = open_page("fairness", planted, methods=METHODS, **worst)
    page.set("groups", ["significant subgroups"])
    worst = page.table("furthest_group", "furthest_rows")
    held = {title_of(item, k): len(item.held_out) for k, item in enumerate(search.subgroups)}
    name, n = worst.iloc[0][["furthest_group", "furthest_rows"]]
    assert held[name] == n


def test_exactly_the_places_are_coloured(open_page, planted, view, search):
    page = open_page("landscape", planted, beyond="true", bin="worst")
    plain_page = open_page("landscape", planted, bin="worst")
    sent, known = (np.isfinite(item.field) for item in (page, plain_page))
    scene = page.scene
    x, y = (np.linspace(*scene["field"][axis], scene["field"]["resolution"]) for axis in "xy")
    target_rows = planted.evaluation.target()
    table = lore.reliability_table(target_rows.confidence, target_rows.outcome)
    rows = table.bins.assign(target_rows.confidence) == table.worst_bin(30)
    nodes = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    z = view.points()[rows]
    nearest = np.concatenate(
        [np.abs(part[:, None] - z).sum(axis=2).argmin(axis=1) for part in np.split(nodes, 100)]
    )
    np.testing.assert_array_equal(sent.ravel(), known.ravel() & search.inside()[rows][nearest])
    assert search.inside()[scene["worst"]].all()
    np.testing.assert_array_equal(scene["inside"], search.inside())


def test_a_calibrated_model_has_none(open_page):
    dataset = lore.demo.synthetic(3000, calibrated=True).dataset
    page = open_page("landscape", dataset, beyond="true", picture="both")
    assert "No subgroup is significantly wrong" in page.text
    page = open_page("overview", dataset, overview_tab="How sure is this?")
    assert "No significant miscalibration overall" in page.app.success[0].value
    assert "No subgroup is significantly wrong" in page.text


def test_many_rows_are_searched_on_demand(open_page, planted, search, monkeypatch):
    monkeypatch.setattr(shared, "MAX_ROWS_AT_ONCE", 100)
    page = open_page("overview", planted)
    assert gap_line(search.subgroups[0], search.n_rows) not in page.plain
    page.set("look", True)
    assert gap_line(search.subgroups[0], search.n_rows) in page.plain
