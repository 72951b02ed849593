import io
import re

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from playwright.sync_api import expect

import lore_core as lore

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def export(app, key):
    app.page.locator(f".st-key-export_{key}").get_by_role("button").click()
    return app.page.get_by_test_id("stPopoverBody")


def pixels(content):
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))


def test_what_a_landscape_saves(open_app, dataset, points):
    app = open_app("landscape", gamma=0.5)
    app.drawn("landscape")
    body = export(app, "landscape")
    name, whole = app.save(body.get_by_role("button", name="PNG", exact=True))
    assert name == "lore-lens-landscape-84mm.png"
    assert pixels(whole).shape[1] == round(84 / 25.4 * 300)
    name, table = app.save(body.get_by_role("button", name="Numbers as CSV"))
    assert name == "lore-lens-landscape.csv"
    rows = dataset.evaluation
    found = lore.local_errors(rows.confidence, rows.outcome, points, gamma=0.5)
    field = lore.regions.smoothed_field(found.signed, found.effective_size, points)
    np.testing.assert_allclose(
        pd.read_csv(io.BytesIO(table))["signed_error"],
        field.signed[np.isfinite(field.signed)],
        atol=1e-9,
    )
    app.page.keyboard.press("Escape")
    app.map.focus()
    for key in ("+", "+", "+", "+", "ArrowLeft"):
        app.page.keyboard.press(key)
    app.until(lambda: app.query().get("view"), "the view is known")
    app.settle()
    body = export(app, "landscape")
    _, near = app.save(body.get_by_role("button", name="PNG", exact=True))
    assert (pixels(near) < 250).mean() > 1.5 * (pixels(whole) < 250).mean()
    name, page = app.save(body.get_by_role("button", name="Interactive HTML"))
    ends = re.search(rb'"xaxis":\{.*?"range":\[([^,]+),([^\]]+)\]', page).groups()
    middle, x = app.seen("[m.view.x, m.scene.field.x]")
    assert np.mean(np.array(ends, float)) == pytest.approx(middle, rel=1e-6)
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


def test_a_figure_for_print_has_its_width_caption_and_command(open_app, files):
    app = open_app("overview", gamma=0.5)
    app.drawn("reliability")
    body = export(app, "reliability")
    app.choose("Width for print", "two columns, 174 mm")
    body.get_by_role("button", name="Caption and command").click()
    dialog = app.page.get_by_test_id("stDialog")
    app.until(lambda: "lore figures" in dialog.inner_text(), "the command")
    text = dialog.inner_text()
    for part in ("width=174mm", "900 evaluation rows", "γ = 0.5", "15 equal-width bins", "--width"):
        assert part in text, part
    assert files[1].name in text
    # (A replaced download answers no click; the caption shows that the choice is known.)
    app.settle()
    app.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    # (The menu may close with the dialog, and just then still be seen: it is opened anew.)
    app.page.keyboard.press("Escape")
    expect(body).to_be_hidden()
    body = export(app, "reliability")
    app.settle()
    name, content = app.save(body.get_by_role("button", name="SVG", exact=True))
    assert name == "lore-lens-reliability-174mm.svg"
    assert b'width="174mm"' in content
    _, content = app.save(body.get_by_role("button", name="PDF", exact=True))
    assert content.startswith(b"%PDF")
