"""Child process that parses untrusted files, with limits on memory, time and answer.

Forked from a process that sees no file. It answers in JSON and plain
arrays: nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import gc
import io
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from lore_core.data import archive_files, dataset_files, processes
from lore_core.data.errors import InputError
from lore_core.data.rules import check_value
from lore_core.reading.checks import Check, DoubtfulDataError
from lore_core.reading.columns import damaged, refusing_damage
from lore_core.reading.databases import SeveralTablesError, on_disk
from lore_core.reading.mapping import ColumnMapping
from lore_core.reading.raw_file import RawFile
from lore_core.reading.reading_report import ColumnOverview, FileOverview, Reading, ReadingReport
from lore_core.reading.suggestions import Suggestion

if sys.platform == "linux":
    import fcntl
    import resource

Kind = TypeVar("Kind")

#: Environment variable: GiB of memory a child may take, whatever the files' size.
MEMORY_VARIABLE = "LORE_READ_GIB"
#: Whether this system enforces the limits; elsewhere files are parsed in the caller.
IS_POSSIBLE = sys.platform == "linux"

_MIB = 2**20
_MAX_PERCENT_OF_MEMORY = 60
_MAX_CHILDREN = 2
_WALL_SECONDS_PER_SECOND = 6.0
#: Seconds of grace before a child that is out of time is killed.
_GRACE_SECONDS = 10.0
#: Errors a child can raise here, and the types of their arguments.
_ERRORS: dict[str, tuple[type[InputError], Any]] = {
    "doubt": (DoubtfulDataError, tuple[Check, str]),
    "tables": (SeveralTablesError, tuple[str, str, tuple[str, ...]]),
    "text": (InputError, tuple[str]),
}
_TYPES = (Check, ColumnMapping, ColumnOverview, FileOverview, Reading, ReadingReport)
_FORMS = (*dataset_files.FORMS, *map(archive_files.form_of, (*_TYPES, Suggestion)))
_ANSWER = archive_files.Kind("lore-answer", "what was read", "a child", _FORMS, has_checksum=False)
_PIECE_BYTES = 2**24
_slots = threading.BoundedSemaphore(_MAX_CHILDREN)


@dataclass(frozen=True)
class Limits:
    """Limits of one child."""

    memory: int  #: Bytes beyond Python itself; also of the answer
    seconds: float  #: Of processor time

    @classmethod
    def of(cls, n_bytes: int) -> Limits:
        """Return the limits for files of so many bytes.

        Ordinary files took up to 10 times their size and 0.3 s/MB, short files of thousands of
        columns up to 2 ms a column (docs/decisions.md).
        """
        installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        try:
            memory = int(float(os.environ.get(MEMORY_VARIABLE, "")) * 2**30)
        except ValueError:
            memory = min(640 * _MIB + 16 * n_bytes, _MAX_PERCENT_OF_MEMORY * installed // 100)
        return cls(memory, 12.0 + n_bytes / _MIB)

    def apply(self) -> None:
        """Limit this process from here on; it can write no files."""
        for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
            resource.setrlimit(kind, (0, 0))
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + self.memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        until = math.ceil(time.process_time() + self.seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (until, until + 1))
        signal.alarm(math.ceil(_WALL_SECONDS_PER_SECOND * self.seconds))


def parse(
    kind: type[Kind],
    function: Callable[..., Kind],
    raws: Sequence[RawFile],
    *arguments: Any,
    isolate: bool,
) -> Kind:
    """Return ``function(raws, *arguments)``; with ``isolate`` computed in a child process.

    Not for tables in memory, nor on systems without limits. ``kind``: type of the result. Raises
    InputError as the function does, or if the child exceeds a limit, dies or answers anything else.
    """
    in_files = not any(isinstance(raw.content, pa.Table) for raw in raws)
    if not (isolate and IS_POSSIBLE and in_files):
        try:
            return function(raws, *arguments)
        except MemoryError as full:
            raise InputError(f"'{raws[0].name}' does not fit in memory. Save fewer rows.") from full
    limits = Limits.of(sum(map(_size, raws)))
    with _slots, contextlib.ExitStack() as stack:
        files = [stack.enter_context(on_disk(raw)) for raw in raws]
        answer = _answer_of(function, files, arguments, limits)
    if isinstance(answer, int):
        raise InputError(_end_in_words(raws, answer, limits))
    with refusing_damage(raws[0].name, "data", ValueError, TypeError, LookupError, AttributeError):
        ((name, value),) = _ANSWER.decode(*answer).items()
        error: Callable[..., InputError]
        error, expected = _ERRORS.get(name, (InputError, kind))
        check_value(expected, value, name)
        if name == "result":
            result: Kind = value
            return result
        raise error(*value)


def _answer_of(
    work: Any, raws: Sequence[RawFile], arguments: Any, limits: Limits
) -> tuple[dict[str, Any], archive_files.Arrays] | int:
    """Return a child's answer, or the signal that ended it."""
    processes.preload(processes.READING)
    receiver, sender = processes.CONTEXT.Pipe(duplex=False)
    with receiver:
        try:
            with sender:
                child = processes.start(_run, sender, limits, work, raws, arguments)
        except OSError as error:
            raise InputError(
                f"'{raws[0].name}' cannot be read: no process could be started for it "
                f"({error.strerror or error}). Close other programs."
            ) from error
        # (The child's own alarm could be turned off by what it reads.)
        most = _WALL_SECONDS_PER_SECOND * limits.seconds + _GRACE_SECONDS
        deadline = threading.Timer(most, child.kill)
        deadline.start()
        try:
            content = io.BytesIO()
            with open(receiver.fileno(), "rb", closefd=False) as stream:
                while content.tell() <= limits.memory and (piece := stream.read(_PIECE_BYTES)):
                    content.write(piece)
            if content.tell() <= limits.memory:
                return _ANSWER.unpack(content)
        except InputError:
            pass  # ended early, or answers more than it may
        finally:
            deadline.cancel()
            child.kill()
    # (One that ends by itself without an answer ran out of memory.)
    code = processes.join(child)
    return -code if code and code < 0 else signal.SIGKILL


def _run(
    sender: Connection, limits: Limits, work: Any, raws: Sequence[RawFile], arguments: Any
) -> None:
    """Compute and send the answer, in the child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The kernel ends this process with its parent.
    parent = multiprocessing.parent_process()
    assert parent is not None
    fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, os.O_ASYNC)
    warnings.simplefilter("ignore")
    gc.freeze()  # collecting would copy the server's pages
    # Threads and memory pools reserve address space, which counts as memory.
    pa.set_memory_pool(pa.system_memory_pool())
    pa.set_cpu_count(1)
    spare = bytearray(_MIB)  # to report that memory is exhausted
    limits.apply()
    with open(sender.fileno(), "wb", closefd=False) as stream:
        try:
            answer = _ANSWER.encode({"result": work(raws, *arguments)})
        except BaseException as error:
            del spare
            answer = _ANSWER.encode(_error_content(error, raws, limits))
        _ANSWER.save(stream, *answer)
    sender.close()


def _error_content(
    error: BaseException, raws: Sequence[RawFile], limits: Limits
) -> dict[str, tuple[Any, ...]]:
    if isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError):
        return {"text": (_end_in_words(raws, signal.SIGKILL, limits),)}
    for name, (kind, _) in _ERRORS.items():
        if isinstance(error, kind):
            return {name: getattr(error, "arguments", (str(error),))}
    # A damaged file raises almost anything.
    return {"text": (str(damaged(raws[0].name, "data", error)),)}


def _size(raw: RawFile) -> int:
    """Return a file's bytes; of a compressed one about those of what it holds."""
    if isinstance(raw.content, tuple):
        return sum(map(_size, raw.content))
    times = 5 if raw.packing else 1
    if isinstance(raw.content, bytes):
        return times * len(raw.content)
    try:
        if raw.content.is_dir():  # a dataset of Hugging Face
            return sum(part.stat().st_size for part in raw.content.iterdir())
        return times * raw.content.stat().st_size
    except OSError as error:
        raise InputError(f"'{raw.name}' cannot be opened: {error.strerror}.") from error


def _end_in_words(raws: Sequence[RawFile], by: int, limits: Limits) -> str:
    files = " and ".join(f"'{raw.name}'" for raw in raws[:3])
    if by in (signal.SIGXCPU, signal.SIGALRM):
        return (
            f"{files} took more than the {limits.seconds:.0f} s of work that a file of its size "
            "may take. If it is your own, save what lore.load(…) returns with lore.save_npz."
        )
    if by == signal.SIGKILL:
        return (
            f"{files} needs more than the {limits.memory / 2**30:.1f} GiB of memory that a file of "
            "its size may take. Save fewer rows or features, or, if it is your own, start LoRe "
            f"Lens with {MEMORY_VARIABLE}=8 or more."
        )
    return (
        f"{files} is damaged, or holds much more than its size says: reading it ended the process "
        "that read it, and nothing else. Save it again."
    )
