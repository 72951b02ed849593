import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

MAPS = [f".st-key-compare_{name}[data-stale=false] .stage" for name in ("old", "new", "change")]


@pytest.fixture
def app(open_app):
    app = open_app("compare", data="digits", against="digits-retrained")
    yield app
    app.check()


def said(app, script):
    """What a script says of the state of each map, once all have their rows and a few fields."""
    ready = "m.scene && m.rows && m.known?.fields.size > 5"
    asked = f"node => {{ const m = node.landscape; return m && {ready} ? {script} : null; }}"
    found = [app.page.locator(place) for place in MAPS]

    def answers():
        values = [place.evaluate(asked) for place in found if place.is_visible()]
        return values if len(values) == 3 and None not in values else None

    return app.until(answers, "three maps")


def test_three_maps_show_one_place_part_and_bandwidth(app):
    app.sees(re.compile("is better overall: NLL"))
    assert said(app, "m.scene.gamma") == [0.2] * 3
    first = app.page.locator(MAPS[0])
    first.scroll_into_view_if_needed()
    box = first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    app.page.mouse.move(x, y)
    for place in MAPS:
        expect(app.page.locator(f"{place} .hover")).to_contain_text("effective neighbours")
    first.focus()
    app.page.keyboard.press("+")
    app.until(lambda: said(app, "m.view.zoom")[0] > 1, "a nearer look")
    assert len(set(map(tuple, said(app, "m.view.saved")))) == 1
    slider = app.page.get_by_role("slider", name="Bandwidth γ").nth(1)
    slider.focus()
    app.page.keyboard.press("ArrowRight")
    app.until(lambda: said(app, "m.scene.gamma") == [0.25] * 3, "the next bandwidth")
    app.until_query("gamma", "0.25")
    assert said(app, "m.field === m.exact") == [True] * 3


def test_a_lasso_on_one_map_reports_on_both_models(app):
    said(app, "true")
    app.keeps_rules("Compare")
    change = app.page.locator(MAPS[2])
    change.scroll_into_view_if_needed()
    change.get_by_role("button", name=re.compile("^Box")).click()
    box = change.bounding_box()
    corners = [
        (box["x"] + share * box["width"], box["y"] + share * box["height"]) for share in (0.3, 0.7)
    ]
    app.drag(corners)
    app.sees("Change of the gap")
    app.until(lambda: said(app, "m.selection.length") == [1] * 3, "the box on every map")
