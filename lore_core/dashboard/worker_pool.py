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
from collections.abc import Callable, Mapping
from typing import Any

from lore_core.dashboard.background_tasks import warm_worker
from lore_core.dashboard.large_arrays import new_file, pickle_mapped, unpickle_mapped
from lore_core.dashboard.worker import shared_of
from lore_core.data.validation import InputError

#: What a worker runs.
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
_START += "from lore_core.dashboard.worker import main; main(is_long=sys.argv[2] == 'long')"
_MAX_WORKERS = 4
#: How much longer than a short task a long one waits, as a multiple of how much longer it is.
_PATIENCE = 4.0
#: Seconds after which workers are started that nobody has asked for yet, and seconds without a task
#: after which there is time to warm up.
_START_SECONDS, _IDLE_SECONDS = 5.0, 3.0
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
        self.n_waiting = 0  #: Pages and threads that wait for it now
        self.sessions: set[object] = set()  #: Who want it, and may be gone
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
                self._workers = [_Worker(is_long=k == self._n) for k in range(self._n + 1)]
                for worker in self._workers:
                    threading.Thread(target=self._serve, args=(worker,), daemon=True).start()

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
        return sorted(line, key=lambda task: (not task.n_waiting, task.due))

    def _serve(self, worker: _Worker) -> None:
        """Give a worker one task after the other."""
        if not worker.is_long:
            # The first page of a fresh server needs the processors that they take as they start.
            self._wait(worker, _START_SECONDS)
            worker.start()
            if not self._wait(worker, _IDLE_SECONDS):
                worker.run(Task(warm_worker, {}), threads=1)
        while True:
            self._wait(worker)
            with self._news:
                if not (line := self._line(is_long=worker.is_long)):
                    continue  # another worker has taken it
                self._waiting.remove(line[0])
                if not worker.is_long:
                    self._busy += 1
                # (The last of several takes what the others will leave free.)
                threads = 1 if self._busy > 1 and line[1:] else self._n
            if worker.is_long:
                worker.run(line[0], threads=os.cpu_count() or 1)
                worker.end()  # nobody may want another for hours
            else:
                worker.run(line[0], threads=threads)
                with self._news:
                    self._busy -= 1

    def _wait(self, worker: _Worker, seconds: float | None = None) -> bool:
        """Wait until there is a task for a worker; return whether there is."""
        with self._news:
            return self._news.wait_for(lambda: bool(self._line(is_long=worker.is_long)), seconds)


class _Worker:
    """One process and what it does; ``is_long``: whether its tasks take a minute or more."""

    def __init__(self, *, is_long: bool) -> None:
        self.is_long = is_long
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._task: Task | None = None

    def start(self) -> subprocess.Popen[bytes]:
        """Start the process, unless it is there."""
        if self._process is None:
            kind = "long" if self.is_long else "short"
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, json.dumps(sys.path), kind],
                # Threads that spin while they wait would steal the processor from the pages.
                env={"OMP_WAIT_POLICY": "passive"} | os.environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # A Ctrl-C here reaches it as the end of its input. (In a session of its own Linux
                # would give it as much of the processors as all pages, whatever its priority.)
                process_group=0 if os.name == "posix" else None,
            )
        return self._process

    def end(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            with contextlib.suppress(OSError):  # what it did not take is lost
                process.stdin and process.stdin.close()
                process.stdout and process.stdout.close()

    def stop(self, task: Task) -> None:
        """End the process if it is at work on a task."""
        with self._lock:
            if self._task is task and self._process is not None:
                self._process.kill()

    def run(self, task: Task, *, threads: int) -> None:
        """Do a task; one that ends the process ends nothing else."""
        with self._lock:
            self._task = task
        start, result, error, has_ended = time.monotonic(), None, None, False
        try:
            result = self._result(task, threads)
        except InputError as problem:
            error = problem
        except Exception as problem:
            error, has_ended = InputError(_CANCELLED if task.cancelled else _ENDED), True
            if not isinstance(problem, _CLOSED):
                traceback.print_exc()  # a bug
        with self._lock:
            self._task = None
        task.seconds = time.monotonic() - start
        task.end(result, error)
        if has_ended or task.cancelled:
            self.end()
            with contextlib.suppress(OSError):  # the next task tries again
                self.start()

    def _result(self, task: Task, threads: int) -> Any:
        """Ask for a task, take note of its progress, and return what comes of it."""
        process, file = self.start(), new_file()
        assert process.stdin is not None
        assert process.stdout is not None
        if task.cancelled:
            raise InputError(_CANCELLED)
        content = pickle_mapped((task.function, task.arguments), file)
        pickle.dump((content, file and file.path, threads), process.stdin)
        process.stdin.flush()
        # (The worker runs our functions on data that were checked; files are parsed elsewhere.)
        while isinstance(message := pickle.load(process.stdout), tuple):
            task.fraction, task.message = message
        if isinstance(message, str):
            raise InputError(message)
        task.n_bytes, task.n_file_bytes = len(message), 0 if file is None else file.n_bytes
        return unpickle_mapped(message, file, shared_of(task.arguments))


POOL = WorkerPool()
atexit.register(POOL.shutdown)
