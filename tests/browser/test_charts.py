import json
import re

import pytest
from playwright.sync_api import expect

from lore_core.figures.style import PAPER

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

ENDS = "gd => gd._fullLayout.xaxis.range"


@pytest.fixture
def curve(reopen):
    app = reopen("bandwidth", "curve", gamma=0.5)
    yield app
    app.check()


def drag(app):
    box = app.chart("curve").locator(".nsewdrag").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    app.drag([(x, y), (x - box["width"] / 3, y)])


def exported(app) -> dict:
    app.page.locator(".st-key-export_curve").get_by_role("button").click()
    page = app.save(app.button("Interactive HTML"))[1].decode()
    app.page.keyboard.press("Escape")
    said = page[page.rindex("Plotly.newPlot(") :]
    decode = json.JSONDecoder().raw_decode
    traces, end = decode(said, said.index("["))
    layout, _ = decode(said, said.index("{", end))
    return {"traces": traces, "layout": layout}


def test_a_chart_is_saved_as_it_is_seen_and_fills_the_screen(curve):
    app = curve
    app.until(lambda: app.read("curve", "gd => gd.data.length") > 1, "curve and band")
    noted = lambda answer: "seen" in (answer.request.post_data or "")  # noqa: E731
    with app.page.expect_response(noted):
        drag(app)
    with app.page.expect_response(noted):
        app.chart("curve").locator(".legendtoggle").first.click()
    saved = exported(app)
    assert saved["layout"]["xaxis"]["range"] == pytest.approx(app.read("curve", ENDS))
    hidden = app.read("curve", "gd => gd.data.map(t => t.visible === 'legendonly')")
    assert [t.get("visible") == "legendonly" for t in saved["traces"]] == hidden
    assert sum(hidden) == 1
    with app.page.expect_response(noted):
        app.chart("curve").hover()
        app.chart("curve").locator('[data-title^="Reset axes"]').click()
    wide = app.chart("curve").bounding_box()["height"]
    app.chart("curve").hover()
    app.chart("curve").locator('[data-title="Full screen"]').click()
    high = app.page.viewport_size["height"]
    app.until(lambda: app.read("curve", "gd => gd._fullLayout.height") == high, "all of the screen")
    app.page.evaluate("document.exitFullscreen()")
    app.until(lambda: app.read("curve", "gd => gd._fullLayout.height") == wide, "as it was")
    expect(app.chart("curve")).to_have_attribute("aria-label", re.compile("bandwidth", re.I))


def test_zoom_and_element_stay_whatever_changes(curve):
    app = curve
    app.chart("curve").evaluate("gd => { window.before = gd; }")
    whole = app.read("curve", ENDS)
    drag(app)
    app.until(lambda: app.read("curve", ENDS) != whole, "the curve is pulled")
    seen = app.read("curve", ENDS)
    assert seen[1] - seen[0] == pytest.approx(whole[1] - whole[0])
    with app.settings() as shown:
        shown.get_by_role("slider", name="Confidence bins").focus()
        app.page.keyboard.press("ArrowLeft")
        app.until_query("bins", "14")
    app.until(lambda: "14 equal-width" in app.chart("curve").inner_text(), "the curve of 14 bins")
    with app.settings() as shown:
        shown.get_by_role("slider", name="Bandwidth γ").focus()
        app.page.keyboard.press("ArrowRight")
        app.until_query("gamma", "0.6")
    app.page.emulate_media(color_scheme="dark")
    ground = "gd => gd._fullLayout.paper_bgcolor"
    app.until(lambda: app.read("curve", ground) == PAPER["dark"], "the dark curve, with no click")
    assert app.read("curve", ENDS) == pytest.approx(seen, abs=1e-6)
    assert app.chart("curve").evaluate("gd => gd === window.before")
    height = "gd => gd._fullLayout.yaxis.range"
    app.page.get_by_test_id("stMain").get_by_role("radio", name="ALCE", exact=True).click()
    app.until(lambda: "ALCE against" in app.chart("curve").inner_text(), "the curve of ALCE")
    app.until(lambda: app.read("curve", ENDS) == pytest.approx(whole), "all of it")
    assert app.read("curve", height)[1] > 0


def test_a_chart_stays_where_one_run_of_the_page_overtakes_another(curve):
    app, ground = curve, "gd => gd._fullLayout.paper_bgcolor"
    mode = "light" if app.read("curve", ground) == PAPER["dark"] else "dark"
    app.page.evaluate(
        """() => {
            const fetched = window.fetch, held = [];
            window.fetch = (address, options) => {
                if (!options?.body?.includes?.('"mode"')) return fetched(address, options);
                return new Promise(done => held.push(done)).then(() => fetched(address, options));
            };
            window.release = () => { window.fetch = fetched; held.forEach(done => done()); };
            window.count = () => held.length;
        }"""
    )
    app.page.emulate_media(color_scheme=mode)
    app.until(lambda: app.page.evaluate("count()"), "the curve in other colours is asked for")
    with app.settings() as shown:
        shown.get_by_role("slider", name="Confidence bins").focus()
        app.page.keyboard.press("ArrowRight")
        app.until(lambda: app.read("curve", ground) == PAPER[mode], "the next run brings it")
    app.page.evaluate("release()")
    app.page.wait_for_timeout(5_000)  # charts that left the page are given up after four seconds
    assert app.read("curve", ground) == PAPER[mode]
