import dataclasses

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.cli import main


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


def test_what_lets_rows_count_once_says_so(capsys, weighted, tmp_path):
    _, path = weighted
    assert main(["metrics", path, "--target", "all"]) == 1
    assert "The whole vector's test lets every row count once" in capsys.readouterr().err
    out = str(tmp_path / "m.lore")
    assert main(["recalibrate", "--fit", path, "--method", "venn-abers", "--save", out]) == 1
    assert "Venn–Abers lets every calibration row count once" in capsys.readouterr().err
    frame = pd.DataFrame({"label": [0, 1] * 20, "p": np.linspace(0.1, 0.9, 40)})
    for k in range(2):
        frame.assign(f_0=np.arange(40.0), sample_weight=1.0 + np.arange(40)).to_parquet(
            tmp_path / f"part-{k}.parquet"
        )
    assert main(["metrics", str(tmp_path / "part-*.parquet"), "--sums", str(tmp_path / "s")]) == 1
    assert "which sums over cells cannot let count" in capsys.readouterr().err
