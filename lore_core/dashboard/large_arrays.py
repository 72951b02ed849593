"""Large arrays in unnamed files, which the server and its workers map instead of copying them.

What ten methods made of a million rows are 1.5 GB; a page shows a tenth of it.
"""

from __future__ import annotations

import contextlib
import copyreg
import dataclasses
import io
import mmap
import os
import pickle
import shutil
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Keep
from lore_core.data.dataset import Dataset
from lore_core.embedding.result import Embedding
from lore_core.view.view import View

#: Bytes from which on an array goes into a file, and bytes of the disk that are left alone.
LARGE_BYTES, _RESERVED_BYTES = 2**22, 2**32
#: Parts of a dataset that no worker reads, and what is known of one that it need not compute again.
_UNREAD, _KNOWN = {"images", "has_image", "metadata"}, {"digest", "evaluation", "calibration"}


class _HasArrays(Protocol):
    def kept(self, keep: Keep, /) -> Self:
        """Return the same of the arrays that ``keep`` made of these."""


Holder = TypeVar("Holder", bound=_HasArrays)


class Part(NamedTuple):
    """Where bytes lie in a file."""

    path: str
    start: int
    length: int


class Pickled(NamedTuple):
    """A pickled value, and where its large arrays lie."""

    content: bytes
    parts: list[Part]

    @property
    def n_file_bytes(self) -> int:
        """Bytes that lie in files."""
        return sum(part.length for part in self.parts)


class ArrayFile:
    """A file of arrays. It has no name, so that nothing of it stays behind.

    Only Linux lets another process open it, by its ``path``, as long as it is open here: until the
    last array that was mapped of it is gone.
    """

    def __init__(self, path: str | None = None) -> None:
        self.is_own = path is None
        if path is None:
            with tempfile.TemporaryFile() as file:
                self._number = os.dup(file.fileno())
        else:
            self._number = os.open(path, os.O_RDWR)
        weakref.finalize(self, os.close, self._number)
        self.path = path or f"/proc/{os.getpid()}/fd/{self._number}"
        self._end = os.fstat(self._number).st_size
        self._lock = threading.Lock()

    def append(self, content: memoryview) -> Part:
        """Write bytes at the end; OSError where there is no room."""
        if shutil.disk_usage(self._number).free < len(content) + _RESERVED_BYTES:
            raise OSError("no room")
        with self._lock:
            start = self._end + -self._end % mmap.ALLOCATIONGRANULARITY
            self._end = start + len(content)
        done = 0
        while done < len(content):
            done += os.pwrite(self._number, content[done:], start + done)
        return Part(self.path, start, len(content))

    def map(self, part: Part) -> memoryview:
        """Return bytes that were written; they take memory as far as they are looked at."""
        pages = mmap.mmap(self._number, part.length, access=mmap.ACCESS_READ, offset=part.start)
        address = np.frombuffer(pages, np.uint8).ctypes.data
        with _REGIONS_LOCK:
            _REGIONS[pages] = _Region(self, address, part)
        return memoryview(pages)

    def keep(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an equal array that lies in the file; the same where it is small or has no room.

        Its memory is there for what is computed next.
        """
        if array.nbytes < LARGE_BYTES:
            return array
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        try:
            mapped = self.map(self.append(content.data))
        except OSError:
            return array
        return np.frombuffer(mapped, array.dtype).reshape(array.shape)


class _Region(NamedTuple):
    """Where a part of a file is mapped."""

    file: ArrayFile
    address: int
    part: Part


#: What is mapped.
_REGIONS: weakref.WeakKeyDictionary[mmap.mmap, _Region] = weakref.WeakKeyDictionary()
_REGIONS_LOCK = threading.Lock()


def _regions() -> list[tuple[mmap.mmap, _Region]]:
    with _REGIONS_LOCK:
        return list(_REGIONS.items())


def new_file() -> ArrayFile | None:
    """Return a new file; None where none can be made."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return ArrayFile()
    return None


def map_dataset(dataset: Dataset) -> Dataset:
    """Return the same data, whose large arrays lie in a file; as they are where there is no room.

    The rows of the two halves lie there, too, unless they are neighbours: then nothing is copied.
    """
    # (Whoever names the data looks at all of them: now they are in memory.)
    _ = dataset.digest
    return map_arrays(dataset)


def map_arrays(holder: Holder) -> Holder:
    """Return the same of arrays that lie in a file where they are large, and there is room."""
    file = new_file()
    return holder if file is None else holder.kept(file.keep)


def release_pages() -> None:
    """Let the system have the memory of what was looked at in files; it is read again at need."""
    for pages, _ in _regions():
        with contextlib.suppress(ValueError):  # closed
            pages.madvise(mmap.MADV_DONTNEED)


class ArrayPickler(pickle.Pickler):
    """Pickles a value, whose large arrays are put into a file unless they lie in one.

    Parameters
    ----------
    file : ArrayFile or None
        Where large arrays are put; None: they are pickled as all others are.
    name_of : callable
        Returns by what a value is known to the other process; None: it is pickled.
    """

    def __init__(self, file: ArrayFile | None, name_of: Callable[[Any], str | None]) -> None:
        self._stream = io.BytesIO()
        super().__init__(self._stream, protocol=5, buffer_callback=self._stays)
        self._file, self._name_of = file, name_of
        self._parts: list[Part] = []

    def pickled(self, value: Any) -> Pickled:
        """Pickle a value."""
        self.dump(value)
        return Pickled(self._stream.getvalue(), self._parts)

    def persistent_id(self, value: Any) -> str | None:
        """Return by what the other process knows a value."""
        return self._name_of(value)

    def reducer_override(self, value: Any) -> Any:
        """Leave out what nobody reads there."""
        if not isinstance(value, (Dataset, Embedding, View)):
            return NotImplemented
        # (Other threads may add to what is known of it.)
        names = {item.name for item in dataclasses.fields(value)} | _KNOWN
        state = {name: item for name, item in dict(vars(value)).items() if name in names}
        state |= dict.fromkeys(_UNREAD & state.keys())
        return copyreg.__newobj__, (type(value),), state  # type: ignore[attr-defined]

    def _stays(self, buffer: pickle.PickleBuffer) -> bool:
        """Whether an array stays where it is pickled; else it is in a file by then."""
        content = buffer.raw()
        if self._file is None or content.nbytes < LARGE_BYTES:
            return True
        try:
            self._parts.append(self._found(content) or self._file.append(content))
        except OSError:
            return True
        return False

    def _found(self, content: memoryview) -> Part | None:
        """Return where some memory lies in a file that the other process can open."""
        address = np.frombuffer(content, np.uint8).ctypes.data
        for _, region in _regions():
            skipped = address - region.address
            is_inside = skipped >= 0 and skipped + content.nbytes <= region.part.length
            if is_inside and (region.file.is_own or region.file is self._file):
                return Part(region.file.path, region.part.start + skipped, content.nbytes)
        return None


class ArrayUnpickler(pickle.Unpickler):
    """Unpickles what :class:`ArrayPickler` has pickled in another process.

    Parameters
    ----------
    pickled : Pickled
    file : ArrayFile or None
        Where its large arrays may lie.
    known : callable
        Returns what is known here by a name.
    """

    def __init__(
        self, pickled: Pickled, file: ArrayFile | None, known: Callable[[str], Any]
    ) -> None:
        files = {} if file is None else {file.path: file}
        for path in {part.path for part in pickled.parts} - files.keys():
            files[path] = ArrayFile(path)
        buffers = [_mapped(files[part.path], part) for part in pickled.parts]
        super().__init__(io.BytesIO(pickled.content), buffers=buffers)
        self._known = known

    def persistent_load(self, name: str) -> Any:
        """Return what is known by a name."""
        return self._known(name)


def _mapped(file: ArrayFile, part: Part) -> memoryview:
    skipped = part.start % mmap.ALLOCATIONGRANULARITY
    whole = Part(part.path, part.start - skipped, part.length + skipped)
    return file.map(whole)[skipped:]
