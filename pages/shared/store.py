"""Loaded data, finished maps and compared runs, kept for a reload or a second tab to find."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import streamlit as st

from lore_core import Dataset, Embedding


@dataclass(frozen=True)
class Loaded:
    """A dataset with a split, and how it came to be."""

    dataset: Dataset  #: Every row; always with a split
    source: str  #: ``"demo"``, ``"upload"`` or a path
    #: What was read, what was done on the way, and what to be careful about.
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    split_by_app: bool = False  #: True where the file named no split and rows were split at random

    @property
    def key(self) -> str:
        """What links name these data by."""
        return self.dataset.digest[:20]


class Store:
    """Bounded, least recently used first out, safe to use from several sessions."""

    def __init__(
        self, max_datasets: int = 6, max_embeddings: int = 24, max_comparisons: int = 12
    ) -> None:
        self._lock = threading.Lock()
        self._limits = {
            "loaded": max_datasets,
            "embedding": max_embeddings,
            "runs": max_comparisons,
            "report": 3,
        }
        self._items: dict[str, OrderedDict[Any, Any]] = {
            kind: OrderedDict() for kind in self._limits
        }

    def _put(self, kind: str, key: Any, value: Any) -> None:
        with self._lock:
            items = self._items[kind]
            items[key] = value
            items.move_to_end(key)
            while len(items) > self._limits[kind]:
                items.popitem(last=False)

    def _get(self, kind: str, key: Any) -> Any:
        with self._lock:
            items = self._items[kind]
            if key in items:
                items.move_to_end(key)
            return items.get(key)

    def put_loaded(self, loaded: Loaded) -> None:
        """Keep a dataset."""
        self._put("loaded", loaded.key, loaded)

    def loaded(self, key: str) -> Loaded | None:
        """Return the dataset of a link, or None where it is gone."""
        found: Loaded | None = self._get("loaded", key)
        return found

    def put_embedding(self, dataset: Dataset, name: str, embedding: Embedding) -> None:
        """Keep a finished map."""
        self._put("embedding", (dataset.digest, name), embedding)

    def embedding(self, dataset: Dataset, name: str) -> Embedding | None:
        """Return a finished map, or None where it has not been computed."""
        found: Embedding | None = self._get("embedding", (dataset.digest, name))
        return found

    def put_runs(self, key: str, result: Any) -> None:
        """Keep a comparison over many runs, with what it was asked."""
        self._put("runs", key, result)

    def runs(self, key: str) -> Any:
        """Return a comparison over many runs, or None where it is gone."""
        return self._get("runs", key)

    def put_report(self, key: Any, content: bytes) -> None:
        """Keep a finished report, packed."""
        self._put("report", key, content)

    def report(self, key: Any) -> bytes | None:
        """Return a finished report, or None where it was not made or is gone."""
        found: bytes | None = self._get("report", key)
        return found


@st.cache_resource
def store() -> Store:
    """Return the one store of this server."""
    return Store()
