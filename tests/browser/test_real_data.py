"""The main job on real predictions: drop the files in, see where it is wrong, see LoRe lower it."""

import io
import re

import pandas as pd
import pytest
from playwright.sync_api import expect

# Not marked "browser": where the real files are absent it is skipped, and may be.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


def test_find_where_shirts_go_wrong_and_lower_it(real_data, open_app):
    folder = real_data / "fashion_mnist"
    app = open_app()
    app.page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(
        [folder / "fashion_cnn_cal.npz", folder / "fashion_cnn_test.npz"]
    )
    app.sees("10,000 evaluation + 30,000 calibration rows")
    app.settle()
    key = app.query()["data"]
    app.open("overview", data=key, gamma=0.2, features="PCA 2-D", overview_tab="All metrics")
    app.sees(re.compile("n = 10,000 evaluation rows"))
    accuracy = app.page.get_by_test_id("stMetric").filter(has_text="Accuracy")
    expect(accuracy).to_contain_text("91.0 %")  # .9105, as the file's README has it
    app.check()

    app.go("Landscape")
    app.drawn("landscape")
    before = app.map_ink()
    app.gamma.focus()
    app.page.keyboard.press("ArrowRight")
    app.until(lambda: app.map_ink() != before, "another picture")
    app.settle()
    app.page.get_by_role("tab", name="Worst rows").click()
    app.sees(re.compile("rows with the largest local error"))
    app.check()

    table = {"recalibrate_tab": "All metrics"}
    app.open("recalibrate", data=key, gamma=0.2, features="PCA 2-D", **table)
    with app.page.expect_download() as waiting:
        app.button("Metrics as CSV").click()
    saved = io.BytesIO(waiting.value.path().read_bytes())
    table = pd.read_csv(saved, index_col=["method", "metric"])
    none, lore = table.loc["No recalibration"]["value"], table.loc["LoRe"]["value"]
    assert lore["ALCE"] < 0.8 * none["ALCE"]
    assert lore["accuracy"] == pytest.approx(none["accuracy"])
    app.drawn("landscape_before")
