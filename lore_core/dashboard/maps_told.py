"""A feature map as JSON and plain arrays, its rows included."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from lore_core.embedding.result import Embedding
from lore_core.embedding.stored import as_embedding, as_numbers
from lore_core.reading.handover import Arrays, to_json


def map_told(embedding: Embedding) -> tuple[Any, Arrays]:
    """Take a map apart: what JSON can hold, and arrays."""
    arrays: Arrays = {"coordinates": embedding.coordinates}
    return _without_arrays(as_numbers(embedding), "map", arrays), arrays


def map_from(told: Any, arrays: Arrays) -> Embedding:
    """Put a map together again, checked; ValueError or KeyError if it is none."""
    embedding = as_embedding(_with_arrays(told, arrays))
    coordinates = arrays["coordinates"]
    shape = (embedding.total_rows, embedding.n_components)
    if coordinates.shape != shape or not np.isfinite(coordinates).all():
        raise ValueError("coordinates of another map")
    return dataclasses.replace(embedding, coordinates=coordinates)


def _without_arrays(value: Any, name: str, arrays: Arrays) -> Any:
    """Put the arrays of a tree into ``arrays``; return the tree with their names for them."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if isinstance(value, dict):
        return {
            part: _without_arrays(item, f"{name}.{part}", arrays) for part, item in value.items()
        }
    return to_json(value)


def _with_arrays(told: Any, arrays: Arrays) -> Any:
    if not isinstance(told, dict):
        return told
    if set(told) == {"array"}:
        return arrays[told["array"]]
    return {part: _with_arrays(item, arrays) for part, item in told.items()}
