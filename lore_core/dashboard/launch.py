"""Open the dashboard from a notebook or a script."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Self

import numpy as np

from lore_core.dashboard import server
from lore_core.dashboard.access import TOKEN, link_to, new_token
from lore_core.data.arrays import Mask
from lore_core.data.dataset import Dataset
from lore_core.data.dataset_files import save_npz
from lore_core.data.errors import require
from lore_core.kernel_sums.compile_once import compile_kernels

#: Seconds that a server may take to end before it is killed.
_STOP_SECONDS = 5.0


def launch(dataset: Dataset, *, port: int | None = None, open_browser: bool = True) -> Dashboard:
    """Open the dashboard on a dataset.

    Parameters
    ----------
    dataset : Dataset
        What to show. It is handed over through a temporary ``.npz`` file, removed on ``stop``.
    port : int, optional
        Port on this machine; by default 8501 or the next free one.
    open_browser : bool
        Whether to open a browser tab, where there is a screen.

    Returns
    -------
    Dashboard
        Runs until ``stop()``, the end of its ``with`` block or of this Python.

    Raises
    ------
    InputError
        If the port is taken or out of range, or the dashboard's packages are not installed.
    RuntimeError
        If the server does not start; the message holds what it said.
    """
    require("The dashboard", "streamlit", "plotly")
    return Dashboard(dataset, server.choose_port(port), open_browser=open_browser)


class Dashboard:
    """A dashboard server of its own process on this machine.

    Attributes
    ----------
    url : str
        Link that opens it; without the token in it nothing is answered.
    selection : ndarray of bool, of shape (n,)
        Rows that are marked there.
    """

    def __init__(self, dataset: Dataset, port: int, *, open_browser: bool) -> None:
        token, address = new_token(), server.local_url(port)
        self.url, self._n_rows = link_to(address, token), len(dataset)
        self._folder = Path(tempfile.mkdtemp(prefix="lore-lens-"))
        self._selection = self._folder / "selection.npy"
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.stop)
        try:
            self._start(dataset, port, token)
            if not server.wait_until_served(address, lambda: self.running):
                log = self._log_path.read_text(encoding="utf-8", errors="replace").strip()
                raise RuntimeError(f"the dashboard did not start at {address}. It said: {log}")
        except BaseException:  # also when a Ctrl-C ends the wait
            self.stop()
            raise
        if open_browser:
            server.open_in_browser(self.url, self._folder)

    def _start(self, dataset: Dataset, port: int, token: str) -> None:
        stem = re.sub(r"[^\w.-]+", "_", dataset.name).strip("._")[:80] or "data"
        path, self._log_path = self._folder / f"{stem}.npz", self._folder / "server.log"
        save_npz(dataset, path)
        compile_kernels(lambda text: print(text, file=sys.stderr))  # noqa: T201
        settings = server.ServerSettings(port, [path], selection=self._selection)
        script, arguments = settings.command(server.find_app())
        with self._log_path.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-P", script, *arguments],
                stdin=subprocess.PIPE,  # it ends with this process, however that ends
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, TOKEN: token},
                # A Ctrl-C that interrupts a notebook cell must not take the dashboard with it.
                start_new_session=True,
            )

    @property
    def running(self) -> bool:
        """Whether the server still runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def selection(self) -> Mask:
        """Which rows of the dataset are marked on the Landscape page, shape (n,).

        By lasso, box, words, place, class or group; the last look counts, and none at first.
        """
        return read_selection(self._selection, self._n_rows)

    def stop(self) -> None:
        """End the server and remove its temporary files. Harmless when already stopped."""
        # (A wait without a limit could not be called again by a signal's handler.)
        if (process := self._process) is not None:
            for end in (process.terminate, process.kill):
                if self.running:
                    end()
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(timeout=_STOP_SECONDS)
            if process.stdin is not None:
                process.stdin.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Dashboard({self.url!r}, {'running' if self.running else 'stopped'})"

    def _repr_html_(self) -> str:
        if not self.running:
            return "LoRe Lens has stopped."
        return f'LoRe Lens: <a href="{self.url}" target="_blank" rel="noopener">{self.url}</a>'


def read_selection(path: Path, n_rows: int) -> Mask:
    """Read which rows are selected; none where nobody has selected any."""
    try:
        return np.asarray(np.load(path, allow_pickle=False), dtype=bool)
    except (OSError, ValueError):
        return np.zeros(n_rows, dtype=bool)
