"""The dashboard under a hand: what headless Chromium sees of it at 10⁴, 10⁵ and 10⁶ rows.

Prints tables and writes docs/benchmarks-app.md. ``--rows N …`` measures other sizes, ``--no-pages``
the landscape alone; ``--out DIR`` writes elsewhere. Without Chromium nothing is measured.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from _app_page import Found, document
from _app_reader import ROOT, Reader, chromium, find_browser, reading, serving
from _app_rows import bytes_of, map_of, write_rows
from _measure import load
from playwright.sync_api import Browser

from lore_core.kernel_sums import warmup
from lore_core.regions import Selection

ROWS = (10_000, 100_000, 1_000_000)
PAGES = (
    "data",
    "overview",
    "landscape",
    "variables",
    "bandwidth",
    "recalibrate",
    "fairness",
    "decisions",
    "report",
)
#: Passes of the hand over the slider of γ, mouse moves a pass, moves by a key, openings of a link.
SWEEPS, STEPS, MOVES, OPENINGS = 3, 60, 5, 3
#: Seconds to wait for a server to rest; seconds on end in which it must, since what nobody has
#: asked for begins only when no page has run for two; and seconds of processors in one that are.
MOST_SETTLING, ON_END, SETTLED = 120, 4, 0.1
#: Milliseconds to wait for a page to rest.
PAGE_PATIENCE = 180_000


def measure(browser: Browser, n_rows: int, folder: Path, pages: tuple[str, ...]) -> Found:
    """Measure everything at one size, on a server of its own."""
    found = Found(n_rows)
    print(f"{n_rows:,} rows", flush=True)
    data = write_rows(folder / f"rows{n_rows}.npz", n_rows)
    with serving(folder / "app.txt", data) as (url, process):
        with reading(browser) as reader:
            reader.open(f"{url}/landscape?features=PCA+2-D")
            found.first_picture = reader.wait("watch.picture")
            found.fields = reader.wait("watch.fields")
            reader.rest()
            settle(process)
            found.frames, found.drag_task = drag(reader)
            reader.count_bytes()
            take(reader, found)
            found.heap = reader.heap()
            found.lasso, found.counts = lasso(reader, map_of(data))
        with reading(browser) as reader:
            reader.open(f"{url}/landscape?features=PCA+3-D")
            reader.wait("watch.fields")
            reader.rest()
            settle(process)
            found.turns = turn(reader)
            found.space_frames, _ = drag(reader)
            found.space_lasso, found.space_counts = lasso(reader, map_of(data, 3))
        for _ in range(OPENINGS):
            settle(process)
            with reading(browser) as reader:
                reader.open(f"{url}/landscape?features=PCA+2-D")
                found.picture.append(reader.wait("watch.picture"))
                reader.rest()
                found.mount_task.append(max(reader.tasks(), default=0.0))
        for page in pages:
            settle(process)
            with reading(browser) as reader:
                reader.open(f"{url}/{page}?features=PCA+2-D")
                content = reader.wait("watch.content", PAGE_PATIENCE)
                found.pages[page] = (content, reader.rest(PAGE_PATIENCE))
        found.memory = most_held(process)
    found.data = bytes_of(data)
    data.unlink()
    with serving(folder / "empty.txt") as (_, process):
        settle(process)
        found.empty = most_held(process)
    least = ROOT / "benchmarks" / "_app_line.py"
    with serving(folder / "line.txt", app=least) as (url, _), reading(browser) as reader:
        line(reader, url, found)
    print(found, flush=True)
    return found


def most_held(process: int) -> float:
    """Return the most bytes of memory that a process has held, if this system tells (Linux)."""
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        return np.nan
    return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) * 1024.0


def settle(process: int) -> None:
    """Wait until a server, and what it started, have done what they do of themselves."""
    server = psutil.Process(process)

    def used() -> float:
        times = [one.cpu_times() for one in (server, *server.children(recursive=True))]
        return sum(time.user + time.system for time in times)

    rested = 0
    for _ in range(MOST_SETTLING):
        before = used()
        time.sleep(1.0)
        rested = rested + 1 if used() - before < SETTLED else 0
        if rested == ON_END:
            return


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
    began = reader.say("performance.now()")
    mouse.move(ends[0], y)
    mouse.down()
    reader.say("watch.countFrames('field')")
    for sweep in range(SWEEPS):
        mouse.move(ends[(sweep + 1) % 2], y, steps=STEPS)
    reader.say("cancelAnimationFrame(watch.counting)")
    frames = np.diff(reader.say("watch.frames")).tolist()
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
    reader.say("watch.countFrames('turned')")
    for sweep in range(SWEEPS):
        reader.page.mouse.move(middle[0] + 200 * (-1) ** sweep, middle[1] + 40, steps=STEPS)
    reader.say("cancelAnimationFrame(watch.counting)")
    reader.page.mouse.up()
    return list(np.diff(reader.say("watch.frames")))


def take(reader: Reader, found: Found) -> None:
    """Move γ by a key; until the exact field is there, and all else at rest."""
    slider = reader.page.get_by_role("slider", name="Bandwidth γ")
    for _ in range(MOVES):
        slider.focus()
        reader.page.wait_for_timeout(300)
        before, bytes_before = reader.say("watch.state().scene.gamma"), reader.bytes
        began = reader.say("performance.now()")
        reader.page.keyboard.press("ArrowLeft")
        reader.wait(f"m.scene.gamma !== {before} && m.field === m.exact")
        found.taken.append(reader.say("performance.now()") - began)
        reader.page.wait_for_timeout(500)
        reader.rest()
        found.bytes.append(reader.bytes - bytes_before)


def lasso(reader: Reader, points: np.ndarray) -> tuple[float, tuple[int, int, int]]:
    """Draw round the middle of the map: milliseconds until the count, and three counts.

    By the browser, by the page, and by the definition from the rows' ``points``.
    """
    reader.page.get_by_role("button", name=re.compile("^Lasso")).first.click()
    box = reader.page.locator(".stage").first.bounding_box()
    turn = np.linspace(0, 2 * np.pi, 40)
    x = box["x"] + box["width"] * (0.5 + 0.25 * np.cos(turn))
    y = box["y"] + box["height"] * (0.5 + 0.3 * np.sin(turn))
    mouse = reader.page.mouse
    mouse.move(x[0], y[0])
    mouse.down()
    for place in zip(x[1:], y[1:], strict=True):
        mouse.move(*place)
    reader.say(
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
    count = reader.say("watch.state().selected.count")
    text = reader.page.get_by_text("Selected region").first.locator("xpath=ancestor-or-self::p")
    said = int(re.search(r"([\d,]+)\srows", text.first.inner_text())[1].replace(",", ""))
    drawn = Selection.from_parts(reader.say("watch.state().selection"))
    return took, (count, said, int(drawn.contains(points).sum()))


def line(reader: Reader, url: str, found: Found) -> None:
    """Move a slider; until the line of two points is drawn anew."""
    reader.open(url)
    drawn = "document.querySelector('.js-plotly-plot')?._fullData?.[0]?.y[1] === {}"
    reader.wait(drawn.format(50))
    slider = reader.page.get_by_role("slider")
    for value in range(51, 60):
        slider.focus()
        reader.page.wait_for_timeout(300)
        reader.say(
            """(drawn) => {
                watch.line = null;
                const began = performance.now();
                const look = () => {
                  if (drawn()) watch.line = performance.now() - began;
                  else requestAnimationFrame(look);
                };
                addEventListener("keydown", look, { capture: true, once: true });
            }""".replace("drawn()", drawn.format(value)).replace("(drawn)", "()")
        )
        reader.page.keyboard.press("ArrowRight")
        found.line.append(reader.wait("watch.line"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS), help="sizes")
    parser.add_argument("--no-pages", action="store_true", help="the landscape alone")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="where to write")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if find_browser() is None:
        print("There is no Chromium here (`make chromium` installs it): nothing is measured.")
        return
    started, at_start = time.perf_counter(), load()
    warmup()
    pages = () if options.no_pages else PAGES
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        measured = [measure(browser, n, Path(folder), pages) for n in options.rows]
    minutes = (time.perf_counter() - started) / 60
    text = document(measured, (at_start, load()), minutes)
    path = options.out / "benchmarks-app.md"
    path.write_text(text, encoding="utf-8")
    print(f"{text}\nWrote {path} after {minutes:.0f} minutes.")


if __name__ == "__main__":
    main()
