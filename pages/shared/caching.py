"""What the cached computations of all pages share."""

from __future__ import annotations

from typing import Any

from lore_core import Dataset, Embedding, Region
from lore_core.dataset import EVALUATION

__all__ = ["HASH", "Target", "rows_of"]

#: How the caches tell the library's objects apart.
HASH: dict[str | type, Any] = {
    Dataset: lambda item: item.digest,
    Embedding: lambda item: item.digest,
    Region: lambda item: (item.x, item.y),
}
Target = str | int


def rows_of(dataset: Dataset, embedding: Embedding | None, split: str = EVALUATION) -> Any:
    """Coordinates of the rows of a split; None without a map."""
    return None if embedding is None else embedding.coordinates[dataset.in_split(split)]
