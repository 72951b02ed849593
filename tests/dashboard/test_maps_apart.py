"""Maps made beside the server are those made in it, and end with whoever wanted them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from lore_core import InputError, embed
from lore_core.dashboard import maps_apart
from lore_core.dashboard.maps_apart import embed_apart
from lore_core.dashboard.messages import start_beside
from lore_core.data.progress import Cancelled
from lore_core.embedding import MapName
from lore_core.kernel_sums.schedule import limited_threads

TSNE = MapName("tsne", 2)


@pytest.fixture
def features():
    return np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)


def children():
    """Processes of this one that make maps."""
    listed = subprocess.run(["ps", "-o", "args=", "--ppid", str(os.getpid())], capture_output=True)
    return listed.stdout.count(b"maps_apart")


def test_the_map_is_the_same(features):
    told = []
    made = embed_apart(features, TSNE, lambda done, message: told.append(message))
    with limited_threads(1):  # several would spin while they wait, for half a minute
        here = embed(features, "tsne", 2)
    assert made.coordinates == pytest.approx(here.coordinates, abs=1e-9)
    assert made.description == here.description
    assert made.transform(features[:5]) == pytest.approx(here.transform(features[:5]), abs=1e-9)
    assert any("iteration" in message for message in told)
    assert children() == 0


def test_what_the_user_can_fix_is_said(features):
    with pytest.raises(InputError, match="must have at least 10 rows for t-SNE; got 5"):
        embed_apart(features[:5], TSNE, lambda done, message: None)


def test_it_ends_when_nobody_wants_it(features):
    def stop(done, message):
        raise Cancelled

    start = time.monotonic()
    with pytest.raises(Cancelled):
        embed_apart(np.tile(features, (300, 1)), TSNE, stop)
    assert children() == 0
    assert time.monotonic() - start < 20


def test_what_ends_it_ends_nothing_else(features, monkeypatch):
    monkeypatch.setattr(maps_apart, "_MODULE", "lore_core.no_such_module")
    with pytest.raises(RuntimeError, match="the process that makes maps has ended"):
        embed_apart(features, TSNE, lambda done, message: None)


def test_a_server_that_ends_before_it_asks_leaves_no_traceback(capfd):
    process = start_beside(maps_apart._MODULE)
    with process:
        process.stdin.write(b"\x40")
        process.stdin.close()
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
def test_it_ends_with_the_server(features):
    """Even with one that is killed."""
    code = (
        "import numpy as np; from lore_core.embedding import MapName\n"
        "from lore_core.dashboard.maps_apart import embed_apart\n"
        "rows = np.random.default_rng(0).normal(size=(30_000, 4))\n"
        "embed_apart(rows, MapName('tsne', 2), lambda done, message: print(message, flush=True))\n"
    )
    server = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline()
    listed = subprocess.run(["pgrep", "-P", str(server.pid)], capture_output=True, text=True)
    child = int(listed.stdout)
    server.kill()
    server.wait()
    server.stdout.close()
    end = time.monotonic() + 20
    is_there = Path(f"/proc/{child}/fd/0").exists
    while is_there() and time.monotonic() < end:
        time.sleep(0.05)
    assert not is_there()
