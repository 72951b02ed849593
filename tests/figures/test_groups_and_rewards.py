import numpy as np
import pytest

from lore_core import group_report, reward_curve
from lore_core.figures import group_figure, reward_figure


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


def test_small_groups_are_faint(grouped):
    report = group_report(*grouped, small=1000, n_draws=0)
    chart = group_figure({"No recalibration": report}, rows="rows")
    assert all("0.35" in color for color in chart.figure.data[1].marker.color)


def test_rewards(grouped):
    c, a, _ = grouped
    curves = {
        "No recalibration": reward_curve(c, a),
        "<i>odd</i>": reward_curve(c**2, a, baseline=c),
    }
    chart = reward_figure(curves, rows="rows", baseline="No recalibration", ratio=10.0)
    lines = [
        trace
        for trace in chart.figure.data
        if trace.mode == "lines" and trace.customdata is not None
    ]
    np.testing.assert_allclose(lines[1].y, curves["<i>odd</i>"].gain)
    answered = [trace for trace in chart.figure.data if trace.yaxis == "y2"]
    np.testing.assert_allclose(answered[1].y, curves["<i>odd</i>"].answered * 100)
    assert {"ratio", "threshold", "gain", "method"} <= set(chart.table.columns)
