import io
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import psutil
import pytest
from watched_server import ROOT, UPGRADE, Server, answer, serving

from benchmarks.attack.reader import Reader
from lore_core.dashboard.access import TOKEN, base_path
from lore_core.dashboard.launch import launch
from lore_core.dashboard.server import choose_port, local_url, wait_until_served
from lore_core.data.dataset import Dataset

# Not `lore_core.dashboard.launch`: that name is the function.
launch_module = sys.modules["lore_core.dashboard.launch"]

# One worker: two servers that look for the first free port at the same time may find the same.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("launch")]

needs_two_accounts = pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="needs two accounts"
)
of_posix = pytest.mark.skipif(os.name != "posix", reason="signals of a POSIX terminal")

BROWSER = """#!{python}
import json, os, pathlib, sys, urllib.parse
page = pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(sys.argv[1]).path))
modes = oct(page.stat().st_mode), oct(page.parent.stat().st_mode)
part = pathlib.Path({out!r} + ".part")
part.write_text(json.dumps((sys.argv, str(page), modes, page.read_text())))
part.rename({out!r})
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server that has opened a browser, which notes what it was given; it ends cleanly."""
    folder = tmp_path_factory.mktemp("access")
    browser = folder / "browser"
    browser.write_text(BROWSER.format(python=sys.executable, out=str(folder / "opened")))
    browser.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BROWSER", f"{browser} %s")
        server = Server(folder / "log.txt", options=[])
    try:
        server.wait()
        yield server
        server.process.send_signal(signal.SIGINT)  # others: test_shutdown.py
        assert server.process.wait(20) == 0
        assert "Traceback" not in server.said
        _, page, *_ = json.loads((folder / "opened").read_text())
        assert not Path(page).parent.exists()
    finally:
        server.stop()


#: What a path needs to be asked for, and the status that answers who knows the secret.
ROUTES = {
    "/": ("GET", 200),
    "/overview": ("GET", 200),
    "/static/nothing.js": ("GET", 200),
    "/_stcore/host-config": ("GET", 200),
    "/_stcore/upload_file/a/b": ("PUT", 403),  # by Streamlit, without its token for forms
    "/_stcore/stream": ("GET", 101),
    "/media/nothing.png": ("GET", 404),
    "/lore/ask/nothing": ("POST", 404),
    "/component/nothing/x.js": ("GET", 404),
    "/_stcore/bidi-components/nothing/x.js": ("GET", 404),
}
ASK = """
import encodings.idna, http.client, json, os, sys
account, source, port, bases, routes, upgrade = json.loads(sys.argv[1])
os.setuid(account)
found = {base: {} for base in bases}
for base in bases:
    for path, (method, _) in routes.items():
        connection = http.client.HTTPConnection("127.0.0.1", port, 20, (source, 0))
        connection.request(method, base + path, headers=upgrade if path.endswith("stream") else {})
        answer = connection.getresponse()
        said = "" if answer.status == 101 else answer.read().decode(errors="replace")
        found[base][path] = answer.status, said
print(json.dumps(found))
"""


@pytest.mark.parametrize(
    ("account", "source"),
    [(None, "127.9.9.9"), pytest.param(65534, "127.0.0.1", marks=needs_two_accounts)],
)
def test_nobody_else_at_this_machine_is_answered(served, account, source):
    account = os.getuid() if account is None else account
    secret = served.url.removeprefix(local_url(served.port))
    others = ["", "/0123456789abcdef0123456789abcdef"]
    routes = {**ROUTES, "/_stcore/health": ("GET", 200)}
    told = json.dumps([account, source, served.port, [secret, *others], routes, UPGRADE])
    command = [sys.executable, "-I", "-c", ASK, told]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert {path: status for path, (status, _) in found[secret].items() if path in ROUTES} == {
        path: status for path, (_, status) in ROUTES.items()
    }
    for base in others:
        health, _ = found[base].pop("/_stcore/health")
        assert health == (403 if base else 200)
        for path, (status, said) in found[base].items():
            text = "" if path.endswith("stream") else "This link has no secret"
            assert (status, said[: len(text)]) == (403, text), path


def test_no_program_drives_the_pages(served):
    base = served.url.removeprefix(local_url(served.port))
    headers = {"Content-Type": "application/json"}
    for path in ("interact", "mcp"):
        url = f"{base}/_stcore/agent/{path}"
        status, said = answer(served.port, url, headers, method="POST", body="{}")
        assert status >= 400
        assert "does not serve the agent API" in said


def test_a_refused_page_of_another_site_makes_the_server_ask_nobody(served, tmp_path):
    """Streamlit would ask an outside server for its own address, two seconds long."""
    for page in range(3):
        origin = {"Origin": f"https://{page}.example"}
        path = served.url.removeprefix(local_url(served.port)) + "/_stcore/stream"
        assert answer(served.port, path, UPGRADE | origin)[0] == 403
    assert not served.outgoing.exists()
    outgoing = tmp_path / "outgoing"
    code = "import socket as s; s.socket(type=s.SOCK_DGRAM).connect(('192.0.2.1', 9))"
    environment = os.environ | served.watched | {"LORE_TEST_OUTGOING": str(outgoing)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert outgoing.read_text() == "socket.connect ('192.0.2.1', 9)\n"


def test_a_proxy_proves_itself_with_every_request(tmp_path):
    options = ["--headless", "--host-name", "lens.example.com"]
    with serving(tmp_path / "log.txt", options=options, prefix="/tools/lens") as server:
        base = base_path(server.token, "/tools/lens")
        of_proxy = {"Host": "lens.example.com", "Origin": "https://lens.example.com"}
        of_proxy["Authorization"] = f"Bearer {server.token}"
        for path, changed, status in (
            ("/tools/lens/overview", {}, 302),
            (f"{base}/overview", {}, 200),
            (f"{base}/_stcore/stream", UPGRADE, 101),
            (f"{base}/_stcore/stream", UPGRADE | {"Authorization": "Bearer no"}, 403),
            (f"{base}/_stcore/stream", UPGRADE | {"Origin": "http://lens.example.com"}, 403),
            ("/tools/lens/_stcore/stream", UPGRADE, 403),
            (f"{base}/overview", {"Authorization": ""}, 403),
            (f"/tools/lens/?token={server.token}", {"Authorization": ""}, 403),
            (f"{base}/overview", {"Host": "other.example.com"}, 403),
        ):
            assert answer(server.port, path, of_proxy | changed)[0] == status, (path, changed)
        server.until(lambda: "open at https://lens.example.com/tools/lens/ (" in server.said)
        assert server.token not in server.said


TAKEN = """
import sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from lore_core.dashboard.server import ServerSettings, serve

class Other(BaseHTTPRequestHandler):
    def do_GET(self):
        print("asked", self.path, flush=True)
        self.send_response(200)
        self.end_headers()

other = ThreadingHTTPServer(("127.0.0.1", 0), Other)
threading.Thread(target=other.serve_forever, daemon=True).start()
serve(ServerSettings(other.server_port), sys.argv[1], open_browser=True, notify=print)
"""


def test_a_program_that_takes_the_port_first_is_not_given_the_link():
    command = [sys.executable, "-c", TAKEN, "s3cret-of-tests-0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "is not available" in done.stderr


def cmdline(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@of_posix
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
def test_no_argument_of_any_process_has_the_secret(served):
    out = served.log.with_name("opened")
    served.until(out.exists)
    sentence = f"LoRe Lens is open at {served.link} (Ctrl-C closes it).\n"
    served.until(lambda: sentence in served.said)
    words = [word for one in psutil.process_iter() for word in cmdline(one)]
    assert any(str(served.port) in word for word in words)
    arguments, page, modes, text = json.loads(out.read_text())
    secrets = (served.token, base_path(served.token).strip("/"))
    assert not [word for word in [*words, *arguments] if any(s in word for s in secrets)]
    assert modes == ["0o100600", "0o40700"]
    assert f"url={served.link}" in text
    assert Path(page).exists()


def test_streamlit_run_prints_a_link_with_a_token_of_its_own(monkeypatch):
    monkeypatch.delenv(TOKEN, raising=False)
    command = [sys.executable, "-m", "streamlit", "run", "app.py"]
    command += ["--server.port", str(choose_port()), "--server.fileWatcherType", "none"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = next(line for line in process.stdout if "LoRe Lens is open at" in line)
            port, token = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", said).groups()
            assert answer(int(port), f"{base_path(token)}/")[0] == 200
            assert answer(int(port), "/")[0] == 403
        finally:
            process.terminate()


@pytest.fixture
def dataset():
    rng = np.random.default_rng(0)
    return Dataset(rng.random(50), rng.integers(0, 2, 50), rng.normal(size=(50, 3)), name="a/b c")


def status(url):
    with urllib.request.urlopen(url, timeout=5) as answered:
        return answered.status


def test_serves_until_stopped(dataset, monkeypatch, tmp_path):
    monkeypatch.setattr(launch_module.tempfile, "mkdtemp", lambda prefix: str(tmp_path / "own"))
    (tmp_path / "own").mkdir()
    port = choose_port()
    with launch(dataset, port=port, open_browser=False) as dashboard:
        address = f"http://127.0.0.1:{port}"
        assert re.fullmatch(rf"{address}/\?token=\S{{32}}", dashboard.url)
        assert dashboard.running
        assert status(f"{address}/_stcore/health") == status(dashboard.url) == 200
        with pytest.raises(urllib.error.HTTPError, match="403"):
            status(address)
        assert [path.name for path in (tmp_path / "own").glob("*.npz")] == ["a_b_c.npz"]
        assert f'href="{dashboard.url}"' in dashboard._repr_html_()
    assert not dashboard.running
    assert not (tmp_path / "own").exists()
    with pytest.raises(urllib.error.URLError):
        status(dashboard.url)
    assert "stopped" in repr(dashboard)
    dashboard.stop()


def test_a_server_that_fails_says_why(dataset, monkeypatch, tmp_path):
    monkeypatch.setattr(launch_module.server, "find_app", lambda: Path(tmp_path / "missing.py"))
    with pytest.raises(RuntimeError, match=r"(?s)did not start at .*It said: .*No such file or"):
        launch(dataset, port=choose_port(), open_browser=False)


def test_who_imports_the_app_starts_no_process():
    """Else all that its pages ask for would be computed beside it, by what it has not changed."""
    code = (
        "import sys\nstarted = []\n"
        "sys.addaudithook(lambda event, of: event == 'subprocess.Popen' and started.append(of))\n"
        "from app import PAGES, POOL\n"
        "assert PAGES\nassert not started\nassert not POOL.is_started\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def serve(tmp_path):
    started = []

    def start():
        port = choose_port()
        command = [sys.executable, "-m", "lore_core.cli", "app", "--headless", "--port", str(port)]
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), TOKEN: ""}
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment
        )
        started.append(process)
        alive = lambda: process.poll() is None  # noqa: E731
        # The first start of all compiles the kernels.
        assert any(wait_until_served(local_url(port), alive) for _ in range(4))
        said = next(line for line in process.stdout if "LoRe Lens is open at" in line)
        return process, local_url(port) + base_path(re.search(r"\?token=(\S+)", said)[1])

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_link_leads_to_an_upload_after_the_server_was_killed(serve):
    rng, content = np.random.default_rng(0), io.BytesIO()
    np.savez(content, probs=rng.random(300), labels=rng.integers(0, 2, 300))
    process, url = serve()
    with Reader(url) as reader:
        page = reader.upload(reader.open("", gamma=0.4), "mine.npz", content.getvalue())
        assert "stay on this machine's disk" in page.text.replace("\\", "")
        link = reader.link
    process.kill()
    process.wait()
    _, again = serve()
    assert again.rpartition("/")[2] == url.rpartition("/")[2]  # the secret
    with Reader(again) as reader:
        page = reader.open("overview", **link)
        assert "mine" in page.text
        assert "150 evaluation + 150 calibration rows" in page.text
        assert reader.link == link
