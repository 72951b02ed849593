import numpy as np
import pandas as pd
import pytest

from lore_core import gap_along
from lore_core.figures import variable_figure, variable_grid_figure
from lore_core.regions import gap_grid, smooth_gap

NASTY = ("<b>x</b>", "a & b", "<script>alert(1)</script>")


@pytest.fixture
def names(sample):
    return np.array(NASTY)[np.arange(len(sample[0])) % 3]


def test_a_number_with_its_curve(sample):
    c, a, z = sample
    x = np.where(np.arange(len(c)) % 9 == 0, np.nan, z[:, 0])
    table, curve = gap_along(c, a, x, n_bins=6), smooth_gap(c, a, x)
    chart = variable_figure(table, name="<i>x</i>", rows="rows", curve=curve, overall=0.02)
    bars = chart.figure.data[0]
    np.testing.assert_allclose(bars.y, table["gap"] * 100)
    np.testing.assert_allclose(np.asarray(bars.y) + bars.error_y.array, table["gap_high"] * 100)
    line = next(trace for trace in chart.figure.data if trace.name == "smoothed")
    np.testing.assert_allclose(line.y, curve["gap"] * 100)
    assert (line.x[0], line.x[-1]) == (-0.5, 5.5)
    assert bars.x[-1] == 6.5
    ticks = chart.figure.layout.xaxis2
    assert list(ticks.ticktext) == [*table["border"][:5], "missing"]
    assert ticks.title.text == "&lt;i&gt;x&lt;/i&gt;"
    rows = next(trace for trace in chart.figure.data if trace.name == "rows")
    assert list(rows.y) == table["rows"].tolist()
    assert "smoothed gap" in chart.how_to_read
    assert "+2.0 points" in chart.how_to_read


def test_the_curve_lies_over_the_bars_it_smooths(sample):
    c, a, z = sample
    x = np.round(z[:, 0])  # parts of very different size
    table, curve = gap_along(c, a, x, n_bins=4), smooth_gap(c, a, x)
    line = next(
        trace
        for trace in variable_figure(table, name="x", rows="", curve=curve).figure.data
        if trace.name == "smoothed"
    )
    below = table["rows"].iloc[0] / len(c)
    place = np.interp(below, curve["share"], line.x)
    assert place == pytest.approx(0.5, abs=0.02)


def test_names(sample, names):
    c, a, _ = sample
    table = gap_along(c, a, names)
    chart = variable_figure(table, name=NASTY[0], rows=NASTY[1])
    bars = chart.figure.data[0]
    assert bars.orientation == "h"
    np.testing.assert_allclose(bars.x, table["gap"] * 100)
    assert len(chart.figure.data) == 1


def test_what_cannot_be_told_from_zero_is_faint():
    table = gap_along([0.9] * 200 + [0.5] * 200, [1, 0] * 200, ["a"] * 200 + ["b"] * 200)
    strong, faint = variable_figure(table, name="site", rows="").figure.data[0].marker.color
    assert strong.endswith("0.9)")
    assert faint.endswith("0.35)")


def test_grid(sample, names):
    c, a, z = sample
    grid = gap_grid(c, a, z[:, 0], names, n_bins=4, min_rows=33)
    chart = variable_grid_figure(grid, names=("age", NASTY[0]), limit=0.3, min_rows=33, rows="rows")
    heat = chart.figure.data[0]
    shown = np.where(grid["shown"], grid["gap"], np.nan).reshape(3, 4)
    np.testing.assert_allclose(np.asarray(heat.z), shown, rtol=1e-6)
    assert (heat.zmin, heat.zmax) == (-0.3, 0.3)
    assert 0 < np.isnan(shown).sum() < 12
    assert "have fewer than 33 rows" in chart.how_to_read
    assert any("too few to say" in text for text in heat.hovertext.ravel())
    assert len(chart.table) == 12


def test_a_grid_without_a_cell_to_show():
    grid = gap_grid([0.5, 0.6], [1, 0], ["a", "b"], ["u", "v"])
    chart = variable_grid_figure(grid, names=("x", "x"), limit=0.1, min_rows=20, rows="")
    assert "4 of 4 combinations" in chart.how_to_read
    assert isinstance(chart.table, pd.DataFrame)
    assert chart.table.columns.is_unique
