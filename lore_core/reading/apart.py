"""Files read in a process of their own, with limits: what they do to it they do to nobody else.

:mod:`lore_core.reading.apart_process` runs there. One process is kept that has imported everything
and never sees a file; it forks another for each reading, which ends with it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lore_core.data.validation import InputError
from lore_core.reading.checks import Check, DoubtfulDataError
from lore_core.reading.handover import Arrays, from_json, message_from, message_of, to_json
from lore_core.reading.mapping import ColumnMapping
from lore_core.reading.named_tables import SeveralTablesError
from lore_core.reading.raw_file import RawFile

#: Environment variable: GiB of memory a reading may take, instead of what the files' size allows.
MEMORY_VARIABLE = "LORE_READ_GIB"
#: Whether this system has what it takes; elsewhere files are read where they are asked for.
IS_POSSIBLE = hasattr(os, "fork") and hasattr(socket, "send_fds") and sys.platform != "darwin"

_WORD = 8  #: Bytes of a number between the two processes
_MIB = 2**20
#: Per cent of the machine's memory that one reading may take at most.
_PART_OF_MEMORY = 60
#: Readings at a time; others wait.
_AT_ONCE = 2
#: Times the seconds of work that may pass on a busy machine before it counts as hung.
_PATIENCE = 6.0
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
_START += "from lore_core.reading.apart_process import main; main(int(sys.argv[1]))"
#: Threads would not outlive the fork, and their stacks count as memory.
_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}


@dataclass(frozen=True)
class Limits:
    """What one reading may take."""

    memory: int  #: Bytes, beyond what Python itself takes
    seconds: float  #: Of processor time

    @classmethod
    def of(cls, n_bytes: int) -> Limits:
        """Return the limits for files of so many bytes.

        Ordinary files took up to 10 times their size and 0.3 s a megabyte (docs/decisions.md).
        """
        said = os.environ.get(MEMORY_VARIABLE, "")
        try:
            memory = int(float(said) * 2**30)
        except ValueError:
            memory = min(640 * _MIB + 16 * n_bytes, _PART_OF_MEMORY * _installed() // 100)
        return cls(memory, 4.0 + n_bytes / _MIB)


def _installed() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def ask(task: str, raws: Sequence[RawFile], mapping: ColumnMapping, name: str | None) -> Any:
    """Let another process ``"read"`` files, ``"inspect"`` them, or decode ``"images"``.

    Returns what it told, and arrays. Raises InputError as reading them here would, and where the
    files take more than they may or end the process.
    """
    uploads = [raw.content for raw in raws if isinstance(raw.content, bytes)]
    sizes = [_size(raw) for raw in raws]
    limits = Limits.of(sum(sizes))
    request = {
        "task": task,
        "files": [
            [raw.name, len(raw.content) if isinstance(raw.content, bytes) else str(raw.content)]
            for raw in raws
        ],
        "mapping": to_json(mapping),
        "name": name,
        "memory": limits.memory,
        "seconds": limits.seconds,
    }
    parts = [*message_of(request, {}), *uploads]
    try:
        with _TURNS:
            said = _exchange(parts, limits)
    except OSError as error:
        raise InputError(
            f"'{raws[0].name}' cannot be read: no process could be started for it "
            f"({error.strerror or error}). Close other programs."
        ) from error
    if isinstance(said, int):
        raise InputError(_death(raws, said, limits))
    told, arrays = said
    problem = told.get("error") if isinstance(told, dict) else None
    if problem is None:
        return told, arrays
    if problem.get("check"):
        raise DoubtfulDataError(from_json(Check, problem["check"]), str(problem["name"]))
    if problem.get("tables"):
        tables = [str(name) for name in problem["tables"]]
        raise SeveralTablesError(str(problem["file"]), str(problem["what"]), tables)
    raise InputError(_too_large(raws, limits) if problem.get("memory") else str(problem["said"]))


def warm() -> None:
    """Start the process that readings are forked from, where there is none yet."""
    if IS_POSSIBLE:
        threading.Thread(target=_SERVER.start, daemon=True).start()


class _Server:
    """The process that forks: its socket, and who may speak to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def start(self) -> None:
        with self._lock:
            self._started()

    def fork(self, request: int, answer: int) -> int:
        """Return the id of a new process that reads from one pipe and writes to the other."""
        with self._lock:
            for again in (True, False):
                try:
                    control = self._started()
                    socket.send_fds(control, [bytes(_WORD)], [request, answer])
                    return _number(control)
                except OSError:
                    self.forget()
                    if not again:
                        raise
        raise AssertionError

    def end(self, process: int) -> int:
        """End a process; return how it ended, as :func:`os.waitpid` says it."""
        with self._lock:
            try:
                control = self._started()
                control.sendall(process.to_bytes(_WORD, "little"))
                return _number(control)
            except OSError:
                self.forget()
                return signal.SIGKILL

    def _started(self) -> socket.socket:
        if self._owner != os.getpid():
            # A copy of this process must not talk over the socket of the original.
            self._socket = self._process = None
        if self._socket is None:
            ours, theirs = socket.socketpair()
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _START, str(theirs.fileno()), json.dumps(sys.path)],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    env={**os.environ, **_ENVIRONMENT},
                    # A Ctrl-C here reaches it as the end of its socket.
                    start_new_session=True,
                )
            self._socket, self._owner = ours, os.getpid()
        return self._socket

    def forget(self) -> None:
        """End the process; another is started when one is needed."""
        if self._socket is not None and self._process is not None and self._owner == os.getpid():
            self._socket.close()
            # (All that it forked are of its process group.)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._socket = self._process = None


_SERVER = _Server()
atexit.register(_SERVER.forget)
_TURNS = threading.BoundedSemaphore(_AT_ONCE)


def _number(control: socket.socket) -> int:
    said = control.recv(_WORD, socket.MSG_WAITALL)
    if len(said) < _WORD:
        raise ConnectionError("the process that forks has ended")
    return int.from_bytes(said, "little")


def _exchange(parts: Sequence[Any], limits: Limits) -> tuple[Any, Arrays] | int:
    """Return what a new process told, or how it ended without telling."""
    ask_from, ask_to = os.pipe()
    answer_from, answer_to = os.pipe()
    try:
        try:
            process = _SERVER.fork(ask_from, answer_to)
        finally:
            os.close(ask_from)
            os.close(answer_to)
        deadline = time.monotonic() + _PATIENCE * limits.seconds
        said: tuple[Any, Arrays] | None = None
        try:
            with contextlib.suppress(ConnectionError, TimeoutError, ValueError):
                with open(ask_to, "wb", closefd=False) as stream:
                    for part in parts:
                        stream.write(part)
                said = message_from(lambda n: _bytes(answer_from, n, deadline), limits.memory)
        finally:
            late = time.monotonic() > deadline
            status = _SERVER.end(process)
    finally:
        os.close(ask_to)
        os.close(answer_from)
    # (One that ends by itself without an answer had no memory left to give it.)
    return said or (signal.SIGXCPU if late else status & 0x7F or signal.SIGKILL)


def _bytes(pipe: int, length: int, deadline: float) -> bytearray:
    """Read so many bytes from a pipe; TimeoutError or ConnectionError if they do not come."""
    taken = bytearray(length)
    rest = memoryview(taken)
    while rest:
        if not select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise TimeoutError
        got = os.readv(pipe, [rest])
        if not got:
            raise ConnectionError
        rest = rest[got:]
    return taken


def _size(raw: RawFile) -> int:
    if isinstance(raw.content, bytes):
        return len(raw.content)
    try:
        if raw.content.is_dir():  # a dataset of Hugging Face
            return sum(part.stat().st_size for part in raw.content.iterdir())
        return raw.content.stat().st_size
    except OSError as error:
        raise InputError(f"'{raw.name}' cannot be opened: {error.strerror}.") from error


def _death(raws: Sequence[RawFile], how: int, limits: Limits) -> str:
    """Say why there is no answer, by the signal that ended the process."""
    called = " and ".join(f"'{raw.name}'" for raw in raws[:3])
    if how == signal.SIGXCPU:
        return (
            f"{called} took more than the {limits.seconds:.0f} s of work that a file of its size "
            "may take, and was given up. If it is no damage, read it with lore.load(…), which has "
            "no limit, and save what it returns with lore.save_npz."
        )
    if how == signal.SIGKILL:
        return _too_large(raws, limits)
    return (
        f"{called} is damaged, or holds much more than its size says: reading it ended the process "
        "that read it, and nothing else. Save it again."
    )


def _too_large(raws: Sequence[RawFile], limits: Limits) -> str:
    called = " and ".join(f"'{raw.name}'" for raw in raws[:3])
    return (
        f"{called} needs more than the {limits.memory / 2**30:.1f} GiB of memory that a file of "
        "its size may take: it holds much more than its size says. Save fewer rows or features, "
        f"or, if it is your own, start LoRe Lens with {MEMORY_VARIABLE}=8 or more."
    )
