"""Light and dark, wide and narrow: nothing cut off, nothing out of reach."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from lore_core.figures.style import PAPER

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

FIGURES = {
    "data": [],
    "overview": ["reliability"],
    "landscape": ["chooser", "cdf"],
    "variables": ["along", "grid"],
    "bandwidth": ["curve", "suggestion"],
    "recalibrate": ["reliability_before", "cdf_compare", "method_curves"],
}

#: What sticks out of the window, and text that does not fit its control.
OVERFLOW = """() => {
    const wide = document.documentElement.clientWidth;
    const main = document.querySelector('[data-testid=stMain]');
    const found = [];
    if (document.documentElement.scrollWidth > wide) found.push("the document scrolls sideways");
    if (main.scrollWidth > main.clientWidth) found.push("the page scrolls sideways");
    const controls = ["stSelectbox", "stSlider", "stButton", "stButtonGroup", "stPopover",
        "stMultiSelect", "stNumberInput", "stDownloadButton", "stFileUploader", "stMetric",
        "stBidiComponent", "stDataFrame", "stAlert", "stPageLink"];
    const name = e => `${e.dataset.testid} "${e.innerText.slice(0, 40).replace(/\\n/g, " ")}"`;
    for (const id of controls)
        for (const e of main.querySelectorAll(`[data-testid=${id}]`)) {
            const box = e.getBoundingClientRect();
            if (box.width && (box.left < -1 || box.right > wide + 1))
                found.push(`${name(e)} reaches from ${box.left} to ${box.right}`);
        }
    const texts = "[data-testid=stMetricValue] *, [data-testid=stMetricLabel] p, button p, "
        + "[data-testid=stWidgetLabel] p, [data-testid=stPageLink] p";
    for (const e of main.querySelectorAll(texts)) {
        const style = getComputedStyle(e);
        if (e.clientWidth && e.scrollWidth > e.clientWidth + 1 && style.overflow !== "visible")
            found.push(`text "${e.innerText}" needs ${e.scrollWidth} of ${e.clientWidth} px`);
    }
    for (const group of main.querySelectorAll("[data-testid=stButtonGroup]")) {
        const tops = [...group.querySelectorAll("button, label")].map(b =>
            Math.round(b.getBoundingClientRect().top));
        const right = Math.max(...[...group.querySelectorAll("button")].map(b =>
            b.getBoundingClientRect().right));
        if (right > group.getBoundingClientRect().right + 2)
            found.push(`buttons "${group.innerText.replace(/\\n/g, " ")}" leave their column`);
    }
    return found;
}"""


def ready(app, name):
    for key in FIGURES[name]:
        app.drawn(key)
    return app.settle()


@pytest.mark.parametrize("width", [900, 1400])
def test_nothing_is_cut_off(open_app, width):
    app = open_app("overview", gamma=0.5)
    app.page.set_viewport_size({"width": width, "height": 900})
    for name in ("overview", "landscape", "variables", "bandwidth", "recalibrate", "data"):
        if name != "overview":
            app.go(name.title())
        ready(app, name)
        # Plotly follows a new width with a delay of its own.
        app.until(
            lambda: not app.page.evaluate(OVERFLOW),
            lambda page=name: f"{page} at {width} px without {app.page.evaluate(OVERFLOW)}",
        )
        for key in FIGURES[name]:
            box = app.chart(key).bounding_box()
            inner = app.chart(key).locator(".main-svg").first.bounding_box()
            assert inner["width"] <= box["width"] + 1, f"{key} at {width} px"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_have_the_pages_colour(
    browser, browser_context_args, server, open_tab, scheme, light
):
    context = light
    if scheme == "dark":
        context = browser.new_context(**{**browser_context_args, "color_scheme": "dark"})
    with open_tab(context, server) as app:
        app.open("landscape", gamma=0.5)
        app.map_drawn()
        ready(app, "landscape")
        rgb = tuple(int(PAPER[scheme][i : i + 2], 16) for i in (1, 3, 5))
        paper = f"rgb({rgb[0]}, {rgb[1]}, {rgb[2]})"
        for node in (app.page.get_by_test_id("stApp"), app.map):
            expect(node).to_have_css("background-color", paper)
        for key in FIGURES["landscape"]:
            assert app.read(key, "gd => gd._fullLayout.paper_bgcolor") == PAPER[scheme]
        for name in ("overview", "variables", "bandwidth", "recalibrate", "data"):
            app.go(name.title())
            ready(app, name)
            for key in FIGURES[name]:
                shown = app.read(key, "gd => gd._fullLayout.paper_bgcolor")
                assert shown == PAPER[scheme], f"{key} on {name}"
    if scheme == "dark":
        context.close()


def test_names_of_the_user_are_shown_as_they_are(open_app):
    app = open_app("landscape", gamma=0.5)
    app.map_drawn()
    names = app.map.locator(".name").all_text_contents()
    assert {"dog & co", "<b>emu</b>"} <= set(names)
