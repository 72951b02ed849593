"""What readers load and make: in memory for reloads and tabs, on disk if given a folder."""

import dataclasses
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from lore_core import Dataset, Embedding, InputError, __version__
from lore_core.dashboard.disk_cache import DiskCache
from lore_core.dashboard.large_arrays import map_arrays
from lore_core.data import dataset_files
from lore_core.data.archive_files import form_of
from lore_core.embedding import result as embeddings
from lore_core.reading import Check
from pages.shared.files import State, answers_this_machine_only, arguments

Value = TypeVar("Value")
DEMO = "demo"
#: Share of the machine's memory that is kept of data.
_MEMORY_SHARE = 0.25
#: Seconds without use that end what is kept in memory, and where others are answered, too.
_MAX_AGE_SECONDS, _OTHERS_SECONDS = 86_400.0, 3_600.0


@dataclass(frozen=True)
class Loaded:
    """A dataset with a split, and how it came to be."""

    dataset: Dataset  #: Every row; always with a split
    source: str  #: ``"demo"``, ``"upload"`` or a path
    #: What was read, what was done on the way, and what to be careful about.
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()  #: What was looked for in it
    #: Calibration share and seed by which rows were divided, where the file named no split.
    divided: tuple[float, int] | None = None
    files: State = ()  #: Of this machine, in the state in which they were read
    demo: str = ""  #: The name of the demo, which any server can make; empty for other data
    columns: tuple[str, ...] = ()  #: ROLE=NAME of the mapping that the reader gave

    @property
    def key(self) -> str:
        """What links name these data by."""
        return self.demo or self.dataset.digest[:20]

    @property
    def n_bytes(self) -> int:
        """Bytes in memory; 0 for the demo, which all readers share."""
        if self.source == DEMO:
            return 0
        arrays = [getattr(self.dataset, item.name) for item in dataclasses.fields(self.dataset)]
        frames = [part for part in arrays if isinstance(part, pd.DataFrame)]
        return sum(part.nbytes for part in arrays if isinstance(part, np.ndarray)) + sum(
            int(frame.memory_usage(index=False, deep=True).sum()) for frame in frames
        )


#: How the disk holds data and maps.
FORMS = (*dataset_files.FORMS, *embeddings.FORMS, form_of(Check), form_of(Loaded))


def disk_cache() -> DiskCache | None:
    """Return where things are kept on disk; None if they are not to be."""
    folder = arguments().cache
    return None if folder is None else DiskCache(folder, FORMS)


def max_age() -> float:
    """Return the seconds without use that end what is kept in memory."""
    return _MAX_AGE_SECONDS if answers_this_machine_only() else _OTHERS_SECONDS


class Cache(Generic[Value]):
    """The things used last, up to a ``limit`` of weights and an age; ``kind``: if on disk, too."""

    def __init__(
        self, limit: float, weight: Callable[[Value], float] = lambda _: 1, kind: str = ""
    ) -> None:
        self._lock = threading.Lock()
        self._limit, self._weight, self._kind = limit, weight, kind
        #: Things with their weight, and when they were used; used last comes last
        self._items: OrderedDict[Hashable, tuple[Value, float, float]] = OrderedDict()
        self.problem: str | None = None  #: Why the last thing could not be kept on disk

    def put(self, key: Hashable, value: Value) -> None:
        """Keep a thing, whole on the disk too before this returns."""
        self.hold(key, value)
        disk = self._disk()
        if disk is None or (isinstance(value, Loaded) and value.source == DEMO):
            return
        # (A file holds bytes as an array.)
        content = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value
        try:
            disk.put(self._kind, _name(key), content)
            self.problem = None
        except InputError as error:
            self.problem = str(error)

    def hold(self, key: Hashable, value: Value) -> None:
        """Keep a thing in memory alone."""
        weight = self._weight(value)
        with self._lock:
            self._items[key] = value, weight, time.monotonic()
            self._items.move_to_end(key)
            self._drop_unused()
            # (Of what weighs nothing there is nothing to gain.)
            beyond = sum(item[1] for item in self._items.values()) - self._limit
            for name in [name for name, item in self._items.items() if item[1] and name != key]:
                if beyond > 0:
                    beyond -= self._items.pop(name)[1]

    def use(self, key: Hashable) -> None:
        """Note that a thing is in use."""
        with self._lock:
            if key in self._items:
                self._items[key] = *self._items[key][:2], time.monotonic()
                self._items.move_to_end(key)
        if (disk := self._disk()) is not None:
            disk.touch(self._kind, _name(key))

    def get(self, key: Hashable) -> Value | None:
        """Return a thing, or None where it was not made or is gone."""
        with self._lock:
            self._drop_unused()
            item = self._items.get(key)
        if item is not None:
            self.use(key)
            return item[0]
        found = self._read(key)
        if found is not None:
            self.hold(key, found)
        return found

    def _disk(self) -> DiskCache | None:
        return disk_cache() if self._kind else None

    def _read(self, key: Hashable) -> Any:
        """Return a thing from the disk, or None where it is not there or not what it was."""
        disk = self._disk()
        content = None if disk is None else disk.get(self._kind, _name(key))
        if isinstance(content, Loaded):
            made = dataclasses.replace(content, dataset=map_arrays(content.dataset))
            return made if made.key == key else None
        return content.tobytes() if isinstance(content, np.ndarray) else content

    def _drop_unused(self) -> None:
        before = time.monotonic() - max_age()
        for key in [key for key, item in self._items.items() if item[2] < before]:
            del self._items[key]


def _name(key: Hashable) -> str:
    """Name a thing in words that are the same after a restart, but not of another version."""
    return f"{__version__} {key!r}"


class Store:
    """What this server keeps."""

    def __init__(self) -> None:
        size = 2.0**33  # of the memory, where the system does not say it
        if hasattr(os, "sysconf"):
            size = os.sysconf("SC_PHYS_PAGES") * float(os.sysconf("SC_PAGE_SIZE"))
        #: By :attr:`Loaded.key`
        self.loaded: Cache[Loaded] = Cache(_MEMORY_SHARE * size, lambda it: it.n_bytes, "data")
        #: By the digest of the dataset and the map's title
        self.maps: Cache[Embedding] = Cache(24, kind="map")
        self.runs: Cache[Any] = Cache(12)  #: Comparisons over many runs, with what was asked
        self.reports: Cache[bytes] = Cache(3, kind="report")  #: Packed
        self.watched: Cache[Any] = Cache(12)  #: What is known of batches, by their directory

    @property
    def problem(self) -> str | None:
        """Why what was loaded or made last could not be kept on disk, if so."""
        problems = (kept.problem for kept in (self.loaded, self.maps, self.reports))
        return next(filter(None, problems), None)


@st.cache_resource
def store() -> Store:
    """Return the one store of this server."""
    return Store()
