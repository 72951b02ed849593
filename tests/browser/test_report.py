"""The report in a browser without a network, and the page that makes it."""

from __future__ import annotations

import dataclasses
import zipfile

import pytest

import lore_core as lore

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

PIXELS = """() => {
  const c = document.getElementById("landscape");
  return [...c.getContext("2d").getImageData(0, 0, c.width, c.height).data]
    .reduce((hash, v, i) => (Math.imul(hash, 31) + v * (i % 7 + 1)) | 0, 7);
}"""


@pytest.fixture(scope="module")
def report(dataset, tmp_path_factory):
    place = tmp_path_factory.mktemp("report") / "out"
    named = dataclasses.replace(dataset, name="<b>emu</b> & co")
    return lore.write_report(
        named,
        place,
        gamma=0.4,
        n_bins=5,
        methods=["No recalibration", "LoRe"],
        n_draws=20,
        images=False,
    )


@pytest.fixture(params=["light", "dark"])
def opened(browser, report, request):
    """The report from a file, where every request but that for the file itself is an error."""
    context = browser.new_context(
        viewport={"width": 1000, "height": 900}, color_scheme=request.param
    )
    context.set_offline(True)
    tab = context.new_page()
    asked, errors = [], []
    tab.on("request", lambda r: asked.append(r.url) if not r.url.startswith("data:") else None)
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    address = (report / "index.html").as_uri()
    tab.goto(address)
    yield tab
    assert asked == [address]
    assert errors == []
    context.close()


def test_the_slider_works_without_a_network(opened):
    said = opened.locator("#gamma-said")
    assert said.inner_text() == "γ = 0.4 (the report's)"
    before = opened.evaluate(PIXELS)
    opened.locator("#gamma").focus()
    opened.keyboard.press("ArrowRight")
    assert said.inner_text() == "γ = 0.5"
    after = opened.evaluate(PIXELS)
    assert after != before
    opened.keyboard.press("ArrowLeft")
    assert opened.evaluate(PIXELS) == before
    opened.locator("#picture").select_option(index=1)
    assert opened.evaluate(PIXELS) != before
    assert "exact signed error" in opened.locator("#which").inner_text()


def test_pointing_reads_the_error_and_its_support(opened):
    canvas = opened.locator("#landscape")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    hover = opened.locator("#hover")
    opened.mouse.move(box["x"] + 2, box["y"] + 2)
    assert "No row is near" in hover.inner_text()
    read = set()
    for k in range(3, 17):
        opened.mouse.move(box["x"] + box["width"] * k / 20, box["y"] + box["height"] / 2)
        read.add(hover.inner_text().split(" ")[0])
    assert "Local" in read
    opened.mouse.move(0, 0)
    assert hover.inner_text().startswith("Point at the map")


def test_outlines_can_be_taken_off(opened):
    before = opened.evaluate(PIXELS)
    opened.locator("#outlines").uncheck()
    assert opened.evaluate(PIXELS) != before


def test_nothing_is_wider_than_the_window(opened):
    for width in (1400, 900, 420):
        opened.set_viewport_size({"width": width, "height": 900})
        assert opened.evaluate("document.documentElement.scrollWidth") <= width


def test_names_from_the_data_are_text(opened):
    assert opened.locator("h1").inner_text() == "Calibration of <b>emu</b> & co"
    assert opened.locator("b").count() == 0


def test_interactive_figures_open_from_the_folder(browser, report):
    context = browser.new_context()
    context.set_offline(True)
    tab = context.new_page()
    tab.goto((report / "figures" / "landscape.html").as_uri())
    tab.wait_for_function("document.querySelector('.js-plotly-plot')?._fullData?.length > 0")
    context.close()


@pytest.mark.slow
def test_the_page_makes_one(open_app, tmp_path):
    app = open_app("report", gamma=0.5, bins=5)
    app.button("Make the report").click()
    # Every figure is drawn by Chrome, a second one on this machine: a minute where it is busy.
    with app.page.expect_download(timeout=180_000) as waiting:
        app.button("Download the report").click(timeout=180_000)
    assert waiting.value.suggested_filename == "lore-lens-report.zip"
    with zipfile.ZipFile(waiting.value.path()) as archive:
        assert {"index.html", "config.json", "rerun.sh"} <= set(archive.namelist())
        assert "small_cal.npz" in archive.read("rerun.sh").decode()
    app.settle()
