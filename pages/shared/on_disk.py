"""What is kept on disk so that links outlive the server: data, learned maps, reports.

Nothing is unless the command line names a folder for it (``lore app`` does).
"""

from __future__ import annotations

import contextlib
import dataclasses
import typing
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import numpy as np

from lore_core import Embedding, InputError, __version__
from lore_core.dashboard.kept_files import KeptFiles
from lore_core.dashboard.large_arrays import map_dataset
from lore_core.dashboard.maps_told import map_from, map_told
from lore_core.reading.handover import Arrays, dataset_from, dataset_told, from_json, to_json
from pages.shared.files import arguments
from pages.shared.loaded import DEMO, Loaded

Value = TypeVar("Value")
#: A title, what JSON can hold, and arrays.
Told = tuple[str, Any, Arrays]


def kept_files() -> KeptFiles | None:
    """Return where things are kept on disk; None if they are not to be."""
    folder = arguments().kept
    return None if folder is None else KeptFiles(folder)


class OnDisk(Generic[Value]):
    """Things of one kind on disk, as plain numbers and text.

    ``told``: takes a thing apart, None if it is not worth keeping. ``made``: puts it together for a
    key, and may raise ValueError.
    """

    def __init__(
        self,
        kind: str,
        told: Callable[[Value], Told | None],
        made: Callable[[Hashable, Any, Arrays], Value],
    ) -> None:
        self._kind = kind
        self._told = told
        self._made = made
        self.problem: str | None = None  #: Why the last thing could not be kept

    def keep(self, key: Hashable, value: Value) -> None:
        """Keep a thing; if that is not possible, :attr:`problem` says why."""
        files = kept_files()
        if files is None:
            return
        try:
            told = self._told(value)
            if told is not None:
                files.put(self._kind, _name(key), *told)
                self.problem = None
        except InputError as error:
            self.problem = str(error)

    def use(self, key: Hashable) -> None:
        """Note that a thing is in use: it stays on disk."""
        files = kept_files()
        if files is not None:
            files.touch(self._kind, _name(key))

    def find(self, key: Hashable) -> Value | None:
        """Return a thing, or None where it is not there or not what it was."""
        files = kept_files()
        found = None if files is None else files.get(self._kind, _name(key))
        if files is None or found is None:
            return None
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            return self._made(key, *found)
        files.forget(self._kind, _name(key))
        return None


def _name(key: Hashable) -> str:
    """Name a thing in words that are the same after a restart, but not of another version."""
    return f"{__version__} {key!r}"


_NOTED = tuple(item.name for item in dataclasses.fields(Loaded) if item.name != "dataset")


def _data_told(loaded: Loaded) -> Told | None:
    if loaded.source == DEMO:
        return None
    told, arrays = dataset_told(loaded.dataset)
    noted = {name: to_json(getattr(loaded, name)) for name in _NOTED}
    return loaded.dataset.name, {"dataset": told, **noted}, arrays


def _data_made(key: Hashable, told: Any, arrays: Arrays) -> Loaded:
    kinds = typing.get_type_hints(Loaded)
    noted = {name: from_json(kinds[name], told[name]) for name in _NOTED}
    made = Loaded(map_dataset(dataset_from(told["dataset"], arrays)), **noted)
    if made.key != key:
        raise ValueError("other data")
    return made


def _map_told(embedding: Embedding) -> Told | None:
    """Take a learned map apart; others are made on the spot."""
    if not embedding.name.learned:
        return None
    return embedding.label, *map_told(embedding)


def _map_made(_key: Hashable, told: Any, arrays: Arrays) -> Embedding:
    return map_from(told, arrays)


def _report_told(content: bytes) -> Told:
    return "report", None, {"zip": np.frombuffer(content, np.uint8)}


def _report_made(_key: Hashable, _told: Any, arrays: Arrays) -> bytes:
    return arrays["zip"].tobytes()


DATA = OnDisk("data", _data_told, _data_made)
MAPS = OnDisk("map", _map_told, _map_made)
REPORTS = OnDisk("report", _report_told, _report_made)


def problem() -> str | None:
    """Say why what was loaded or made last could not be kept, if so."""
    return next((kind.problem for kind in (DATA, MAPS, REPORTS) if kind.problem), None)
