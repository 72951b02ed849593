"""Memory and processor time of a server and of every process it started, by sampling (Linux)."""

import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil

SAMPLES_A_SECOND = 4


@dataclass(frozen=True)
class Memory:
    """Proportional set sizes at one moment, in bytes: pages that are shared count once in all."""

    server: int = 0
    others: tuple[int, ...] = ()  #: Of each process that it started

    @property
    def total(self) -> int:
        return self.server + sum(self.others)


class MemoryWatch:
    """Samples the memory of a server's processes while the ``with`` block runs."""

    def __init__(self, process: int) -> None:
        self.peak = Memory()  #: When all processes together held most
        self._server = psutil.Process(process)
        #: Also of processes whose parent has ended.
        self._others: set[psutil.Process] = set()
        self._used: dict[int, float] = {}  #: Processor seconds of each process when last seen
        self._lock, self._end = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def now(self) -> Memory:
        """Take a sample."""
        with self._lock:
            self._others.update(self._server.children(recursive=True))
            self._others = {other for other in self._others if other.is_running()}
            for one in (self._server, *self._others):
                self._used[one.pid] = max(self._used.get(one.pid, 0.0), processor_seconds(one))
            others = tuple(proportional_set_size(other.pid) for other in self._others)
            sample = Memory(proportional_set_size(self._server.pid), others)
            self.peak = max(self.peak, sample, key=lambda memory: memory.total)
        return sample

    @property
    def seconds(self) -> float:
        """Processor seconds of all processes so far, those that have ended included."""
        self.now()
        return sum(self._used.values())

    def _watch(self) -> None:
        while not self._end.wait(1 / SAMPLES_A_SECOND):
            self.now()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()


def processor_seconds(process: psutil.Process) -> float:
    """Return the processor seconds of a process; 0 if it has ended."""
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return times.user + times.system


def proportional_set_size(process: int) -> int:
    """Return the bytes of a process, in memory and swapped out; 0 if it has ended."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return 1024 * sum(map(int, re.findall(r"^(?:Swap)?Pss:\s+(\d+)", text, re.MULTILINE)))
