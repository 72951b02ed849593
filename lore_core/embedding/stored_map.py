"""A learned map kept as numbers; what made it makes it again when the first rows are placed."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from lore_core.data.arrays import Floats
from lore_core.data.progress import Progress

_lock = threading.Lock()


class Placing(Protocol):
    """A fitted map that places new rows."""

    def place(self, features: Floats, progress: Progress | None = None) -> Floats:
        """Place rows, shape (m, p), on the map, shape (m, d)."""
        ...


@dataclass(frozen=True, eq=False)
class StoredMap(ABC):
    """What a fitted map is made of."""

    points: Floats  #: (n, p); the fitted rows' features, as neighbours are searched in them
    places: Floats  #: (n, d); where they lie, unscaled
    settings: Mapping[str, Any]  #: What the map was made with
    notes: tuple[str, ...] = ()  #: What a reader should know about the map

    @abstractmethod
    def _make(self) -> Placing:
        """Make the map anew."""

    @cached_property
    def _made(self) -> Placing:
        return self._make()

    def place(self, features: Floats, progress: Progress | None = None) -> Floats:
        """Place rows on the map; the first call makes it anew.

        Returns shape (m, d).
        """
        with _lock:
            made = self._made
        return made.place(features, progress)
