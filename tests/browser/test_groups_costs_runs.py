"""Fairness, Decisions and Runs: a deep link opens them, the numbers are there, a control acts."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

import lore_core as lore

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

#: Titles and subtitle of a chart, as drawn.
TITLE = "gd => gd._fullLayout.title.text"
SUBTITLE = "gd => gd._fullLayout.title.subtitle.text"


def names(app, key):
    return app.read(key, "gd => gd._fullData.map(t => t.name)")


def test_fairness_each_group_under_each_method_another_metric_another_group(open_app, dataset):
    app = open_app("fairness", gamma=0.5, min_group=20)
    app.sees("For whom?")
    app.sees("The group furthest off")
    app.drawn("group_chart")
    ticks = app.read("group_chart", "gd => Array.from(gd._fullLayout.yaxis.ticktext)")
    sizes = dataset.evaluation.groups["site"].value_counts()
    assert sorted(ticks) == sorted(f"{name} ({n})" for name, n in sizes.items())
    # An interval and a dot for each group.
    assert names(app, "group_chart")[:2] == ["No recalibration, 95 %", "No recalibration"]
    first = app.read("group_chart", "gd => Array.from(gd._fullData[1].x)")
    rows = dataset.evaluation
    report = lore.group_report(rows.confidence, rows.outcome, rows.groups["site"], n_draws=0)
    np.testing.assert_allclose(first, 100 * report["gap"])
    # Another metric is drawn and stays in the link.
    before = app.read("group_chart", TITLE)
    app.page.get_by_role("radio", name="MCE", exact=True).or_(
        app.page.get_by_role("button", name="MCE", exact=True)
    ).first.click()
    app.until_query("group_metric", "MCE")
    app.until(lambda: app.read("group_chart", TITLE) != before, "another title")
    assert "MCE of each group" in app.read("group_chart", TITLE)
    # Another group is shown.
    app.drawn("group_before")
    box = app.page.get_by_role("combobox", name="Group", exact=True)  # not "Groups by"
    other = {"a": "b", "b": "a"}[box.input_value()]
    app.choose("Group", other, exact=True)
    app.until(lambda: app.read("group_before", SUBTITLE).startswith(f"{other}, "), f"group {other}")


def test_decisions_at_the_costs_of_the_link_at_another_and_of_one_group(open_app, dataset):
    app = open_app("decisions", gamma=0.5, unsure=1, wrong=5)
    app.sees("Is it worth it?")
    app.drawn("reward")
    rows = dataset.evaluation
    curve = lore.reward_curve(rows.confidence, rows.outcome)
    drawn = app.trace("reward", "Temperature scaling")
    assert len(drawn["x"]) >= len(curve.ratio)
    app.sees(re.compile("At w/u = 5"))
    box = app.page.get_by_role("spinbutton", name="Cost of wrong, w")
    expect(box).to_have_value("5.00")
    # Another cost gives another sentence.
    box.fill("20")
    box.press("Enter")
    app.until_query("wrong", "20")
    app.sees(re.compile("At w/u = 20"))
    # One group alone.
    app.choose("Rows of", "site")
    largest = dataset.evaluation.groups["site"].value_counts()
    expected = f"{largest.index[0]}, {largest.iloc[0]:,} evaluation rows"
    app.until(lambda: app.read("reward", SUBTITLE) == expected, expected)


@pytest.fixture(scope="module")
def runs(tmp_path_factory, write_classifier):
    """Three trainings, each of 300 + 300 rows."""
    folder = tmp_path_factory.mktemp("runs") / "three_runs"
    folder.mkdir()
    for seed in range(3):
        write_classifier(folder / f"seed{seed}_cal.npz", 300, 10 + seed)
        write_classifier(folder / f"seed{seed}_test.npz", 300, 20 + seed)
    return folder


class TestRuns:
    def test_from_nothing_to_numbers_and_back_by_the_link(self, open_app, runs):
        app = open_app("runs", bins=5, gamma=1.0)
        app.sees("Does it hold over many trainings?")
        app.sees("seed00_cal.npz")
        box = app.page.get_by_role("textbox", name="Directory of runs on this machine")
        box.fill("/no/such/runs")
        box.press("Enter")
        expect(app.page.get_by_test_id("stAlert")).to_contain_text("does not exist")
        app.settle()
        box.fill(str(runs))
        box.press("Enter")
        app.sees(re.compile("300 calibration \\+ 300 evaluation rows"))
        app.settle()
        app.button("Compare").click()
        app.drawn("runs_strip")
        app.sees("3 runs of three_runs")
        expect(app.page.get_by_role("button", name="Cancel")).to_have_count(0)
        with app.page.expect_download() as waiting:
            app.button("Every run as CSV").click()
        saved = pd.read_csv(io.BytesIO(waiting.value.path().read_bytes()))
        assert saved["run"].unique().tolist() == ["seed0", "seed1", "seed2"]
        # Processes of their own, and the numbers of the library all the same.
        expected = lore.compare_runs(
            runs,
            [lore.NoRecalibration()],
            feature_map="pca-4",
            gamma=1.0,
            n_bins=5,
            group_column="site",
            n_jobs=1,
        ).runs
        mine = saved[saved["method"] == "No recalibration"].reset_index(drop=True)
        np.testing.assert_allclose(mine["MLCE"], expected["MLCE"])
        dots = app.trace("runs_strip", "LoRe")["x"]
        lore_rows = saved.loc[saved["method"] == "LoRe", "max group gap"]
        np.testing.assert_allclose(dots, 100 * lore_rows)

        app.settle()
        app.choose("Metric", "NLL")
        app.until_query("runs_metric", "NLL")
        app.until(lambda: "NLL" in app.read("runs_strip", TITLE), "the strip of the NLL")

        app.page.reload()
        app.drawn("runs_strip")
        app.sees("3 runs of three_runs")
        assert "NLL" in app.read("runs_strip", TITLE)

    def test_it_can_be_cancelled(self, open_app, runs):
        app = open_app("runs", bins=7, gamma=1.5)
        box = app.page.get_by_role("textbox", name="Directory of runs on this machine")
        box.fill(str(runs))
        box.press("Enter")
        app.sees(re.compile("300 calibration"))
        app.settle()
        # A map that takes its time.
        app.choose("Similar by", "t-SNE")
        app.settle()
        app.button("Compare").click()
        app.button("Cancel").click()
        app.sees(re.compile("was cancelled; nothing else changed"))
        assert "runs" not in app.query()
        expect(app.button("Compare")).to_be_enabled()
