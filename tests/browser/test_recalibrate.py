import io

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

import lore_core as lore

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.fixture
def app(reopen):
    app = reopen("recalibrate", "swipe", gamma=0.5, maps="one", recalibrate_tab="All metrics")
    yield app
    app.check()


def test_metrics_and_confidences_are_saved(app, dataset, points):
    name, table = app.save(app.button("Metrics as CSV"))
    assert name == "lore-lens-metrics.csv"
    table = pd.read_csv(io.BytesIO(table), index_col=["method", "metric"])
    assert {"No recalibration", "Temperature scaling", "LoRe"} <= set(table.index.levels[0])
    rows = dataset.evaluation
    expected = lore.average_local_calibration_error(
        rows.confidence, rows.outcome, points, gamma=0.5
    )
    alce = table.loc[("No recalibration", "ALCE")]
    assert alce["value"] == pytest.approx(expected)
    assert alce["low"] <= alce["high"]
    name, table = app.save(app.button("Recalibrated confidences as CSV"))
    assert name == "lore-lens-recalibrated.csv"
    table = pd.read_csv(io.BytesIO(table))
    np.testing.assert_allclose(table.iloc[:, 1], rows.confidence)
    assert table["LoRe"].between(0, 1).all()


def test_a_handle_parts_two_methods_for_mouse_and_keys_or_they_stand_side_by_side(app, points):
    grip = app.page.get_by_role("slider", name="Before and after")
    names = app.seen("m.scene.against.names")
    assert names == [app.chosen("Before"), app.chosen("After")]
    one, other = (app.seen(f"Array.from(m.{field}.values)") for field in ("exact", "against"))
    assert len(one) == len(other)
    assert not np.allclose(one, other)
    expect(grip).to_have_attribute(
        "aria-valuetext", f"{names[0]} on the left 50 %, {names[1]} on the rest"
    )
    view = app.seen("[m.view.x, m.view.y]")
    grip.scroll_into_view_if_needed()
    box, stage = grip.bounding_box(), app.map.bounding_box()
    start = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    app.drag([start, (stage["x"] + 0.7 * stage["width"], start[1])])
    assert app.seen("m.swipe.share") == pytest.approx(0.7, abs=0.01)
    for key, share in (("ArrowLeft", 0.68), ("PageUp", 0.78), ("End", 1), ("Home", 0)):
        app.page.keyboard.press(key)
        app.until(lambda s=share: abs(app.seen("m.swipe.share + 1") - 1 - s) < 0.02, f"{share}")
    expect(grip).to_have_attribute("aria-valuenow", "0")
    assert app.seen("[m.view.x, m.view.y]") == view
    app.map.scroll_into_view_if_needed()
    app.page.mouse.move(*app.map_place(*np.median(points, axis=0) + 0.2))
    hover = app.map.locator(".hover")
    for name in names:
        expect(hover).to_contain_text(f"{name}: local error")
    app.page.get_by_test_id("stMain").get_by_role("radio", name="two").click()
    app.until_query("maps", None)
    app.drawn("landscape_before")
    app.drawn("landscape_after")
