import io
import re

import numpy as np
import pandas as pd
import pytest

import lore_core as lore

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def test_runs_are_compared_and_saved(open_app, tmp_path_factory, write_classifier):
    runs = tmp_path_factory.mktemp("runs") / "two_runs"
    runs.mkdir()
    for seed in range(2):
        write_classifier(runs / f"seed{seed}_cal.npz", 300, 10 + seed)
        write_classifier(runs / f"seed{seed}_test.npz", 300, 20 + seed)
    app = open_app("runs", bins=5, gamma=1.0)
    box = app.page.get_by_role("textbox", name="Directory of runs on this machine")
    box.fill(str(runs))
    box.press("Enter")
    app.sees(re.compile("300 calibration \\+ 300 evaluation rows"))
    app.settle()
    app.choose("Similar by", "PCA 4-D")
    app.settle()
    app.button("Compare").click()
    app.drawn("runs_strip")
    saved = pd.read_csv(io.BytesIO(app.save(app.button("Every run as CSV"))[1]))
    assert saved["run"].unique().tolist() == ["seed0", "seed1"]
    settings = {"feature_map": "pca-4", "gamma": 1.0, "n_bins": 5, "group_column": "site"}
    expected = lore.compare_runs(runs, [lore.NoRecalibration()], n_jobs=1, **settings).runs
    mine = saved[saved["method"] == "No recalibration"].reset_index(drop=True)
    np.testing.assert_allclose(mine["MLCE"], expected["MLCE"])
    dots = app.trace("runs_strip", "LoRe")["x"]
    lore_rows = saved.loc[saved["method"] == "LoRe", "max group gap"]
    np.testing.assert_allclose(dots, 100 * lore_rows)
