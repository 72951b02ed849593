"""A server that is killed, and the link of its reader afterwards."""

import io
import os
import re
import subprocess
import sys
from urllib.parse import urlsplit

import numpy as np
import pytest

from benchmarks.attack.reader import Reader
from lore_core.dashboard.access import TOKEN, base_path
from lore_core.dashboard.server import choose_port, local_url, wait_until_served

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("launch")]


@pytest.fixture
def serve(tmp_path):
    """Start ``lore app`` with a cache of its own; its process and its address with the secret."""
    started = []

    def start():
        port = choose_port()
        command = [sys.executable, "-m", "lore_core.cli", "app", "--headless", "--port", str(port)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), TOKEN: ""},
        )
        started.append(process)
        alive = lambda: process.poll() is None  # noqa: E731
        # The first start of all compiles the kernels.
        assert any(wait_until_served(local_url(port), alive) for _ in range(4))
        said = next(line for line in process.stdout if "LoRe Lens is open at" in line)
        token = re.search(r"\?token=(\S+)", said)[1]
        return process, local_url(port) + base_path(token)

    yield start
    for process in started:
        process.kill()
        process.communicate()


def rows():
    rng = np.random.default_rng(0)
    content = io.BytesIO()
    np.savez(content, probs=rng.random(300), labels=rng.integers(0, 2, 300))
    return content.getvalue()


def test_a_link_leads_to_an_upload_after_the_server_was_killed(serve, tmp_path):
    process, url = serve()
    secret = urlsplit(url).path
    with Reader(url) as reader:
        page = reader.upload(reader.open("", gamma=0.4), "mine.npz", rows())
        assert "kept on the disk of the machine" in page.text
        link = reader.link
    process.kill()
    process.wait()
    _, url = serve()
    assert urlsplit(url).path == secret
    with Reader(url) as reader:
        page = reader.open("overview", **link)
        assert "mine" in page.text
        assert "150 evaluation + 150 calibration rows" in page.text
        assert reader.link == link
