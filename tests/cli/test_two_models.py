import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.cli import main


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Two models of 2,000 rows, of which the second is right less often in a part."""
    rng, n = np.random.default_rng(0), 2000
    labels = rng.integers(0, 2, n)
    split = np.where(np.arange(n) < 500, "calibration", "evaluation")
    part = pd.DataFrame({"part": np.where(rng.random(n) < 0.3, "a", "b"), "clip": np.arange(n)})
    folder = tmp_path_factory.mktemp("models")
    for name, worse in (("old", 0.0), ("new", 0.3)):
        right = rng.random(n) < 0.8 - worse * (part["part"] == "a")
        p = np.where(np.where(right, labels, 1 - labels)[:, None] == [0, 1], 0.8, 0.2)
        made = lore.Dataset(p, labels, np.zeros((n, 2)), metadata=part, split=split, name=name)
        lore.save_npz(made, folder / f"{name}.npz")
        for half, rows in (("cal", made.calibration), ("test", made.evaluation)):
            lore.save_npz(replace(rows, split=None), folder / f"{name}_{half}.npz")
    return folder


def test_compare(run, run_json, models, tmp_path, refuses):
    old, new = models / "old.npz", models / "new.npz"
    known = ("--against", new, "--map", "pca-2")
    said = run("compare", old, *known, "-o", tmp_path / "changes.csv")
    assert said.startswith("“new” is worse overall: NLL 0.")
    assert "\nnew: gap of rows with part a, points " in said
    assert "\n2,000 rows, matched by their position.\n" in said
    expected = lore.compare_models(lore.load(old), lore.load(new), np.zeros((2000, 2)))
    (found,) = run_json("compare", old, *known)["against"]
    assert found["sentence"] == expected.sentence
    table = pd.read_csv(tmp_path / "changes.csv").set_index("what")
    assert table["difference"]["NLL"] == pytest.approx(expected.differences["difference"]["NLL"])
    assert table["kind"]["rows with part a"] == "new"
    # Several models one after the other, a pair of files, and rows by their name.
    pair = ";".join(str(models / f"new_{half}.npz") for half in ("cal", "test"))
    again = run_json("compare", old, "--by", "clip", "--against", pair, "--against", old)["against"]
    assert [item["verdict"] for item in again] == ["worse", ""]
    assert again[0]["how"].startswith("2,000 rows, matched by 'clip'")
    refuses("'--by' must be a column", "compare", old, "--by", "frame", "--against", new)


def test_a_new_model_is_checked_to_be_no_worse(run, models, tmp_path, capsys):
    old, new, out = models / "old.npz", models / "new.npz", tmp_path / "checks.xml"

    def check(limit, *more):
        options = ("--against", old, "--no-worse-by", limit, "--junit", out, "--json", *more)
        code = main(["check", str(new), *map(str, options)])
        return code, json.loads(capsys.readouterr().out)["checks"]

    code, (of_all, of_part) = check(1)
    assert (code, of_all["where"], of_part["where"]) == (3, "", "rows with part a")
    assert 1 < 100 * of_all["low"] < 100 * of_all["value"] < 100 * of_part["low"] < 30
    for at, results, failed in (
        (of_all["low"] - 1e-3, ["exceeded", "exceeded"], 2),
        (of_all["low"] + 1e-3, ["not sure", "exceeded"], 1),
        (of_part["value"] - 1e-3, ["met", "not sure"], 0),
        (of_part["value"] + 1e-3, ["met", "met"], 0),
    ):
        code, checks = check(100 * at)
        assert code == 3 * (failed > 0)
        assert [item["result"] for item in checks] == results
        failures = list(ElementTree.parse(out).iter("failure"))
        assert len(failures) == failed
        assert not failures or "rows with part a" in failures[-1].get("message")
        assert check(100 * at, "--strict")[0] == 3 * (results != ["met", "met"])
    assert "0 of 2 limits" in run("check", old, "--against", new, "--no-worse-by", 2)


def test_a_report_has_a_section_of_its_own(run, models, tmp_path):
    options = (
        "--map",
        "none",
        "--draws",
        0,
        "--method",
        "No recalibration",
        "-o",
        tmp_path / "new",
    )
    run("report", models / "old.npz", "--against", models / "new.npz", *options)
    page = (tmp_path / "new" / "index.html").read_text(encoding="utf-8")
    _, section = page.split("Compared with another model</h2>")
    assert "“new” is worse overall: NLL 0." in section
    assert "new: gap of rows with part a, points" in section
    assert "--against " in (tmp_path / "new" / "rerun.sh").read_text()
    assert "new" in set(pd.read_csv(tmp_path / "new" / "tables" / "models.csv")["kind"])
