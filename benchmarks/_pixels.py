"""How far a figure's PNG for print is from the same figure on the page, in pixels.

Every figure of the demo's pages is drawn twice: as the page shows it, in the light theme by
Chromium, and by the export, with the ends of the axes that the page has and at a size at which its
areas of data have as many pixels as those of the page. Only these areas are compared, without text:
outside them lie names and numbers, which print lays out anew. Colours are compared as pixelmatch
does it (weighted differences of Y, I and Q, threshold 0.1). Anti-aliasing puts colours between two
at an edge, and an edge up to a pixel off, which does not count: a pixel differs if its colour is
not between those of the 3 × 3 pixels of the other picture around it, in one direction or the other.
The outermost pixels, which an edge of the page's area may share with what is beyond, do not count.
``--save FOLDER`` keeps the pictures: page, print, and what differs.
"""

import argparse
import base64
import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from _app_reader import ROOT, chromium
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Page
from scipy.ndimage import maximum_filter, minimum_filter
from streamlit.testing.v1 import AppTest

import pages.landscape.picture as landscape
from lore_core.figures import Chart
from lore_core.figures.browser import landscape_script
from lore_core.figures.chart import Seen
from lore_core.figures.drawing import Disc, Words

Pixels = NDArray[np.float64]
#: Each page with what is chosen on it.
PAGES: Mapping[str, dict[str, str]] = {
    "overview": {},
    "landscape": {},
    "variables": {},
    "bandwidth": {},
    "recalibrate": {},
    "fairness": {},
    "watch": {"watch_from": "Sample"},
    "decisions": {},
}
#: Of what a weighted difference may be at most, and the share of it that is seen.
_MOST, _THRESHOLD = 35215.0, 0.1
_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.212, -0.523, 0.311]])
_WEIGHTS = np.array([0.5053, 0.299, 0.1957])
#: Pixels of the page; dots to the inch of a page's pixel, and how much finer print is drawn.
_WIDTH, _DPI, _FINER, _MM = 760, 96, 3, 25.4 / 96
_NO_TEXT = "text, .annotation, .infolayer .bg, .modebar, .colorbar { visibility: hidden }"
_FRAMES = """() => {
  const layout = document.querySelector(".js-plotly-plot")._fullLayout, axes = {};
  const frames = Object.values(layout._plots).map(({ xaxis, yaxis }) => {
    for (const axis of [xaxis, yaxis]) axes[axis._name] = axis.range;
    return [xaxis._offset, yaxis._offset, xaxis._length, yaxis._length];
  });
  return { frames, axes };
}"""
_MAP = """<style>body { margin: 0 }</style><div id="map" style="width: %dpx"></div>
<script>%s
const root = document.getElementById("map").attachShadow({ mode: "open" });
const joined = join(root, { mode: () => "light", send: () => {} });
window.show = (scene, rows) => {
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  deliver(bytes(rows));
  joined.show(bytes(scene));
  joined.map.head.remove();
  root.querySelectorAll(".tools, .labels").forEach((node) => { node.style.display = "none"; });
};</script>"""


def charts_of_pages() -> tuple[dict[str, Chart], tuple[Chart, bytes, bytes]]:
    """Return every chart, and the landscape as it is exported, its scene and its rows."""
    exported: list[Any] = []
    landscape.chart_line = lambda *_, as_seen, **__: exported.append(as_seen)  # type: ignore[attr-defined]
    app, charts = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600), {}
    app.run()
    app.session_state["_charts"].clear()
    exported.clear()
    for page, choices in PAGES.items():
        app.switch_page(f"pages/{page}/page.py").run()
        for key, value in choices.items():
            control = next(item for item in app.get("button_group") if item.key == key)
            control.set_value(value).run()
        for key, shown in app.session_state["_charts"].items():
            charts.setdefault(f"{page} {key}", shown.chart)
        app.session_state["_charts"].clear()
        if page == "landscape":
            (sent,) = [x for x in app.get("bidi_component") if x.proto.id.endswith("-landscape")]
            scene, rows = sent.proto.bytes, app.session_state["_map_rows"]
            packed = rows.answer({"rows": rows.key, "all": True})
    return charts, (exported[0](), scene, packed)


def on_page(page: Page, chart: Chart) -> tuple[list[Pixels], dict[str, tuple[float, float]]]:
    """Return a chart's areas of data as Plotly draws them, and the ends of its axes."""
    figure = replace(chart, mode="light").figure
    page.set_viewport_size({"width": _WIDTH, "height": int(figure.layout.height) + 20})
    page.set_content(f"<style>body {{ margin: 0 }} {_NO_TEXT}</style>{figure.to_html(False)}")
    page.wait_for_function("document.querySelector('.js-plotly-plot')?._fullLayout?._plots")
    page.wait_for_timeout(300)
    found = page.evaluate(_FRAMES)
    picture = Image.open(io.BytesIO(page.screenshot()))
    areas = [
        _array(picture.crop(tuple(round(v) for v in (x, y, x + wide, y + high))))
        for x, y, wide, high in found["frames"]
    ]
    return areas, {name: tuple(ends) for name, ends in found["axes"].items()}


def on_paper(chart: Chart, sizes: list[tuple[int, int]]) -> list[Pixels]:
    """Return areas of data as they are exported, with so many pixels down and across."""
    width, height, first = float(_WIDTH), sum(high for high, _ in sizes) + 100.0, sizes[0][1]
    for _ in range(3):
        drawing = chart.drawing(width_mm=width * _MM, height_mm=height * _MM, font_pt=9)
        left, _, right, _ = drawing.frames[0]
        width += first - (right - left)
        height += sum(high for high, _ in sizes)
        height -= sum(bottom - top for _, top, _, bottom in drawing.frames)
    drawing = chart.drawing(width_mm=width * _MM, height_mm=height * _MM, font_pt=9)
    # Numbers of subgroups are no marks either.
    words = [item for item in drawing.items if isinstance(item, Words)]
    named = {(item.x, round(item.y, 1)) for item in words if item.bold}
    drawing.items = [
        item
        for item in drawing.items
        if not isinstance(item, Words)
        and not (isinstance(item, Disc) and item.ring == 0 and _holds(item, named))
    ]
    picture = Image.open(io.BytesIO(drawing.png(_FINER * _DPI))).convert("RGB")
    areas = []
    for (high, wide), frame in zip(sizes, drawing.frames, strict=True):
        box = tuple(side * _FINER for side in frame)
        areas.append(_array(picture.resize((wide, high), Image.Resampling.BOX, box)))
    return areas


def _holds(disc: Disc, places: set[tuple[float, float]]) -> bool:
    return any(disc.x == x and abs(disc.y - y) < disc.radius for x, y in places)


def _array(picture: Image.Image) -> Pixels:
    return np.asarray(picture.convert("RGB"), dtype=np.float64)


def differing(one: Pixels, other: Pixels) -> NDArray[np.bool_]:
    """Return which pixels of either picture are not between those around them in the other."""
    one, other = one @ _YIQ.T, other @ _YIQ.T
    found = _missing(one, other) | _missing(other, one)
    found[[0, -1]] = found[:, [0, -1]] = False
    return found


def _missing(one: Pixels, other: Pixels) -> NDArray[np.bool_]:
    around = (3, 3, 1)
    between = one.clip(minimum_filter(other, around), maximum_filter(other, around))
    return (_WEIGHTS * (one - between) ** 2).sum(axis=-1) > _MOST * _THRESHOLD**2


def compare(name: str, page: list[Pixels], paper: list[Pixels], folder: Path | None) -> None:
    """Say which share of the pixels differs, and of those that are not paper."""
    marks = [differing(*pair) for pair in zip(page, paper, strict=True)]
    inked = [(area < 250).any(axis=-1) for area in page]
    total, ink = (sum(int(part.size) for part in marks), sum(int(part.sum()) for part in inked))
    off = sum(int(part.sum()) for part in marks)
    print(f"{name:34} {off / total:8.2%} of {total:9,} pixels, {off / max(ink, 1):7.2%} of marks")
    if folder is not None:
        for number, areas in enumerate(zip(page, paper, marks, strict=True)):
            shown = np.hstack([areas[0], areas[1], np.repeat(255.0 * ~areas[2][..., None], 3, 2)])
            file = folder / f"{name.replace(' ', '_')}_{number}.png"
            Image.fromarray(shown.astype(np.uint8)).save(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=Path)
    folder = parser.parse_args().save
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    charts, (picture, scene, rows) = charts_of_pages()
    with chromium() as browser:
        page = browser.new_page(color_scheme="light")
        for name, chart in charts.items():
            areas, axes = on_page(page, chart)
            if not areas:
                print(f"{name:34} in space: it has no area of data")
                continue
            sizes = [area.shape[:2] for area in areas]
            compare(name, areas, on_paper(replace(chart, seen=Seen(axes)), sizes), folder)
        map_on_page(page, picture, scene, rows, folder)


def map_on_page(page: Page, picture: Chart, scene: bytes, rows: bytes, folder: Path | None) -> None:
    """Compare the landscape's map with its export."""
    page.set_viewport_size({"width": 1000, "height": 900})
    page.set_content(_MAP % (_WIDTH, landscape_script()))
    page.evaluate("([a, b]) => show(a, b)", [base64.b64encode(x).decode() for x in (scene, rows)])
    page.wait_for_timeout(2000)
    stage = page.locator("#map .stage")
    area = _array(Image.open(io.BytesIO(stage.screenshot())))[1:-1, 1:-1]
    compare("landscape map", [area], on_paper(picture, [area.shape[:2]]), folder)


if __name__ == "__main__":
    main()
