import numpy as np
import pandas as pd

from lore_core.cli import source
from lore_core.cli.options import SumsOptions
from lore_core.cli.output import Progress


def test_pages_say_what_is_of_all_rows(open_page, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    for k in range(2):
        p = rng.uniform(0.02, 0.98, 2000)
        z = rng.normal(size=(2000, 2))
        frame = pd.DataFrame({"p_no": 1 - p, "p_yes": p, "f_a": z[:, 0], "f_b": z[:, 1]})
        frame["label"] = np.where(rng.random(2000) < np.where(z[:, 0] > 1, p / 2, p), "yes", "no")
        frame.to_parquet(tmp_path / f"part-{k}.parquet")
    data = (str(tmp_path / "part-*.parquet"),)
    alone = SumsOptions()
    assert source.is_large(data, alone)
    assert not source.is_large((str(tmp_path),), alone)
    assert not source.is_large((str(tmp_path / "part-0.parquet"),), alone)
    monkeypatch.setattr(source, "EXACT_ROWS", 100)
    asked = SumsOptions(max_cells=2000)
    assert source.is_large(data, asked)
    (path,) = source.open_whole(data, asked, 1000, tmp_path / "whole", Progress())
    assert len(pd.read_parquet(path)) == 1000
    given = ["app.py", "--data", str(path), "--whole", str(tmp_path / "whole")]
    page = open_page("overview", arguments=given)
    assert "500 evaluation + 500 calibration rows, a sample of 4,000" in page.text
    assert "1,000 of 4,000 rows, drawn uniformly" in page.text
    table = page.table("all rows")
    assert set(table["metric"]) >= {"ALCE, points", "ECE, points"}
    for name in ("bandwidth", "landscape"):
        assert "All 4,000 rows" in page.go(name).text
    assert "All 4,000 rows" not in open_page("overview", arguments=given[:3]).text
