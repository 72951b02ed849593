from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lore_core import reliability_table
from lore_core.figures import reliability_figure
from lore_core.figures.style import INK, NEUTRAL, OVERCONFIDENT, PAPER, UNDERCONFIDENT, rgba


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


def test_the_hover_says_the_numbers(table):
    bar = traces(reliability_figure(table, rows=""))["accuracy"]
    for position, index in enumerate(np.flatnonzero(table.count)):
        text = bar.hovertext[position]
        assert f"{table.count[index]:,} rows" in text
        assert f"promised {table.confidence[index] * 100:.1f} %" in text
        assert f"got {table.accuracy[index] * 100:.1f} %" in text
        assert f"gap {table.gap[index] * 100:+.1f} points".replace("-", "−") in text


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


def test_the_chosen_bin_is_outlined(table):
    full = np.flatnonzero(table.count)
    plain = traces(reliability_figure(table, rows=""))["accuracy"].marker.line.color
    assert set(plain) == {"rgba(0,0,0,0)"}
    chosen = traces(reliability_figure(table, rows="", chosen=int(full[2])))["accuracy"]
    assert [i for i, c in enumerate(chosen.marker.line.color) if c == INK["light"]] == [2]


def test_one_row():
    table = reliability_table([1.0], [0.0])
    chart = reliability_figure(table, rows="1 row")
    np.testing.assert_array_equal(traces(chart)["rows"].y, [1])
    assert "+100.0 points" in chart.alt
