import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.paper.pictures import mean_bandwidth_curve
from lore_core import bandwidth_curve, null_band, reliability_table, suggest_bandwidth
from lore_core.figures import bandwidth_figure, cdf_figure, reliability_figure, suggestion_figure
from lore_core.figures.style import INK, NEUTRAL, OVERCONFIDENT, PAPER, UNDERCONFIDENT, escape, rgba


class TestBandwidth:
    @pytest.mark.parametrize("metric", ["mlce", "alce"])
    def test_each_line_is_its_curve(self, curves, metric):
        chart = bandwidth_figure(curves, metric=metric, rows="300 rows")
        assert len(chart.figure.data) == len(curves)
        for trace, curve in zip(chart.figure.data, curves.values(), strict=True):
            np.testing.assert_array_equal(trace.x, curve.gamma)
            np.testing.assert_array_equal(trace.y, getattr(curve, metric) * 100)
            np.testing.assert_array_equal(trace.customdata, curve.median_effective_size)
        assert chart.figure.layout.xaxis.type == "log"
        # Each line is named at its right end, in its colour, none over another.
        named = {note.text: note for note in chart.figure.layout.annotations}
        assert {escape(name) for name in curves} <= named.keys()
        assert not chart.figure.layout.showlegend
        for trace in chart.figure.data:
            assert named[trace.name].font.color == trace.line.color
            assert named[trace.name].y == trace.y[np.isfinite(trace.y)][-1]

    def test_limits_and_the_bandwidth_in_use_are_marked(self, curves):
        for metric in ("mlce", "alce"):
            shapes = bandwidth_figure(curves, metric=metric, rows="").figure.layout.shapes
            levels = {(shape.x0, shape.y0) for shape in shapes if shape.xref == "paper"}
            for curve in curves.values():
                assert (0.0, getattr(curve, f"{metric}_zero") * 100) in levels
                assert (0.85, getattr(curve, f"{metric}_infinity") * 100) in levels
        chart = bandwidth_figure(curves, rows="", gamma=0.25)
        (line,) = [shape for shape in chart.figure.layout.shapes if shape.xref == "x"]
        assert line.x0 == line.x1 == 0.25
        (note,) = [item for item in chart.figure.layout.annotations if item.text == "γ = 0.25"]
        assert note.x == pytest.approx(math.log10(0.25))
        name, curve = next(iter(curves.items()))
        chart = bandwidth_figure({name: curve}, metric="mlce", rows="")
        sentence = [item.text for item in chart.figure.layout.annotations]
        assert f"γ → ∞: MCE = {curve.mlce_infinity * 100:.1f} points" in sentence
        assert any(text.endswith(f"= {curve.mlce_zero * 100:.1f} points") for text in sentence)


class TestCdf:
    def test_is_the_share_of_rows_up_to_each_error(self, errors):
        chart = cdf_figure({"LCE": errors.absolute}, rows="300 rows")
        line = chart.figure.data[0]
        table = chart.table
        for x, share in zip(table["lce"], table["share_of_rows"], strict=True):
            assert share == pytest.approx((errors.absolute <= x).mean())
        assert line.y[-1] == 100
        assert line.x[-1] == errors.maximum * 100
        np.testing.assert_array_equal(table["lce"] * 100, line.x)
        np.testing.assert_array_equal(table["share_of_rows"] * 100, line.y)
        axes = chart.figure.layout
        assert axes.xaxis.title.text == "local error (LCE), points"
        assert (axes.xaxis.ticksuffix, axes.yaxis.ticksuffix) == (None, " %")
        values = np.random.default_rng(0).random(100_000)
        table = cdf_figure({"LCE": values}, rows="").table
        assert len(table) <= 400
        for x, share in zip(table["lce"][::50], table["share_of_rows"][::50], strict=True):
            assert share == pytest.approx((values <= x).mean())

    def test_mean_and_global_error_are_marked(self, errors):
        chart = cdf_figure({"LCE": errors.absolute}, rows="", global_error=0.031)
        _, mean, bins = chart.figure.data
        assert mean.x[0] == mean.x[1] == pytest.approx(errors.average * 100)
        assert f"{errors.average * 100:.1f} points" in mean.name
        assert bins.x[0] == bins.x[1] == pytest.approx(3.1)
        methods = {"<b>none</b>": errors.absolute, "a & b": errors.absolute / 2}
        chart = cdf_figure(methods, rows="")
        assert len(chart.figure.data) == 2
        np.testing.assert_allclose(chart.figure.data[1].x, chart.figure.data[0].x / 2)
        assert list(chart.table["method"].unique()) == list(methods)
        values = np.array([np.nan, 0.1, 0.3, np.nan])
        chart = cdf_figure({"LCE": values}, rows="")
        line, mean = chart.figure.data
        np.testing.assert_allclose(line.x, [10, 30])
        np.testing.assert_allclose(line.y, [50, 100])
        assert mean.x[0] == pytest.approx(20)


class TestManyRuns:
    def test_the_mean_is_drawn_in_a_band_of_one_standard_deviation(self, dataset, points):
        c, a = dataset.confidence, dataset.outcome
        curves = [bandwidth_curve(c[k::2], a[k::2], points[k::2], [0.1, 1.0]) for k in range(2)]
        runs = mean_bandwidth_curve(curves)
        chart = bandwidth_figure({"a": runs, "b": curves[0]}, metric="mlce", rows="300 rows")
        band, mean, single = chart.figure.data
        np.testing.assert_array_equal(mean.y, runs.mlce * 100)
        np.testing.assert_array_equal(single.y, curves[0].mlce * 100)
        both = np.stack([curve.mlce for curve in curves])
        low, high = both.mean(axis=0) - both.std(axis=0), both.mean(axis=0) + both.std(axis=0)
        np.testing.assert_allclose(band.y, np.array([*high, *low[::-1]]) * 100)
        np.testing.assert_allclose(chart.table["mlce_high"][:2], high)
        assert "over 2 runs" in chart.how_to_read


class TestSuggestion:
    def test_is_the_likelihood_with_its_minimum_marked(self, dataset, points):
        best = suggest_bandwidth(dataset.confidence, dataset.outcome, points)
        chart = suggestion_figure(best, rows="300 rows")
        line, ring = chart.figure.data
        assert (ring.x[0], ring.y[0]) == (best.gamma, best.loss.min())
        np.testing.assert_array_equal(line.x, best.gammas)
        np.testing.assert_array_equal(line.y, best.loss[0])
        (mark,) = chart.figure.layout.shapes
        assert mark.x0 == best.gamma == line.x[np.argmin(line.y)]
        np.testing.assert_array_equal(chart.table["gamma"], best.gammas)
        np.testing.assert_array_equal(chart.table["loo_nll"], best.loss[0])


class TestChance:
    @pytest.mark.parametrize("metric", ["mlce", "mlce_supported", "alce"])
    def test_band_of_a_calibrated_model_lies_behind_the_curve(self, dataset, points, metric):
        curve = bandwidth_curve(dataset.confidence, dataset.outcome, points, n_bins=5)
        null = null_band(dataset.confidence, points, n_bins=5, n_draws=20)
        chart = bandwidth_figure({"PCA": curve}, metric=metric, rows="x", null=("PCA", null))
        band = chart.figure.data[0]
        low, high = null.band(metric)
        known = np.isfinite(low)
        np.testing.assert_allclose(band.y, np.concatenate([high[known], low[known][::-1]]) * 100)
        assert "if calibrated" in band.name
        assert "PCA" not in band.name
        assert "20 simulations" in chart.how_to_read
        rows = chart.table[chart.table["curve"] == "PCA, if calibrated"]
        np.testing.assert_allclose(rows[f"{metric}_low"], low)
        two = bandwidth_figure({"PCA": curve, "t-SNE": curve}, rows="x", null=("PCA", null))
        assert "PCA" in two.figure.data[0].name

    def test_every_number_of_bins_has_a_line(self, dataset, points):
        best = suggest_bandwidth(dataset.confidence, dataset.outcome, points, n_bins=(1, 5))
        chart = suggestion_figure(best, rows="x", in_use=(0.2, 5))
        one, five, ring = chart.figure.data
        np.testing.assert_array_equal(one.y, best.loss[0])
        np.testing.assert_array_equal(five.y, best.loss[1])
        assert five.name == "5 bins (in use)"
        assert one.name == "1 bin"
        assert ring.y[0] == best.loss.min()
        assert len(chart.table) == best.loss.size


def traces(chart):
    return {trace.name: trace for trace in chart.figure.data}


def test_the_bars_are_the_table(table):
    chart = reliability_figure(table, rows="300 rows")
    full = np.flatnonzero(table.count)
    drawn = traces(chart)
    accuracy, confidence, rows = drawn["accuracy"], drawn["mean confidence"], drawn["rows"]
    np.testing.assert_allclose(accuracy.y, table.accuracy[full] * 100)
    np.testing.assert_allclose(confidence.y, table.confidence[full] * 100)
    np.testing.assert_array_equal(rows.y, table.count[full])
    middle = (table.bins.edges[:-1] + table.bins.edges[1:])[full] * 50
    for trace in (accuracy, confidence, rows):
        np.testing.assert_allclose(trace.x, middle)
    high, low = table.accuracy_high[full] * 100, table.accuracy_low[full] * 100
    np.testing.assert_allclose(accuracy.y + accuracy.error_y.array, high)
    np.testing.assert_allclose(accuracy.y - accuracy.error_y.arrayminus, low)
    assert chart.figure.layout.yaxis.ticksuffix == " %"
    np.testing.assert_array_equal(accuracy.customdata, full)
    np.testing.assert_array_equal(rows.customdata, full)
    pd.testing.assert_frame_equal(chart.table, table.frame())
    bar = traces(reliability_figure(table, rows=""))["accuracy"]
    for position, index in enumerate(np.flatnonzero(table.count)):
        text = bar.hovertext[position]
        assert f"{table.count[index]:,} rows" in text
        assert f"mean confidence {table.confidence[index] * 100:.1f} %" in text
        assert f"accuracy {table.accuracy[index] * 100:.1f} %" in text
        assert f"gap {table.gap[index] * 100:+.1f} points".replace("-", "−") in text
    full = np.flatnonzero(table.count)
    plain = traces(reliability_figure(table, rows=""))["accuracy"].marker.line.color
    assert set(plain) == {"rgba(0,0,0,0)"}
    chosen = traces(reliability_figure(table, rows="", chosen=int(full[2])))["accuracy"]
    assert [i for i, c in enumerate(chosen.marker.line.color) if c == INK["light"]] == [2]
    table = reliability_table([1.0], [0.0])
    chart = reliability_figure(table, rows="1 row")
    np.testing.assert_array_equal(traces(chart)["rows"].y, [1])
    assert "+100.0 points" in chart.alt


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_red_promised_too_much_blue_too_little_beyond_chance(mode):
    # Of 100 rows each 60 are right: 0.5 and 0.9 lie outside of its interval, 0.65 does not.
    c = np.repeat([0.5, 0.65, 0.9], 100)
    table = reliability_table(c, np.tile(np.arange(100) < 60, 3).astype(float))
    chart = replace(reliability_figure(table, rows=""), mode=mode)
    sides = (UNDERCONFIDENT, NEUTRAL, OVERCONFIDENT)
    for color, side in zip(traces(chart)["accuracy"].marker.color, sides, strict=True):
        assert color.startswith(rgba(side[mode], 0.5)[:-4])
    assert chart.figure.layout.paper_bgcolor == PAPER[mode]
    assert chart.figure.layout.plot_bgcolor == PAPER[mode]
