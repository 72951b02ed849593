import io

import pandas as pd

from lore_core.data.export_text import FORMULAS_VARIABLE, csv_text
from lore_core.figures.export import chart_csv


def test_texts_that_would_be_computed_are_not(monkeypatch):
    names = ["=1+1", "+A1", "-cmd|x", "@SUM(A1)", "\tx", "\rx", "-3", "+0.5", "plain", None]
    table = pd.DataFrame({"=name": names, "gap": [-0.5] * 10})
    read = pd.read_csv(io.StringIO(csv_text(table), newline=""), dtype=str)
    assert list(read.columns) == ["'=name", "gap"]
    assert read["'=name"].tolist()[:5] == ["'" + name for name in names[:5]]
    assert read["'=name"][5] == "'\nx"
    assert read["'=name"].tolist()[6:9] == ["-3", "+0.5", "plain"]
    assert set(read["gap"]) == {"-0.5"}
    assert table["=name"].tolist()[0] == "=1+1"
    grouped = table.astype({"=name": "category"})
    assert csv_text(grouped).splitlines()[1].startswith("'=1+1")
    monkeypatch.setenv(FORMULAS_VARIABLE, "keep")
    assert csv_text(table).splitlines()[1] == "=1+1,-0.5"


def test_the_numbers_of_a_figure_go_that_way():
    class Chart:
        table = pd.DataFrame({"group": ["=1+1"]})

    assert chart_csv(Chart()) == b"group\n'=1+1\n"
