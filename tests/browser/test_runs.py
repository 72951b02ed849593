import io
import re

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

import lore_core as lore

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

TITLE = "gd => gd._fullLayout.title.text"


@pytest.fixture(scope="module")
def runs(tmp_path_factory, write_classifier):
    folder = tmp_path_factory.mktemp("runs") / "three_runs"
    folder.mkdir()
    for seed in range(3):
        write_classifier(folder / f"seed{seed}_cal.npz", 300, 10 + seed)
        write_classifier(folder / f"seed{seed}_test.npz", 300, 20 + seed)
    return folder


def type_path(app, path):
    box = app.page.get_by_role("textbox", name="Directory of runs on this machine")
    box.fill(str(path))
    box.press("Enter")


def test_from_nothing_to_cancelled_to_numbers_and_back_by_the_link(open_app, runs):
    app = open_app("runs", bins=5, gamma=1.0)
    app.sees("Does it hold over many trainings?")
    app.sees("seed00_cal.npz")
    type_path(app, "/no/such/runs")
    expect(app.page.get_by_test_id("stAlert")).to_contain_text("does not exist")
    app.settle()
    type_path(app, runs)
    app.sees(re.compile("300 calibration \\+ 300 evaluation rows"))
    app.settle()
    app.choose("Similar by", "t-SNE")
    app.settle()
    app.button("Compare").click()
    app.button("Cancel").click()
    app.sees(re.compile("was cancelled; nothing else changed"))
    app.until(lambda: "runs" not in app.query(), "a link without the comparison")
    expect(app.button("Compare")).to_be_enabled()
    app.choose("Similar by", "PCA")
    app.settle()
    app.button("Compare").click()
    app.drawn("runs_strip")
    app.sees(re.compile("three_runs: 3 runs"))
    expect(app.page.get_by_role("button", name="Cancel")).to_have_count(0)
    saved = pd.read_csv(io.BytesIO(app.save(app.button("Every run as CSV"))[1]))
    assert saved["run"].unique().tolist() == ["seed0", "seed1", "seed2"]
    settings = {"feature_map": "pca-4", "gamma": 1.0, "n_bins": 5, "group_column": "site"}
    expected = lore.compare_runs(runs, [lore.NoRecalibration()], n_jobs=1, **settings).runs
    mine = saved[saved["method"] == "No recalibration"].reset_index(drop=True)
    np.testing.assert_allclose(mine["MLCE"], expected["MLCE"])
    dots = app.trace("runs_strip", "LoRe")["x"]
    lore_rows = saved.loc[saved["method"] == "LoRe", "max group gap"]
    np.testing.assert_allclose(dots, 100 * lore_rows)

    app.settle()
    app.choose("Best by", "NLL")
    app.until_query("runs_metric", "NLL")
    app.until(lambda: "NLL" in app.read("runs_strip", TITLE), "the strip of the NLL")

    app.page.reload()
    app.drawn("runs_strip")
    app.sees(re.compile("three_runs: 3 runs"))
    assert "NLL" in app.read("runs_strip", TITLE)
