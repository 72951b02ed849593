"""The code of README.md and docs/data.md runs as it stands there."""

import re

import numpy as np
import pytest
from markdown_pages import ROOT, python_blocks

import lore_core as lore

BLOCKS = python_blocks((ROOT / "docs" / "data.md").read_text(encoding="utf-8"))
README = python_blocks((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_is_one_for_each_kind():
    assert len(BLOCKS) == 6


@pytest.mark.parametrize(
    "code", BLOCKS, ids=["npz", "csv", "parquet", "log", "arrays", "scikit-learn"]
)
def test_data(code, folder, capsys):
    names = {}
    exec(code, names)
    (promised,) = re.findall(r"print\(data\)  # (.+)", code)
    assert capsys.readouterr().out.strip() == promised
    data = names["data"]
    assert len(data.calibration) == len(data.evaluation) == len(data) // 2
    assert data.features is not None
    if "group" in code or "region" in code:
        assert data.groups is not None


def test_readme(folder, monkeypatch, capsys):
    (code,) = README
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
