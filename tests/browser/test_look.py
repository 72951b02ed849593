"""No page breaks a rule of axe-core, cuts anything off, or draws in other colours than its own."""

from functools import partial

import pytest
from page_names import PAGES
from playwright.sync_api import expect

from lore_core.figures.style import PAPER

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

FIGURES = dict.fromkeys(PAGES, ()) | {
    "landscape": ["landscape", "chooser"],
    "overview": ["reliability"],
    "variables": ["along", "grid"],
    "bandwidth": ["curve"],
    "recalibrate": ["landscape_before", "landscape_after", "reliability_before"],
    "fairness": ["group_chart", "group_before", "group_after"],
    "decisions": ["reward"],
}
MAPS = ("landscape", "swipe")
NARROW = ("landscape", "overview", "variables", "recalibrate")

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


@pytest.fixture
def dark(browser, browser_context_args, server, open_tab):
    context = browser.new_context(**{**browser_context_args, "color_scheme": "dark"})
    with open_tab(context, server) as app:
        app.open("landscape", gamma=0.5).map_drawn()
        yield app
    context.close()


def test_every_page_and_wide_ones_in_both_themes(dark):
    app = dark
    names = app.map.locator(".name").all_text_contents()
    assert {"dog & co", "<b>emu</b>"} <= set(names), "names of the user are shown as they are"
    for name in sorted(FIGURES, key="landscape".__ne__):
        # (From a narrow page not every link is in sight; a table follows a page that gets wider.)
        looks = (("dark", 900), ("light", 1400)) if name in NARROW else (("light", 1400),)
        app.page.set_viewport_size({"width": looks[0][1], "height": 900})
        if name != "landscape":
            app.go(name.title())
        for scheme, width in looks:
            app.page.emulate_media(color_scheme=scheme)
            app.page.set_viewport_size({"width": width, "height": 900})
            ready(app, name)
            has_colours(app, name, scheme)
            nothing_is_cut_off(app, name, width)
            # Names, roles and order are the same in both themes; contrast is not.
            options = {} if scheme == "light" else {"runOnly": ["color-contrast"]}
            app.keeps_rules(f"{name}, {scheme}", options=options)


def has_colours(app, name, scheme):
    rgb = tuple(int(PAPER[scheme][i : i + 2], 16) for i in (1, 3, 5))
    paper = f"rgb({rgb[0]}, {rgb[1]}, {rgb[2]})"
    expect(app.page.get_by_test_id("stApp")).to_have_css("background-color", paper)
    for key in FIGURES[name]:
        if key in MAPS:
            expect(app.map).to_have_css("background-color", paper)
            continue
        ground = partial(app.read, key, "gd => gd._fullLayout.paper_bgcolor")
        app.until(lambda read=ground: read() == PAPER[scheme], f"{key} on {name} in {scheme}")


def nothing_is_cut_off(app, name, width):
    # Plotly follows a new width with a delay of its own.
    app.until(
        lambda: not app.page.evaluate(OVERFLOW),
        lambda: f"{name} at {width} px without {app.page.evaluate(OVERFLOW)}",
    )
    for key in FIGURES[name]:
        if key not in MAPS:
            box = app.chart(key).bounding_box()
            inner = app.chart(key).locator(".main-svg").first.bounding_box()
            assert inner["width"] <= box["width"] + 1, f"{key} at {width} px"
