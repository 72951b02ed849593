"""Open the dashboard, or the landscape alone, from a notebook or a script."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from lore_core.dashboard import server
from lore_core.dashboard.access import TOKEN, link_to, new_token
from lore_core.data.arrays import Mask
from lore_core.data.binning import Binning
from lore_core.data.dataset import TOP_LABEL, Dataset
from lore_core.data.dataset_files import save_npz
from lore_core.data.defaults import GAMMA, N_BINS, STORED_GAMMAS
from lore_core.data.errors import InputError, require
from lore_core.kernel_sums.compile_once import compile_kernels

if TYPE_CHECKING:
    from lore_core.dashboard.widget import LandscapeWidget
    from lore_core.embedding.result import Embedding


#: Seconds that a server may take to end before it is killed.
_STOP_SECONDS = 5.0


def launch(dataset: Dataset, *, port: int | None = None, open_browser: bool = True) -> Dashboard:
    """Open the dashboard on a dataset; it runs until ``stop()``, its ``with`` block or Python ends.

    The data are handed over through a temporary ``.npz`` file, removed on ``stop``. ``port``: on
    this machine; by default 8501 or the next free one. ``open_browser``: whether to open a browser
    tab, where there is a screen. Raises InputError if the port is taken or out of range, or the
    dashboard's packages are not installed; RuntimeError, with what it said, if the server does not
    start.
    """
    require("The dashboard", "streamlit", "plotly")
    return Dashboard(dataset, server.choose_port(port), open_browser=open_browser)


class Dashboard:
    """A dashboard server of its own process on this machine.

    ``url``: the link that opens it; without the token in it nothing is answered. ``selection``
    (n,): the rows that are marked there, a mask.
    """

    def __init__(self, dataset: Dataset, port: int, *, open_browser: bool) -> None:
        token, address = new_token(), server.local_url(port)
        self.url, self._n_rows = link_to(address, token), len(dataset)
        self._folder = Path(tempfile.mkdtemp(prefix="lore-lens-"))
        self._selection = self._folder / "selection.npy"
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.stop)
        with ExitStack() as failing:
            failing.callback(self.stop)  # also when a Ctrl-C ends the wait
            self._start(dataset, port, token)
            if not server.wait_until_served(address, lambda: self.running):
                log = self._log_path.read_text(encoding="utf-8", errors="replace").strip()
                raise RuntimeError(f"the dashboard did not start at {address}. It said: {log}")
            failing.pop_all()
        if open_browser:
            server.open_in_browser(self.url, self._folder)

    def _start(self, dataset: Dataset, port: int, token: str) -> None:
        stem = re.sub(r"[^\w.-]+", "_", dataset.name).strip("._")[:80] or "data"
        path, self._log_path = self._folder / f"{stem}.npz", self._folder / "server.log"
        save_npz(dataset, path)
        notify = partial(print, file=sys.stderr)
        threading.Thread(target=compile_kernels, args=(notify,), daemon=True).start()
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


def landscape(
    dataset: Dataset,
    embedding: Embedding | None = None,
    *,
    target: str | int = TOP_LABEL,
    gamma: float = GAMMA,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
) -> LandscapeWidget:
    """Show where the confidence is wrong, in a notebook: a map to drag, zoom, play and select on.

    The last line of a cell shows the evaluation rows of the dataset; ``selected_rows`` are those
    that are selected. ``embedding``: all rows on a 2-D map (:func:`~lore_core.embedding.embed`); by
    default two-dimensional PCA. ``target, n_bins, binning``: what is being calibrated, and its
    confidence bins. ``gamma``: bandwidth γ > 0 at first; the slider has others. Raises InputError
    if there are no features, the map is not 2-D, or anywidget is not installed.
    """
    require("A landscape in a notebook", "anywidget")
    from lore_core.dashboard.widget import LandscapeWidget
    from lore_core.embedding import embed
    from lore_core.figures.browser.landscape import ROWS, EveryRow, packed_rows, still_layers
    from lore_core.figures.pictures.landscape import landscape_figure
    from lore_core.figures.pictures.landscape_picture import Layer
    from lore_core.figures.pictures.picture import shared_limit
    from lore_core.regions.field import Field
    from lore_core.regions.rows import row_table
    from lore_core.view import View
    from lore_core.view.scene import Scene, preview_rows
    from lore_core.view.where import errors_of, reliability_of

    if embedding is None:
        if dataset.features is None:
            raise InputError("'dataset' must have features, or give an 'embedding' of its rows.")
        embedding = embed(dataset.features, "pca", 2)
    if embedding.n_components != 2:
        raise InputError(f"'embedding' must have 2 dimensions; got {embedding.n_components}.")
    view = View(dataset, target, gamma, n_bins, binning, {embedding.name.title: embedding})
    scene = Scene(view, errors_of(view), reliability_of(view), None, embedding, view.map_name)
    gammas = tuple(sorted({*STORED_GAMMAS, gamma}))
    moving = preview_rows(view, on=embedding)
    pictures = [moving.at_gamma(item)[0] for item in gammas]
    fields = tuple(item for item in pictures if isinstance(item, Field))  # on a flat map all
    start = gammas.index(gamma)
    chart = landscape_figure(
        fields[start],
        scene.points,
        worst=row_table(view.evaluation, scene.worst, scene.errors, extra=0),
        n_total=scene.n_rows,
        limit=shared_limit(scene.supported),
        rows=f"{view.rows}, {view.kernel_in_words}",
        axes=scene.axes,
        labels=scene.classes,
    )
    layer = Layer("all confidences together", fields, "", scene.n_rows)
    rows = EveryRow(view.evaluation, target, view.target_rows, scene.errors, scene.points)
    shown = still_layers(replace(chart, layers=(layer,), gammas=gammas, start=start), rows=rows)
    return LandscapeWidget.of(packed_rows(rows, ROWS), shown, scene.points, gamma)
