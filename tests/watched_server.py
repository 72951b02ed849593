"""The dashboard as a user starts it, in a process of its own that notes what it asks of others."""

import contextlib
import http.client
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lore_core.dashboard.access import TOKEN, base_path, link_to
from lore_core.dashboard.server import local_url, wait_until_served

ROOT = Path(__file__).resolve().parents[1]
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
#: Python runs it as ``sitecustomize`` in the server and in what that starts: notes every address
#: that is not this machine's, and that a connection, a packet or a question for a name goes to.
WATCH = """
import os, sys

def is_here(address):
    if not isinstance(address, tuple) or not isinstance(address[0], (str, bytes)):
        return True  # of the file system, or of the kernel
    host = os.fsdecode(address[0])
    return host.startswith("127.") or host in ("::1", "localhost", "")

def note(event, given):
    asked = event == "socket.getaddrinfo" and given[0] is not None
    if event in ("socket.connect", "socket.sendto") or asked:
        address = given[:2] if asked else given[1]
        if not is_here(address):
            with open(os.environ["LORE_TEST_OUTGOING"], "a") as out:
                out.write(f"{event} {address}\\n")

sys.addaudithook(note)
"""


def answer(port, path, headers=None, *, method="GET", body=None):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as asking:
        asking.request(method, path, body, headers or {})
        with asking.getresponse() as answered:
            text = b"" if answered.status == 101 else answered.read()
            return answered.status, text.decode(errors="replace")


class Server:
    def __init__(
        self, log: Path, *data: Path, options: Sequence[str] = ("--headless",), prefix: str = ""
    ) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.token = secrets.token_urlsafe(24)
        self.link = link_to(local_url(self.port), self.token)
        self.url = local_url(self.port) + base_path(self.token, prefix)
        self.log = log
        command = [sys.executable, "-m", "lore_core.cli", "app", *options]
        command += ["--port", str(self.port), "--data-root", "/", "--no-cache"]
        command += ["--path-prefix", prefix]
        if data:
            command += ["--data", *map(str, data)]
        self.outgoing = log.with_suffix(".outgoing")
        (log.parent / "sitecustomize.py").write_text(WATCH)
        paths = [str(log.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.watched = {
            "PYTHONPATH": os.pathsep.join(paths),
            "LORE_TEST_OUTGOING": str(self.outgoing),
        }
        with log.open("wb") as stream:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=os.environ | self.watched | {TOKEN: self.token},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )

    def wait(self) -> None:
        alive = lambda: self.process.poll() is None  # noqa: E731
        # The first start of all compiles the kernels.
        for _ in range(4):
            if wait_until_served(self.url.rpartition("/")[0], alive):
                return
        raise AssertionError(f"no server at {self.url}:\n{self.said}")

    def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < end, self.said
            time.sleep(0.05)

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(15)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def serving(log: Path, *data: Path, **settings: Any) -> Iterator[Server]:
    server = Server(log, *data, **settings)
    try:
        server.wait()
        yield server
    finally:
        server.stop()
