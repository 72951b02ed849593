"""A worker of the pool: it does what the server asks for, one task after the other."""

import gc
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from lore_core.dashboard import large_arrays
from lore_core.data.progress import Progress
from lore_core.data.validation import InputError
from lore_core.kernel_sums.compile_once import load_kernels
from lore_core.kernel_sums.schedule import fewer_threads, one_thread_a_product

#: A worker's ``nice`` against pages, and that of long tasks, which give way to the others, too.
_NICENESS, _LONG_NICENESS = 5, 10
#: Seconds after which what was looked at of mapped arrays need not be in memory any more.
_RELEASE_SECONDS = 0.2
#: Where large arrays of the task at work lie, if there is a file for them.
_files: list[large_arrays.ArrayFile] = []
#: Sends a message to the server.
_senders: list[Callable[[Any], None]] = []


def map_array(array: Any) -> Any:
    """Return an equal array that takes no memory of a worker until it is looked at."""
    return _files[-1].map_array(array) if _files else array


def show_part(part: Any) -> None:
    """Let those who wait for the task at work see a part of its result."""
    for send in _senders:
        send((None, part))


def shared_of(arguments: Mapping[str, Any]) -> list[Any]:
    """Return what a result may hold of its arguments, the evaluation rows first."""
    view = arguments.get("view")
    if view is None:
        return []
    on = [arguments[name] for name in ("measured_on", "on") if arguments.get(name) is not None]
    return [view.evaluation, view.dataset, *view.maps.values(), *on]


def main(pipe: Connection, is_long: bool) -> None:
    """Do what the server asks for, and tell it what comes of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C reaches it as the end of the pipe
    gc.freeze()  # collecting would copy what processes share
    large_arrays.set_up_heap()
    if hasattr(os, "nice"):
        os.nice(_LONG_NICENESS if is_long else _NICENESS)
    if not is_long:
        one_thread_a_product()
        load_kernels()
    messages: queue.Queue[tuple[bytes, str | None, int]] = queue.Queue()
    threading.Thread(target=_receive, args=(pipe, messages), daemon=True).start()
    threading.Thread(target=_release, daemon=True).start()
    _senders.append(pipe.send)
    try:
        while True:
            content, path, threads = messages.get()
            pipe.send(_answer(content, path, threads, lambda share, text: pipe.send((share, text))))
            large_arrays.trim_memory()
    except BrokenPipeError:
        os._exit(1)  # the server has ended


def _receive(pipe: Connection, messages: queue.Queue[Any]) -> None:
    try:
        # (Written by the server that started this process; no byte of it is a reader's pickle.)
        while True:
            messages.put(pipe.recv())
    except (EOFError, OSError):
        os._exit(1)  # the server has ended: nobody would take the result


def _release() -> None:
    """Release mapped pages while a task runs: it looks at one method's rows after the other's."""
    while True:
        time.sleep(_RELEASE_SECONDS)
        if _files:
            large_arrays.release_pages()


def _answer(
    content: bytes, path: str | None, threads: int, progress: Progress
) -> bytes | Exception:
    """Return what came of a task, or why nothing did."""
    file = None if path is None else large_arrays.ArrayFile(path)
    function, arguments = large_arrays.unpickle_mapped(content, file)
    del content  # (where there are no files, it is as large as the data)
    _files[:] = [] if file is None else [file]
    shared = shared_of(arguments)
    try:
        with fewer_threads(threads):
            result = function(**arguments, progress=progress)
        return large_arrays.pickle_mapped(result, file, shared)
    except InputError as error:
        return InputError(str(error))
    except MemoryError as error:
        return error
    finally:
        _files.clear()
