import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from watched_server import ROOT, serving

from lore_core.dashboard.launch import launch
from lore_core.data.dataset import Dataset

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


def answer(url):
    with urllib.request.urlopen(url, timeout=5) as response:
        return response.status


def test_serves_until_stopped(dataset, free_port, monkeypatch, tmp_path):
    monkeypatch.setattr(launch_module.tempfile, "mkdtemp", lambda prefix: str(tmp_path / "own"))
    (tmp_path / "own").mkdir()
    with launch(dataset, port=free_port, open_browser=False) as dashboard:
        address = f"http://127.0.0.1:{free_port}"
        assert re.fullmatch(rf"{address}/\?token=\S{{32}}", dashboard.url)
        assert dashboard.running
        assert answer(f"{address}/_stcore/health") == 200
        assert answer(dashboard.url) == 200
        with pytest.raises(urllib.error.HTTPError, match="403"):
            answer(address)
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


@pytest.mark.skipif(os.name != "posix", reason="signals of a POSIX terminal")
def test_the_command_serves_and_ends_cleanly(tmp_path):
    with serving(tmp_path / "log.txt") as server:
        said = f"LoRe Lens is open at {server.link} (Ctrl-C closes it).\n"
        server.until(lambda: said in server.said)
        server.process.send_signal(signal.SIGINT)  # others: test_shutdown.py
        assert server.process.wait(20) == 0
        assert "Traceback" not in server.said


def test_idle_workers_are_not_waited_for(tmp_path):
    """Workers that compared runs wait minutes for more; an interrupt must not wait with them."""
    script = tmp_path / "ended.py"
    serve = ROOT / "pages" / "shared" / "serve.py"
    script.write_text(
        "import runpy\nfrom joblib import Parallel, delayed\n"
        f"end = runpy.run_path({str(serve)!r})['_end']\n"
        "Parallel(2)(delayed(abs)(k) for k in range(4))\nend()\n"
    )
    done = subprocess.run([sys.executable, script], timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_who_imports_the_app_starts_no_process():
    """Else all that its pages ask for would be computed beside it, by what it has not changed."""
    code = (
        "import sys\nstarted = []\n"
        "sys.addaudithook(lambda event, of: event == 'subprocess.Popen' and started.append(of))\n"
        "from app import PAGES, POOL\n"
        "assert PAGES\nassert not started\nassert not POOL.is_warm\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
