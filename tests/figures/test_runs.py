"""Runs are drawn as the result holds them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lore_core.comparison import RunsComparison
from lore_core.figures import run_scatter_figure, runs_figure
from lore_core.figures.style import PAPER
from lore_core.metrics.catalogue import MAX_GROUPWISE, unit_of

NASTY = "<b>LoRe</b> & co"


@pytest.fixture
def result():
    rng = np.random.default_rng(2)
    methods = ["No recalibration", NASTY, "LoRe smooth"]
    return RunsComparison(
        pd.DataFrame(
            {
                "run": np.repeat([f"<i>r{i}</i>" for i in range(12)], 3),
                "method": methods * 12,
                "ECE": rng.uniform(0.01, 0.2, 36),
                "NLL": rng.uniform(0.3, 0.9, 36),
                "accuracy": 0.8,
                MAX_GROUPWISE: rng.uniform(0.2, 0.8, 36),
            }
        )
    )


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("metric", ["ECE", "NLL", MAX_GROUPWISE])
def test_every_run_is_a_dot_and_the_mean_a_diamond(result, metric, mode):
    chart = runs_figure(result, metric, rows="12 runs", mode=mode)
    *strips, mean = chart.figure.data
    shown = unit_of(metric).scale
    for strip, method in zip(strips, result.methods, strict=True):
        np.testing.assert_allclose(strip.x, result.values(metric)[method] * shown)
    np.testing.assert_allclose(mean.x, result.table[metric] * shown)
    np.testing.assert_allclose(mean.error_x.array, result.sd[metric] * shown)
    # The first method stands on top, and every dot in its own strip.
    assert list(mean.y) == [2, 1, 0]
    for strip, place in zip(strips, mean.y, strict=True):
        assert (np.abs(np.asarray(strip.y) - place) < 0.25).all()
    assert chart.figure.layout.paper_bgcolor == PAPER[mode]
    assert len(chart.table) == 12
    assert "12 runs" in chart.alt


def test_lines_join_the_dots_of_one_run(result):
    chart = runs_figure(result, "ECE", rows="", lines=True)
    line, *strips, _ = chart.figure.data
    x = np.array([np.nan if value is None else value for value in line.x]).reshape(12, 4)
    y = np.array([np.nan if value is None else value for value in line.y]).reshape(12, 4)
    np.testing.assert_allclose(x[:, :3], result.values("ECE") * 100)
    np.testing.assert_allclose(y[:, :3], np.column_stack([strip.y for strip in strips[:3]]))
    assert np.isnan(x[:, 3]).all()


def test_the_scatter_says_its_correlation(result):
    chart = run_scatter_figure(result, "ECE", rows="12 runs")
    r = result.correlation()["ECE"]
    assert f"r = {r:.2f}".replace("-", "−") in chart.figure.layout.title.subtitle.text
    for trace, method in zip(chart.figure.data, result.methods, strict=True):
        np.testing.assert_allclose(trace.x, result.values("ECE")[method] * 100)
        np.testing.assert_allclose(trace.y, result.values(MAX_GROUPWISE)[method] * 100)
    still = run_scatter_figure(result, "accuracy", rows="").figure.layout.title.subtitle.text
    assert "does not vary" in still


def test_names_are_not_markup(result, strings):
    for chart in (
        runs_figure(result, "ECE", rows="<u>r</u>", lines=True),
        run_scatter_figure(result, "ECE", rows="<u>r</u>"),
    ):
        said = "\n".join(strings(chart.figure))
        assert "<b>LoRe</b> & co" not in said
        assert "<i>r0" not in said
        assert "<u>" not in said
        assert "&lt;b&gt;LoRe" in said
