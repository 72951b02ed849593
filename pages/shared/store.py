"""Loaded data, finished maps and compared runs, kept for a reload or a second tab to find."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import streamlit as st

from lore_core import Embedding
from pages.shared.files import answers_this_machine_only
from pages.shared.loaded import Loaded, bytes_of
from pages.shared.on_disk import DATA, MAPS, REPORTS, OnDisk

Value = TypeVar("Value")
#: Share of the machine's memory that is kept of data.
_SHARE = 0.25
#: Seconds without use that end what is kept in memory, and where others are answered, too.
_KEPT_FOR, _KEPT_FOR_OTHERS = 86_400.0, 3_600.0


def budget() -> float:
    """Return how many bytes of data are kept for reloads and second tabs."""
    if not hasattr(os, "sysconf"):
        return 2.0**31
    return _SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def kept_for() -> float:
    """Return the seconds without use that end what is kept in memory."""
    return _KEPT_FOR if answers_this_machine_only() else _KEPT_FOR_OTHERS


class Kept(Generic[Value]):
    """The things used last, by their keys, up to ``most`` in all; safe for several sessions.

    ``weight``: of a thing; by default each counts 1. What was put last is always kept, and nothing
    for longer than :func:`kept_for` without use. ``on_disk``: where they are kept for longer.
    """

    def __init__(
        self,
        most: float,
        weight: Callable[[Value], float] = lambda _: 1,
        on_disk: OnDisk[Value] | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self.on_disk = on_disk
        self._most = most
        self._weight = weight
        self._used: dict[Hashable, float] = {}
        self._weights: dict[Hashable, float] = {}
        self._items: OrderedDict[Hashable, Value] = OrderedDict()

    def put(self, key: Hashable, value: Value) -> None:
        """Keep a thing, whole on the disk too before this returns."""
        if self.on_disk is not None:
            self.on_disk.keep(key, value)
        self.hold(key, value)

    def use(self, key: Hashable) -> None:
        """Note that a thing is in use."""
        with self._lock:
            if key in self._items:
                self._touch(key)
        if self.on_disk is not None:
            self.on_disk.use(key)

    def hold(self, key: Hashable, value: Value) -> None:
        """Keep a thing in memory alone."""
        weight = self._weight(value)
        with self._lock:
            self._items[key] = value
            self._weights[key] = weight
            self._touch(key)
            self._drop_unused()
            while sum(self._weights.values()) > self._most and len(self._items) > 1:
                # (Of what weighs nothing there is nothing to gain.)
                self._drop(next(name for name in self._items if self._weights[name]))

    def get(self, key: Hashable) -> Value | None:
        """Return a thing, or None where it was not made or is gone."""
        with self._lock:
            self._drop_unused()
            held = self._items.get(key)
        if held is not None:
            self.use(key)
            return held
        found = None if self.on_disk is None else self.on_disk.find(key)
        if found is not None:
            self.hold(key, found)
        return found

    def _touch(self, key: Hashable) -> None:
        self._items.move_to_end(key)
        self._used[key] = time.monotonic()

    def _drop_unused(self) -> None:
        before = time.monotonic() - kept_for()
        for old in [name for name, when in self._used.items() if when < before]:
            self._drop(old)

    def _drop(self, key: Hashable) -> None:
        for held in (self._items, self._weights, self._used):
            held.pop(key, None)


class Store:
    """What this server keeps."""

    def __init__(self) -> None:
        self.loaded: Kept[Loaded] = Kept(budget(), bytes_of, DATA)  #: By :attr:`Loaded.key`
        #: By the digest of the dataset and the map's title
        self.maps: Kept[Embedding] = Kept(24, on_disk=MAPS)
        self.runs: Kept[Any] = Kept(12)  #: Comparisons over many runs, with what was asked
        self.reports: Kept[bytes] = Kept(3, on_disk=REPORTS)  #: Packed
        self.watched: Kept[Any] = Kept(12)  #: What is known of batches, by their directory


@st.cache_resource
def store() -> Store:
    """Return the one store of this server."""
    return Store()
