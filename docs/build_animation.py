"""Record the γ slider of the Landscape as it plays through the demo: docs/images/gamma.webp.

``python docs/build_animation.py``. Needs Chromium; BROWSER_PATH names another one.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from lore_core.dashboard.access import TOKEN, base_path, new_token
from lore_core.dashboard.server import choose_port, local_url, wait_until_served

ROOT = Path(__file__).resolve().parent.parent
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
#: Milliseconds to wait for what must come, and of a frame; how many there are.
_PATIENCE, _FRAME, _FRAMES = 180_000, 90, 72
#: How far to either side of its middle the slider goes, as a share of its length.
_SWING = 0.34
#: Pixels of the picture's width, and around the map; how well it is kept.
_WIDTH, _EDGE, _QUALITY = 800, 12, 62


def frames(page: Page) -> list[Image.Image]:
    """Return pictures of the map as γ goes up, down and back to where it began."""
    box = page.locator(".st-key-landscape .lore").bounding_box() or {}
    clip = {
        "x": box["x"] - _EDGE,
        "y": box["y"] - _EDGE,
        "width": box["width"] + 2 * _EDGE,
        "height": box["height"] + 2 * _EDGE,
    }
    slider = page.get_by_role("slider", name="Bandwidth γ")
    page.wait_for_function(
        """() => {
            for (const node of document.querySelectorAll(".st-key-landscape *")) {
                const { known } = node.shadowRoot?.querySelector(".stage")?.landscape ?? {};
                if (known?.isAll) return true;
            }
        }""",
        timeout=_PATIENCE,
    )
    last = float(slider.get_attribute("max"))
    pictures: list[Image.Image] = []
    for turn in np.linspace(0, 2 * np.pi, _FRAMES, endpoint=False):
        at = (0.5 + _SWING * np.sin(turn)) * last
        slider.evaluate(
            """(input, at) => new Promise((drawn) => {
                input.value = String(at);
                input.dispatchEvent(new Event("input"));
                requestAnimationFrame(() => requestAnimationFrame(drawn));
            })""",
            float(at),
        )
        shot = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")
        pictures.append(shot.resize((_WIDTH, round(shot.height * _WIDTH / shot.width))))
    return pictures


def main() -> None:
    """Serve the demo, drag, and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images" / "gamma.webp")
    out = parser.parse_args().out
    port, token = choose_port(), new_token()
    url = local_url(port) + base_path(token)
    server = subprocess.Popen(
        [sys.executable, "-m", "lore_core.cli", "app", "--headless", "--port", str(port)],
        cwd=ROOT,
        env={**os.environ, TOKEN: token},
    )
    try:
        wait_until_served(url, lambda: server.poll() is None)
        with sync_playwright() as playwright:
            named = os.environ.get("BROWSER_PATH")
            path = next(
                filter(None, map(shutil.which, [named, *_BROWSERS] if named else _BROWSERS))
            )
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            page = browser.new_page(
                viewport={"width": 1400, "height": 1000}, device_scale_factor=1.5
            )
            page.goto(f"{url}/landscape?features=PCA+2-D")
            expect(page.locator(".st-key-landscape .stage")).to_be_visible(timeout=_PATIENCE)
            first, *others = frames(page)
            browser.close()
    finally:
        server.terminate()
        server.wait()
    first.save(
        out,
        save_all=True,
        append_images=others,
        duration=_FRAME,
        loop=0,
        quality=_QUALITY,
        method=6,
    )
    sys.stdout.write(f"Wrote {out}: {out.stat().st_size / 1e6:.2f} MB.\n")


if __name__ == "__main__":
    main()
