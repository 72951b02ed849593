"""One reader of the dashboard in headless Chromium, with a watch in the page."""

import base64
import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil
from _app_memory import processor_seconds
from playwright.sync_api import Browser, Page, sync_playwright

from lore_core.dashboard.access import TOKEN, base_path, new_token
from lore_core.dashboard.server import ServerSettings, choose_port, local_url, wait_until_served

ROOT = Path(__file__).resolve().parent.parent
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
#: Milliseconds after which what was waited for is taken to never come.
PATIENCE = 300_000

#: Notes in the page what it takes, and when: milliseconds since the link was opened.
_WATCH = """
window.watch = { tasks: [], frames: [], content: null, picture: null, fields: null, rest: null };
watch.socket = 0;
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    const count = ({ data }) => { watch.socket += data.byteLength ?? data.size ?? data.length; };
    this.addEventListener("message", count);
  }
};
performance.setResourceTimingBufferSize(4000);
watch.wire = () => performance.getEntriesByType("resource")
  .reduce((sum, { transferSize }) => sum + transferSize, watch.socket);
new PerformanceObserver((list) => {
  for (const { startTime, duration } of list.getEntries()) watch.tasks.push([startTime, duration]);
}).observe({ type: "longtask", buffered: true });
watch.stage = () => {
  for (const node of document.querySelectorAll(".st-key-landscape *")) {
    const stage = node.shadowRoot?.querySelector(".stage");
    if (stage) return stage;
  }
  return null;
};
watch.state = () => watch.stage()?.landscape ?? null;
const CONTENT = ["stMetric", "stDataFrame", "stAlert", "stMarkdownContainer"]
  .map((id) => `[data-testid=stMain] [data-testid=${id}]`).join()
  + ", .js-plotly-plot, .st-key-landscape";
const NOT_YET = "[data-stale=true], [data-testid=stSkeleton], .st-key-job, "
  + "[role=figure]:not(.js-plotly-plot)";
// The head of a page is the same whatever the data are.
const says = (node) => !node.closest(".st-key-head") && node.getBoundingClientRect().height > 0;
let restSince = null;
setInterval(() => {
  const now = performance.now();
  if (watch.content === null && [...document.querySelectorAll(CONTENT)].some(says)) {
    watch.content = now;
  }
  const state = watch.state();
  if (watch.picture === null && state?.scene) {
    const note = () => { watch.picture ??= performance.now(); };
    requestAnimationFrame(() => requestAnimationFrame(note));
  }
  if (watch.fields === null && state?.scene?.gammas) {
    if (state.known?.fields.size === state.scene.gammas.length) watch.fields = now;
  }
  const busy = !document.querySelector('[data-test-script-state="notRunning"]')
    || document.querySelector(NOT_YET);
  // (From the first look at which all is there: a drawing that holds the page up is in it.)
  restSince = busy ? null : (restSince ?? now);
  watch.rest = restSince !== null && now - restSince > 600 ? restSince : null;
}, 30);
watch.noteChange = () => {
  const before = watch.state().scene;
  watch.changed = null;
  const look = (now) => {
    if (watch.state()?.scene !== before) watch.changed = now;
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
};
watch.countFrames = (what) => {
  const seen = () => (what === "field" ? watch.state().field : watch.state().view.axes);
  let last = seen();
  watch.frames = [];
  const look = (now) => {
    const next = seen();
    if (next !== last) watch.frames.push(now);
    last = next;
    watch.counting = requestAnimationFrame(look);
  };
  watch.counting = requestAnimationFrame(look);
};
"""


@contextlib.contextmanager
def serving(log: Path, *data: Path) -> Iterator[tuple[str, int]]:
    """Serve the dashboard; its address and process."""
    port, token = choose_port(), new_token()
    url = local_url(port) + base_path(token)
    script, arguments = ServerSettings(port, data).command(ROOT / "app.py")
    code = f"import runpy; runpy.run_path({script!r})['serve']({arguments!r})"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env={"OMP_WAIT_POLICY": "passive"}
            | os.environ
            | {"PYTHONPATH": str(ROOT), TOKEN: token},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        )
    try:
        if not wait_until_served(url, lambda: process.poll() is None):
            raise RuntimeError(f"no server: {log.read_text()[-2000:]}")
        yield url, process.pid
    finally:
        process.terminate()
        process.wait(30)


def page_address(server: str, page: str, features: str = "PCA 2-D") -> str:
    """Return the link to a page; no other place makes one."""
    return f"{server}/{page}?{urlencode({'features': features})}"


def find_browser() -> str | None:
    named = os.environ.get("BROWSER_PATH")
    return next(filter(None, map(shutil.which, [named, *_BROWSERS] if named else _BROWSERS)), None)


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Start headless Chromium as it is on a machine without a graphics card.

    WebGL is by software; pages are put together without it, which software GL would slow down.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(), args=["--no-sandbox", "--enable-unsafe-swiftshader"]
        )
        yield browser
        browser.close()


def browser_seconds() -> float:
    """Return the processor seconds of every process of the browser so far."""
    own = psutil.Process().children(recursive=True)
    return sum(processor_seconds(one) for one in own if "chrom" in one.name())


class Reader:
    """A tab with a watch in it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.bytes = 0
        self._tools = page.context.new_cdp_session(page)

    def count_bytes(self) -> None:
        """Count what comes over the wire from now on: not while a link opens, which it slows."""
        self._tools.send("Network.enable")
        self._tools.on("Network.webSocketFrameReceived", self._take_frame)
        self._tools.on("Network.loadingFinished", self._take_file)

    def _take_frame(self, event: dict[str, Any]) -> None:
        said = event["response"]
        text = said["payloadData"]
        self.bytes += len(text) if said["opcode"] == 1 else len(base64.b64decode(text))

    def _take_file(self, event: dict[str, Any]) -> None:
        self.bytes += int(event["encodedDataLength"])

    def open(self, url: str) -> None:
        """Follow a link."""
        self.page.goto(url, wait_until="commit", timeout=PATIENCE)

    def evaluate(self, script: str) -> Any:
        """Return the value of a script."""
        return self.page.evaluate(script)

    def wait(self, condition: str, patience: float = PATIENCE) -> Any:
        """Wait until a script says something; None if it never does."""
        end = time.monotonic() + patience / 1000
        while time.monotonic() < end:
            value = self.evaluate(f"(() => {{ const m = watch.state?.(); return {condition}; }})()")
            if value:
                return value
            self.page.wait_for_timeout(40)
        return None

    def rest(self, patience: float = PATIENCE) -> float | None:
        """Wait until nothing moves; milliseconds since the link was opened."""
        found: float | None = self.wait("watch.rest", patience)
        return found

    def tasks(self, since: float = 0.0) -> list[float]:
        """Milliseconds of each long task that began after a moment."""
        return [took for began, took in self.evaluate("watch.tasks") if began >= since]

    def wire(self) -> float:
        """Bytes that came since the link was opened: files as they were sent, messages unpacked."""
        return float(self.evaluate("watch.wire()"))

    def heap(self) -> float:
        """Bytes that the page holds in memory, arrays included, after a collection."""
        self._tools.send("HeapProfiler.collectGarbage")
        used = self._tools.send("Runtime.getHeapUsage")
        return float(used["usedSize"] + used.get("backingStorageSize", 0))


@contextlib.contextmanager
def reading(browser: Browser) -> Iterator[Reader]:
    """Open a tab of its own, cache and all."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.add_init_script(_WATCH)
    yield Reader(page)
    context.close()
