import numpy as np
import pandas as pd
import pytest

from lore_core import gap_along, group_report, reward_curve
from lore_core.figures import (
    group_figure,
    reward_figure,
    run_scatter_figure,
    runs_figure,
    variable_figure,
    variable_grid_figure,
)
from lore_core.metrics.catalogue import MAX_GROUPWISE, unit_of
from lore_core.regions import gap_grid, smooth_gap


@pytest.fixture
def grouped(sample):
    c, a, _ = sample
    return c, a, np.array(["<b>x</b>", "a & b"])[np.arange(len(c)) % 2]


@pytest.mark.parametrize("metric", ["gap", "ece", "mce"])
def test_groups(grouped, metric):
    report = group_report(*grouped, n_draws=39)
    reports = {"No recalibration": report, "LoRe": report}
    chart = group_figure(reports, metric=metric, rows="rows")
    line, drawn, _, other = chart.figure.data
    np.testing.assert_allclose(drawn.x, report[metric] * 100)
    np.testing.assert_allclose(line.x[::3], report[f"{metric}_low"] * 100)
    np.testing.assert_allclose(line.x[1::3], report[f"{metric}_high"] * 100)
    assert np.isnan(line.x[2::3]).all()
    np.testing.assert_allclose(line.y[::3], drawn.y)
    assert line.legendgroup == drawn.legendgroup != other.legendgroup
    assert len(chart.table) == 4
    assert drawn.marker.color[0] != other.marker.color[0]
    report = group_report(*grouped, n_draws=0).assign(small=True)
    chart = group_figure({"No recalibration": report}, rows="rows")
    assert all("0.35" in color for color in chart.figure.data[1].marker.color)
    wide = report.assign(small=[True, False], gap=0, gap_low=[-1, -0.1], gap_high=[1, 0.1])
    axis = group_figure({"No recalibration": wide}, rows="rows").figure.layout.xaxis
    assert axis.range == pytest.approx((-10.8, 10.8)), "the small group makes no room"


def test_rewards(grouped):
    c, a, _ = grouped
    curves = {
        "No recalibration": reward_curve(c, a),
        "<i>odd</i>": reward_curve(c**2, a, baseline=c),
        "same": reward_curve(c, a, baseline=c),
    }
    chart = reward_figure(curves, rows="rows", ratio=10.0)
    # Names of curves that meet are a line of text apart, on the scale that the bands widen.
    drawn = np.concatenate([trace.y for trace in chart.figure.data if trace.yaxis == "y"])
    names = [text for text in chart.figure.layout.annotations if text.xref == "x domain"]
    pixels = 0.7 * 0.66 * chart.height / (np.nanmax(drawn) - np.nanmin(drawn))
    heights = sorted(text.y * pixels + text.yshift for text in names)
    assert len(heights) == 3
    assert min(np.diff(heights)) > 0.85 * 15
    traces = [trace for trace in chart.figure.data if trace.mode == "lines"]
    lines = [trace for trace in traces if trace.customdata is not None]
    np.testing.assert_allclose(lines[1].y, curves["<i>odd</i>"].gain)
    answered = [trace for trace in chart.figure.data if trace.yaxis == "y2"]
    np.testing.assert_allclose(answered[1].y, curves["<i>odd</i>"].answered * 100)
    assert {"ratio", "threshold", "gain", "method"} <= set(chart.table.columns)


@pytest.mark.parametrize("metric", ["ECE", "NLL", MAX_GROUPWISE])
def test_every_run_is_a_dot_and_the_mean_a_diamond(runs, metric):
    chart = runs_figure(runs, metric, rows="12 runs")
    *strips, mean = chart.figure.data
    shown = unit_of(metric).scale
    for strip, method in zip(strips, runs.methods, strict=True):
        np.testing.assert_allclose(strip.x, runs.values(metric)[method] * shown)
    np.testing.assert_allclose(mean.x, runs.table[metric] * shown)
    np.testing.assert_allclose(mean.error_x.array, runs.sd[metric] * shown)
    assert list(mean.y) == [2, 1, 0]
    for strip, place in zip(strips, mean.y, strict=True):
        assert (np.abs(np.asarray(strip.y) - place) < 0.25).all()
    assert len(chart.table) == 12
    assert "12 runs" in chart.alt


def test_the_worst_group_against_another_metric(runs):
    chart = run_scatter_figure(runs, "ECE", rows="12 runs")
    r = runs.correlation()["ECE"]
    assert f"r = {r:.2f}".replace("-", "−") in chart.figure.layout.title.subtitle.text
    for trace, method in zip(chart.figure.data, runs.methods, strict=True):
        np.testing.assert_allclose(trace.x, runs.values("ECE")[method] * 100)
        np.testing.assert_allclose(trace.y, runs.values(MAX_GROUPWISE)[method] * 100)
    still = run_scatter_figure(runs, "accuracy", rows="").figure.layout.title.subtitle.text
    assert "does not vary" in still


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
    c, a, z = sample
    x = np.round(z[:, 0])  # parts of very different size
    table, curve = gap_along(c, a, x, n_bins=4), smooth_gap(c, a, x)
    traces = variable_figure(table, name="x", rows="", curve=curve).figure.data
    line = next(trace for trace in traces if trace.name == "smoothed")
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
    grid = gap_grid([0.5, 0.6], [1, 0], ["a", "b"], ["u", "v"])
    chart = variable_grid_figure(grid, names=("x", "x"), limit=0.1, min_rows=20, rows="")
    assert "4 of 4 combinations" in chart.how_to_read
    assert isinstance(chart.table, pd.DataFrame)
    assert chart.table.columns.is_unique
