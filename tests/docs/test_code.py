"""The code of README.md, docs/data.md and docs/notebook.ipynb runs as it stands there."""

import ast
import json
import re

import numpy as np
import pandas as pd
import pytest
from markdown_pages import ROOT, python_blocks

import lore_core as lore
from lore_core.figures import Chart

BLOCKS = python_blocks((ROOT / "docs" / "data.md").read_text(encoding="utf-8"))
KINDS = ["npz", "csv", "parquet", "log", "arrays", "scikit-learn"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("code", BLOCKS, ids=KINDS)
def test_data(code, capsys):
    names = {}
    exec(code, names)
    (promised,) = re.findall(r"print\(data\)  # (.+)", code)
    assert capsys.readouterr().out.strip() == promised
    data = names["data"]
    assert len(data.calibration) == len(data.evaluation) == len(data) // 2
    assert data.features is not None
    if "group" in code or "region" in code:
        assert data.groups is not None


def test_readme(monkeypatch, capsys):
    (code,) = python_blocks((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len([line for line in code.splitlines() if line.strip()]) <= 12
    rng = np.random.default_rng(0)
    for half in ("cal", "test"):
        probabilities = rng.dirichlet([3, 1, 1], 150)
        labels, features = rng.integers(0, 3, 150), rng.normal(size=(150, 4))
        lore.save_npz(lore.Dataset(probabilities, labels, features), f"model_{half}.npz")
    shown = []
    monkeypatch.setattr(lore, "launch", shown.append)
    names = {}
    exec(code, names)
    assert 0 <= float(capsys.readouterr().out) <= 1
    assert names["lce"].shape == (150,)
    assert not np.allclose(names["better"].confidence, names["test"].confidence)
    assert shown == [names["data"]]


NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
CELLS = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
CODE = [cell for cell in CELLS if cell["cell_type"] == "code"]
SKIPPED = [cell for cell in CODE if "skip-execution" in cell["metadata"].get("tags", [])]


def run(source, names):
    """Run a cell as a notebook does: the value of its last line is what it shows."""
    tree = ast.parse(source)
    last = tree.body[-1]
    if source.rstrip().endswith(";") or not isinstance(last, ast.Expr):
        exec(compile(tree, NOTEBOOK.name, "exec"), names)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), NOTEBOOK.name, "exec"), names)
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names)


def test_notebook(tmp_path, capsys):
    names = {}
    shown = [run("".join(cell["source"]), names) for cell in CODE if cell not in SKIPPED]
    said = capsys.readouterr().out
    assert sum(isinstance(value, Chart) for value in shown) == 2
    assert sum(isinstance(value, pd.DataFrame) for value in shown) == 2
    assert names["table"].expected_calibration_error < 0.03
    assert "p = 0.005" in said
    assert names["search"].subgroups[0].held.gap > 0.3
    assert "rows with corruption rotated 90°" in said
    assert "mostly corruption rotated 90°" in said
    nll = names["found"].table["NLL"]
    assert nll["LoRe smooth"] < nll["LoRe"] < nll["No recalibration"]
    assert (tmp_path / "landscape.html").stat().st_size > 1_000_000  # opens without a network
    assert (tmp_path / "landscape.csv").stat().st_size > 1000
