"""A feature map as JSON and plain arrays, its rows included."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from lore_core.data.archive_files import Arrays, Kind
from lore_core.embedding.result import FORMS, Embedding

_KIND = Kind("lore-map", "a map", "the dashboard", FORMS)


def map_told(embedding: Embedding) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Take a map apart: what JSON can hold, and arrays."""
    return _KIND.taken_apart({"map": embedding})


def map_from(told: Any, arrays: Arrays) -> Embedding:
    """Put a map together again, checked; ValueError or KeyError if it is none."""
    made: Embedding = _KIND.put_together(told, arrays)["map"]
    if len(made) != made.total_rows:
        raise ValueError("coordinates of another map")
    return made
