import io
import json
import time
import zipfile

import numpy as np
import pytest

import lore_core as lore
from pages.shared.store import store


def button(page, key):
    (found,) = [item for item in page.app.button if item.key == key]
    return found


def downloads(page):
    return {item.proto.id.split("-")[-1]: item.proto for item in page.app.get("download_button")}


def make_the_report(page):
    button(page, "make_report").click()
    page.run()
    for _ in range(240):
        if "The report is ready" in page.text:
            return zipfile.ZipFile(io.BytesIO(next(reversed(store().reports._items.values()))[0]))
        assert page.errors == []
        time.sleep(0.25)
        page.run()
    raise AssertionError("the report never came")


@pytest.fixture(autouse=True)
def no_reports():
    store().reports._items.clear()


def test_it_holds_what_the_pages_show(open_page, made):
    import pandas as pd

    rng = np.random.default_rng(3)
    dataset = made(groups=pd.DataFrame({"site": rng.choice(["a", "b"], 400)}))
    page = open_page("report", dataset, gamma=0.5, bins=5, unsure=1, wrong=4)
    assert "site" in page.text
    archive = make_the_report(page)
    (shown,) = page.app.get("iframe")
    assert shown.proto.srcdoc == archive.read("index.html").decode()
    settings = json.loads(archive.read("config.json"))["settings"]
    assert (settings["gamma"], settings["n_bins"], settings["group_column"]) == (0.5, 5, "site")
    assert settings["wrong_cost"] == 4
    assert settings["methods_compared"][0] == "No recalibration"
    metrics = pd.read_csv(archive.open("tables/metrics.csv")).set_index("metric")["value"]
    rows = dataset.evaluation
    ece = lore.expected_calibration_error(rows.confidence, rows.outcome, n_bins=5)
    assert metrics["ECE"] == pytest.approx(ece, abs=1e-12)
    assert archive.read("report.pdf").startswith(b"%PDF")
    assert {"figures/reliability.svg", "figures/reliability.pdf"} <= set(archive.namelist())
    assert "download_report" in downloads(page)


def test_what_is_missing_is_said_before_and_in_it(open_page, made):
    page = open_page("report", made(n_features=0, calibration=None))
    assert "no features, so nothing is said about the map" in page.text
    assert "no calibration rows" in page.text
    assert "no groups" in page.text
    archive = make_the_report(page)
    assert b"These data came without features" in archive.read("index.html")


def test_what_cannot_ship_says_why(open_page, made, monkeypatch):
    from lore_core.recalibration import TemperatureScaling

    def refuse(self, *, maps=True, rows=True):
        raise lore.InputError("UMAP maps cannot be saved.")

    monkeypatch.setattr(TemperatureScaling, "to_bytes", refuse)
    page = open_page("recalibrate", made(seed=9), bins=5)
    page.set("ship", "Temperature scaling")
    assert "UMAP maps cannot be saved" in page.text
    assert "ship_file" not in downloads(page)
