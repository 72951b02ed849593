"""A server that is killed, and the link of its reader afterwards."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.attack.reader import Reader
from lore_core.dashboard.server import choose_port, local_url, wait_until_served

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("launch")]


@pytest.fixture
def serve(tmp_path):
    """Start ``lore app`` with a cache of its own; it is killed at the end."""
    started = []

    def start():
        port = choose_port()
        command = [sys.executable, "-m", "lore_core.cli", "app", "--headless", "--port", str(port)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        )
        started.append(process)
        alive = lambda: process.poll() is None  # noqa: E731
        # The first start of all compiles the kernels.
        assert any(wait_until_served(local_url(port), alive) for _ in range(4))
        return process, local_url(port)

    yield start
    for process in started:
        process.kill()
        process.wait()


def rows():
    rng = np.random.default_rng(0)
    content = io.BytesIO()
    np.savez(content, probs=rng.random(300), labels=rng.integers(0, 2, 300))
    return content.getvalue()


def test_a_link_leads_to_an_upload_after_the_server_was_killed(serve, tmp_path):
    process, url = serve()
    with Reader(url) as reader:
        page = reader.upload(reader.open("", gamma=0.4), "mine.npz", rows())
        assert "kept on the disk of the machine" in page.text
        link = reader.link
    process.kill()
    process.wait()
    _, url = serve()
    with Reader(url) as reader:
        page = reader.open("overview", **link)
        assert "mine" in page.text
        assert "150 evaluation + 150 calibration rows" in page.text
        assert reader.link == link
