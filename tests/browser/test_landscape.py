"""Landscape: move γ, choose a bin, select on the map."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


#: Milliseconds from the next key to the next picture of the map, as the reader sees it.
STOPWATCH = """() => {
    const find = () => document.querySelector(
        ".st-key-landscape[data-stale=false] .js-plotly-plot");
    const old = find();
    window.redrawn = NaN;
    document.addEventListener("keydown", () => {
        const started = performance.now();
        const look = () => {
            const now = find();
            if (now && now !== old && now.querySelector(".heatmaplayer image"))
                window.redrawn = performance.now() - started;
            else requestAnimationFrame(look);
        };
        look();
    }, {once: true, capture: true});
}"""


@pytest.fixture
def app(open_app):
    app = open_app("landscape", gamma=0.5)
    app.drawn("landscape")
    return app


def test_a_gamma_move_redraws_the_map_and_the_link(app):
    before = app.ink("landscape")
    app.page.evaluate(STOPWATCH)
    app.gamma.focus()
    app.page.keyboard.press("ArrowRight")
    app.page.wait_for_function("window.redrawn > 0")
    assert app.ink("landscape") != before
    seconds = app.page.evaluate("window.redrawn") / 1000
    print(f"landscape redrawn {seconds:.2f} s after a γ move")  # noqa: T201 -- told, never judged
    app.until_query("gamma", "0.6")
    expect(app.gamma).to_have_attribute("aria-valuetext", "0.6")
    second = app.ink("landscape")
    app.page.keyboard.press("ArrowLeft")
    app.until_query("gamma", "0.5")
    app.until(lambda: app.ink("landscape") == before, "the first picture again")
    assert second != before


def test_many_quick_gamma_moves_end_at_the_last(app):
    app.gamma.focus()
    for _ in range(8):
        app.page.keyboard.press("ArrowRight")
    app.until_query("gamma", "3.0")
    app.sees(re.compile(r"^Confidence|^All confidences"))
    subtitle = "gd => gd._fullLayout.title.subtitle.text"
    app.until(lambda: "γ = 3 " in app.chart("landscape").evaluate(subtitle), "the picture of γ = 3")


def test_the_number_of_bins(app):
    before = len(app.trace("chooser", "accuracy")["x"])
    app.bins.focus()
    for _ in range(5):
        app.page.keyboard.press("ArrowLeft")
    app.until_query("bins", "10")
    app.until(lambda: len(app.trace("chooser", "accuracy")["x"]) < before, "fewer bars")


def test_a_bin_by_its_name(app, dataset):
    before = app.ink("landscape")
    app.choose("Confidence bin", "worst")
    app.until_query("bin", "worst")
    app.until(lambda: app.ink("landscape") != before, "the picture of one bin")
    app.sees(re.compile(r"Confidence 0\.\d\d–[01]\.\d\d: \d+ rows, promised"))


def test_a_bin_by_a_click_on_its_bar(app, dataset):
    bars = app.trace("chooser", "accuracy")
    position = len(bars["x"]) - 4
    index = bars["customdata"][position]
    app.page.mouse.click(*app.place("chooser", bars["x"][position], bars["y"][position] / 2))
    name = f"{index / 15:.2f}–{(index + 1) / 15:.2f}"
    app.until_query("bin", name)
    assert app.chosen("Confidence bin") == name
    rows = dataset.evaluation
    inside = np.minimum((rows.confidence * 15).astype(int), 14) == index
    app.sees(f"Confidence {name}: {inside.sum():,} rows")
    # And another, by the lower diagram.
    counts = app.trace("chooser", "rows")
    index = counts["customdata"][position - 1]
    x, y = counts["x"][position - 1], counts["y"][position - 1] / 2
    app.page.mouse.click(*app.place("chooser", x, y, "2"))
    app.until_query("bin", f"{index / 15:.2f}–{(index + 1) / 15:.2f}")


def winding(polygon, points):
    """Points round which a polygon winds: an independent test of which lie inside."""
    angles = np.arctan2(
        polygon[:, 1][None] - points[:, 1][:, None], polygon[:, 0][None] - points[:, 0][:, None]
    )
    turns = np.diff(np.concatenate([angles, angles[:, :1]], axis=1), axis=1)
    turns = (turns + np.pi) % (2 * np.pi) - np.pi
    return np.abs(turns.sum(axis=1)) > np.pi


def outline(app):
    """Corners of the dashed outline on the map."""
    app.until(
        lambda: app.chart("landscape").evaluate("gd => (gd._fullLayout.shapes || []).length"),
        "an outline",
    )
    path = app.chart("landscape").evaluate("gd => gd._fullLayout.shapes.at(-1).path")
    numbers = re.findall(r"(-?[\d.e-]+),(-?[\d.e-]+)", path)
    return np.array(numbers, dtype=float)


def selected(app):
    found = app.sees("Selected region")
    text = found.locator("xpath=ancestor-or-self::p").first.inner_text()
    return int(re.search(r"([\d,]+) rows", text)[1].replace(",", "")), text


def test_a_lasso_reports_on_the_rows_inside(app, dataset, points):
    low, high = np.quantile(points, [0.2, 0.8], axis=0)
    corners = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0] * 0.5, high[1])]
    places = [app.place("landscape", *corner) for corner in corners]
    app.drag([*places, places[0]])
    n, text = selected(app)
    app.settle()
    inside = winding(outline(app), points)
    assert n == inside.sum() > 50
    rows = dataset.evaluation
    assert f"promised {rows.confidence[inside].mean():.1%}" in text
    assert f"got {rows.outcome[inside].mean():.1%}" in text
    app.button("Clear").click()
    expect(app.page.get_by_text("Selected region")).to_have_count(0)


def test_a_box_counts_all_rows_of_the_bin_inside(app, dataset, points):
    app.choose("Confidence bin", "worst")
    app.until_query("bin", "worst")
    app.chart("landscape").hover()
    app.chart("landscape").locator('[data-val="select"]').click()
    x, y = np.quantile(points, 0.15, axis=0), np.quantile(points, 0.85, axis=0)
    app.drag([app.place("landscape", *x), app.place("landscape", *y)])
    n, _ = selected(app)
    app.settle()
    box = outline(app)
    inside = ((points > box.min(axis=0)) & (points < box.max(axis=0))).all(axis=1)
    name = app.sees(re.compile(r"Confidence 0\.\d\d–[01]\.\d\d: ")).inner_text()
    low, high = map(float, re.search(r"(\d\.\d\d)–(\d\.\d\d)", name).groups())
    c = dataset.evaluation.confidence
    in_bin = np.minimum((c * 15).astype(int), 14) == round(low * 15)
    assert round(high * 15) == round(low * 15) + 1
    assert n == (inside & in_bin).sum() > 0


def test_a_click_on_a_ring_shows_its_row(app):
    app.choose("Confidence bin", "all")
    rings = app.trace("landscape", "worst rows")
    z = np.column_stack([rings["x"], rings["y"]])
    apart = np.abs(z[:, None] - z[None]).sum(axis=2) + 1e9 * np.eye(len(z))
    loneliest = int(apart[1:].min(axis=1).argmax()) + 1  # the first would be shown anyway
    row = rings["customdata"][loneliest]
    app.page.mouse.click(*app.place("landscape", *z[loneliest]))
    app.sees(f"Row {row}")


@pytest.mark.parametrize("picture", ["rows", "both", "3-D"])
def test_other_pictures(app, picture):
    app.page.get_by_test_id("stMain").get_by_role("radio", name=picture).click()
    app.until_query("picture", picture)
    key = "landscape_height" if picture == "3-D" else "landscape"
    app.drawn(key)
    kind = {"rows": "scattergl", "both": "heatmap", "3-D": "surface"}[picture]
    # While a chart is exchanged, the new one is there before it is drawn.
    kinds = "gd => (gd._fullData || []).map(t => t.type)"
    app.until(lambda: kind in app.chart(key).evaluate(kinds), f"a {kind}")
    assert app.chart(key).locator(".no-webgl, .no-webgl-message").count() == 0
