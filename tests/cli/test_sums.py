import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.cli import main, source


@pytest.fixture(scope="module")
def parts(dataset, tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    frame = pd.DataFrame(dataset.features, columns=[f"f_{k}" for k in range(4)])
    for k in range(dataset.n_classes):
        frame[f"p_{k}"] = dataset.probabilities[:, k]
    frame["label"] = dataset.labels
    frame["split"], frame["patient"] = dataset.split, np.arange(len(frame)) // 4
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[rows].to_parquet(folder / f"part-{k}.parquet")
    return str(folder / "part-*.parquet")


def test_sums_hold_the_exact_numbers(run_json, parts, file, tmp_path, refuses):
    kept = tmp_path / "kept"
    found = run_json("metrics", parts, "--sums", kept, "--bins", 5, "--draws", 39)
    assert found["sums"]["files"] == 3
    exact = run_json("metrics", file, "--bins", 5, "--draws", 0)
    for name in ("ECE", "NLL", "accuracy"):
        value = found["metrics"][name]["value"]
        assert value == pytest.approx(exact["metrics"][name]["value"], abs=1e-9)
    # (The map is made of the sample, which is all rows here.)
    for name in ("ALCE", "MLCE", "MLCE supported"):
        of = found["metrics"][name]
        assert of["at_least"] <= exact["metrics"][name]["value"] <= of["at_most"]
    for options, said in ((["--bins", "6"], "'--bins' must be 5"), (["--map", "pca-1"], "pca-2")):
        refuses(said, "metrics", parts, "--sums", kept, "--bins", "5", *options)
    refuses("'--isolate' is for one file", "metrics", parts, "--isolate", "--cells", "1000")
    refuses("does not exist", "metrics", "missing.parquet", "--isolate")


def test_a_curve_of_sums(run, parts, tmp_path):
    chart, table = tmp_path / "curve.html", tmp_path / "curve.csv"
    run("curve", parts, "--cells", 1000, "--map", "pca-1", "--bins", 2, "-o", chart, "-o", table)
    assert "guaranteed bounds of the exact curve" in chart.read_text()
    numbers = pd.read_csv(table)
    assert (numbers["alce_at_least"] <= numbers["alce_at_most"]).all()


def test_many_rows_are_summed_without_asking(run, parts, tmp_path, monkeypatch, refuses):
    monkeypatch.setattr(source, "EXACT_ROWS", 100)
    output = run("metrics", parts, "--draws", 39)
    assert "sums over" in output
    unnamed = "lore: 'patient' names 400 things for 1,600 rows. If rows of one go together, "
    unnamed += "intervals and p-values are too small: map it as unit (--column unit=patient, or "
    unnamed += "on the Data page).\n"
    output = run("metrics", parts, "--map", "none", "--draws", 0, error=unnamed)
    assert "ECE" in output
    assert "guaranteed" not in output
    table = tmp_path / "map.csv"
    output = run("landscape", parts, "--bins", 3, "--gamma", 1, "--bin", "worst", "-o", table)
    assert "no more than" in output
    numbers = pd.read_csv(table)
    assert (numbers["at_least"] <= numbers["signed_error"]).all()
    assert (numbers["signed_error"] <= numbers["at_most"]).all()
    assert "all rows (MLCE)" in run("landscape", parts, "--bins", 3, "--gamma", 1)
    refuses("single rows", "landscape", parts, "--significant-only")
    output = run("metrics", parts, "--column", "unit=patient")
    assert "groups of whole units; p-values need the rows" in output
    assert "simulations" not in output


def test_of_many_files_a_sample_is_fitted_on(run, parts, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "EXACT_ROWS", 100)
    fit = ("--fit", parts, "--fit-rows", 100, "--method", "temperature")
    drawn = "lore: fitted on 100 of 800 rows, drawn uniformly at random.\n"
    output = run("recalibrate", *fit, "--save", tmp_path / "m.lore", error=drawn)
    assert "fitted on 100 calibration rows" in output


def test_a_report_of_sums(run, parts, tmp_path, monkeypatch, refuses):
    monkeypatch.setattr(source, "EXACT_ROWS", 100)
    out = tmp_path / "report"
    settings = ("--bins", 2, "--gamma", 1, "--cells", 1000)
    run("report", parts, *settings, "--draws", 39, "-o", out)
    page = (out / "index.html").read_text()
    assert "no more than" in page
    assert page.count("<figure>") == 4
    table = pd.read_csv(out / "tables" / "metrics.csv").set_index("metric")
    assert table.at_least["ALCE"] <= table.value["ALCE"] <= table.at_most["ALCE"]
    assert f"lore report '{parts}'" in (out / "rerun.sh").read_text()
    refuses("fit into memory", "report", parts, "--group", "site", "-o", out)


@pytest.mark.parametrize(
    ("n_features", "options", "maps"),
    [(1, "", [1]), (4, "", [4, 2]), (24, "", [20, 2]), (4, "--map pca-3 --map identity", [3, 4])],
)
def test_maps_of_a_local_method_need_not_be_named(tmp_path, n_features, options, maps):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 300)
    rows = lore.Dataset(p, rng.random(300) < p, rng.normal(size=(300, n_features)))
    path, model = tmp_path / "rows.npz", tmp_path / "m.lore"
    lore.save_npz(rows, path)
    for method, used in (("smooth", maps), ("lore", maps[:1])):
        fit = ["recalibrate", "--fit", str(path), "--method", method, *options.split()]
        assert main([*fit, "--save", str(model)]) == 0
        saved = lore.load_recalibrator(model.read_bytes()).fitted_on_.feature_maps
        assert [one["map"].transform(rows.features).shape[1] for one in saved] == used


@pytest.mark.parametrize("size", [1, 3])
def test_batches_are_saved_and_a_change_is_named(run, size, tmp_path, capsys, refuses):
    rng = np.random.default_rng(1)
    days = tmp_path / "days"
    days.mkdir()
    for day in (1, 2, 10):
        p, z = rng.uniform(0.02, 0.98, 1500), rng.normal(size=(1500, 2))
        frame = pd.DataFrame({"p_no": 1 - p, "p_yes": p, "f_a": z[:, 0], "f_b": z[:, 1]})
        reported = np.where((day == 10) & (z[:, 0] > 0), 1 - p, p)
        frame["label"] = np.where(rng.random(1500 // size).repeat(size) < reported, "yes", "no")
        frame["unit" if size > 1 else "hour"] = day * 1000 + np.arange(1500) // size
        frame.to_parquet(days / f"day-{day}.parquet")
    saved = tmp_path / "kept"
    early = [days / "day-1.parquet", days / "day-2.parquet"]
    text = run("watch", saved, *early, "--bins", 5, "--draws", 199)
    assert "*" not in text.split("\n\n")[0]
    early[0].unlink()
    arguments = ["watch", str(saved), str(days / "day-10.parquet"), "--fail", "--json"]
    assert main([*arguments, "--draws", "199"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert [of["batch"] for of in found["batches"]] == ["day-1", "day-2", "day-10"]
    assert found["marked"] == ["day-10"]
    assert found["batches"][2]["change"]["places"][0]["change"] > 0.1
    table = tmp_path / "days.csv"
    run("watch", saved, "--draws", 39, "-o", table, "-o", tmp_path / "days.html")
    assert "How the errors move" in (tmp_path / "days.html").read_text()
    assert list(pd.read_csv(table)["rows"]) == [1500, 1500, 1500]
    refuses("no plan", "watch", tmp_path / "nothing")


@pytest.fixture(scope="module")
def weighted(dataset, tmp_path_factory):
    rng = np.random.default_rng(0)
    data = dataclasses.replace(dataset, weights=rng.lognormal(size=len(dataset)))
    path = tmp_path_factory.mktemp("weighted") / "weighted.npz"
    lore.save_npz(data, path)
    return data.evaluation, str(path)


def test_metrics_go_by_the_weights(run_json, run, weighted, file):
    rows, path = weighted
    found = run_json("metrics", path, "--draws", 0)
    assert found["weighted"]
    assert found["metrics"]["accuracy"]["value"] == pytest.approx(rows.accuracy)
    assert found["metrics"]["ECE"]["value"] == pytest.approx(
        lore.expected_calibration_error(rows.confidence, rows.outcome, weights=rows.weights)
    )
    without = run_json("metrics", path, "--draws", 0, "--column", "weight=")
    assert without["metrics"] == run_json("metrics", file, "--draws", 0)["metrics"]
    assert "by their weights" in run("metrics", path, "--draws", 0)


def test_what_lets_rows_count_once_says_so(weighted, tmp_path, refuses):
    _, path = weighted
    refuses("The whole vector's test lets every row count once", "metrics", path, "--target", "all")
    out = str(tmp_path / "m.lore")
    fit = ("recalibrate", "--fit", path, "--method", "venn-abers", "--save", out)
    refuses("Venn–Abers lets every calibration row count once", *fit)
    frame = pd.DataFrame({"label": [0, 1] * 20, "p": np.linspace(0.1, 0.9, 40)})
    for k in range(2):
        frame.assign(f_0=np.arange(40.0), sample_weight=1.0 + np.arange(40)).to_parquet(
            tmp_path / f"part-{k}.parquet"
        )
    files = (tmp_path / "part-*.parquet", "--sums", tmp_path / "s")
    refuses("which sums over cells cannot let count", "metrics", *files)
