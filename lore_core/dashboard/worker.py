"""A worker of the pool: it does what the server asks for, one task after the other."""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from lore_core.dashboard.large_arrays import ArrayFile, ArrayPickler, ArrayUnpickler, Pickled
from lore_core.data.dataset import Dataset
from lore_core.data.validation import InputError
from lore_core.kernel_sums.schedule import fewer_threads, one_thread_a_product

#: How much less of the processors than pages, as ``nice`` counts, a worker has; one of long tasks
#: makes way for the others, too.
_NICENESS, _LONG_NICENESS = 3, 8
#: Seconds without a task after which there is time to warm up.
_IDLE_SECONDS = 3.0
#: What who waits is told.
_NO_MEMORY = "This needs more memory than this machine has; use fewer rows or methods."
#: Where large arrays of the task at work lie, if there is a file for them.
_files: list[ArrayFile] = []


def keep_array(array: Any) -> Any:
    """Return an equal array that takes no memory of a worker until it is looked at."""
    return _files[-1].keep(array) if _files else array


def serve(warm_up: Callable[[], object], *, is_long: bool) -> None:
    """Do what standard input asks for, and tell of it on standard output.

    ``warm_up``: what it does once if it is not asked for anything at first. ``is_long``: whether
    its tasks take a minute or more.
    """
    if hasattr(os, "nice"):
        os.nice(_LONG_NICENESS if is_long else _NICENESS)
    if not is_long:
        one_thread_a_product()
    # (Libraries print; what they say must not stand among the pickles.)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    messages: queue.Queue[Any] = queue.Queue()
    was_asked = threading.Event()
    threading.Thread(target=_receive, args=(messages, was_asked), daemon=True).start()

    def send(message: Any) -> None:
        pickle.dump(message, out)
        out.flush()

    kept: dict[str, Any] = {}
    try:
        if not was_asked.wait(_IDLE_SECONDS):
            warm_up()
        while True:
            send(_answer(messages.get(), kept, lambda share, said: send((share, said))))
    except BrokenPipeError:
        os._exit(1)  # the server has ended


def _receive(messages: queue.Queue[Any], was_asked: threading.Event) -> None:
    try:
        while True:
            messages.put(pickle.load(sys.stdin.buffer))
            was_asked.set()
    except (EOFError, OSError, pickle.UnpicklingError):
        os._exit(1)  # the server has ended: nobody would take the result


def _answer(message: Any, kept: dict[str, Any], progress: Any) -> Pickled | str:
    """Return what came of a task, or why nothing did; ``kept``: data and maps, by their digests."""
    pickled, lacking, forgotten, threads, path = message
    file = None if path is None else ArrayFile(path)
    load = partial(ArrayUnpickler, file=file, known=kept.__getitem__)
    for name in forgotten:
        del kept[name]
    kept |= {name: load(item).load() for name, item in lacking.items()}
    function, arguments = load(pickled).load()
    del message, pickled, lacking  # (where there are no files, they are as large as the data)
    _files[:] = [] if file is None else [file]
    try:
        with fewer_threads(threads):
            result = function(**arguments, progress=progress)
        return _ResultPickler(file, kept, arguments.get("view")).pickled(result)
    except InputError as error:
        return str(error)
    except MemoryError:
        return _NO_MEMORY
    finally:
        _files.clear()


class _ResultPickler(ArrayPickler):
    """Pickles a result; datasets in it are the view's evaluation rows with other probabilities."""

    def __init__(self, file: ArrayFile | None, kept: Mapping[str, Any], view: Any) -> None:
        names = {id(value): name for name, value in kept.items()}
        super().__init__(file, lambda value: names.get(id(value)))
        self._view = view

    def reducer_override(self, value: Any) -> Any:
        """Tell of rows what is not known of them already."""
        if not isinstance(value, Dataset):
            return NotImplemented
        if value is self._view.evaluation:
            return getattr, (self._view.dataset, "evaluation")
        # (Picking the confidences would touch every page of a file that is mapped.)
        return self._view.evaluation.with_checked, (value.probabilities, value.confidence)
