import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.cli import main


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Files of two models, of which the second is right less often in a part of the rows."""
    rng, n, folder = np.random.default_rng(0), 2000, tmp_path_factory.mktemp("models")
    labels, split = rng.integers(0, 2, n), np.repeat(["calibration", "evaluation"], [500, 1500])
    part = pd.DataFrame({"part": np.where(rng.random(n) < 0.3, "a", "b"), "clip": np.arange(n)})
    for name, worse in (("old", 0.0), ("new", 0.3)):
        right = rng.random(n) < 0.8 - worse * (part["part"] == "a")
        p = np.where(np.where(right, labels, 1 - labels)[:, None] == [0, 1], 0.8, 0.2)
        made = lore.Dataset(p, labels, np.zeros((n, 2)), metadata=part, split=split, name=name)
        lore.save_npz(made, folder / f"{name}.npz")
        for half, rows in (("cal", made.calibration), ("test", made.evaluation)):
            lore.save_npz(replace(rows, split=None), folder / f"{name}_{half}.npz")
    return folder


def test_compare_and_report(run, run_json, models, tmp_path, refuses):
    old, new, table = models / "old.npz", models / "new.npz", tmp_path / "changes.csv"
    output = run("compare", old, "--against", new, "--map", "pca-2", "-o", table)
    expected = lore.compare_models(lore.load(old), lore.load(new), np.zeros((2000, 2)))
    assert output.startswith(expected.sentence)
    assert "\nnew: gap of rows with part a, points " in output
    assert "\n2,000 rows, matched by their position.\n" in output
    numbers = pd.read_csv(table).set_index("what")
    assert numbers["difference"]["NLL"] == pytest.approx(expected.differences["difference"]["NLL"])
    # Several models one after the other, a pair of files, and rows by their name.
    both = ";".join(str(models / f"new_{half}.npz") for half in ("cal", "test"))
    found = run_json("compare", old, "--by", "clip", "--against", both, "--against", old)["against"]
    assert [item["verdict"] for item in found] == ["worse", ""]
    assert found[0]["how"].startswith("2,000 rows, matched by 'clip'")
    refuses("'--by' must be a column", "compare", old, "--by", "frame", "--against", new)
    options = ("--map", "none", "--draws", 0, "--method", "No recalibration", "-o", tmp_path / "r")
    run("report", old, "--against", new, *options)
    _, section = (tmp_path / "r" / "index.html").read_text().split("another model</h2>")
    assert "“new” is worse overall: NLL 0." in section
    assert "new: gap of rows with part a, points" in section
    assert "--against " in (tmp_path / "r" / "rerun.sh").read_text()


def test_a_new_model_is_checked_to_be_no_worse(models, capsys):
    def check(limit, *more):
        options = ("--against", models / "old.npz", "--no-worse-by", limit, *more)
        code = main(["check", str(models / "new.npz"), "--json", *map(str, options)])
        return code, json.loads(capsys.readouterr().out)["checks"]

    code, (of_all, of_part) = check(1)
    assert (code, of_all["where"], of_part["where"]) == (3, "", "rows with part a")
    assert 0.01 < of_all["low"] < of_all["value"] < of_part["low"] < 0.3
    for at, results in (
        (of_all["low"] - 1e-3, ["exceeded", "exceeded"]),
        (of_all["low"] + 1e-3, ["not sure", "exceeded"]),
        (of_part["value"] - 1e-3, ["met", "not sure"]),
        (of_part["value"] + 1e-3, ["met", "met"]),
    ):
        code, checks = check(100 * at)
        assert (code, [item["result"] for item in checks]) == (3 * ("exceeded" in results), results)
        assert check(100 * at, "--strict")[0] == 3 * (results != ["met", "met"])
