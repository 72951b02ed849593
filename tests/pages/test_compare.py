import dataclasses
import io
import threading

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.comparison import same_rows
from lore_core.regions import Region, Selection
from lore_core.view import View
from lore_core.view.methods import models_of
from pages.shared import session
from pages.shared.store import Loaded, store
from tests.synthetic import unpacked

KEYS = ("compare_old", "compare_new", "compare_change")


@pytest.fixture
def old(made):
    return made(n=2400, n_classes=2, seed=4)


@pytest.fixture
def new(old):
    """Far overconfident on some rows, and otherwise the same."""
    p = old.probabilities.copy()
    rows = old.features[:, 1] > 1
    p[rows] = np.where(p[rows] > 0.5, 0.99, 0.01)
    return dataclasses.replace(old, probabilities=p, features=None, name="the new one")


@pytest.fixture
def compared(open_page, old):
    def opened(*others, **settings):
        for other in others:
            store().loaded.put(other.dataset.digest[:20], other)
        keys = [other.key for other in others]
        return open_page("compare", old, against=keys, **settings)

    return opened


def field_of(page, key):
    scene = page.sent(key)
    error = scene["error"].astype(float)
    return np.where(error == -128, np.nan, error) / 127 * scene["field"]["scale"], scene


def test_the_sentence_the_maps_and_the_tables_are_those_of_the_library(compared, old, new):
    page = compared(Loaded(new, "test"), compare_tab="Subgroups")
    assert page.errors == []
    on = lore.embed(old.features, "pca", 2)
    found = models_of(View(old, maps={"PCA 2-D": on}), same_rows(old, new))
    assert found.sentence in page.plain
    assert "“the new one” is worse overall: NLL" in found.sentence
    table = page.table("rows", "kind")
    assert list(table["kind"]) == [item.kind for item in found.subgroups]
    assert "f_1 ≥" in table["rows"].iloc[0]
    assert table["kind"].iloc[0] in ("new", "worse")
    (before, one), (after, two), (change, three) = (field_of(page, key) for key in KEYS)
    steps = sum(scene["field"]["scale"] for scene in (one, two, three)) / 254
    known = np.isfinite(change)
    assert known.mean() > 0.05
    np.testing.assert_allclose(change[known], (after - before)[known], atol=steps + 1e-9)
    assert {scene["scale"]["limit"] for scene in (one, two, three)} == {one["scale"]["limit"]}
    assert {(scene["link"], scene["map"]) for scene in (one, two, three)} == {
        ("models", one["map"])
    }


def test_fields_while_the_bandwidth_moves_are_differences_of_both_models(compared, new):
    page = compared(Loaded(new, "test"))
    parts = [page.sent(key)["fields"] for key in KEYS]
    assert len(set(parts)) == 3
    made = []
    for key in KEYS:
        answers = page.app.session_state[f"_rows {key}"]
        pieces, first, is_all = {}, 0, False
        while not is_all and len(pieces) < 6:
            part = unpacked(answers.fields[-1].answer({"part": first}))
            first, is_all = part["nextPart"], part["isAll"]
            for number, header in part["fields"].items():
                error = part[f"error{number}"].astype(float)
                pieces[number] = np.where(error == -128, np.nan, error) / 127 * header["scale"]
        made.append(pieces)
    both = set(made[0]) & set(made[1]) & set(made[2])
    assert len(both) > 3
    for number in both:
        before, after, change = (pieces[number] for pieces in made)
        known = np.isfinite(change)
        largest = [np.nanmax(np.abs(of), initial=0) for of in (before, after, change)]
        assert known.any()
        np.testing.assert_allclose(
            change[known], (after - before)[known], atol=sum(largest) / 254 + 1e-9
        )


def test_what_is_drawn_on_a_map_is_reported_for_both(compared, old, new):
    page = compared(Loaded(new, "test"))
    on = lore.embed(old.features, "pca", 2).coordinates[old.in_split("evaluation")]
    box = Region.box((-9, 0), (-9, 9))
    page.app.session_state["_region"] = ("PCA 2-D", Selection(((1, box),)))
    page.run()
    inside = box.contains(on)
    for rows in (old.evaluation, new.evaluation):
        report = lore.region_report(rows.confidence, rows.outcome, inside)
        assert report.sentence in page.text
    assert "Change of the gap" in page.text


def test_rows_that_differ_are_listed_and_all_else_is_drawn(compared, old, new):
    turned = dataclasses.replace(new, probabilities=new.probabilities[::1, ::-1], predictions=None)
    for tab in ("All metrics", "Reliability", "LCE distribution", "Bandwidths"):
        page = compared(Loaded(new, "test"), compare_tab=tab)
        assert page.errors == [], tab
    page = compared(Loaded(turned, "test"), compare_tab="Different predictions")
    differ = old.evaluation.predictions != turned.evaluation.predictions
    assert f"of {differ.sum():,} rows with different predictions" in page.text


def test_other_rows_are_refused_in_a_sentence(compared, old):
    page = compared(Loaded(old.rows(np.arange(50)), "test"))
    assert "Both models must have the same rows" in page.errors[0]


def test_a_model_is_added_by_upload_and_one_without_any_is_asked_for(open_page, old, made):
    bare = made(n=300, n_classes=2, n_features=0, seed=1)
    page = open_page("compare", bare)
    assert "Give another model's predictions" in page.text
    table = pd.DataFrame({"label": bare.labels, "p": bare.probabilities[:, 1] ** 2})
    file = io.BytesIO()
    table.to_csv(file, index=False)
    page.upload(("new.csv", file.getvalue())).press("Compare")
    assert page.errors == []
    assert "“new” is worse overall" in page.plain
    assert "matched by their position" in page.plain


def test_the_model_that_the_command_names_is_read_before_it_is_asked_for(
    open_page, tmp_path, old, new, monkeypatch
):
    paths = [tmp_path / "old.npz", tmp_path / "new.npz"]
    for path, of in zip(paths, (old, new), strict=True):
        known = {"labels": of.labels, "probs": of.probabilities, "X": old.features}
        np.savez(path, **known, split=old.split)
    read = []
    original = session.reading.read
    monkeypatch.setattr(
        session.reading, "read", lambda files, **how: read.append(files) or original(files, **how)
    )
    begin = ["app.py", "--data-root", "/", "--data", str(paths[0]), "--against", str(paths[1])]
    page = open_page("overview", arguments=begin)
    for thread in threading.enumerate():
        if thread.name == "other model":
            thread.join()
    assert read == [[str(path)] for path in paths]
    page = page.go("compare")
    assert page.errors == []
    assert "is worse overall: NLL" in page.plain
    assert read == [[str(path)] for path in paths]
