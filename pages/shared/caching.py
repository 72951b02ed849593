"""What the cached computations of all pages share."""

from __future__ import annotations

from typing import Any, NamedTuple

from lore_core import Dataset, Embedding, Region
from lore_core.data.binning import Binning
from lore_core.data.dataset import EVALUATION

__all__ = ["HASH", "Settings", "Target", "rows_of"]

#: How the caches tell the library's objects apart.
HASH: dict[str | type, Any] = {
    Dataset: lambda item: item.digest,
    Embedding: lambda item: item.digest,
    Region: lambda item: (item.x, item.y),
}
Target = str | int


class Settings(NamedTuple):
    """What every local number depends on, beside the rows and their map."""

    target: Target
    gamma: float
    n_bins: int
    binning: Binning

    @property
    def local(self) -> dict[str, Any]:
        """Bandwidth and bins, as the library's functions take them."""
        return {"gamma": self.gamma, "n_bins": self.n_bins, "binning": self.binning}


def rows_of(dataset: Dataset, embedding: Embedding | None, split: str = EVALUATION) -> Any:
    """Coordinates of the rows of a split; None without a map."""
    return None if embedding is None else embedding.coordinates[dataset.in_split(split)]
