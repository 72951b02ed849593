"""Loaded data, finished maps and compared runs, kept for a reload or a second tab to find."""

from __future__ import annotations

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

from lore_core import Dataset, Embedding
from lore_core.reading import Check
from pages.shared.files import State

Value = TypeVar("Value")
#: Where the demos come from.
DEMO = "demo"
#: Share of the machine's memory that is kept of data, and seconds without use that end that.
_SHARE, _KEPT_FOR = 0.25, 86_400.0


def budget() -> float:
    """Return how many bytes of data are kept for reloads and second tabs."""
    if not hasattr(os, "sysconf"):
        return 2.0**31
    return _SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


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
    files: State = ()  #: Of this machine, in the state in which they were read

    @property
    def key(self) -> str:
        """What links name these data by."""
        return self.dataset.digest[:20]


def bytes_of(loaded: Loaded) -> int:
    """Return what loaded data take in memory; the demo, which all readers share, nothing."""
    if loaded.source == DEMO:
        return 0
    dataset = loaded.dataset
    arrays = (getattr(dataset, item.name) for item in dataclasses.fields(dataset))
    total = 0
    for part in arrays:
        if isinstance(part, np.ndarray):
            total += part.nbytes
        elif isinstance(part, pd.DataFrame):
            total += int(part.memory_usage(index=False, deep=True).sum())
    return total


class Kept(Generic[Value]):
    """The things used last, by their keys, up to ``most`` in all; safe for several sessions.

    ``weight``: of a thing; by default each counts 1. What was put last is always kept, and nothing
    for longer than a day without use.
    """

    def __init__(self, most: float, weight: Callable[[Value], float] = lambda _: 1) -> None:
        self._lock = threading.Lock()
        self._most = most
        self._weight = weight
        self._used: dict[Hashable, float] = {}
        self._weights: dict[Hashable, float] = {}
        self._items: OrderedDict[Hashable, Value] = OrderedDict()

    def put(self, key: Hashable, value: Value) -> None:
        """Keep a thing."""
        weight = self._weight(value)
        with self._lock:
            self._items[key] = value
            self._weights[key] = weight
            self._touch(key)
            while sum(self._weights.values()) > self._most and len(self._items) > 1:
                # (Of what weighs nothing there is nothing to gain.)
                self._drop(next(name for name in self._items if self._weights[name]))

    def get(self, key: Hashable) -> Value | None:
        """Return a thing, or None where it was not made or is gone."""
        with self._lock:
            if key in self._items:
                self._touch(key)
            return self._items.get(key)

    def _touch(self, key: Hashable) -> None:
        now = time.monotonic()
        self._items.move_to_end(key)
        self._used[key] = now
        for old in [name for name, when in self._used.items() if now - when > _KEPT_FOR]:
            self._drop(old)

    def _drop(self, key: Hashable) -> None:
        for held in (self._items, self._weights, self._used):
            held.pop(key, None)


class Store:
    """What this server keeps."""

    def __init__(self) -> None:
        self.loaded: Kept[Loaded] = Kept(budget(), bytes_of)  #: By :attr:`Loaded.key`
        self.maps: Kept[Embedding] = Kept(24)  #: By the digest of the dataset and the map's title
        self.runs: Kept[Any] = Kept(12)  #: Comparisons over many runs, with what was asked
        self.reports: Kept[bytes] = Kept(3)  #: Packed


@st.cache_resource
def store() -> Store:
    """Return the one store of this server."""
    return Store()
