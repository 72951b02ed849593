"""The page, the command, the report and the library give one answer to one question."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.cli import main
from lore_core.metrics.catalogue import CATALOGUE, TILES
from lore_core.places import describe_place, evidence_of
from lore_core.report import ReportSettings, report_files
from lore_core.view import View
from lore_core.view.methods import summary_of
from lore_core.view.where import places_of, verdict_of

ASKED = ("accuracy", "ECE", "MCE", "NLL", "Brier", "MLCE", "ALCE", "MLCE supported")


def _off(gap):
    """Two classes, a group and a number, right but for ``gap`` of each row."""
    rng = np.random.default_rng(4)
    n = 3000
    c, age = rng.uniform(0.6, 0.95, n), rng.integers(18, 80, n)
    place = rng.choice(["north", "south", "east"], n, p=[0.6, 0.3, 0.1])
    predicted = rng.integers(0, 2, n)
    right = rng.random(n) < c - gap(place)
    return lore.Dataset(
        np.where(predicted[:, None] == np.arange(2), c[:, None], 1 - c[:, None]),
        np.where(right, predicted, 1 - predicted),
        features=rng.normal(size=(n, 3)),
        groups={"place": place},
        metadata={"age": age},
        name="made by a test",
    ).with_split(0.3)


@pytest.fixture(
    scope="module",
    params=["the demo", "wrong in one group", "wrong everywhere", "without features"],
)
def dataset(request):
    if request.param == "the demo":
        return lore.demo.digits()
    if request.param == "without features":
        whole = _off(lambda place: 0.02)
        return lore.Dataset(
            whole.probabilities, whole.labels, metadata=whole.metadata, split=whole.split
        )
    if request.param == "wrong everywhere":
        return _off(lambda place: 0.15)
    return _off(lambda place: 0.3 * (place == "east"))


@pytest.fixture(scope="module")
def view(dataset):
    if dataset.features is None:
        return View(dataset)
    return View(dataset, maps={"PCA 2-D": lore.embed(dataset.features, "pca", 2, random_state=0)})


@pytest.fixture(scope="module")
def said(view):
    return verdict_of(view, places_of(view))


@pytest.fixture(scope="module")
def values(view):
    summary = summary_of(view, {"n_draws": 0})
    numbers = {**summary.values, **summary.details}
    return {name: float(numbers[name]) for name in ASKED if name in numbers}


def test_the_page(open_page, dataset, view, said, values):
    page = open_page("overview", dataset)
    text = page.text.replace("\\", "")
    assert text.count(said.sentence) == 1
    assert said.evidence in text
    tiles = {tile.label: tile.value for tile in page.app.metric}
    shown = [metric for metric in TILES if metric.name in values]
    assert len(shown) >= 4
    for metric in shown:
        assert tiles[metric.title] == metric.text_alone(values[metric.name])


def test_the_command(dataset, view, said, values, tmp_path, capsys):
    path = tmp_path / "rows.npz"
    lore.save_npz(dataset, path)
    assert main(["metrics", str(path), "--draws", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == {
        "level": said.level,
        "sentence": said.sentence,
        "evidence": said.evidence,
    }
    metrics = {name: found["metrics"][name]["value"] for name in values}
    assert metrics == pytest.approx(values, abs=1e-12)
    search = places_of(view)
    assert [place["sentence"] for place in found["places"]] == [
        describe_place(place) for place in search.places[:3]
    ]


def test_the_report(view, said, values):
    settings = ReportSettings(methods=("No recalibration",), n_draws=0)
    files = report_files(view, settings, images=False)
    page = " ".join(files["index.html"].decode().split())
    page = page.replace("&lt;", "<").replace("&amp;", "&").replace("&#39;", "'")
    assert said.sentence in page
    assert said.evidence in page
    table = pd.read_csv(io.BytesIO(files["tables/metrics.csv"])).set_index("metric")["value"]
    assert dict(table[list(values)]) == pytest.approx(values, abs=1e-12)
    for name, value in values.items():
        metric = CATALOGUE[name]
        assert f'<td>{metric.heading}</td> <td class="n">{metric.text(value)}</td>' in page
    search = places_of(view)
    told = pd.read_csv(io.BytesIO(files["tables/places.csv"]))
    assert list(told["sentence"]) == [describe_place(place) for place in search.places]
    assert list(told["evidence"]) == [evidence_of(place, search) for place in search.places]
    rows = pd.read_csv(io.BytesIO(files["tables/rows.csv"]))["place"]
    assert ((rows > 0) == search.inside()).all()
    for place in search.places:
        assert describe_place(place) in page
