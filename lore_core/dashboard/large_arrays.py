"""Large arrays of results, in a file of which a process maps what it looks at.

What ten methods made of a million rows are 1.5 GB; a page shows a tenth of it.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from lore_core.reading.handover import Arrays

#: Bytes from which on an array goes into the file, and bytes of the disk that are left alone.
_LARGE, _LEFT_ALONE = 2**22, 2**32
#: Arrays begin at multiples of this.
_ALIGNED = 64


def new_file() -> str | None:
    """Return a new empty file's path; None where files cannot be used so.

    A file that is mapped has no name any more, so that nothing is left behind: not on Windows.
    """
    if os.name != "posix":
        return None
    with contextlib.suppress(OSError):
        handle, path = tempfile.mkstemp(prefix="lore-result-")
        os.close(handle)
        return path
    return None


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


def mapped(path: str | None, begin: dict[str, Any]) -> Arrays:
    """Return arrays that :func:`put_apart` wrote; ValueError or TypeError if it did not.

    They are read-only, and take memory as far as they are looked at.
    """
    if not begin:
        return {}
    if path is None:
        raise ValueError("no file was given")
    size, found = Path(path).stat().st_size, {}
    for name, (word, shape, start) in begin.items():
        dtype, sides = np.dtype(str(word)), tuple(map(int, shape))
        length = math.prod(sides) * dtype.itemsize
        if dtype.kind not in "biuf" or min(sides) < 1 or not 0 <= int(start) <= size - length:
            raise ValueError("an array of another kind")
        found[name] = np.asarray(np.memmap(path, dtype, "r", int(start), sides))
    return found


def forget(path: str | None) -> None:
    """Take the name of a file away; what is mapped of it stays."""
    if path is not None:
        Path(path).unlink(missing_ok=True)
