import json

import numpy as np
import pandas as pd
import pytest

from lore_core.cli import main


@pytest.fixture
def days(tmp_path):
    rng = np.random.default_rng(1)
    folder = tmp_path / "days"
    folder.mkdir()
    for day in (1, 2, 10):
        p, z = rng.uniform(0.02, 0.98, 1500), rng.normal(size=(1500, 2))
        frame = pd.DataFrame({"p_no": 1 - p, "p_yes": p, "f_a": z[:, 0], "f_b": z[:, 1]})
        told = np.where((day == 10) & (z[:, 0] > 0), 1 - p, p)
        frame["label"] = np.where(rng.random(1500) < told, "yes", "no")
        frame.to_parquet(folder / f"day-{day}.parquet")
    return folder


def test_batches_are_kept_and_a_change_is_told(run, run_json, days, tmp_path, capsys):
    kept = tmp_path / "kept"
    early = [days / "day-1.parquet", days / "day-2.parquet"]
    said = run("watch", kept, *early, "--bins", 5, "--draws", 199)
    assert "*" not in said.split("\n\n")[0]
    early[0].unlink()
    arguments = ["watch", str(kept), str(days / "day-10.parquet"), "--fail", "--json"]
    assert main([*arguments, "--draws", "199"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert [of["batch"] for of in found["batches"]] == ["day-1", "day-2", "day-10"]
    assert found["marked"] == ["day-10"]
    assert found["batches"][2]["change"]["places"][0]["change"] > 0.1
    table = tmp_path / "days.csv"
    run("watch", kept, "--draws", 39, "-o", table, "-o", tmp_path / "days.html")
    assert "How the errors move" in (tmp_path / "days.html").read_text()
    assert list(pd.read_csv(table)["rows"]) == [1500, 1500, 1500]
    assert main(["watch", str(tmp_path / "nothing")]) == 1
    assert "no plan" in capsys.readouterr().err
