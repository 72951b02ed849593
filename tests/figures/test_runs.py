import numpy as np
import pytest

from lore_core.figures import run_scatter_figure, runs_figure
from lore_core.metrics.catalogue import MAX_GROUPWISE, unit_of


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


def test_lines_join_the_dots_of_one_run(runs):
    chart = runs_figure(runs, "ECE", rows="", lines=True)
    line, *strips, _ = chart.figure.data
    x = np.array([np.nan if value is None else value for value in line.x]).reshape(12, 4)
    y = np.array([np.nan if value is None else value for value in line.y]).reshape(12, 4)
    np.testing.assert_allclose(x[:, :3], runs.values("ECE") * 100)
    np.testing.assert_allclose(y[:, :3], np.column_stack([strip.y for strip in strips[:3]]))
    assert np.isnan(x[:, 3]).all()


def test_the_scatter_says_its_correlation(runs):
    chart = run_scatter_figure(runs, "ECE", rows="12 runs")
    r = runs.correlation()["ECE"]
    assert f"r = {r:.2f}".replace("-", "−") in chart.figure.layout.title.subtitle.text
    for trace, method in zip(chart.figure.data, runs.methods, strict=True):
        np.testing.assert_allclose(trace.x, runs.values("ECE")[method] * 100)
        np.testing.assert_allclose(trace.y, runs.values(MAX_GROUPWISE)[method] * 100)
    still = run_scatter_figure(runs, "accuracy", rows="").figure.layout.title.subtitle.text
    assert "does not vary" in still
