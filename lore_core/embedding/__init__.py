"""Feature maps φ2: from a classifier's features to the coordinates on which rows are neighbours."""

from lore_core.embedding.embed import embed, estimate_seconds, make_map
from lore_core.embedding.result import METHODS, SCALES, Embedding, MapName

__all__ = ["METHODS", "SCALES", "Embedding", "MapName", "embed", "estimate_seconds", "make_map"]
