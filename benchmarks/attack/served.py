"""A dashboard in a process of its own, to be visited and killed; and data to bring along."""

import contextlib
import io
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lore_core.dashboard.access import TOKEN, base_path, new_token
from lore_core.dashboard.server import ServerSettings, find_app, local_url, wait_until_served

_CLASSES, _FEATURES = 5, 16
_MEGABYTE = 2**20


class Server:
    """As ``lore app`` starts it; ``kept``: where it keeps things on disk, if anywhere."""

    def __init__(self, log: Path, kept: Path | None = None) -> None:
        self.log = log
        with socket.socket() as probe:  # (two attacks may choose at the same time)
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        token = new_token()
        self.url = local_url(port) + base_path(token)
        script, arguments = ServerSettings(port, cache=kept).command(find_app())
        with log.open("ab") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-P", script, *arguments],
                env={"OMP_WAIT_POLICY": "passive"} | os.environ | {TOKEN: token},
                stdin=subprocess.PIPE,  # (it ends with its standard input)
                stdout=stream,
                stderr=stream,
            )
        if not wait_until_served(self.url, lambda: self.process.poll() is None):
            raise RuntimeError(f"no server: {log.read_text()[-2000:]}")

    def kill(self) -> None:
        """End it without warning."""
        self.process.kill()
        self.process.wait()

    @property
    def memory(self) -> tuple[float, float]:
        """MiB that the server holds now, and held at most."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        said = {name: value for name, _, value in (line.partition(":") for line in lines)}
        now, most = (int(said[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
        return now / _MEGABYTE, most / _MEGABYTE

    @property
    def processor_seconds(self) -> float:
        """Processor time the server has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def tracebacks(self) -> int:
        """How many faults its log tells of."""
        return self.log.read_text(errors="replace").count("Traceback")


@contextlib.contextmanager
def serving(*, keeping: bool = False) -> Iterator[Server]:
    """Serve the dashboard on a folder of its own; it is killed at the end."""
    with tempfile.TemporaryDirectory(prefix="lore-attack-") as name:
        folder = Path(name)
        server = Server(folder / "log.txt", folder / "kept" if keeping else None)
        try:
            yield server
        finally:
            server.kill()


def rows(n: int, seed: int) -> bytes:
    """Return an ``.npz`` of rows with a planted error, half of them to fit on."""
    chance = np.random.default_rng(seed)
    centres = 2 * chance.normal(size=(_CLASSES, _FEATURES)) * np.geomspace(1, 0.1, _FEATURES)
    labels = chance.integers(0, _CLASSES, n)
    features = centres[labels] + chance.normal(size=(n, _FEATURES))
    distance = ((features[:, None] - centres[None]) ** 2)[..., :4].sum(axis=2)
    logits = -0.5 * np.where(features[:, :1] > 2, 2.0, 1.0) * distance
    weight = np.exp(logits - logits.max(axis=1, keepdims=True))
    content = io.BytesIO()
    np.savez(
        content,
        probs=(weight / weight.sum(axis=1, keepdims=True)).astype(np.float32),
        labels=labels,
        features=features.astype(np.float32),
        groups=chance.choice(["a", "b", "c"], (n, 1)),
        group_names=np.array(["site"]),
    )
    return content.getvalue()
