import dataclasses

import pytest
from playwright.sync_api import expect

import lore_core as lore

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

SUM = "m.field.values.reduce((sum, v, i) => sum + (v > 8 ? 0 : v) * (i % 7 + 1), 0)"


def seen(tab, script):
    return tab.locator("#landscape .stage").evaluate(
        f"n => {{ const m = n.landscape; return {script}; }}"
    )


def rests(tab, slider, gamma):
    expect(slider).to_have_attribute("aria-valuetext", gamma)
    stage = tab.locator("#landscape .stage").element_handle()
    is_exact = "([{ landscape }, gamma]) => landscape.scene.gamma === gamma"
    is_exact += " && landscape.field === landscape.exact"
    tab.wait_for_function(is_exact, arg=[stage, float(gamma)])


@pytest.fixture(scope="module")
def report(dataset, tmp_path_factory):
    named = dataclasses.replace(dataset, name="<b>emu</b> & co")
    options = {"gamma": 0.4, "n_bins": 5, "methods": ["No recalibration", "LoRe"]}
    folder = tmp_path_factory.mktemp("report") / "out"
    return lore.write_report(named, folder, n_draws=20, **options)


@pytest.fixture
def opened(browser, report):
    """The report from a file, where every request but that for the file itself is an error."""
    context = browser.new_context(viewport={"width": 1000, "height": 900}, color_scheme="light")
    context.set_offline(True)
    tab = context.new_page()
    asked, errors = [], []
    tab.on("request", lambda r: asked.append(r.url) if not r.url.startswith("data:") else None)
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    address = (report / "index.html").as_uri()
    tab.goto(address)
    yield tab
    assert asked == [address] * 2
    assert errors == []
    tab.goto((report / "figures" / "landscape.html").as_uri())
    tab.wait_for_function("document.querySelector('.js-plotly-plot')?._fullData?.length > 0")
    context.close()


def test_the_report_works_without_a_network(opened):
    assert opened.locator("h1").inner_text() == "Calibration of <b>emu</b> & co"
    assert opened.locator("b").count() == 0
    for width in (420, 900, 1400):
        opened.set_viewport_size({"width": width, "height": 900})
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
    slider = opened.get_by_role("slider", name="Bandwidth γ")
    rests(opened, slider, "0.4")
    before = seen(opened, SUM)
    slider.focus()
    opened.keyboard.press("ArrowRight")
    rests(opened, slider, "0.5")
    assert seen(opened, SUM) != before
    opened.keyboard.press("ArrowLeft")
    rests(opened, slider, "0.4")
    assert seen(opened, SUM) == before
    opened.get_by_role("combobox", name="Rows").select_option(index=1)
    assert seen(opened, SUM) != before
    assert "exact signed error" in opened.locator("#landscape .below").inner_text()
    opened.get_by_role("combobox", name="Rows").select_option(index=0)
    stage = opened.locator("#landscape .stage")
    stage.scroll_into_view_if_needed()
    box = stage.bounding_box()
    hover = opened.locator("#landscape .hover")
    opened.mouse.move(box["x"] + 2, box["y"] + 2)
    assert not hover.is_visible()
    read = set()
    for k in range(3, 17):
        opened.mouse.move(box["x"] + box["width"] * k / 20, box["y"] + box["height"] / 2)
        read.add(hover.inner_text() if hover.is_visible() else "")
    assert any("local error" in text and "effective neighbours" in text for text in read)
    opened.mouse.move(0, 0)
    assert not hover.is_visible()
    place = opened.locator("#landscape .place").first
    place.focus()
    opened.keyboard.press("Enter")
    assert place.get_attribute("aria-pressed") == "true"
    opened.emulate_media(color_scheme="dark")
    opened.reload()
    rests(opened, slider, "0.4")
    opened.emulate_media(media="print")
    assert opened.locator(".still figure > svg").is_visible()
    assert not opened.locator("#landscape").is_visible()
