"""No page breaks a rule of axe-core: names, roles, contrast, order."""

import re
from functools import partial

import pytest
from page_names import PAGES
from playwright.sync_api import expect

from lore_core.figures.style import PAPER

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser-maps")]


#: Streamlit's own: a section without a role of its own that has a name.
NOT_OURS = {"exclude": [["[data-testid=stFileUploaderDropzone]"]]}


def is_clean(app, what, context=NOT_OURS, options=None):
    # (A theme comes bit by bit, and what is out of date is pale: the page at rest counts.)
    broken = partial(app.broken_rules, context, options)
    app.until(lambda: not broken(), lambda: f"{what}, without {broken()}")


def test_every_page(open_app):
    app = open_app("data", gamma=0.5)
    for name in PAGES:
        app.page.emulate_media(color_scheme="light")
        app.go(name.title())
        app.page.wait_for_load_state("networkidle")
        has_theme(app, "light")
        is_clean(app, f"{name}, light")
        # Names, roles and order are the same in both themes; contrast is not.
        app.page.emulate_media(color_scheme="dark")
        has_theme(app, "dark")
        is_clean(app, f"{name}, dark", options={"runOnly": ["color-contrast"]})
    app.page.emulate_media(color_scheme="light")
    app.open("landscape", features="PCA 3-D").drawn("landscape")
    is_clean(app, "a map in space", {"include": [[".st-key-landscape"]]})


def has_theme(app, scheme):
    rgb = ", ".join(str(int(PAPER[scheme][i : i + 2], 16)) for i in (1, 3, 5))
    expect(app.page.get_by_test_id("stApp")).to_have_css("background-color", f"rgb({rgb})")
    app.settle()


CONTROLS = """() => {
    const deep = root => [...root.querySelectorAll("*")].flatMap(
        node => [node, ...(node.shadowRoot ? deep(node.shadowRoot) : [])]);
    const kinds = "button, a[href], input, select, textarea, [tabindex]";
    const seen = node => node.checkVisibility({ visibilityProperty: true, opacityProperty: true })
        && node.getBoundingClientRect().width > 1;
    // Of radios and tabs the keys go to one, and arrows from there on; charts and tables have keys
    // of their own, and each says in a table or a list what it shows.
    const group = node => node.closest("[role=radiogroup], [role=tablist]");
    const own = ".js-plotly-plot, [data-testid=stDataFrame]";
    const wanted = deep(document).filter(node =>
        node.matches(kinds) && seen(node) && !node.disabled && !node.closest(own)
        && (node.tabIndex >= 0 || group(node)));
    const came = wanted.filter(node => node.dataset.came).map(group).filter(Boolean);
    return wanted.filter(node => !node.dataset.came && !came.includes(group(node)))
        .map(node => node.outerHTML.slice(0, 200));
}"""
COME = """() => {
    let node = document.activeElement;
    while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
    node.dataset.came = "1";
}"""


def test_every_control_of_the_landscape_is_reached_and_used_by_keys(open_app):
    app = open_app("landscape", gamma=0.5)
    app.map_drawn()
    assert len(app.page.evaluate(CONTROLS)) > 20
    for _ in range(15):
        for _ in range(10):
            app.page.keyboard.press("Tab")
            app.page.evaluate(COME)
        if not app.page.evaluate(CONTROLS):
            break
    assert app.page.evaluate(CONTROLS) == []
    press = app.page.keyboard.press
    app.map.get_by_role("button", name="Nearer").focus()
    for _ in range(4):
        press("Enter")
    app.until(lambda: app.seen("m.view.zoom") > 5, "nearer")
    app.map.focus()
    press("ArrowLeft")
    press("Enter")
    text = app.sees("Selected region").locator("xpath=ancestor-or-self::p").first.inner_text()
    count = app.seen("m.selected.count")
    assert 0 < count < app.seen("m.rows.x.length")
    assert f"{count:,} row" in text.replace("\xa0", " ")
    press("Escape")
    expect(app.page.get_by_text("Selected region")).to_have_count(0)
    press("0")
    app.until(lambda: app.seen("m.view.zoom") == 1, "all of the map")
    place = app.map.locator(".place").first
    # (From near it was out of sight, and what is hidden takes no focus.)
    expect(place).to_be_visible()
    place.focus()
    press("Enter")
    expect(place).to_have_attribute("aria-pressed", "true")
    expect(place).to_be_focused()
    app.settle()  # (a list that is open closes when the page is drawn anew)
    app.page.get_by_role("combobox", name="Confidence bin").focus()
    press("ArrowDown")
    press("ArrowDown")
    press("Enter")
    app.until(lambda: app.query().get("bin"), "one bin")
    app.settle()
    app.page.get_by_role("tab", name="Places").focus()
    press("ArrowRight")
    app.sees(re.compile("rows with the largest local error"))
    play = app.page.get_by_role("button", name="Play through γ")
    play.focus()
    press("Enter")
    app.until(lambda: app.seen("m.field !== m.exact"), "γ moves")
