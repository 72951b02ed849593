import io
import re

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

import lore_core as lore

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def test_what_a_landscape_saves(open_app, dataset, points):
    app = open_app("landscape", gamma=0.5)
    app.drawn("landscape")
    app.drawn("chooser")
    app.chart("chooser").hover()
    name, picture = app.save(app.chart("chooser").locator('[data-title^="Download plot"]'))
    assert name == "reliability.svg"
    assert b"<svg" in picture[:500]
    app.map.focus()
    for key in ("+", "+", "+", "+", "ArrowLeft"):
        app.page.keyboard.press(key)
    app.until(lambda: app.query().get("view"), "the view is known")
    app.settle()
    app.page.locator(".st-key-export_landscape").get_by_role("button").click()
    name, page = app.save(app.button("Interactive HTML"))
    assert name == "lore-lens-landscape.html"
    assert b"Plotly.newPlot" in page
    ends = re.search(rb'"xaxis":\{.*?"range":\[([^,]+),([^\]]+)\]', page).groups()
    zoom, middle, x = app.seen("[m.view.zoom, m.view.x, m.scene.field.x]")
    assert np.mean(np.array(ends, float)) == pytest.approx(middle, rel=1e-6)
    assert np.ptp(np.array(ends, float)) < 1.5 * (x[-1] - x[0]) / zoom
    name, table = app.save(app.button("Numbers as CSV"))
    assert name == "lore-lens-landscape.csv"
    table = pd.read_csv(io.BytesIO(table))
    rows = dataset.evaluation
    found = lore.local_errors(rows.confidence, rows.outcome, points, gamma=0.5)
    field = lore.regions.smoothed_field(found.signed, found.effective_size, points)
    np.testing.assert_allclose(
        table["signed_error"], field.signed[np.isfinite(field.signed)], atol=1e-9
    )
    app.page.keyboard.press("Escape")
    app.map.focus()
    app.page.keyboard.press("0")
    app.until_query("view", None)
    x, y = np.quantile(points, 0.25, axis=0), np.quantile(points, 0.75, axis=0)
    app.lasso([(x[0], x[1]), (y[0], x[1]), (y[0], y[1]), (x[0], y[1])])
    app.sees("Selected region")
    app.settle()
    name, table = app.save(app.button("All of them as CSV"))
    assert name == "lore-lens-region.csv"
    table = pd.read_csv(io.BytesIO(table))
    assert len(table) == app.seen("m.selected.count")
    inside = points[table["row"]]
    assert (inside > x - 0.1).all()
    assert (inside < y + 0.1).all()
    assert {"confidence", "right", "signed_error", "n_eff", "site"} <= set(table)


def test_a_figure_for_a_paper_has_the_size_asked_for(open_app):
    app = open_app("overview", gamma=0.5)
    app.drawn("reliability")
    app.page.locator(".st-key-export_reliability").get_by_role("button").click()
    app.button("For a paper").click()
    dialog = app.page.get_by_test_id("stDialog")
    app.until(
        lambda: dialog.locator(".js-plotly-plot .main-svg").first.get_attribute("width") == "317",
        "a preview of 84 mm",
    )
    expect(app.page.get_by_test_id("stPopoverBody")).to_be_hidden()
