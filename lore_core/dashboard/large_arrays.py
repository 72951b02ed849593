"""Large arrays of data and results, in a file of which a process maps what it looks at.

What ten methods made of a million rows are 1.5 GB; a page shows a tenth of it.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import shutil
import sys
import tempfile
import threading
import weakref
from typing import IO, Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Keep
from lore_core.data.dataset import Dataset
from lore_core.reading.handover import Arrays

#: Bytes from which on an array goes into the file, and bytes of the disk that are left alone.
_LARGE, _LEFT_ALONE = 2**22, 2**32
#: Arrays begin at multiples of this.
_ALIGNED = 64
#: What is mapped.
_MAPS: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()


class _Kept(Protocol):
    def kept(self, keep: Keep, /) -> Self:
        """Return the same of the arrays that ``keep`` made of these."""


Holder = TypeVar("Holder", bound=_Kept)


def new_file() -> IO[bytes] | None:
    """Return a new file without a name, of which nothing can stay behind; None where none can be.

    Only Linux lets another process open it (:func:`path_of`).
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return tempfile.TemporaryFile()
    return None


def path_of(file: IO[bytes] | None) -> str | None:
    """Return where other processes of this account find a file, as long as it is open here."""
    return None if file is None else f"/proc/{os.getpid()}/fd/{file.fileno()}"


class Apart:
    """The file at a path, which takes large arrays; none where there is no file.

    It is open within a ``with``; what was mapped of it stays.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._file: int | None = None
        self._end = 0
        self._lock = threading.Lock()
        #: Arrays that lie there already (so that no other has their memory), and where they begin.
        self._there: dict[Any, tuple[NDArray[Any], list[Any]]] = {}

    def __enter__(self) -> Apart:
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._file = os.open(self._path, os.O_WRONLY)
        return self

    def __exit__(self, *of: object) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def keep(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an equal array that lies in the file; the same where it is small or has no room.

        Its memory is there for what is computed next, and :meth:`put` need not write it any more.
        """
        if array.nbytes < _LARGE:
            return array
        try:
            begin = self._written(array)
            found = _mapped(self._path, *begin)
        except OSError:
            return array
        self._there[_place(found)] = found, begin
        return found

    def put(self, arrays: Arrays) -> tuple[Arrays, dict[str, Any]]:
        """Write the large arrays.

        Returns those that are not there, and where the others begin. All of them are returned where
        there is no room.
        """
        large = {name: array for name, array in arrays.items() if array.nbytes >= _LARGE}
        begin: dict[str, Any] = {}
        try:
            for name, array in large.items():
                there = self._there.get(_place(array))
                begin[name] = self._written(array) if there is None else there[1]
        except OSError:  # the pipe takes them
            return arrays, {}
        return {name: array for name, array in arrays.items() if name not in large}, begin

    def _written(self, array: NDArray[Any]) -> list[Any]:
        if self._file is None or shutil.disk_usage(self._file).free < array.nbytes + _LEFT_ALONE:
            raise OSError("no room")
        with self._lock:
            start = self._end
            self._end += array.nbytes + -array.nbytes % _ALIGNED
        content, done = np.ascontiguousarray(array).reshape(-1).view(np.uint8), 0
        while done < len(content):
            done += os.pwrite(self._file, content[done:].data, start + done)
        return [array.dtype.str, array.shape, start]


def _place(array: NDArray[Any]) -> Any:
    """Return what two arrays share only if they are the same memory, looked at alike."""
    return array.ctypes.data, array.shape, array.strides, array.dtype.str


def kept_apart(dataset: Dataset) -> Dataset:
    """Return the same data, whose large arrays lie in a file; as they are where there is no room.

    The rows of the two halves lie there, too, unless they are neighbours: then nothing is copied.
    """
    # (Whoever names the data looks at all of them: now they are in memory.)
    _ = dataset.digest
    return put_apart(dataset)


def put_apart(holder: Holder) -> Holder:
    """Return the same of arrays that lie in a file where they are large, and there is room."""
    with new_file() or contextlib.nullcontext() as file, Apart(path_of(file)) as apart:
        return holder.kept(apart.keep)


def let_go() -> None:
    """Let the system have the memory of what was looked at in files; it is read again at need."""
    for pages in list(_MAPS):
        with contextlib.suppress(ValueError):  # closed
            pages.madvise(mmap.MADV_DONTNEED)


def mapped(file: IO[bytes] | None, begin: dict[str, Any]) -> Arrays:
    """Return arrays that :meth:`Apart.put` wrote; ValueError or TypeError if it did not.

    They are read-only, take memory as far as they are looked at, and stay when the file is closed.
    """
    if not begin:
        return {}
    if file is None:
        raise ValueError("no file was given")
    size, found = os.fstat(file.fileno()).st_size, {}
    for name, (word, shape, start) in begin.items():
        dtype, sides = np.dtype(str(word)), tuple(map(int, shape))
        length = math.prod(sides) * dtype.itemsize
        if dtype.kind not in "biuf" or min(sides) < 1 or not 0 <= int(start) <= size - length:
            raise ValueError("an array of another kind")
        found[name] = _mapped(file, dtype, sides, int(start))
    return found


def _mapped(file: Any, dtype: Any, sides: Any, start: int) -> NDArray[Any]:
    found = np.memmap(file, dtype, "r", start, sides)
    _MAPS.add(found._mmap)  # type: ignore[attr-defined]
    return np.asarray(found)
