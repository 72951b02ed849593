"""Learned maps made in a process of their own, beside the server.

t-SNE and UMAP hold the interpreter at many of their steps: in the server's process every page of
every reader waits for them. Here they cannot; what ends the process ends nothing else, and a map
that nobody wants any more is stopped at once.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from io import BufferedReader
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.dashboard.maps_told import map_from, map_told
from lore_core.dashboard.messages import (
    beside_streams,
    hear_all,
    read_message,
    start_beside,
    write_message,
)
from lore_core.data.progress import Progress
from lore_core.data.validation import InputError
from lore_core.embedding.embed import embed
from lore_core.embedding.names import MapName
from lore_core.embedding.result import Embedding
from lore_core.reading.handover import Arrays

_MODULE = "lore_core.dashboard.maps_apart"
#: A map takes a minute, in which the reader has another: it makes way for fits, too.
_LESS = 8
#: Seconds between two looks at whether the map is still wanted.
_EVERY = 0.5


def embed_apart(
    features: NDArray[np.floating[Any]], name: MapName, progress: Progress
) -> Embedding:
    """Make a learned map of rows, as :func:`~lore_core.embedding.embed` does, elsewhere.

    Parameters
    ----------
    features : ndarray of shape (n, p)
        The rows.
    name : MapName
        t-SNE or UMAP, with its dimensions.
    progress : callable
        Told the share that is done and a message every half second; what it raises ends the work.

    Raises
    ------
    InputError
        As in this process.
    MemoryError
        If the map takes more memory than there is.
    RuntimeError
        If the process ends without an answer.
    """
    heard: queue.Queue[tuple[Any, Arrays] | None] = queue.Queue()
    asked = {"method": name.method, "n_components": name.n_components}
    process = start_beside(_MODULE)
    with process:
        assert process.stdin is not None
        try:
            assert isinstance(process.stdout, BufferedReader)
            hear_all(process.stdout, heard.put)
            with contextlib.suppress(OSError):  # what ended it is told below
                write_message(process.stdin, asked, {"features": features})
            return _answer(heard, progress)
        finally:
            process.kill()
            with contextlib.suppress(OSError):  # what it did not take is lost
                process.stdin.close()


def _answer(heard: queue.Queue[tuple[Any, Arrays] | None], progress: Progress) -> Embedding:
    done, message = 0.0, "starting"
    while True:
        try:
            said = heard.get(timeout=_EVERY)
        except queue.Empty:
            progress(done, message)
            continue
        if said is None:
            raise RuntimeError("the process that makes maps has ended")
        told, arrays = said
        if "map" in told:
            return map_from(told["map"], arrays)
        if told.get("memory"):
            raise MemoryError
        if "error" in told:
            raise InputError(str(told["error"]))
        done, message = float(told["done"]), str(told["message"])
        progress(done, message)


def main() -> None:
    """Make the map that standard input asks for, and tell of it on standard output."""
    incoming, out = beside_streams(_LESS)
    try:
        asked, arrays = read_message(incoming)
    except ValueError:
        os._exit(1)  # the server has ended before it had asked
    threading.Thread(target=_end_with, args=(incoming,), daemon=True).start()

    def tell(done: float, message: str) -> None:
        write_message(out, {"done": done, "message": message}, {})

    try:
        made = embed(
            arrays["features"],
            asked["method"],
            asked["n_components"],
            random_state=0,
            progress=tell,
        )
        told, found = map_told(made)
        write_message(out, {"map": told}, found)
    except InputError as error:
        write_message(out, {"error": str(error)}, {})
    except MemoryError:
        write_message(out, {"memory": True}, {})
    except BrokenPipeError:
        os._exit(1)  # the server has ended


def _end_with(incoming: BufferedReader) -> None:
    """End when the server does: nobody would take the map."""
    incoming.read(1)
    os._exit(1)
