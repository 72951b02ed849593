"""Worker pool for what would hold the interpreter for seconds: fits, maps, simulations."""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import sys
import threading
import time
import traceback
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Generic, Literal, TypeVar

from lore_core.dashboard.large_arrays import new_file, pickle_mapped, unpickle_mapped
from lore_core.dashboard.worker import main, shared_of
from lore_core.data import processes
from lore_core.data.progress import Cancelled
from lore_core.data.validation import InputError

Result = TypeVar("Result")
#: Who does a task: a process, one for those of a minute or more, or a thread of the server, for
#: what reads files of its own or waits for other tasks. The last two have one.
Lane = Literal["short", "long", "server"]
_MAX_WORKERS = 4
#: How much less of the processors than pages, as ``nice`` counts, a thread has that can wait.
_NICENESS = 5
#: How much longer than a short task a long one waits, as a multiple of how much longer it is.
_PATIENCE = 4.0
#: Seconds without a task until a process ends, whose memory others may need: forking takes little.
_IDLE_SECONDS = 15.0 if processes.IS_FORKED else None
#: Raised where the process, or its pipes, have ended.
_CLOSED = (OSError, ValueError, EOFError, pickle.UnpicklingError)
#: What who waits is told.
_CANCELLED = "It was cancelled."
_ENDED = "The process that computed this has ended; the terminal may say more. Use fewer rows."


@dataclass(frozen=True, eq=False)
class Request(Generic[Result]):
    """A function call that takes long, and what the pool and the page must know of it."""

    function: Callable[..., Result]  #: Of a module; it also takes ``progress``, and may call it
    arguments: Mapping[str, Any]
    key: Hashable = None  #: What its result depends on
    title: str = "This"  #: What is done, in words
    seconds: float = 1.0  #: How long it takes, a rough estimate for any machine
    of: str = ""  #: What tells it from other work of its kind on one page
    lane: Lane = "short"
    keep: Callable[[Result], object] | None = None  #: Takes the result, where it is not waited for
    basis: Hashable = None  #: What an earlier result must share with it to be built on, if any
    is_whole: bool = False  #: Whether it reads metadata or images

    @property
    def name(self) -> str:
        """Its name on the page."""
        return f"{self.function.__name__} {self.of}".rstrip()


class Task:
    """A request in the pool: its progress, then its result or error."""

    def __init__(self, request: Request[Any]) -> None:
        self._request: Request[Any] | None = request
        self.title, self.lane, self.expected = request.title, request.lane, request.seconds
        self.basis = request.basis
        self.fraction, self.message = 0.0, ""
        self.part: Any = None  #: Of the result, the newest there is before the whole
        self.n_waiting = 0  #: Pages and threads that wait for it now
        self.sessions: set[object] = set()  #: Who want it, and may be gone
        self.n_bytes = self.n_file_bytes = 0  #: Of its result: in memory, and in a file
        self.cancelled = False
        self.last_wanted = time.monotonic()  #: When any of them was seen
        #: What is short comes before what is long, unless that waits for long already
        self.due = self.last_wanted + _PATIENCE * self.expected
        self.started: float | None = None
        self._result: Any = None
        self._error: Exception | None = None
        self._ended = threading.Event()

    @property
    def ended(self) -> bool:
        """Whether there is a result, or will be none."""
        return self._ended.is_set()

    @property
    def error(self) -> str | None:
        """Why there is no result; None where there is one, or will be."""
        return None if self._error is None else str(self._error)

    @property
    def seconds(self) -> float:
        """How long it has been at work."""
        return 0.0 if self.started is None else time.monotonic() - self.started

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has ended; return whether it has."""
        return self._ended.wait(seconds)

    def result(self) -> Any:
        """Return the result, or raise the error."""
        if self._error is not None:
            raise self._error
        return self._result

    def report(self, fraction: float, message: str) -> None:
        """Store how far it is; raises Cancelled where it was cancelled."""
        if self.cancelled:
            raise Cancelled
        self.fraction, self.message = fraction, message

    def run(self, compute: Callable[[Request[Any]], Any] | None = None) -> None:
        """Call the function in this thread, or by ``compute``; store its result or error."""
        request = self._request
        assert request is not None  # it was not done before
        self.started, result, error = time.monotonic(), None, None
        try:
            if compute is not None:
                result = compute(request)
            else:
                result = request.function(**request.arguments, progress=self.report)
            if request.keep is not None:
                result = request.keep(result)
        except InputError as problem:
            error = problem
        except Cancelled:
            error = InputError(_CANCELLED)
        except MemoryError:
            error = InputError(
                f"{self.title} needs more memory than this machine has; use fewer rows."
            )
        except Exception as problem:  # a bug: the reader learns that it failed, the terminal why
            traceback.print_exc()
            name = type(problem).__name__
            error = InputError(f"{self.title} failed ({name}); the terminal says more.")
        self.end(result, error)

    def end(self, result: Any = None, error: Exception | None = None) -> None:
        """Store the result or error, and wake all who wait."""
        self._result, self._error = result, error
        self._request = self.part = None  # what it is of must not outlive those who look at it
        self._ended.set()


class WorkerPool:
    """Queues of tasks, for ``n_workers`` processes (one a processor, at most four) and others."""

    def __init__(self, n_workers: int | None = None) -> None:
        self._n = n_workers or min(os.cpu_count() or 1, _MAX_WORKERS)
        self._news = threading.Condition()
        self._waiting: list[Task] = []
        self._busy = 0
        self._workers: list[_Worker] = []
        self._lanes: set[Lane] = set()

    @property
    def is_started(self) -> bool:
        """Whether its queues are served; processes are forked when a task needs one."""
        return "short" in self._lanes

    def start(self) -> None:
        """Serve the queues, if that has not begun."""
        self._start("short", self._n)
        self._start("long", 1)

    def _start(self, lane: Lane, n_workers: int) -> None:
        with self._news:
            if lane in self._lanes:
                return
            self._lanes.add(lane)
        for _ in range(n_workers):
            worker = _Worker(lane)
            self._workers.append(worker)
            threading.Thread(target=self._serve, args=(worker,), daemon=True).start()

    def submit(self, task: Task) -> Task:
        """Queue a task; the workers of its lane are started where there are none yet."""
        if task.lane == "server":
            self._start("server", 1)
        else:
            self.start()
        with self._news:
            self._waiting.append(task)
            self._news.notify_all()
        return task

    def n_before(self, task: Task) -> int:
        """How many tasks come before one; 0 if it is at work."""
        with self._news:
            queue = self._queue(task.lane)
            return queue.index(task) + 1 if task in queue else 0

    def cancel(self, task: Task) -> None:
        """Stop a task, queued or running; a process that runs it is killed."""
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

    def _queue(self, lane: Lane) -> list[Task]:
        queue = [task for task in self._waiting if task.lane == lane]
        if lane == "server":  # in the order in which they were asked for
            return queue
        # What nobody waits for any more is done when there is nothing else to do.
        return sorted(queue, key=lambda task: (not task.n_waiting, task.due))

    def _serve(self, worker: _Worker) -> None:
        if worker.lane == "server":
            lower_priority()
        while True:
            with self._news:
                queue = self._news.wait_for(lambda: self._queue(worker.lane), _IDLE_SECONDS)
                if queue:
                    self._waiting.remove(queue[0])
                    self._busy += worker.lane == "short"
                # (The last of several takes what the others will leave free.)
                threads = 1 if self._busy > 1 and queue[1:] else self._n
            if not queue:
                worker.end()
                continue
            if worker.lane == "server":
                queue[0].run()
            elif worker.lane == "long":
                worker.run(queue[0], threads=os.cpu_count() or 1)
                worker.end()  # nobody may want another for hours
            else:
                worker.run(queue[0], threads=threads)
                with self._news:
                    self._busy -= 1


class _Worker:
    """One process and its task; the lane of the server is a thread and needs no process."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._lock = threading.Lock()
        self._task: Task | None = None

    def start(self) -> Connection:
        if self._pipe is None:
            processes.preload(processes.DASHBOARD)
            self._pipe, pipe = processes.CONTEXT.Pipe()
            with pipe:
                self._process = processes.start(main, pipe, self.lane == "long")
        return self._pipe

    def end(self) -> None:
        process, self._process = self._process, None
        pipe, self._pipe = self._pipe, None
        if process is not None and pipe is not None:
            process.kill()
            processes.join(process)
            pipe.close()

    def stop(self, task: Task) -> None:
        with self._lock:
            if self._task is task and self._process is not None:
                self._process.kill()

    def run(self, task: Task, *, threads: int) -> None:
        """Run a task in the process; where that dies, only this task fails."""
        with self._lock:
            self._task = task

        def compute(request: Request[Any]) -> Any:
            try:
                return self._answer(task, request, threads)
            except (InputError, MemoryError):
                raise
            except Exception as problem:
                # (Another thread may have ended the process, and closed the pipe being written.)
                was_closed = self._pipe is None or isinstance(problem, _CLOSED)
                self.end()
                if not was_closed:
                    traceback.print_exc()  # a bug
                raise InputError(_CANCELLED if task.cancelled else _ENDED) from problem

        task.run(compute)
        with self._lock:
            self._task = None
        if task.cancelled:
            self.end()

    def _answer(self, task: Task, request: Request[Any], threads: int) -> Any:
        pipe, file = self.start(), new_file()
        if task.cancelled:
            raise InputError(_CANCELLED)
        call = request.function, request.arguments
        content = pickle_mapped(call, file, is_whole=request.is_whole)
        pipe.send((content, file and file.path, threads))
        # (The worker runs our functions on data that were checked; files are parsed elsewhere.)
        while isinstance(message := pipe.recv(), tuple):
            if message[0] is None:
                task.part = message[1]
            else:
                task.fraction, task.message = message
        if isinstance(message, Exception):
            raise message
        task.n_bytes, task.n_file_bytes = len(message), 0 if file is None else file.n_bytes
        return unpickle_mapped(message, file, shared_of(request.arguments))


def lower_priority() -> None:
    """Let this thread, and those it starts, have less of the processors than pages (Linux)."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


POOL = WorkerPool()
atexit.register(POOL.shutdown)
