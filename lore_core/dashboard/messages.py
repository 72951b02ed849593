"""What this server and the processes beside it tell each other: JSON and plain arrays."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from io import BufferedReader
from typing import IO, Any

from lore_core.reading.handover import Arrays, message_from, message_of

#: Bytes of a message at most: no more than such an array could have.
_MOST = 2**40


def start_beside(module: str) -> subprocess.Popen[bytes]:
    """Start a process that runs ``main`` of a module and is spoken to by its pipes."""
    code = f"import json, sys; sys.path[:] = json.loads(sys.argv[1]); import {module} as it; "
    return subprocess.Popen(
        [sys.executable, "-c", f"{code}it.main()", json.dumps(sys.path)],
        # Threads that spin while they wait would steal the processor from the pages.
        env={"OMP_WAIT_POLICY": "passive"} | os.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # A Ctrl-C here reaches it as the end of its input. (In a session of its own Linux would
        # give it as much of the processors as all pages, whatever its priority.)
        process_group=0 if os.name == "posix" else None,
    )


def beside_streams(less: int) -> tuple[BufferedReader, IO[bytes]]:
    """Make way for the pages, and return what such a process hears and speaks by.

    ``less``: how much less of the processors, as ``nice`` counts, it has than they.
    """
    if hasattr(os, "nice"):
        os.nice(less)
    incoming = sys.stdin.buffer
    assert isinstance(incoming, BufferedReader)
    # (Libraries print; what they say must not stand among the messages.)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return incoming, out


def read_message(stream: BufferedReader) -> tuple[Any, Arrays]:
    """Take the next message; ValueError where there is none any more."""

    def exactly(length: int) -> bytearray:
        taken = bytearray(length)
        if stream.readinto(taken) != length:
            raise ValueError("the end")
        return taken

    return message_from(exactly, _MOST)


def write_message(stream: IO[bytes], told: Any, arrays: Arrays) -> None:
    """Send a message."""
    for part in message_of(told, arrays):
        stream.write(part)
    stream.flush()


def hear_all(stream: BufferedReader, take: Callable[[tuple[Any, Arrays] | None], object]) -> None:
    """Take messages, in a thread of its own, until there are no more; then None."""

    def hear() -> None:
        with stream, contextlib.suppress(ValueError, OSError):
            while True:
                take(read_message(stream))
        take(None)

    threading.Thread(target=hear, daemon=True).start()
