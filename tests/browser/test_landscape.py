import json
import re
from dataclasses import replace
from urllib.parse import urljoin

import numpy as np
import pytest
from playwright.sync_api import expect

import lore_core as lore
from lore_core.figures.pictures.landscape import outlined_region
from lore_core.view import View
from lore_core.view.where import outlines_of, subgroups_of
from pages.shared.controls import GAMMAS

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.fixture
def app(reopen):
    app = reopen("landscape", "landscape", gamma=0.5)
    yield app
    app.check()


def winding(polygon, points):
    """Points round which a polygon winds: an independent test of which lie inside."""
    (px, py), (x, y) = polygon.T, points.T
    angles = np.arctan2(py[None] - y[:, None], px[None] - x[:, None])
    turns = np.diff(np.concatenate([angles, angles[:, :1]], axis=1), axis=1)
    turns = (turns + np.pi) % (2 * np.pi) - np.pi
    return np.abs(turns.sum(axis=1)) > np.pi


def parts(app):
    drawn = app.seen("m.selection.map(part => [part.sign, part.x, part.y])")
    return [(sign, np.column_stack([x, y])) for sign, x, y in drawn]


def selected(app):
    found = app.sees("Selected region")
    text = found.locator("xpath=ancestor-or-self::p").first.inner_text().replace("\xa0", " ")
    return int(re.search(r"([\d,]+) rows", text)[1].replace(",", "")), text


def bins_of(rows):
    return np.minimum((rows.confidence * 15).astype(int), 14)


def test_a_lasso_reports_on_the_rows_inside_and_marks_them_in_the_charts(app, dataset, points):
    low, high = np.quantile(points, [0.2, 0.8], axis=0)
    corners = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0] * 0.5, high[1])]
    app.lasso(corners)
    n, text = selected(app)
    app.settle()
    ((_, outline),) = parts(app)
    inside = winding(outline, points)
    assert n == inside.sum() == app.seen("m.selected.count") > 50
    rows = dataset.evaluation
    assert f"mean confidence {rows.confidence[inside].mean() * 100:.1f} %" in text
    assert f"accuracy {rows.outcome[inside].mean() * 100:.1f} %" in text
    bins = bins_of(rows)[inside]
    got = [100 * rows.outcome[inside][bins == b].mean() for b in np.unique(bins)]
    app.until(lambda: len(app.trace("chooser", "selected rows")["y"]) == len(got), "every bin")
    assert app.trace("chooser", "selected rows")["y"] == pytest.approx(got)
    app.page.get_by_role("tab", name="LCE over rows").click()
    app.drawn("cdf")
    assert app.trace("cdf", "all")["x"][-1] >= app.trace("cdf", "selected rows")["x"][-1]
    app.button("Clear").click()
    expect(app.page.get_by_text("Selected region")).to_have_count(0)


def test_the_map_under_the_hand_from_afar_and_from_near(app, dataset, points):
    # Of a million rows a picture takes time: none is painted as the pointer moves over it.
    paints = "m.painted - window.painted"
    app.seen("window.painted = m.painted")
    box = app.map.bounding_box()
    for share in (0.4, 0.5, 0.6):
        app.page.mouse.move(box["x"] + share * box["width"], box["y"] + share * box["height"])
        app.next_picture()
    assert app.seen(f"`${{{paints}}}`") == "0"
    app.page.mouse.wheel(0, 120)
    assert app.seen("m.view.zoom") == 1
    app.map.focus()
    app.map.hover()
    app.page.mouse.wheel(0, -120)
    assert app.seen("m.view.zoom") > 1
    app.until(lambda: app.seen(f"`${{{paints}}}`") != "0", "a picture from nearer by")
    app.page.keyboard.press("0")
    for _ in range(12):
        app.page.keyboard.press("+")
    app.until(lambda: app.seen("m.glimpses.length > 3"), "images")
    glimpses = app.seen("m.glimpses.map(({ row, box }) => ({ row, box }))")
    boxes = np.array([item["box"] for item in glimpses])
    apart = (boxes[:, None, :2] > boxes[None, :, 2:]).any(axis=2)
    assert (apart | apart.T | np.eye(len(boxes), dtype=bool)).all()
    expect(app.map.locator(".glimpse img")).to_have_count(len(boxes))
    for item in glimpses:
        x, y = app.seen(f"m.view.toPixel({points[item['row']][0]}, {points[item['row']][1]})")
        assert item["box"][0] < x < item["box"][2]
        assert item["box"][1] < y < item["box"][3]
    box = app.map.bounding_box()
    one = next(g for g in glimpses if min(g["box"][:2]) > 0)
    app.page.mouse.move(box["x"] + one["box"][0] + 4, box["y"] + one["box"][1] + 4)
    expect(app.map.locator(".hover b")).to_contain_text(f"row {one['row']}:")
    app.page.keyboard.press("0")
    expect(app.map.locator(".glimpse")).to_have_count(0)


def test_shift_adds_and_alt_takes_away(app, points):
    low, high = np.quantile(points, [0.1, 0.9], axis=0)
    middle = (low + high) / 2
    app.lasso([low, middle], "Box")
    selected(app)
    for key, one, other in (("Shift", middle, high), ("Alt", (low * 3 + middle) / 4, middle)):
        app.page.keyboard.down(key)
        app.drag([app.map_place(*one), app.map_place(*other)])
        app.page.keyboard.up(key)
    app.until(lambda: [sign for sign, _ in parts(app)] == [1, 1, -1], "three parts")
    inside = np.zeros(len(points), dtype=bool)
    for sign, corners in parts(app):
        inside[winding(corners, points)] = sign > 0
    app.until(lambda: selected(app)[0] == inside.sum(), "all three counted")
    assert app.seen("m.selected.count") == inside.sum()
    app.map.focus()
    app.page.keyboard.press("Escape")
    expect(app.page.get_by_text("Selected region")).to_have_count(0)
    app.settle()


def test_outlines_follow_the_slider(app, dataset):
    app.until(lambda: app.seen("m.known?.places.size === m.scene.gammas.length"), "outlines")
    made = lore.embed(dataset.features, "pca", 2, random_state=0)
    view = View(dataset, maps={"PCA 2-D": made})
    move = "(node, k) => { node.value = k; node.dispatchEvent(new Event('input')); }"
    for number in (0, 12, len(GAMMAS) - 1):
        app.gamma.evaluate(move, number + 0.2)
        search = subgroups_of(replace(view, gamma=GAMMAS[number]))
        expected = outlines_of(search, view.points())
        assert app.seen("m.places.map(p => p.name)") == [name for name, _ in expected]
        lines = [len(outlined_region(*found).lines) for found in expected]
        assert app.seen("m.places.map(p => p.lines.length / 4)") == lines
        assert app.seen("m.places") != app.seen("m.scene.regions") or not expected
    for gamma in (GAMMAS[-1], 0.5):
        app.gamma.evaluate(move, GAMMAS.index(gamma))
        app.gamma.evaluate("node => node.dispatchEvent(new Event('change'))")
        app.until_query("gamma", str(gamma))
        app.until(lambda: app.seen("m.places === m.scene.regions"), "those of the page")
    assert app.seen("m.places.length > 0")


def test_only_the_page_can_ask_and_only_what_it_shows_and_other_pictures(app):
    post = lambda url, asked: app.page.request.post(url, data=asked).status  # noqa: E731
    address, fields, rows = app.seen("[m.scene.address, m.scene.fields, m.scene.rows]")
    address, fields = (urljoin(app.page.url, path) for path in (address, fields))
    assert post(fields, {"part": 0}) == 200
    for part in (10**9, -1, "x", None, [0]):
        assert post(fields, {"part": part}) == 204
    assert post(fields, {}) == 204
    assert post(address, {"rows": rows, "row": 3}) == 200
    assert post(address, {"rows": rows, "all": True}) == 200
    assert post(address, {"rows": rows, "glimpses": [3, -1, 10**9, "x", None]}) == 200
    assert post(address, {"rows": rows, "gamma": app.seen("m.scene.gammas[3]")}) == 200
    others = [{"rows": "others", **what} for what in ({"row": 3}, {"all": True})]
    wrong = [{"rows": rows, **what} for what in ({"row": 10**9}, {"gamma": 0.123})]
    for nonsense in (*wrong, *others, {"glimpses": [3]}, {}):
        assert post(address, nonsense) == 204
    assert post(address, [1]) == post(address, "{") == 400
    assert post(address[:-1], {"rows": rows, "row": 3}) == post(fields[:-1], {"part": 0}) == 404
    for picture in ("rows", "both", "3-D"):
        app.page.get_by_test_id("stMain").get_by_role("radio", name=picture).click()
        app.until_query("picture", picture)
        if picture != "3-D":
            app.until(lambda shown=picture: app.seen("m.scene.layer") == shown, f"{picture} drawn")
    app.drawn("landscape_height")
    kinds = "gd => (gd._fullData || []).map(t => t.type)"
    app.until(lambda: "surface" in app.chart("landscape_height").evaluate(kinds), "a surface")


def pick_line(app, key, line):
    grid = app.page.locator(f"[class*=st-key-{key}] canvas").first
    grid.scroll_into_view_if_needed()
    box = grid.bounding_box()
    app.page.mouse.click(box["x"] + 15, box["y"] + 55 + 35 * line)


def test_what_is_picked_in_a_list_is_shown_on_the_map_and_the_other_way_round(app, points):
    app.page.get_by_role("tab", name="Worst rows").click()
    app.settle()
    worst = app.seen("m.scene.worst")
    app.map.focus()
    for _ in range(12):
        app.page.keyboard.press("+")
    far = lambda row: abs(points[row] - app.seen("[m.view.x, m.view.y]")).max()  # noqa: E731
    hidden = next(k for k in range(1, 8) if far(worst[k]) > 1)
    pick_line(app, "worst_rows", hidden)
    app.until(lambda: app.seen("m.scene.row") == worst[hidden], "the row")
    assert far(worst[hidden]) < 1e-6
    app.sees(f"Row {worst[hidden]}")
    app.map.focus()
    app.page.keyboard.press("0")
    app.settle()
    others = set(worst) - {worst[0], worst[hidden]}  # the first would be shown without a click
    alone = max(others, key=lambda row: np.sort(np.abs(points[worst] - points[row]).sum(1))[1])
    app.page.mouse.click(*app.map_place(*points[alone]))
    app.sees(f"Row {alone}")
    assert app.seen("m.scene.row") == alone


def test_rows_have_the_colour_of_a_column_until_it_is_undone(app, dataset):
    app.choose("Colour by", "predicted class")
    app.until(lambda: app.seen("m.scene.colored"), "other colours")
    known = app.seen("[m.scene.layer, m.scene.gammas, m.scene.scale.ticks.map(t => t[1])]")
    names = sorted(dataset.class_names)
    assert known == ["rows", None, names]
    places = np.array(app.seen("Array.from(m.scene.rowError)")) / 32767
    place = np.array([names.index(name) for name in dataset.class_names])
    expected = (place[dataset.evaluation.predictions] + 0.5) / len(names)
    np.testing.assert_allclose(places, expected, atol=1e-4)
    legend = app.page.locator(".lore .scale.names span")
    assert legend.all_inner_texts() == names
    app.settle()
    app.page.keyboard.press("Control+z")
    app.seen("!m.scene.colored")
    app.until_query("color", None)
    app.settle()
    expect(app.button("Undo")).to_be_disabled()


def test_a_bandwidth_is_seen_before_it_is_taken(app):
    app.until(lambda: app.seen("m.known ? m.known.fields.size : 1") == 34, "every field")
    app.until(lambda: app.seen("!!m.known.band"), "what chance shows")
    before, link = app.map_ink(), app.query()
    app.gamma.scroll_into_view_if_needed()
    box = app.gamma.bounding_box()
    y = box["y"] + box["height"] / 2
    app.page.mouse.move(box["x"] + box["width"] * 0.3, y)
    app.page.mouse.down()
    app.page.mouse.move(box["x"] + box["width"] * 0.4, y, steps=4)
    app.until(lambda: app.map_ink() != before, "the field between two bandwidths")
    assert app.seen("m.field !== m.exact")
    shown, exact = app.seen("[Array.from(m.field.lce), Array.from(m.known.fields.get(0).lce)]")
    assert len(shown) == 64
    assert (np.diff(shown) >= 0).all()
    assert shown != exact
    assert app.query() == link
    is_field = lambda answer: '"gamma"' in (answer.request.post_data or "")  # noqa: E731
    with app.page.expect_response(is_field) as answered:
        app.page.mouse.up()
    content = answered.value.body()
    app.until(lambda: app.query().get("gamma") != link["gamma"], "the bandwidth in the link")
    app.until(lambda: app.seen("m.field === m.exact"), "the exact field")
    app.settle()
    header = json.loads(content[-4 - int.from_bytes(content[-4:], "little") : -4])
    kind, start, size = header["arrays"]["error"]
    exact = app.seen("Array.from(m.exact.error)")
    assert np.frombuffer(content, kind, size, start).tolist() == exact
    assert header["gamma"] == app.seen("m.scene.gamma")
    assert float(app.query().get("gamma", 0.2)) == app.seen("m.scene.gamma") < 0.5


def test_a_key_counts_though_the_page_is_drawn_anew_at_once(app):
    app.page.evaluate("{ const soon = setTimeout; setTimeout = (f, ms) => soon(f, 16 * ms); }")
    app.page.evaluate(
        "{ const get = fetch; window.asked = '';"
        " fetch = (at, how) => { asked += how?.body; return get(at, how); }; }"
    )
    app.seen("!!(window.scene = m.scene)")
    app.gamma.focus()
    app.page.keyboard.press("ArrowRight")
    assert '"gamma":0.6' in app.page.evaluate("asked"), "no field was asked for yet"
    app.page.emulate_media(color_scheme="dark")
    app.until(lambda: app.seen("m.scene !== window.scene"), "the dark page")
    app.until_query("gamma", "0.6")
    app.page.emulate_media(color_scheme="light")


def test_bins_by_their_bars_and_by_name(app, dataset):
    for name, position, axes in (("accuracy", -4, ""), ("rows", -5, "2")):
        bars = app.trace("chooser", name)
        x, y, index = (bars[of][position] for of in ("x", "y", "customdata"))
        app.page.mouse.click(*app.place("chooser", x, y / 2, axes))
        label = f"{100 * index / 15:.0f}–{100 * (index + 1) / 15:.0f} %"
        app.until_query("bin", label)
        assert app.chosen("Confidence bin") == label
        n = (bins_of(dataset.evaluation) == index).sum()
        app.sees(f"Confidence {label}: {n:,} rows")
    app.choose("Confidence bin", "all")
    app.until_query("bin", None)


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


def test_every_control_is_reached_and_used_by_keys(app):
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
    app.page.get_by_role("tab", name="Subgroups").focus()
    press("ArrowRight")
    app.sees(re.compile("rows with the largest local error"))
    play = app.page.get_by_role("button", name="Play through γ")
    play.focus()
    press("Enter")
    app.until(lambda: app.seen("m.field !== m.exact"), "γ moves")


#: Rounds of five changes: γ, bins, bin, colour, theme; each is made in every way it can be.
ROUNDS = 3


def test_changes_move_nothing_and_a_link_keeps_all(app):
    app.drawn("chooser")
    app.map.focus()
    for key in ("+", "+", "+", "ArrowLeft", "ArrowUp"):
        app.page.keyboard.press(key)
    app.until(lambda: app.query().get("view"), "a view in the link")
    app.settle()
    looked = lambda: app.seen("[m.view.x, m.view.y, m.view.zoom]")  # noqa: E731
    view = looked()
    # (The browser's own layout shifts leave out what follows a key at once.)
    app.map.evaluate(
        """node => {
            const main = document.querySelector("[data-testid=stMain]");
            const at = node => node.isConnected && [node.getBoundingClientRect()].map(
                box => [box.left, box.top + main.scrollTop, box.width].map(Math.round).join())[0];
            const watched = [node, ...document.querySelectorAll(".js-plotly-plot")];
            const start = watched.map(at);
            window.before = node;
            window.moves = new Set();
            const look = () => {
                if (!window.moves) return;
                watched.forEach((node, k) => at(node) === start[k]
                    || window.moves.add(`${k}: ${start[k]} → ${at(node)}`));
                requestAnimationFrame(look);
            };
            look();
        }"""
    )
    for k in range(ROUNDS):
        way = "ArrowLeft" if k == 1 else "ArrowRight"
        app.gamma.focus()
        app.page.keyboard.press(way)
        app.until_query("gamma", ("0.6", "0.5", "0.6")[k])
        with app.settings() as shown:
            shown.get_by_role("slider", name="Confidence bins").focus()
            app.page.keyboard.press(way)
            # (Streamlit's slider waits a moment; closed before, it would forget.)
            app.until_query("bins", ("16", None, "16")[k])
            app.settle()
        app.choose("Confidence bin", ("best", "all", "worst")[k])
        color = ("absolute error", "signed error")[k % 2]
        app.choose("Colour by", color)
        app.page.emulate_media(color_scheme=("dark", "light")[k % 2])
        app.until_query("color", (color, None)[k % 2])
        assert looked() == pytest.approx(view, abs=1e-6), f"round {k}"
    assert app.map.evaluate("node => node === window.before")
    # (The tab lives on: nothing is watched in it any more.)
    assert app.page.evaluate("(moves => (window.moves = null, moves))([...window.moves])") == []
    link = app.query()
    shown = {"gamma": "0.6", "bins": "16", "bin": "worst", "color": "absolute error"}
    assert {key: link[key] for key in shown} == shown
    for there in (lambda: (app.go("Overview"), app.go("Landscape")), app.page.reload):
        there()
        app.map_drawn()
        assert app.query() == link
        assert looked() == pytest.approx(view, abs=1e-6)
        expect(app.gamma).to_have_attribute("aria-valuetext", "0.6")
        assert app.chosen("Confidence bin") == "worst"
    app.page.emulate_media(color_scheme="light")
    app.map.focus()
    app.page.keyboard.press("0")
    app.until_query("view", None)


def test_in_space_a_lasso_counts_what_is_seen_inside(open_app, dataset):
    app = open_app("landscape", features="PCA 2-D")
    app.drawn("landscape")
    app.until(lambda: app.seen("m.rows !== null"), "rows")
    with app.settings():
        app.choose("Similar by", "PCA 3-D")
        app.until(lambda: app.seen("m.view.axes !== null && m.rows?.z !== undefined"), "space")
    app.drawn("landscape")
    app.keeps_rules("a map in space", {"include": [[".st-key-landscape"]]})
    made = lore.embed(dataset.features, "pca", 3, random_state=0)
    space = made.coordinates[dataset.in_split("evaluation")].astype(np.float32).astype(float)
    before = app.seen("m.view.axes")
    left, top, wide, high = (app.map.bounding_box()[k] for k in ("x", "y", "width", "height"))
    at = lambda x, y: (left + x * wide, top + y * high)  # noqa: E731
    app.drag([at(0.2, 0.8), at(0.35, 0.7)])
    app.until(lambda: app.seen("m.view.axes") != before, "turned")
    app.until(lambda: len(app.query().get("view", "").split(",")) == 5, "a view in the link")
    app.button("Lasso").click()
    app.drag([at(0.3, 0.2), at(0.6, 0.25), at(0.55, 0.7), at(0.45, 0.5)])
    n, _ = selected(app)
    axes = np.array(app.seen("m.selection.at(-1).axes"))
    np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=2e-6)
    inside = winding(parts(app)[-1][1], space @ axes.T)
    assert n == app.seen("m.selected.count") == inside.sum()
    assert 20 < n < len(space) - 20
    app.map.focus()
    before = app.query()["view"]
    app.page.keyboard.press("ArrowUp")
    app.until(lambda: app.query()["view"] != before, "turned by a key")
    shown = np.array(app.seen("[...m.view.axes, m.view.toward]"))
    row = int((space @ shown[2]).argmax())
    pixel = app.seen(f"m.view.toPixel(...m.view.flat([{','.join(map(str, space[row]))}]))")
    app.page.keyboard.press("ArrowDown")
    app.until_query("view", before)
    # The click comes at once after the turn, before the map has been drawn again.
    app.map.evaluate(
        """(map, [x, y]) => {
          const { left, top } = map.getBoundingClientRect();
          const at = { pointerId: 1, clientX: left + x, clientY: top + y };
          map.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp" }));
          map.dispatchEvent(new PointerEvent("pointerdown", at));
          map.dispatchEvent(new PointerEvent("pointerup", at));
        }""",
        pixel,
    )
    app.sees(f"Row {row}")
