import io
import json

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.cli import main
from lore_core.comparison import conclude_bandwidths, conclude_groups, conclude_recalibration
from lore_core.comparison.tables import metric_table
from lore_core.metrics.catalogue import CATALOGUE
from lore_core.regions import describe_subgroup, evidence_of
from lore_core.report import ReportSettings, report_files
from lore_core.view import View
from lore_core.view.inference import chance_band_of, chance_errors_of
from lore_core.view.methods import (
    comparison_of,
    group_reports_of,
    grouping_of,
    recalibrators_of,
    summary_of,
)
from lore_core.view.scene import Scene
from lore_core.view.where import curve_of, errors_of, reliability_of, subgroups_of, verdict_of

DRAWS = 39
ASKED = ("accuracy", "ECE", "MCE", "NLL", "Brier", "MLCE", "ALCE", "MLCE supported")


def _off(gap):
    """Two classes, a group and a number, right but for ``gap`` of each row."""
    rng = np.random.default_rng(4)
    n = 3000
    c, age = rng.uniform(0.6, 0.95, n), rng.integers(18, 80, n)
    subgroup = rng.choice(["north", "south", "east"], n, p=[0.6, 0.3, 0.1])
    predicted = rng.integers(0, 2, n)
    right = rng.random(n) < c - gap(subgroup)
    return lore.Dataset(
        np.where(predicted[:, None] == np.arange(2), c[:, None], 1 - c[:, None]),
        np.where(right, predicted, 1 - predicted),
        features=rng.normal(size=(n, 3)),
        groups={"place": subgroup},
        metadata={"age": age},
        name="made by a test",
    ).with_split(0.3)


@pytest.fixture(
    scope="module", params=["wrong in one group", "wrong everywhere", "without features"]
)
def dataset(request):
    if request.param == "without features":
        whole = _off(lambda subgroup: 0.02)
        return lore.Dataset(
            whole.probabilities, whole.labels, metadata=whole.metadata, split=whole.split
        )
    if request.param == "wrong everywhere":
        return _off(lambda subgroup: 0.15)
    return _off(lambda site: 0.3 * (site == "east"))


@pytest.fixture(scope="module")
def view(dataset):
    if dataset.features is None:
        return View(dataset)
    return View(dataset, maps={"PCA 2-D": lore.embed(dataset.features, "pca", 2, random_state=0)})


@pytest.fixture(scope="module")
def said(view):
    return verdict_of(view, subgroups_of(view))


@pytest.fixture(scope="module")
def metrics(view):
    chance = chance_errors_of(view, n_draws=DRAWS) if view.is_local else None
    return metric_table(summary_of(view, n_draws=DRAWS), chance).set_index("metric")


@pytest.fixture(scope="module")
def values(metrics):
    return {name: metrics["value"][name] for name in ASKED if name in metrics.index}


@pytest.fixture(scope="module")
def on_the_map(view):
    if not view.is_local:
        return ""
    scene = Scene(view, errors_of(view), reliability_of(view), None, view.embedding, view.map_name)
    return scene.sentence


def test_the_map(open_page, dataset, view, on_the_map, tmp_path, capsys):
    page = open_page("landscape", dataset)
    if not view.is_local:
        assert "rows, mean confidence" not in page.text
        return
    assert on_the_map in page.plain
    path = tmp_path / "rows.npz"
    lore.save_npz(dataset, path)
    assert main(["landscape", str(path)]) == 0
    assert capsys.readouterr().out == f"{on_the_map}\n"


def test_the_command(dataset, view, said, values, metrics, tmp_path, capsys):
    path, out = tmp_path / "rows.npz", tmp_path / "metrics.csv"
    lore.save_npz(dataset, path)
    assert main(["metrics", str(path), "--draws", str(DRAWS), "--json", "-o", str(out)]) == 0
    found = json.loads(capsys.readouterr().out)
    pd.testing.assert_frame_equal(pd.read_csv(out), metrics.reset_index(), check_dtype=False)
    assert found["verdict"] == {
        "level": said.level,
        "sentence": said.sentence,
        "evidence": said.evidence,
    }
    numbers = {name: found["metrics"][name]["value"] for name in values}
    assert numbers == pytest.approx(values, abs=1e-12)
    search = subgroups_of(view)
    assert [subgroup["sentence"] for subgroup in found["subgroups"]] == [
        describe_subgroup(subgroup) for subgroup in search.subgroups[:3]
    ]


def test_the_report(view, said, values, metrics, on_the_map):
    settings = ReportSettings(methods=("No recalibration",), n_draws=DRAWS)
    files = report_files(view, settings)
    page = " ".join(files["index.html"].decode().split())
    page = page.replace("&lt;", "<").replace("&amp;", "&").replace("&#39;", "'")
    assert said.sentence in page
    assert said.evidence in page
    assert on_the_map in page
    table = pd.read_csv(io.BytesIO(files["tables/metrics.csv"])).set_index("metric")
    pd.testing.assert_frame_equal(table, metrics, check_dtype=False)
    for name, value in values.items():
        metric = CATALOGUE[name]
        estimate = metrics["estimate"][name]
        value = value if np.isnan(estimate) else estimate
        assert f'{metric.heading}</abbr></td> <td class="n">{metric.text(value)}</td>' in page
    search = subgroups_of(view)
    listed = pd.read_csv(io.BytesIO(files["tables/subgroups.csv"]))
    assert list(listed["sentence"]) == [
        describe_subgroup(subgroup) for subgroup in search.subgroups
    ]
    assert list(listed["evidence"]) == [
        evidence_of(subgroup, search) for subgroup in search.subgroups
    ]
    rows = pd.read_csv(io.BytesIO(files["tables/rows.csv"]))["subgroup"]
    assert ((rows > 0) == search.inside()).all()
    for subgroup in search.subgroups:
        assert describe_subgroup(subgroup) in page


COMPARED = ("No recalibration", "Temperature scaling", "LoRe")


def test_what_pages_come_to_is_said_by_report_and_command(open_page, tmp_path, capsys):
    dataset = _off(lambda site: 0.15 + 0.2 * (site == "east"))  # which makes every claim
    on = lore.embed(dataset.features, "pca", 2, random_state=0)
    view = View(dataset, maps={"PCA 2-D": on})
    known = recalibrators_of(view)
    result = comparison_of(view, [known[name] for name in COMPARED], {"n_draws": 0})
    grouping = grouping_of(dataset)
    groups = dataset.evaluation.groups[grouping.column].astype(str)
    reports = group_reports_of(view, result.datasets, groups, n_draws=0)
    said = {
        "recalibrate": conclude_recalibration(result, subgroups_of(view)),
        "fairness": conclude_groups(reports, grouping.min_group_size),
        "bandwidth": conclude_bandwidths(curve_of(view), chance_band_of(view), on="PCA 2-D"),
    }
    assert all(item.is_significant for item in said.values())
    for name, conclusion in said.items():
        shown = open_page(name, dataset, methods=COMPARED)
        assert shown.plain.count(conclusion.sentence) == 1, name
    path = tmp_path / "rows.npz"
    lore.save_npz(dataset, path)
    methods = [word for name in COMPARED for word in ("--method", name)]
    for page, command in (
        ("recalibrate", ["compare", str(path), *methods, "--draws", "0"]),
        ("fairness", ["fairness", str(path), *methods]),
        ("bandwidth", ["curve", str(path)]),
    ):
        assert main(command) == 0
        assert capsys.readouterr().out.startswith(said[page].sentence + "\n"), command
    settings = ReportSettings(methods=COMPARED, n_draws=DRAWS)
    page = " ".join(report_files(view, settings)["index.html"].decode().split())
    page = page.replace("&lt;", "<").replace("&amp;", "&").replace("&#39;", "'")
    fewer = chance_band_of(view, n_draws=DRAWS)  # as many as the report was allowed
    said["bandwidth"] = conclude_bandwidths(curve_of(view), fewer, on="PCA 2-D")
    for conclusion in said.values():
        assert conclusion.sentence in page
