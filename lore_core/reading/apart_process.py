"""What runs in the process that reads files for others; started by :mod:`lore_core.reading.apart`.

Its first process imports everything and then only forks. Each fork reads the files of one request,
within limits it cannot raise by accident, writes its answer and ends.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import math
import os
import resource
import signal
import socket
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from lore_core.data.validation import InputError
from lore_core.reading import loading
from lore_core.reading.checks import DoubtfulDataError
from lore_core.reading.columns import short
from lore_core.reading.handover import (
    Arrays,
    dataset_told,
    from_json,
    message_from,
    message_of,
    to_json,
)
from lore_core.reading.image_files import read_images
from lore_core.reading.mapping import ColumnMapping
from lore_core.reading.named_tables import SeveralTablesError
from lore_core.reading.raw_file import RawFile

_WORD = 8


def main(control: int) -> None:
    """Fork for every request that comes over a socket; end with all forks when it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    with socket.socket(fileno=control) as sock:
        while True:
            said, pipes, _, _ = socket.recv_fds(sock, _WORD, 2, socket.MSG_WAITALL)
            if len(said) < _WORD:
                # What is still read nobody would take.
                os.killpg(0, signal.SIGKILL)
            if pipes:
                process = os.fork()
                if process == 0:
                    sock.close()
                    _serve(*pipes)
                for pipe in pipes:
                    os.close(pipe)
                answer = process
            else:
                answer = _ended(int.from_bytes(said, "little"))
            sock.sendall(answer.to_bytes(_WORD, "little"))


def _ended(process: int) -> int:
    with contextlib.suppress(OSError):
        os.kill(process, signal.SIGKILL)
        return os.waitpid(process, 0)[1]
    return signal.SIGKILL


def _serve(request: int, answer: int) -> None:
    """Read what is asked for, tell it, and end this process."""
    code = 1
    try:
        with open(request, "rb") as asked, open(answer, "wb") as stream:

            def taken(length: int) -> bytearray:
                found = bytearray(length)
                if asked.readinto(found) != length:
                    raise EOFError
                return found

            wanted, _ = message_from(taken, sys.maxsize)
            files = [
                RawFile(name, Path(what) if isinstance(what, str) else bytes(taken(what)))
                for name, what in wanted["files"]
            ]
            # Of the memory that is left there must be enough to say that there is none.
            spare = bytearray(2**20)
            _limit(wanted["memory"], wanted["seconds"])
            try:
                told, arrays = _done(wanted, files)
            except BaseException as error:
                del spare
                told, arrays = {"error": _said(error, files)}, {}
            for part in message_of(told, arrays):
                stream.write(part)
        code = 0
    finally:
        os._exit(code)


def _limit(memory: int, seconds: float) -> None:
    """Bound what this process may take from here on."""
    no_more = (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE)
    for kind in no_more:
        resource.setrlimit(kind, (0, 0))
    with contextlib.suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    until = math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (until, until + 1))


def _done(wanted: dict[str, Any], files: list[RawFile]) -> tuple[Any, Arrays]:
    mapping = from_json(ColumnMapping, wanted["mapping"])
    warnings.simplefilter("ignore")
    if wanted["task"] == "inspect":
        return to_json(loading.inspect(files, mapping=mapping)), {}
    if wanted["task"] == "images":
        paths = [file.content for file in files if isinstance(file.content, Path)]
        return {}, {"images": read_images(paths)}
    reading = loading.read_files(files, mapping, wanted["name"])
    dataset, arrays = dataset_told(reading.dataset)
    report, used = to_json(reading.report), to_json(reading.mapping)
    return {"dataset": dataset, "report": report, "mapping": used}, arrays


def _said(error: BaseException, files: list[RawFile]) -> dict[str, Any]:
    """Return what another process is told of an error."""
    if isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError):
        return {"memory": True}
    if isinstance(error, DoubtfulDataError):
        return {"check": dataclasses.asdict(error.doubt), "name": error.name}
    if isinstance(error, SeveralTablesError):
        return {"tables": error.tables, "file": error.file, "what": error.what}
    if isinstance(error, InputError):
        return {"said": str(error)}
    # A damaged file raises whatever the byte that flipped leads to.
    reason = short(f"{type(error).__name__}: {error}")
    return {"said": f"'{files[0].name}' is damaged and cannot be read ({reason}). Save it again."}
