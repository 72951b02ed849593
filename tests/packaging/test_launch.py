from __future__ import annotations

import http.client
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from lore_core.dashboard.launch import launch
from lore_core.dashboard.server import local_url, wait_until_served
from lore_core.data.dataset import Dataset
from pages.shared.accounts import account_of

# Not `lore_core.dashboard.launch`: that name is the function.
launch_module = sys.modules["lore_core.dashboard.launch"]

# One worker: two servers that look for the first free port at the same time may find the same.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("launch")]


@pytest.fixture
def dataset():
    rng = np.random.default_rng(0)
    return Dataset(rng.random(50), rng.integers(0, 2, 50), rng.normal(size=(50, 3)), name="a/b c")


@pytest.fixture
def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def served():
    """Port of a dashboard that stays."""
    rows = Dataset(np.full(40, 0.7), np.arange(40) % 2)
    with launch(rows, open_browser=False) as dashboard:
        yield int(dashboard.url.rpartition(":")[2])


def answer(url):
    with urllib.request.urlopen(url, timeout=5) as response:
        return response.status


def test_serves_until_stopped(dataset, free_port, monkeypatch, tmp_path):
    monkeypatch.setattr(launch_module.tempfile, "mkdtemp", lambda prefix: str(tmp_path / "own"))
    (tmp_path / "own").mkdir()
    with launch(dataset, port=free_port, open_browser=False) as dashboard:
        assert dashboard.url == f"http://127.0.0.1:{free_port}"
        assert dashboard.running
        assert answer(f"{dashboard.url}/_stcore/health") == 200
        assert answer(dashboard.url) == 200
        assert [path.name for path in (tmp_path / "own").glob("*.npz")] == ["a_b_c.npz"]
        assert f'href="{dashboard.url}"' in dashboard._repr_html_()
    assert not dashboard.running
    assert not (tmp_path / "own").exists()
    with pytest.raises(urllib.error.URLError):
        answer(dashboard.url)
    assert "stopped" in repr(dashboard)
    dashboard.stop()


def test_a_server_that_fails_says_why(dataset, free_port, monkeypatch, tmp_path):
    monkeypatch.setattr(launch_module, "find_app", lambda: Path(tmp_path / "missing.py"))
    with pytest.raises(RuntimeError, match=r"(?s)did not start at .*It said: .*No such file or"):
        launch(dataset, port=free_port, open_browser=False)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:1"}, 200),
        ({"Origin": "http://localhost:8501"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "["}, 403),
    ],
)
@pytest.mark.parametrize("path", ["/_stcore/health", "/_stcore/stream", "/lore/ask/x"])
def test_only_its_own_pages_are_answered(served, headers, status, path):
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    live = path.endswith("stream")
    passed = {"/_stcore/health": 200, "/_stcore/stream": 101, "/lore/ask/x": 200}[path]
    with closing(http.client.HTTPConnection("127.0.0.1", served, timeout=20)) as connection:
        connection.request("GET", path, headers={**(upgrade if live else {}), **headers})
        with connection.getresponse() as found:
            assert found.status == (passed if status == 200 else 403)


def test_no_page_of_another_site_shows_it_inside(served):
    with urllib.request.urlopen(f"{local_url(served)}/", timeout=20) as found:
        assert found.headers["X-Frame-Options"] == "SAMEORIGIN"
        assert "frame-ancestors 'self'" in found.headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["interact", "mcp"])
def test_no_program_drives_the_pages(served, path):
    with closing(http.client.HTTPConnection("127.0.0.1", served, timeout=20)) as connection:
        headers = {"Content-Type": "application/json"}
        connection.request("POST", f"/_stcore/agent/{path}", "{}", headers)
        with connection.getresponse() as found:
            assert found.status >= 400
            assert b"does not serve the agent API" in found.read()


ASK = """
import os, socket, sys
os.setuid(int(sys.argv[2]))
with socket.socket() as connection:
    connection.connect(("127.0.0.1", int(sys.argv[1])))
    connection.sendall(b"GET / HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n")
    print(b"".join(iter(lambda: connection.recv(4096), b"")).decode())
"""


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs two accounts")
def test_another_account_of_this_machine_is_refused(served):
    def asked_by(account):
        command = [sys.executable, "-c", ASK, str(served), str(account)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert asked_by(0).startswith("HTTP/1.1 200")
    said = asked_by(65534)
    assert said.startswith("HTTP/1.1 403")
    assert "LoRe Lens answers to the account of this machine" in said


TAKE = """
import os, socket, sys
os.setuid(65534)
ours = socket.socket()
ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
ours.bind(("127.0.0.1", int(sys.argv[1])))
ours.connect(("127.0.0.1", int(sys.argv[2])))
sys.stdin.read()
"""


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs two accounts")
@pytest.mark.parametrize("way", ["asked", "looked up"])
def test_a_port_that_is_anothers_now_is_anothers(way, monkeypatch):
    if way == "looked up":
        monkeypatch.delattr(socket, "AF_NETLINK")
    with socket.socket() as served:
        served.bind(("127.0.0.1", 0))
        served.listen()
        here = served.getsockname()
        with socket.create_connection(here) as ours:
            there = ours.getsockname()
            # Leave at once, so that the port is free at once.
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            assert account_of(there, here) == 0
        assert account_of(there, here) is None
        command = [sys.executable, "-c", TAKE, str(there[1]), str(here[1])]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as other:
            held = [served.accept() for _ in range(2)]  # ours, and then theirs
            assert [address for _, address in held] == [there, there]
            assert account_of(there, here) == 65534
            other.stdin.close()
            for taken, _ in held:
                taken.close()


@pytest.mark.skipif(os.name != "posix", reason="signals of a POSIX terminal")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_and_ends_cleanly(end, free_port):
    port = free_port
    process = subprocess.Popen(
        [sys.executable, "-m", "lore_core.cli", "app", "--headless", "--port", str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert wait_until_served(local_url(port), lambda: process.poll() is None)
        time.sleep(0.5)
    finally:
        process.send_signal(end)
        said, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert f"LoRe Lens is open at {local_url(port)} (Ctrl-C closes it)." in said
    assert "Traceback" not in said


def test_idle_workers_are_not_waited_for(tmp_path):
    """Workers that compared runs wait minutes for more; an interrupt must not wait with them."""
    script = tmp_path / "ended.py"
    serve = Path(launch_module.__file__).parents[2] / "pages" / "shared" / "serve.py"
    script.write_text(
        "import runpy\nfrom joblib import Parallel, delayed\n"
        f"end = runpy.run_path({str(serve)!r})['_end']\n"
        "Parallel(2)(delayed(abs)(k) for k in range(4))\nend()\n"
    )
    done = subprocess.run([sys.executable, script], timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
