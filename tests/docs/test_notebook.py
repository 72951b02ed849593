"""docs/notebook.ipynb: its code cells run in order, and what it stores is small and plain."""

import ast
import json

import pandas as pd
from markdown_pages import ROOT

from lore_core.figures import Chart

PATH = ROOT / "docs" / "notebook.ipynb"
CELLS = json.loads(PATH.read_text(encoding="utf-8"))["cells"]
CODE = [cell for cell in CELLS if cell["cell_type"] == "code"]
SKIPPED = [cell for cell in CODE if "skip-execution" in cell["metadata"].get("tags", [])]


def run(source, names):
    """Run a cell as a notebook does: the value of its last line is what it shows."""
    tree = ast.parse(source)
    last = tree.body[-1]
    silent = source.rstrip().endswith(";") or not isinstance(last, ast.Expr)
    if silent:
        exec(compile(tree, PATH.name, "exec"), names)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), PATH.name, "exec"), names)
    return eval(compile(ast.Expression(last.value), PATH.name, "eval"), names)


def test_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    shown = [run("".join(cell["source"]), names) for cell in CODE if cell not in SKIPPED]
    said = capsys.readouterr().out
    assert sum(isinstance(value, Chart) for value in shown) == 2
    assert sum(isinstance(value, pd.DataFrame) for value in shown) == 2
    # What the text between the cells promises.
    assert names["table"].expected_calibration_error < 0.03
    assert "p = 0.005" in said
    assert names["search"].subgroups[0].held.gap > 0.3
    assert "Rows with corruption rotated 90°: promised" in said
    assert "mostly corruption rotated 90°" in said
    nll = names["found"].table["NLL"]
    assert nll["LoRe smooth"] < nll["LoRe"] < nll["No recalibration"]
    assert (tmp_path / "landscape.html").stat().st_size > 1_000_000  # opens without a network
    assert (tmp_path / "landscape.csv").stat().st_size > 1000


def test_the_dashboard_is_shown_but_not_started():
    (cell,) = SKIPPED
    assert "lore.launch(data)" in "".join(cell["source"])
    assert cell["outputs"] == []


def test_what_is_stored_is_small_and_shows_the_figures():
    assert PATH.stat().st_size < 300_000
    data = [output.get("data", {}) for cell in CODE for output in cell["outputs"]]
    assert sum("image/png" in item for item in data) == 2
    text = PATH.read_text(encoding="utf-8")
    assert "<script" not in text
    assert not any("error" in output["output_type"] for cell in CODE for output in cell["outputs"])


def test_was_run_from_the_top():
    ran = [cell["execution_count"] for cell in CODE if cell not in SKIPPED]
    assert ran == list(range(1, len(ran) + 1))
