"""Processes forked from one that has loaded what they need (Linux), or started anew elsewhere."""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess

#: What those have loaded that read files, and all of the dashboard.
READING = ("lore_core.reading.loading",)
DASHBOARD = (*READING, "sklearn.ensemble", "numba", "lore_core.dashboard.background_tasks")
#: Held while a process is started or waited for: with two threads one would miss its end.
_LOCK = threading.Lock()
#: Whether processes are forked.
IS_FORKED = sys.platform == "linux"
CONTEXT: ForkServerContext | SpawnContext = (
    multiprocessing.get_context("forkserver") if IS_FORKED else multiprocessing.get_context("spawn")
)


def preload(modules: Sequence[str]) -> None:
    """Start the process that others are forked from, if it is not running; it loads modules."""
    # Threads that spin while they wait would steal the processor from the pages.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    if IS_FORKED:
        multiprocessing.set_forkserver_preload(list(modules))
        resource_tracker.ensure_running()  # else the server starts it and unblocks SIGINT
        # A Ctrl-C in a terminal reaches the new process, too, which would print a traceback.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def start(function: Callable[..., object], *arguments: object) -> BaseProcess:
    """Call a function in a new process, which ends with this one."""
    process = CONTEXT.Process(target=function, args=arguments, daemon=True)
    with _without_main():
        process.start()
    return process


def join(process: BaseProcess) -> int | None:
    """Wait until a process has ended; return its exit code."""
    with _LOCK:
        process.join()
        return process.exitcode


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Hide the caller's script, which a child would run again."""
    with _LOCK:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main
