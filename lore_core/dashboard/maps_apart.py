"""Learned maps made in a process of their own, beside the server.

t-SNE and UMAP hold the interpreter at many of their steps: in the server's process every page of
every reader waits for them. Here they cannot; what ends the process ends nothing else, and a map
that nobody wants any more is stopped at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from io import BufferedReader
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from lore_core.dashboard.maps_told import map_from, map_told
from lore_core.data.progress import Progress
from lore_core.data.validation import InputError
from lore_core.embedding.embed import embed
from lore_core.embedding.names import MapName
from lore_core.embedding.result import Embedding
from lore_core.reading.handover import Arrays, message_from, message_of

_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
_START += "from lore_core.dashboard.maps_apart import main; main()"
#: Seconds between two looks at whether the map is still wanted.
_EVERY = 0.5
#: How much less of the processors, as ``nice`` counts, maps have than pages.
_LESS = 5
#: Bytes of a message at most: no more than such an array could have.
_MOST = 2**40


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
    process = subprocess.Popen(
        [sys.executable, "-c", _START, json.dumps(sys.path)],
        # Threads that spin while they wait would steal the processor from the pages.
        env={"OMP_WAIT_POLICY": "passive"} | os.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # A Ctrl-C here reaches it as the end of its input. (In a session of its own Linux would
        # give it as much of the processors as all pages, whatever its priority.)
        process_group=0 if os.name == "posix" else None,
    )
    with process:
        assert process.stdin is not None
        try:
            assert isinstance(process.stdout, BufferedReader)
            threading.Thread(target=_hear, args=(process.stdout, heard), daemon=True).start()
            with contextlib.suppress(OSError):  # what ended it is told below
                _write(process.stdin, asked, {"features": features})
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


def _hear(stream: BufferedReader, heard: queue.Queue[tuple[Any, Arrays] | None]) -> None:
    """Take messages until there are no more."""
    with contextlib.suppress(ValueError, OSError):
        while True:
            heard.put(_read(stream))
    heard.put(None)


def _read(stream: BufferedReader) -> tuple[Any, Arrays]:
    def exactly(length: int) -> bytearray:
        taken = bytearray(length)
        if stream.readinto(taken) != length:
            raise ValueError("the end")
        return taken

    return message_from(exactly, _MOST)


def _write(stream: IO[bytes], told: Any, arrays: Arrays) -> None:
    for part in message_of(told, arrays):
        stream.write(part)
    stream.flush()


def main() -> None:
    """Make the map that standard input asks for, and tell of it on standard output."""
    if hasattr(os, "nice"):
        os.nice(_LESS)
    incoming = sys.stdin.buffer
    assert isinstance(incoming, BufferedReader)
    asked, arrays = _read(incoming)
    threading.Thread(target=_end_with, args=(incoming,), daemon=True).start()
    # (Libraries print; what they say must not stand among the messages.)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def tell(done: float, message: str) -> None:
        _write(out, {"done": done, "message": message}, {})

    try:
        made = embed(
            arrays["features"],
            asked["method"],
            asked["n_components"],
            random_state=0,
            progress=tell,
        )
        told, found = map_told(made)
        _write(out, {"map": told}, found)
    except InputError as error:
        _write(out, {"error": str(error)}, {})
    except MemoryError:
        _write(out, {"memory": True}, {})
    except BrokenPipeError:
        os._exit(1)  # the server has ended


def _end_with(incoming: BufferedReader) -> None:
    """End when the server does: nobody would take the map."""
    incoming.read(1)
    os._exit(1)
