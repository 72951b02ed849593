"""Work that holds the interpreter for seconds, done by a few processes beside the server.

Fits, simulations and tests of one reader would hold up the pages of all others. Each process keeps
the data it was asked about last; nothing but JSON and plain arrays goes to and fro.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import subprocess
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from io import BufferedReader
from typing import IO, Any

from lore_core.dashboard.large_arrays import let_go, mapped, new_file, path_of
from lore_core.dashboard.maps_told import map_told
from lore_core.dashboard.messages import hear_all, start_beside, write_message
from lore_core.dashboard.results_told import result_from, result_told
from lore_core.data.dataset import Dataset
from lore_core.data.validation import InputError
from lore_core.embedding.result import Embedding
from lore_core.reading.handover import Arrays, dataset_told
from lore_core.view.view import ALL_PARTS, View

_MODULE = "lore_core.dashboard.worker"
#: Processes at most, and bytes of data and maps that each of them keeps for the next question.
_MOST_WORKERS, _KEPT = 4, 2**28
#: How much longer than a short task a long one waits, as a multiple of how much longer it is.
_PATIENCE = 4.0
#: Seconds after which processes are started that nobody has asked for yet.
_AT_FIRST = 5.0
#: What who waits is told.
_CANCELLED = "It was cancelled."
_TOO_MUCH = "This needs more memory than this machine has; use fewer rows or methods."
_ENDED = "The process that computed this has ended; the terminal may say more. Use fewer rows."


class Task:
    """One thing to compute of a view.

    Parameters
    ----------
    work : str
        What, by its name in :data:`lore_core.dashboard.worker.WORK`.
    view : View
        Of what.
    options : dict by name
        What else is asked: maps, and what :func:`~lore_core.dashboard.results_told.result_told`
        can tell.
    expected : float
        Seconds it takes, roughly: what is short comes before what is long, unless that waits for
        long already.
    """

    def __init__(
        self, work: str, view: View, options: Mapping[str, Any], expected: float = 1.0
    ) -> None:
        self.work, self.view, self.options = work, view, dict(options)
        self.fraction, self.message = 0.0, ""
        self.readers: list[tuple[str, object]] = []  #: Who wait for it: a session, and its run
        self.sessions: set[str] = set()  #: Who have asked for it, and may be gone
        #: Of the arrays of its result: in memory, and in a file
        self.n_bytes = self.n_bytes_apart = 0
        self.cancelled = False
        self.due = time.monotonic() + _PATIENCE * expected
        self.seconds = 0.0  #: How long it took, without waiting
        self._result: Any = None
        self._error: Exception | None = None
        self._ended = threading.Event()

    @property
    def failed(self) -> bool:
        """Whether it has ended without a result."""
        return self._error is not None

    @property
    def ended(self) -> bool:
        """Whether there is a result, or will be none."""
        return self._ended.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has ended; return whether it has."""
        return self._ended.wait(seconds)

    def result(self) -> Any:
        """Return what came of it, or raise why nothing did."""
        if self._error is not None:
            raise self._error
        return self._result

    def end(self, result: Any = None, error: Exception | None = None) -> None:
        """Take what came of it."""
        self._result, self._error = result, error
        # (What it is of must not outlive those who look at it.)
        del self.view, self.options
        self._ended.set()


class Workers:
    """A few processes, and the tasks that wait for one of them.

    ``n_workers``: how many; by default one a processor, four at most.
    """

    def __init__(self, n_workers: int | None = None) -> None:
        self._n = n_workers or min(os.cpu_count() or 1, _MOST_WORKERS)
        self._news = threading.Condition()
        self._waiting: list[Task] = []
        self._busy = 0
        self._workers: list[_Worker] = []

    def warm(self) -> None:
        """Start the processes, where there are none yet."""
        with self._news:
            if not self._workers:
                self._workers = [_Worker() for _ in range(self._n)]
                for worker in self._workers:
                    threading.Thread(target=self._serve, args=(worker,), daemon=True).start()

    @property
    def are_there(self) -> bool:
        """Whether the processes were started."""
        return bool(self._workers)

    def begin(self, task: Task) -> Task:
        """Put a task behind the others that readers wait for."""
        self.warm()
        with self._news:
            self._waiting.append(task)
            self._news.notify()
        return task

    def before(self, task: Task) -> int:
        """How many tasks come before one; 0 if it is at work."""
        with self._news:
            return self._order().index(task) + 1 if task in self._waiting else 0

    def cancel(self, task: Task) -> None:
        """Stop a task; what it has taken is lost."""
        task.cancelled = True
        with self._news:
            if task in self._waiting:
                self._waiting.remove(task)
                task.end(error=InputError(_CANCELLED))
        for worker in self._workers:
            worker.stop(task)

    def end(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.end()

    def _order(self) -> list[Task]:
        # What nobody waits for any more is done when there is nothing else to do.
        return sorted(self._waiting, key=lambda task: (not task.readers, task.due))

    def _serve(self, worker: _Worker) -> None:
        with self._news:
            # The first page of a fresh server needs the processors that they take as they start.
            self._news.wait_for(lambda: self._waiting, _AT_FIRST)
        worker.start()
        while True:
            with self._news:
                self._news.wait_for(lambda: self._waiting)
                task = self._order()[0]
                self._waiting.remove(task)
                self._busy += 1
                # (The last of several takes what the others will leave free.)
                threads = 1 if self._busy > 1 and self._waiting else self._n
            try:
                worker.do(task, threads=threads)
            finally:
                with self._news:
                    self._busy -= 1


class _Worker:
    """One process, what it keeps, and what it does."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._heard: queue.Queue[tuple[Any, Arrays] | None] = queue.Queue()
        self._kept: OrderedDict[str, int] = OrderedDict()
        self._task: Task | None = None

    def start(self) -> None:
        self._kept.clear()
        self._heard = queue.Queue()
        self._process = start_beside(_MODULE)
        assert isinstance(self._process.stdout, BufferedReader)
        hear_all(self._process.stdout, self._heard.put)

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            with contextlib.suppress(OSError):  # what it did not take is lost
                self._process.stdin and self._process.stdin.close()

    def stop(self, task: Task) -> None:
        if self._task is task and self._process is not None:
            self._process.kill()

    def do(self, task: Task, *, threads: int) -> None:
        """Do a task; one that ends the process ends nothing else."""
        with new_file() or contextlib.nullcontext() as file:
            self._do(task, threads, file)

    def _do(self, task: Task, threads: int, file: IO[bytes] | None) -> None:
        self._task, start = task, time.monotonic()
        with contextlib.suppress(OSError):  # what ended it is told below
            self._ask(task, threads, path_of(file))
        while (message := self._heard.get()) is not None:
            told, arrays = message
            if "done" in told:
                task.fraction, task.message = float(told["done"]), str(told["message"])
                continue
            self._task, task.seconds = None, time.monotonic() - start
            if "result" not in told:
                task.end(error=InputError(str(told.get("error", _TOO_MUCH))))
                return
            try:
                apart = mapped(file, told["apart"])
                task.n_bytes = sum(array.nbytes for array in arrays.values())
                task.n_bytes_apart = sum(array.nbytes for array in apart.values())
                task.end(result_from(told["result"], arrays | apart, task.view.evaluation))
            except (ValueError, KeyError, TypeError, OSError):
                task.end(error=InputError(_ENDED))
            return
        self._task = None
        self.end()
        self.start()
        task.end(error=InputError(_CANCELLED if task.cancelled else _ENDED))

    def _ask(self, task: Task, threads: int, file: str | None) -> None:
        view = task.view
        used: list[Dataset | Embedding] = [view.dataset, *view.maps.values()]
        used += [item for item in task.options.values() if isinstance(item, Embedding)]
        self._forget({item.digest for item in used})
        for item in used:
            self._keep(item)
        asked = {
            "work": task.work,
            "dataset": view.dataset.digest,
            "maps": {name: on.digest for name, on in view.maps.items()},
            "view": {part: getattr(view, part) for part in ALL_PARTS if part != "maps"},
            "threads": threads,
            "file": file,
        }
        told, arrays = result_told(task.options, view.evaluation)
        self._tell({**asked, "options": told}, arrays)

    def _forget(self, used: set[str]) -> None:
        for name in [name for name in self._kept if name not in used]:
            if sum(self._kept.values()) > _KEPT:
                del self._kept[name]
                self._tell({"forget": name}, {})

    def _keep(self, value: Dataset | Embedding) -> None:
        name = value.digest
        if name not in self._kept:
            kind = "map" if isinstance(value, Embedding) else "dataset"
            told, arrays = map_told(value) if isinstance(value, Embedding) else _rows_told(value)
            self._tell({"keep": name, kind: told}, arrays)
            let_go()  # of what was looked at only to be told
            self._kept[name] = sum(array.nbytes for array in arrays.values())
        self._kept.move_to_end(name)

    def _tell(self, told: Any, arrays: Arrays) -> None:
        assert self._process is not None
        stdin = self._process.stdin
        assert stdin is not None
        try:
            write_message(stdin, told, arrays)
        except ValueError as error:
            if stdin.closed:  # by `end`, in the middle of it
                raise BrokenPipeError from error
            raise


def _rows_told(dataset: Dataset) -> tuple[Any, Arrays]:
    """Tell of rows what is computed with: neither images nor what is only read."""
    told, arrays = dataset_told(dataset)
    unread = ("images", "has_image")
    kept = {
        name: array
        for name, array in arrays.items()
        if name not in unread and not name.startswith("metadata.")
    }
    return {name: item for name, item in told.items() if name != "metadata"}, kept


WORKERS = Workers()
atexit.register(WORKERS.end)
