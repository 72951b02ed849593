"""The dashboard in a real browser: a server started as a user starts it, and a page to act on."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Locator, Page, expect
from watched_server import Server, serving

import lore_core as lore

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
#: Milliseconds an effect may take on a slow machine.
PATIENCE = 120_000
SETTLED = """() => document.querySelector("[data-test-script-state=notRunning]")
    && !document.querySelector("[data-testid=stSkeleton], [data-stale=true]")"""
#: Streamlit's own: a section without a role of its own that has a name.
NOT_OURS = {"exclude": [["[data-testid=stFileUploaderDropzone]"]]}


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict:
    named = filter(None, [os.environ.get("BROWSER_PATH")])
    path = next(filter(None, map(shutil.which, [*named, *BROWSERS])), None)
    if path is None:
        pytest.skip("no Chromium on this machine; `make chromium` installs it")
    return {
        "executable_path": path,
        "args": [
            *("--no-sandbox", "--disable-background-networking", "--disable-component-update"),
            *("--disable-sync", "--no-first-run", "--disable-quic", "--enable-unsafe-swiftshader"),
        ],
    }


@pytest.fixture(scope="session", autouse=True)
def patience() -> None:
    expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def browser_context_args() -> dict:
    return {
        "viewport": {"width": 1400, "height": 900},
        "color_scheme": "light",
        "reduced_motion": "reduce",
    }


def small_classifier(path: Path, n: int, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 4)) * [2.0, 1.5, 0.5, 0.3]
    logits = np.array([1.0, 0.0, 0.0]) + rng.normal(size=(n, 3))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(3, p=p) for p in probabilities])
    fooled = (features[:, 0] > 1) & (rng.random(n) < 0.7)
    labels[fooled] = rng.integers(0, 3, fooled.sum())
    np.savez(
        path,
        probs=probabilities,
        labels=labels,
        features=features,
        class_names=np.array(["cat", "dog & co", "<b>emu</b>"]),
        images=rng.integers(0, 255, (n, 8, 8), dtype=np.uint8),
        groups=rng.choice(["a", "b"], (n, 1)),
        group_names=np.array(["site"]),
    )
    return path


@pytest.fixture(scope="session")
def files(tmp_path_factory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("files")
    return (
        small_classifier(folder / "small_cal.npz", 500, 1),
        small_classifier(folder / "small_test.npz", 900, 2),
    )


@pytest.fixture(scope="session")
def dataset(files) -> lore.Dataset:
    return lore.load(list(files))


@pytest.fixture(scope="session")
def points(dataset) -> np.ndarray:
    embedding = lore.embed(dataset.features, "pca", 2, random_state=0)
    return embedding.coordinates[dataset.in_split("evaluation")]


@pytest.fixture(scope="session")
def server(tmp_path_factory, files) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server") / "log.txt", *files) as running:
        yield running


class App:
    def __init__(self, page: Page, server: Server) -> None:
        self.page = page
        self.server = server
        self.said_before = len(server.said)
        self.page_errors: list[str] = []
        self.gamma = page.get_by_role("slider", name="Bandwidth γ")
        self.map = page.locator(":is(.st-key-landscape, .st-key-swipe)[data-stale=false] .stage")
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.page_errors.append(str(error)))
        #: What the page, and frames and workers in it, asked outside of this server's secret path.
        self.asked_elsewhere: list[str] = []
        page.on("request", lambda request: self._note(request.url))
        page.on("websocket", lambda wire: self._note(wire.url))

    def open(self, path: str = "", **settings: object) -> App:
        settings = {"features": "PCA 2-D", **settings} if path else settings
        query = f"?{urlencode(settings)}" if settings else ""
        self.page.goto(f"{self.server.url}/{path}{query}")
        return self.settle()

    def _note(self, url: str) -> None:
        where = urlsplit(url)
        is_inside = where.scheme in ("data", "blob", "about") or "token=" in where.query
        base = self.server.url.removeprefix("http:") + "/"
        if not is_inside and not url.removeprefix(where.scheme + ":").startswith(base):
            self.asked_elsewhere.append(url)

    def settle(self) -> App:
        """Wait until the script has run and everything it sent is drawn."""
        # (An expectation is looked at once a second, after the first.)
        self.page.wait_for_function(SETTLED, polling=30)
        return self

    def check(self) -> App:
        """Nothing broke in browser, page or server since then; only this server was asked."""
        assert self.page_errors == []
        assert self.asked_elsewhere == []
        assert not self.server.outgoing.exists(), self.server.outgoing.read_text()
        expect(self.page.get_by_test_id("stException")).to_have_count(0)
        said = self.server.said[self.said_before :]
        assert "Traceback" not in said, said[-4000:]
        return self

    def keeps_rules(self, what: str, context: dict = NOT_OURS, options: dict | None = None) -> None:
        """Nothing in ``context`` breaks a rule of axe-core, in shadow trees neither."""
        asked = {"resultTypes": ["violations"], **(options or {})}

        def broken() -> list[str]:
            found = Axe().run(self.page, context=context, options=asked).response["violations"]
            return [f"{rule['id']}: {node['html']}" for rule in found for node in rule["nodes"]]

        # (A theme comes bit by bit, and what is out of date is pale: the page at rest counts.)
        self.until(lambda: not broken(), lambda: f"{what}, without {broken()}")

    def sees(self, text: str | re.Pattern) -> Locator:
        # (The same words may stand before it in what is hidden, such as a map's card of a row.)
        found = self.page.get_by_test_id("stMain").get_by_text(text).filter(visible=True).first
        self.until(found.is_visible, f"{text} on {self.page.url}")
        return found

    def query(self) -> dict[str, str]:
        return {key: values[-1] for key, values in parse_qs(urlsplit(self.page.url).query).items()}

    def until(self, condition, what, patience: float = PATIENCE):
        """Wait for a condition the browser cannot be asked in one expression, else say ``what``."""
        end = time.monotonic() + patience / 1000
        while True:
            value = condition()
            if value:
                return value
            assert time.monotonic() < end, f"never: {what() if callable(what) else what}"
            self.page.wait_for_timeout(50)

    def until_query(self, key: str, value: str | None) -> None:
        self.until(lambda: self.query().get(key) == value, f"{key}={value} in {self.page.url}")
        self.settle()

    def go(self, title: str) -> App:
        self.page.get_by_role("link", name=title, exact=True).first.click()
        self.until(lambda: self.path == ("" if title == "Data" else title.lower()), f"page {title}")
        return self.settle()

    @property
    def path(self) -> str:
        return urlsplit(self.page.url).path.removeprefix(urlsplit(self.server.url).path + "/")

    def chosen(self, label: str) -> str:
        return self.page.get_by_role("combobox", name=label).input_value()

    def choose(self, label: str, option: str, *, exact: bool = False) -> None:
        box = self.page.get_by_role("combobox", name=label, exact=exact)
        # A list that is opened while the page still scrolls to it closes again.
        box.scroll_into_view_if_needed()
        self.next_picture()
        box.click()
        self.page.get_by_role("option", name=option, exact=True).click()

    @contextlib.contextmanager
    def settings(self) -> Iterator[Locator]:
        """Open the settings that are folded into the header of the page."""
        self.button("Settings").click()
        body = self.page.get_by_test_id("stPopoverBody")
        expect(body.get_by_role("slider", name="Confidence bins")).to_be_visible()
        yield body
        self.page.keyboard.press("Escape")
        self.settle()

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name)

    def save(self, button: Locator) -> tuple[str, bytes]:
        with self.page.expect_download() as waiting:
            button.click()
        return waiting.value.suggested_filename, waiting.value.path().read_bytes()

    def next_picture(self) -> None:
        """Wait until the browser has painted what it was asked for, and told of what scrolled."""
        frame = "requestAnimationFrame"
        self.page.evaluate(f"() => new Promise(done => {frame}(() => {frame}(() => done())))")

    def seen(self, script: str):
        """What a script says of the landscape's state, once there is one."""
        return self.until(
            lambda: self.map.evaluate(
                f"node => {{ const m = node.landscape; return m ? {script} : null; }}"
            ),
            "the landscape is drawn",
        )

    def map_drawn(self) -> None:
        self.until(self.map.is_visible, "a map")
        self.seen("m.scene !== null && (m.rows !== null || !m.scene.rows)")
        self.settle()

    def map_ink(self) -> str:
        return self.seen(
            "`${m.field.values.reduce((s, v) => s + (v > 8 ? 0 : v), 0)}"
            " ${m.field.values.filter(v => v < 8).length}`"
        )

    def map_place(self, x: float, y: float) -> tuple[float, float]:
        self.map.scroll_into_view_if_needed()
        box = self.map.bounding_box()
        px, py = self.seen(f"m.view.toPixel({x}, {y})")
        return box["x"] + px, box["y"] + py

    def lasso(self, corners, tool: str = "Lasso") -> None:
        self.map.get_by_role("button", name=re.compile(f"^{tool}")).click()
        places = [self.map_place(*corner) for corner in corners]
        self.drag([*places, places[0]] if tool == "Lasso" else places)

    def chart(self, key: str) -> Locator:
        # While a picture is redrawn the old one may stand beside it.
        return self.page.locator(f".st-key-{key}[data-stale=false] .js-plotly-plot")

    def drawn(self, key: str) -> None:
        if key in ("landscape", "swipe"):
            self.map_drawn()
            return
        self.until(self.chart(key).is_visible, f"chart {key}")
        self.until(
            lambda: self.chart(key).evaluate("gd => !!gd._fullData && gd._fullData.length > 0"),
            f"chart {key}",
        )
        self.settle()

    def read(self, key: str, script: str, argument: object = None):
        """What a script says about a chart, once it is drawn and what it says is not empty."""
        # (A chart that is mounted anew is there before its layout is.)
        drawn = f"(gd, argument) => gd._fullLayout && gd._fullData && ({script})(gd, argument)"
        return self.until(lambda: self.chart(key).evaluate(drawn, argument), f"{key} is drawn")

    def place(self, key: str, x: float, y: float, axes: str = "") -> tuple[float, float]:
        self.chart(key).scroll_into_view_if_needed()
        script = """(gd, [x, y, n]) => {
            const box = gd.getBoundingClientRect(), layout = gd._fullLayout;
            const ax = layout["xaxis" + n], ay = layout["yaxis" + n];
            return [box.left + ax._offset + ax.d2p(x), box.top + ay._offset + ay.d2p(y)];
        }"""
        return tuple(self.read(key, script, [x, y, axes]))

    def trace(self, key: str, name: str) -> dict:
        script = """(gd, name) => {
            const t = (gd._fullData || []).find(t => t.name === name);
            if (!t) return null;
            const list = v => Array.from(v || []);
            return {x: list(t.x), y: list(t.y), customdata: list(t.customdata)};
        }"""
        return self.read(key, script, name)

    def drag(self, places: list[tuple[float, float]]) -> None:
        mouse = self.page.mouse
        mouse.move(*places[0])
        mouse.down()
        for place in places[1:]:
            mouse.move(*place, steps=6)
        mouse.up()


@pytest.fixture(scope="session")
def light(browser, browser_context_args) -> Iterator[BrowserContext]:
    """A browser with a warm cache; each tab in it is a session of its own all the same."""
    context = browser.new_context(**browser_context_args)
    yield context
    context.close()


@contextlib.contextmanager
def tab(context: BrowserContext, server: Server) -> Iterator[App]:
    page = context.new_page()
    app = App(page, server)
    try:
        yield app
        app.check()
    finally:
        page.close()


@pytest.fixture
def open_app(light, server) -> Iterator:
    with tab(light, server) as app:
        yield app.open


# Importing from a conftest is unreliable: what tests need besides fixtures comes as one.


@pytest.fixture(scope="module")
def reopen(light, server) -> Iterator:
    """Open a page in the module's tab, unless the test before left that page as it was opened."""
    opened = []
    with tab(light, server) as app:

        def reopen(path: str, *figures: str, **settings: object) -> App:
            if opened != [path, settings, app.page.url]:
                app.open(path, **settings)
                for key in figures:
                    app.drawn(key)
                opened[:] = path, settings, app.page.url
            return app.check()

        yield reopen


@pytest.fixture(scope="session")
def open_tab():
    return tab


@pytest.fixture(scope="session")
def write_classifier():
    return small_classifier
