"""Large arrays in unnamed files that the server and its workers map into memory."""

import contextlib
import copyreg
import ctypes
import dataclasses
import io
import math
import mmap
import os
import pickle
import shutil
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from lore_core.data.dataset import Dataset
from lore_core.embedding.result import Embedding
from lore_core.metrics import LocalErrors
from lore_core.metrics.means import drawn_weights
from lore_core.view.view import View

Holder = TypeVar("Holder", Dataset, LocalErrors)
#: Bytes from which on an array goes into a file, and bytes of the disk that are left alone.
LARGE_BYTES, _RESERVED_BYTES = 2**18, 2**32
#: Fields of a dataset that few workers read, and cached properties sent along with one.
_UNUSED, _CACHED = {"images", "has_image", "metadata"}, {"digest", "evaluation", "calibration"}
#: What of glibc's heap is set, by its ``mallopt``.
_HEAP_SETTINGS = {
    # One heap for all threads, so that the next page can use what one has freed.
    -8: 1,  # M_ARENA_MAX
    # Large arrays lie outside of it and are given back: those up to 32 MB would leave holes. (From
    # 4 MB on numpy asks for huge pages; from 1 MB on, kernel sums took a fifth longer.)
    -3: 2**22,  # M_MMAP_THRESHOLD
    # As much may lie free at its end. (Where the one above is set, this is next to nothing.)
    -1: 2**24,  # M_TRIM_THRESHOLD
}


class _Location(NamedTuple):
    path: str
    start: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class ArrayFile:
    """A file of arrays without a name; on Linux others open its ``path`` while one is mapped."""

    def __init__(self, path: str | None = None) -> None:
        self.is_own = path is None
        if path is None:
            with tempfile.TemporaryFile() as file:
                self._number = os.dup(file.fileno())
        else:
            self._number = os.open(path, os.O_RDWR)
        # (Threads may still map it as the program ends; the system closes it then.)
        weakref.finalize(self, os.close, self._number).atexit = False
        self.path = path or f"/proc/{os.getpid()}/fd/{self._number}"
        self._lock = threading.Lock()

    @property
    def n_bytes(self) -> int:
        """Size of the file."""
        return os.fstat(self._number).st_size

    def append(self, array: NDArray[Any]) -> _Location | None:
        """Append an array and return its location; None if the disk has no room."""
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        try:
            if shutil.disk_usage(self._number).free < len(content) + _RESERVED_BYTES:
                return None
            with self._lock:
                start = self.n_bytes + -self.n_bytes % mmap.ALLOCATIONGRANULARITY
                os.ftruncate(self._number, start + len(content))
            done = 0
            while done < len(content):
                done += os.pwrite(self._number, content[done:], start + done)
        except OSError:
            return None
        return _Location(self.path, start, array.dtype, array.shape)

    def map(self, location: _Location) -> NDArray[Any]:
        """Map the array at a location; only what is read of it takes memory."""
        skipped = location.start % mmap.ALLOCATIONGRANULARITY
        length = skipped + math.prod(location.shape) * location.dtype.itemsize
        start = location.start - skipped
        region = _Region(self._number, length, access=mmap.ACCESS_READ, offset=start)
        region.file, region.start = self, start
        region.address = np.frombuffer(region, np.uint8).ctypes.data
        with _REGIONS_LOCK:
            _REGIONS.add(region)
        return np.frombuffer(region, location.dtype, offset=skipped).reshape(location.shape)

    def map_array(self, array: NDArray[Any]) -> NDArray[Any]:
        """Copy an array to the file and map it; return one that is small, or mapped, as it is.

        So is one for which the disk has no room.
        """
        region = _region_of(array)
        is_mapped = region is not None and region.file.is_own
        location = self.append(array) if array.nbytes >= LARGE_BYTES and not is_mapped else None
        return array if location is None else self.map(location)


class _Region(mmap.mmap):
    """A mapped part of a file: its first byte in the file, and its address in memory."""

    file: ArrayFile
    start: int
    address: int


_REGIONS: weakref.WeakSet[_Region] = weakref.WeakSet()
_REGIONS_LOCK = threading.Lock()


def _region_of(array: NDArray[Any]) -> _Region | None:
    """Return the region of which a contiguous array is part; None of others."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    region = base.obj if isinstance(base, memoryview) and array.flags.c_contiguous else None
    return region if isinstance(region, _Region) else None


def new_file() -> ArrayFile | None:
    """Return a new file; None if the system allows none."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return ArrayFile()
    return None


def map_arrays(holder: Holder) -> Holder:
    """Return a dataset or errors with large arrays mapped from a file, if the disk has room."""
    if isinstance(holder, Dataset):
        _ = holder.digest  # whoever names the data looks at all of them: now they are in memory
    file = new_file()
    return holder if file is None else holder.map_arrays(file.map_array)


def release_pages() -> None:
    """Release the memory of mapped pages; the system reads them again when needed."""
    with _REGIONS_LOCK:
        mapped = list(_REGIONS)
    for region in mapped:
        region.madvise(mmap.MADV_DONTNEED)


def trim_memory() -> None:
    """Return mapped pages, what is soon drawn anew and freed memory of the heap to the system."""
    release_pages()
    drawn_weights.cache_clear()
    heap_function("malloc_trim")(0)


def set_up_heap() -> None:
    """Have freed memory of this process given back, before it has threads."""
    for what, value in _HEAP_SETTINGS.items():
        heap_function("mallopt")(what, value)


def heap_function(name: str) -> Callable[..., object]:
    """Return a function of glibc, or one that does nothing on other systems."""
    known = ctypes.CDLL(None) if sys.platform == "linux" else None
    return getattr(known, name, lambda *_: None)


class _ArrayPickler(pickle.Pickler):
    def __init__(
        self, stream: io.BytesIO, file: ArrayFile | None, shared: Sequence[Any], unused: set[str]
    ) -> None:
        super().__init__(stream, protocol=5)
        self._file, self._shared, self._unused = file, shared, unused
        self._numbers = {id(value): k for k, value in enumerate(shared)}

    def persistent_id(self, value: Any) -> int | tuple[_Location, bool] | None:
        """Return the number of a shared value, or the location of a large array; else None."""
        if type(value) is not np.ndarray:
            return self._numbers.get(id(value))
        if self._file is None or value.nbytes < LARGE_BYTES or value.dtype.hasobject:
            return None
        by_column = value.flags.f_contiguous and not value.flags.c_contiguous
        location = self._locate(value.T if by_column else value)
        return None if location is None else (location, by_column)

    def _locate(self, array: NDArray[Any]) -> _Location | None:
        """Return an array's location in a file the other process can open; append it if new."""
        file = self._file
        assert file is not None
        region = _region_of(array)
        if region is None or not (region.file.is_own or region.file is file):
            return file.append(array)
        start = region.start + array.ctypes.data - region.address
        return _Location(region.file.path, start, array.dtype, array.shape)

    def reducer_override(self, value: Any) -> Any:
        """Leave out what the other process has already, and what it never reads."""
        if not isinstance(value, (Dataset, Embedding, View)):
            return NotImplemented
        if self._shared and isinstance(value, Dataset):
            # (Picking the confidences would touch every page of a file that is mapped.)
            return self._shared[0].with_checked, (value.probabilities, value.confidence)
        # (Other threads may add to what is known of it.)
        names = {item.name for item in dataclasses.fields(value)} | _CACHED
        state = {name: item for name, item in dict(vars(value)).items() if name in names}
        state |= dict.fromkeys(self._unused & state.keys())
        return copyreg.__newobj__, (type(value),), state  # type: ignore[attr-defined]


def pickle_mapped(
    value: Any, file: ArrayFile | None, shared: Sequence[Any] = (), *, is_whole: bool = False
) -> bytes:
    """Pickle a value: large arrays as locations in ``file``, ``shared`` values as numbers.

    ``is_whole``: with metadata and images of the data.
    """
    stream = io.BytesIO()
    _ArrayPickler(stream, file, shared, set() if is_whole else _UNUSED).dump(value)
    return stream.getvalue()


def unpickle_mapped(content: bytes, file: ArrayFile | None, shared: Sequence[Any] = ()) -> Any:
    """Unpickle what :func:`pickle_mapped` has pickled in another process."""
    return _ArrayUnpickler(content, file, shared).load()


class _ArrayUnpickler(pickle.Unpickler):
    def __init__(self, content: bytes, file: ArrayFile | None, shared: Sequence[Any]) -> None:
        super().__init__(io.BytesIO(content))
        self._files = {} if file is None else {file.path: file}
        self._shared = shared

    def persistent_load(self, name: int | tuple[_Location, bool]) -> Any:
        if isinstance(name, int):
            return self._shared[name]
        location, by_column = name
        if location.path not in self._files:
            self._files[location.path] = ArrayFile(location.path)
        array = self._files[location.path].map(location)
        return array.T if by_column else array
