"""Large arrays of results, in a file of which a process maps what it looks at.

What ten methods made of a million rows are 1.5 GB; a page shows a tenth of it.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from lore_core.reading.handover import Arrays

#: Bytes from which on an array goes into the file, and bytes of the disk that are left alone.
_LARGE, _LEFT_ALONE = 2**22, 2**32
#: Arrays begin at multiples of this.
_ALIGNED = 64


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


def put_apart(arrays: Arrays, path: str | None) -> tuple[Arrays, dict[str, Any]]:
    """Write the large arrays into a file.

    Returns those that are not there, and where the others begin. All of them are returned where
    there is no file, or no room.
    """
    large = {name: np.ascontiguousarray(a) for name, a in arrays.items() if a.nbytes >= _LARGE}
    size = sum(array.nbytes for array in large.values())
    begin: dict[str, Any] = {}
    if path is None or not large:
        return arrays, begin
    try:
        if shutil.disk_usage(path).free < size + _LEFT_ALONE:
            return arrays, begin
        with Path(path).open("wb") as file:
            for name, array in large.items():
                file.seek(-file.tell() % _ALIGNED, os.SEEK_CUR)
                begin[name] = [array.dtype.str, array.shape, file.tell()]
                file.write(array.reshape(-1).view(np.uint8).data)
    except OSError:  # the pipe takes them
        return arrays, {}
    return {name: array for name, array in arrays.items() if name not in large}, begin


def mapped(file: IO[bytes] | None, begin: dict[str, Any]) -> Arrays:
    """Return arrays that :func:`put_apart` wrote; ValueError or TypeError if it did not.

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
        found[name] = np.asarray(np.memmap(file, dtype, "r", int(start), sides))
    return found
