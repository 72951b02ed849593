"""Process pool for what would hold the interpreter for seconds: fits, maps, simulations.

Computed in the server, one reader's work would hold up the pages of all others. The pools of the
standard library neither end one task, nor say how far it is, nor let another come first; so each
process here has a thread of the server, which gives it one task at a time and hears of it, by
pickles on its pipes. Large arrays lie in files that both sides map.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import pickle
import subprocess
import sys
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from lore_core.dashboard.large_arrays import (
    ArrayFile,
    ArrayPickler,
    ArrayUnpickler,
    Pickled,
    new_file,
    release_pages,
)
from lore_core.data.dataset import Dataset
from lore_core.data.validation import InputError
from lore_core.embedding.result import Embedding

#: What a worker runs; see :mod:`lore_core.dashboard.worker`.
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
_START += (
    "from lore_core.dashboard.background_tasks import main; main(is_long=sys.argv[2] == 'long')"
)
#: Workers at most, and bytes of data and maps that each of them keeps for its next task.
_MAX_WORKERS, _KEPT_BYTES = 4, 2**28
#: How much longer than a short task a long one waits, as a multiple of how much longer it is.
_PATIENCE = 4.0
#: Seconds after which workers are started that nobody has asked for yet.
_START_SECONDS = 5.0
#: Raised where the process, or its pipes, have ended.
_CLOSED = (OSError, ValueError, EOFError, pickle.UnpicklingError)
#: What who waits is told.
_CANCELLED = "It was cancelled."
_ENDED = "The process that computed this has ended; the terminal may say more. Use fewer rows."


class Task:
    """One call of a function in a worker.

    Parameters
    ----------
    function : callable
        A function of a module; it also takes ``progress``, and may call it.
    arguments : dict by name
        What it is called with.
    expected : float
        Seconds it takes, roughly: what is short comes before what is long, unless that waits for
        long already.
    is_long : bool
        Whether it takes a minute or more: a worker of their own does such tasks, one at a time.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: Mapping[str, Any],
        expected: float = 1.0,
        *,
        is_long: bool = False,
    ) -> None:
        self.function, self.arguments, self.is_long = function, dict(arguments), is_long
        self.fraction, self.message = 0.0, ""
        self.readers: list[tuple[str, object]] = []  #: Who wait for it: a session, and its run
        self.sessions: set[str] = set()  #: Who have asked for it, and may be gone
        self.n_bytes = self.n_file_bytes = 0  #: Of its result: in memory, and in a file
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

    @property
    def error(self) -> str | None:
        """Why there is no result; None where there is one, will be one, or it was cancelled."""
        return None if self._error is None or self.cancelled else str(self._error)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has ended; return whether it has."""
        return self._ended.wait(seconds)

    def result(self) -> Any:
        """Return what came of it, or raise why nothing did."""
        if self._error is not None:
            raise self._error
        return self._result

    def run(self) -> None:
        """Do it here and now."""
        self.end(self.function(**self.arguments, progress=None))

    def end(self, result: Any = None, error: Exception | None = None) -> None:
        """Take what came of it."""
        self._result, self._error = result, error
        # (What it is of must not outlive those who look at it.)
        del self.function, self.arguments
        self._ended.set()


class WorkerPool:
    """A few processes, and the tasks that wait for one of them.

    ``n_workers``: how many; by default one a processor, four at most. There is one more while there
    are long tasks.
    """

    def __init__(self, n_workers: int | None = None) -> None:
        self._n = n_workers or min(os.cpu_count() or 1, _MAX_WORKERS)
        self._news = threading.Condition()
        self._waiting: list[Task] = []
        self._busy = 0
        self._workers: list[_Worker] = []

    def warm(self) -> None:
        """Start the processes, where there are none yet."""
        with self._news:
            if not self._workers:
                self._workers = [_Worker() for _ in range(self._n)]
                self._workers.append(_Worker(is_long=True))
                for worker in self._workers:
                    serve = self._serve_long if worker is self._workers[-1] else self._serve
                    threading.Thread(target=serve, args=(worker,), daemon=True).start()

    @property
    def is_warm(self) -> bool:
        """Whether the processes were started."""
        return bool(self._workers)

    def submit(self, task: Task) -> Task:
        """Put a task behind the others that readers wait for."""
        self.warm()
        with self._news:
            self._waiting.append(task)
            self._news.notify_all()
        return task

    def n_before(self, task: Task) -> int:
        """How many tasks come before one; 0 if it is at work."""
        with self._news:
            line = self._line(is_long=task.is_long)
            return line.index(task) + 1 if task in line else 0

    def cancel(self, task: Task) -> None:
        """Stop a task; what it has taken is lost."""
        task.cancelled = True
        with self._news:
            if task in self._waiting:
                self._waiting.remove(task)
                task.end(error=InputError(_CANCELLED))
        for worker in self._workers:
            worker.stop(task)

    def shutdown(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.end()

    def _line(self, *, is_long: bool) -> list[Task]:
        # What nobody waits for any more is done when there is nothing else to do.
        line = [task for task in self._waiting if task.is_long == is_long]
        return sorted(line, key=lambda task: (not task.readers, task.due))

    def _serve(self, worker: _Worker) -> None:
        with self._news:
            # The first page of a fresh server needs the processors that they take as they start.
            self._news.wait_for(lambda: self._line(is_long=False), _START_SECONDS)
        worker.start()
        while True:
            with self._news:
                task = self._next(is_long=False)
                self._busy += 1
                # (The last of several takes what the others will leave free.)
                threads = 1 if self._busy > 1 and self._line(is_long=False) else self._n
            try:
                worker.run(task, threads=threads)
            finally:
                with self._news:
                    self._busy -= 1

    def _serve_long(self, worker: _Worker) -> None:
        while True:
            with self._news:
                task = self._next(is_long=True)
            worker.start()
            worker.run(task, threads=os.cpu_count() or 1)
            worker.end()  # nobody may want another for hours

    def _next(self, *, is_long: bool) -> Task:
        self._news.wait_for(lambda: self._line(is_long=is_long))
        task = self._line(is_long=is_long)[0]
        self._waiting.remove(task)
        return task


class _Worker:
    """One process, what it keeps, and what it does."""

    def __init__(self, *, is_long: bool = False) -> None:
        self._kind = "long" if is_long else "short"
        self._process: subprocess.Popen[bytes] | None = None
        #: Bytes of each thing that it keeps, by its digest; used last comes last
        self._kept: OrderedDict[str, int] = OrderedDict()
        self._task: Task | None = None

    def start(self) -> None:
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()
        self._kept.clear()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps(sys.path), self._kind],
            # Threads that spin while they wait would steal the processor from the pages.
            env={"OMP_WAIT_POLICY": "passive"} | os.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # A Ctrl-C here reaches it as the end of its input. (In a session of its own Linux would
            # give it as much of the processors as all pages, whatever its priority.)
            process_group=0 if os.name == "posix" else None,
        )

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            with contextlib.suppress(OSError):  # what it did not take is lost
                self._process.stdin and self._process.stdin.close()

    def stop(self, task: Task) -> None:
        if self._task is task and self._process is not None:
            self._process.kill()

    def run(self, task: Task, *, threads: int) -> None:
        """Do a task; one that ends the process ends nothing else."""
        self._task, start = task, time.monotonic()
        if task.cancelled:
            self.stop(task)
        known: dict[str, Any] = {}
        file = new_file()
        try:
            self._send(task, threads, file, known)
            release_pages()  # of what was looked at only to be sent
            answer = self._answer(task)
            self._task, task.seconds = None, time.monotonic() - start
            if isinstance(answer, Pickled):
                task.n_bytes, task.n_file_bytes = len(answer.content), answer.n_file_bytes
                task.end(ArrayUnpickler(answer, file, known.__getitem__).load())
            else:
                task.end(error=InputError(answer))
        except Exception as error:
            self._task = None
            if not isinstance(error, _CLOSED):
                traceback.print_exc()  # a bug
            self.end()
            self.start()
            task.end(error=InputError(_CANCELLED if task.cancelled else _ENDED))

    def _answer(self, task: Task) -> Pickled | str:
        """Take note of its progress until there is a result, or the reason why there is none."""
        assert self._process is not None
        assert self._process.stdout is not None
        while True:
            said = pickle.load(self._process.stdout)
            if not isinstance(said, tuple) or isinstance(said, Pickled):
                return said
            task.fraction, task.message = said

    def _send(
        self, task: Task, threads: int, file: ArrayFile | None, known: dict[str, Any]
    ) -> None:
        """Ask for a task, and hand over what the process lacks for it; ``known``: all of that."""
        lacking: dict[str, Pickled] = {}

        def name_of(value: Any) -> str | None:
            if not isinstance(value, (Dataset, Embedding)):
                return None
            name = value.digest
            known[name] = value
            if name not in self._kept and name not in lacking:
                lacking[name] = ArrayPickler(file, lambda _: None).pickled(value)
            return name

        pickled = ArrayPickler(file, name_of).pickled((task.function, task.arguments))
        self._kept |= {
            name: len(item.content) + item.n_file_bytes for name, item in lacking.items()
        }
        for name in known:
            self._kept.move_to_end(name)
        forgotten = self._forget(known)
        path = None if file is None else file.path
        assert self._process is not None
        assert self._process.stdin is not None
        message = (pickled, lacking, forgotten, threads, path)
        pickle.dump(message, self._process.stdin)
        self._process.stdin.flush()

    def _forget(self, known: Mapping[str, Any]) -> list[str]:
        """Return what it need not keep any longer: what was used longest ago."""
        forgotten: list[str] = []
        for name in [name for name in self._kept if name not in known]:
            if sum(self._kept.values()) > _KEPT_BYTES:
                del self._kept[name]
                forgotten.append(name)
        return forgotten


POOL = WorkerPool()
atexit.register(POOL.shutdown)
