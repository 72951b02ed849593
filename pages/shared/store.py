"""Loaded data, finished maps and compared runs, kept for a reload or a second tab to find."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st

from lore_core import Dataset, Embedding
from lore_core.reading import Check

Value = TypeVar("Value")


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
    split_by_app: bool = False  #: True where the file named no split and rows were split at random

    @property
    def key(self) -> str:
        """What links name these data by."""
        return self.dataset.digest[:20]


class Kept(Generic[Value]):
    """The ``most`` things used last, by their keys; safe to use from several sessions."""

    def __init__(self, most: int) -> None:
        self._lock = threading.Lock()
        self._most = most
        self._items: OrderedDict[Hashable, Value] = OrderedDict()

    def put(self, key: Hashable, value: Value) -> None:
        """Keep a thing."""
        with self._lock:
            self._items[key] = value
            self._items.move_to_end(key)
            while len(self._items) > self._most:
                self._items.popitem(last=False)

    def get(self, key: Hashable) -> Value | None:
        """Return a thing, or None where it was not made or is gone."""
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
            return self._items.get(key)


class Store:
    """What this server keeps."""

    def __init__(self) -> None:
        self.loaded: Kept[Loaded] = Kept(6)  #: By :attr:`Loaded.key`
        self.maps: Kept[Embedding] = Kept(24)  #: By the digest of the dataset and the map's title
        self.runs: Kept[Any] = Kept(12)  #: Comparisons over many runs, with what was asked
        self.reports: Kept[bytes] = Kept(3)  #: Packed


@st.cache_resource
def store() -> Store:
    """Return the one store of this server."""
    return Store()
