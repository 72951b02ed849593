"""What a reader of the dashboard waits for, and its memory, at 10⁴, 10⁵ and 10⁶ rows.

Headless Chromium opens pages on servers of its own. Prints tables and writes them between the
markers of docs/benchmarks-app.md. ``--rows N …`` measures other sizes, ``--shapes N`` rows of other
shapes instead, ``--page FILE`` fills in another page. Needs Chromium, and Linux for the memory.
"""

import argparse
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from _app_memory import MemoryWatch
from _app_page import Measurement, Visit, Visits, fill_in, shape_table, tables
from _app_reader import (
    ROOT,
    Reader,
    browser_seconds,
    chromium,
    find_browser,
    page_address,
    reading,
    serving,
)
from _app_rows import SHAPES, bytes_of, map_of, write_rows
from _measure import load
from playwright.sync_api import Browser

from lore_core.kernel_sums import warmup
from lore_core.regions import Selection

ROWS = (10_000, 100_000, 1_000_000)
#: In the order in which they are opened.
PAGES = (
    "landscape",
    "overview",
    "bandwidth",
    "variables",
    "recalibrate",
    "fairness",
    "decisions",
    "report",
    "data",
)
OVERVIEW_FIRST = ("overview", *(page for page in PAGES if page != "overview"))
#: Passes of the hand over the slider of γ, mouse moves a pass, moves by a key, openings of a link.
SWEEPS, STEPS, MOVES, OPENINGS = 3, 60, 5, 3
#: A server is idle when it takes less than so many processor seconds a second for so long: what
#: nobody has asked for begins only when no page has run for two seconds.
IDLE_SHARE, IDLE_SECONDS, MAX_IDLE_WAIT_SECONDS = 0.1, 4, 120
#: From the last page to the memory at rest.
REST_SECONDS = 60
#: Milliseconds to wait for a page to be complete.
PAGE_PATIENCE = 600_000


def measure(browser: Browser, n_rows: int, folder: Path) -> Measurement:
    """Measure everything at one size, each part on a fresh server."""
    measured = Measurement(n_rows)
    print(f"{n_rows:,} rows", flush=True)
    data = write_rows(folder / f"rows{n_rows}.npz", n_rows)
    with serving(folder / "pages.txt", data) as (url, process), MemoryWatch(process) as watch:
        with reading(browser) as reader:
            measured.cold = open_pages(reader, url, PAGES, watch)
            measured.warm = open_pages(reader, url, PAGES, watch)
            time.sleep(REST_SECONDS)
            measured.rest = watch.now()
        measured.pages_peak = watch.peak
    with (
        serving(folder / "rested.txt", data) as (url, process),
        MemoryWatch(process) as watch,
        reading(browser) as reader,
    ):
        measured.rested = open_pages(reader, url, PAGES, watch, rests=True)
    with (
        serving(folder / "overview.txt", data) as (url, process),
        MemoryWatch(process) as watch,
        reading(browser) as reader,
    ):
        measured.overview_first = open_pages(reader, url, OVERVIEW_FIRST, watch)
    with serving(folder / "hand.txt", data) as (url, process), MemoryWatch(process) as watch:
        by_hand(browser, url, watch, data, measured)
        measured.hand_peak = watch.peak
    measured.data = bytes_of(data)
    data.unlink()
    with serving(folder / "empty.txt") as (_, process), MemoryWatch(process) as watch:
        wait_until_idle(watch)
        measured.empty = watch.now()
    print(measured, flush=True)
    return measured


def measure_shapes(browser: Browser, n_rows: int, folder: Path) -> str:
    """Open every page cold, then warm, on rows of each shape; return the table."""
    found = {}
    for name, shape in SHAPES.items():
        print(f"{n_rows:,} rows, {name}", flush=True)
        data = write_rows(folder / "shape.npz", n_rows, shape)
        with (
            serving(folder / "shape.txt", data) as (url, process),
            MemoryWatch(process) as watch,
            reading(browser) as reader,
        ):
            cold, warm = (open_pages(reader, url, PAGES, watch) for _ in range(2))
            found[name] = cold, warm, watch.peak
    return shape_table(found)


def open_pages(
    reader: Reader, url: str, pages: tuple[str, ...], watch: MemoryWatch, *, rests: bool = False
) -> Visits:
    """Open pages when the one before is complete, or, with ``rests``, the server is idle."""
    visits: Visits = {}
    for page in pages:
        before = watch.seconds
        if rests:
            wait_until_idle(watch)
        used, browser = watch.seconds, browser_seconds()
        reader.open(page_address(url, page))
        content = reader.wait("watch.content", PAGE_PATIENCE)
        complete = reader.rest(PAGE_PATIENCE)
        visits[page] = Visit(
            content,
            complete,
            watch.seconds - used,
            browser_seconds() - browser,
            reader.wire(),
            max(reader.tasks(), default=0.0),
            used - before,
        )
    return visits


def wait_until_idle(watch: MemoryWatch) -> None:
    """Wait until a server, and what it started, have done what they do of themselves."""
    rested = 0
    for _ in range(MAX_IDLE_WAIT_SECONDS):
        before = watch.seconds
        time.sleep(1.0)
        rested = rested + 1 if watch.seconds - before < IDLE_SHARE else 0
        if rested == IDLE_SECONDS:
            return


def by_hand(
    browser: Browser, url: str, watch: MemoryWatch, data: Path, measured: Measurement
) -> None:
    """Act on the Landscape: drag γ, move it by keys, turn the map, draw round rows."""
    with reading(browser) as reader:
        reader.open(page_address(url, "landscape"))
        measured.first_picture = reader.wait("watch.picture")
        measured.fields = reader.wait("watch.fields")
        reader.rest()
        wait_until_idle(watch)
        measured.frames, measured.drag_task = drag(reader)
        reader.count_bytes()
        move_by_key(reader, measured)
        measured.heap = reader.heap()
        measured.lasso, measured.counts = lasso(reader, map_of(data))
        change_settings(reader, measured)
    with reading(browser) as reader:
        reader.open(page_address(url, "landscape", "PCA 3-D"))
        reader.wait("watch.fields")
        reader.rest()
        wait_until_idle(watch)
        measured.turns = turn(reader)
        measured.space_frames, _ = drag(reader)
        measured.space_lasso, measured.space_counts = lasso(reader, map_of(data, 3))
    for _ in range(OPENINGS):
        wait_until_idle(watch)
        with reading(browser) as reader:
            reader.open(page_address(url, "landscape"))
            measured.picture.append(reader.wait("watch.picture"))
            reader.rest()
            measured.mount_task.append(max(reader.tasks(), default=0.0))
            reader.open(page_address(url, "landscape"))
            measured.picture_again.append(reader.wait("watch.picture"))


def drag(reader: Reader) -> tuple[list[float], float]:
    """Drag the slider of γ from end to end and back, with the mouse.

    Milliseconds from each field to the next, and of the longest task of the browser meanwhile.
    """
    slider = reader.page.get_by_role("slider", name="Bandwidth γ")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    mouse = reader.page.mouse
    y = box["y"] + box["height"] / 2
    ends = [box["x"] + 0.1 * box["width"], box["x"] + 0.9 * box["width"]]
    began = reader.evaluate("performance.now()")
    mouse.move(ends[0], y)
    mouse.down()
    reader.evaluate("watch.countFrames('field')")
    for sweep in range(SWEEPS):
        mouse.move(ends[(sweep + 1) % 2], y, steps=STEPS)
    reader.evaluate("cancelAnimationFrame(watch.counting)")
    frames = np.diff(reader.evaluate("watch.frames")).tolist()
    longest = max(reader.tasks(began), default=0.0)
    mouse.up()
    reader.wait("m.field === m.exact")
    reader.rest()
    return frames, longest


def turn(reader: Reader) -> list[float]:
    """Turn a map in space with the mouse; milliseconds from each picture to the next."""
    box = reader.page.locator(".stage").first.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    reader.page.mouse.move(*middle)
    reader.page.mouse.down()
    reader.evaluate("watch.countFrames('turned')")
    for sweep in range(SWEEPS):
        reader.page.mouse.move(middle[0] + 200 * (-1) ** sweep, middle[1] + 40, steps=STEPS)
    reader.evaluate("cancelAnimationFrame(watch.counting)")
    reader.page.mouse.up()
    return list(np.diff(reader.evaluate("watch.frames")))


def move_by_key(reader: Reader, measured: Measurement) -> None:
    """Move γ by a key; until the exact field is there, then the page, and all is at rest."""
    slider = reader.page.get_by_role("slider", name="Bandwidth γ")
    for _ in range(MOVES):
        slider.focus()
        reader.page.wait_for_timeout(300)
        before, bytes_before = reader.evaluate("watch.state().scene.gamma"), reader.bytes
        began = reader.evaluate("performance.now()")
        reader.page.keyboard.press("ArrowLeft")
        reader.wait(f"m.field.gamma && m.field.gamma !== {before}")
        measured.exact.append(reader.evaluate("performance.now()") - began)
        reader.wait(f"m.scene.gamma !== {before} && m.field === m.exact")
        measured.followed.append(reader.evaluate("performance.now()") - began)
        reader.page.wait_for_timeout(500)
        reader.rest()
        measured.bytes.append(reader.bytes - bytes_before)


def change_settings(reader: Reader, measured: Measurement) -> None:
    """Change the number of bins by a key, then the map; milliseconds until the new picture."""
    page = reader.page
    page.get_by_role("button", name="Settings").click()
    body = page.get_by_test_id("stPopoverBody")
    thumb = body.get_by_role("slider", name="Confidence bins")

    def until_changed(act: Callable[[], None]) -> float:
        reader.rest()
        page.wait_for_timeout(500)
        reader.evaluate("watch.noteChange()")
        began = reader.evaluate("performance.now()")
        act()
        return reader.wait("watch.changed") - began

    thumb.focus()
    measured.changed["bins"] = until_changed(lambda: page.keyboard.press("ArrowRight"))
    body.get_by_role("combobox", name="Similar by").click()
    other = page.get_by_role("option", name="PCA 3-D", exact=True)
    measured.changed["map"] = until_changed(other.click)


def lasso(reader: Reader, points: np.ndarray) -> tuple[float, tuple[int, int, int]]:
    """Draw round the middle of the map: milliseconds until the count, and three counts.

    By the browser, by the page, and by the definition from the rows' ``points``.
    """
    reader.page.get_by_role("button", name=re.compile("^Lasso")).first.click()
    box = reader.page.locator(".stage").first.bounding_box()
    angle = np.linspace(0, 2 * np.pi, 40)
    x = box["x"] + box["width"] * (0.5 + 0.25 * np.cos(angle))
    y = box["y"] + box["height"] * (0.5 + 0.3 * np.sin(angle))
    mouse = reader.page.mouse
    mouse.move(x[0], y[0])
    mouse.down()
    for corner in zip(x[1:], y[1:], strict=True):
        mouse.move(*corner)
    reader.evaluate(
        """addEventListener("pointerup", () => {
            const began = performance.now();
            const look = () => {
              const chosen = watch.state().selected;
              if (!chosen) requestAnimationFrame(look);
              else requestAnimationFrame(() => { watch.lasso = performance.now() - began; });
            };
            look();
        }, { capture: true, once: true })"""
    )
    mouse.up()
    took = reader.wait("watch.lasso")
    count = reader.evaluate("watch.state().selected.count")
    text = reader.page.get_by_text("Selected region").first.locator("xpath=ancestor-or-self::p")
    shown = int(re.search(r"([\d,]+)\srows", text.first.inner_text())[1].replace(",", ""))
    drawn = Selection.from_parts(reader.evaluate("watch.state().selection"))
    return took, (count, shown, int(drawn.contains(points).sum()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS), help="sizes")
    parser.add_argument("--shapes", type=int, help="rows of several shapes, instead")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "benchmarks-app.md")
    options = parser.parse_args()
    if find_browser() is None or not Path("/proc/self/smaps_rollup").exists():
        print("Nothing is measured: it needs Chromium (`make chromium` installs it) and Linux.")
        return
    started, load_at_start = time.perf_counter(), load()
    warmup()
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        if options.shapes:
            table = measure_shapes(browser, options.shapes, Path(folder))
            print(table)
            fill_in(options.page, "shapes", table)
            return
        measured: list[Measurement] = []
        for n_rows in sorted(options.rows):
            measured.append(measure(browser, n_rows, Path(folder)))
            minutes = (time.perf_counter() - started) / 60
            for name, table in tables(measured, (load_at_start, load()), minutes).items():
                print(f"{table}\n")
                fill_in(options.page, name, table)
            print(f"Filled in {options.page} after {minutes:.0f} minutes.")


if __name__ == "__main__":
    main()
