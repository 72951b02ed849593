"""How long a map takes, roughly: enough to decide whether to wait for it."""

from __future__ import annotations

from lore_core.embedding.embed import METHODS
from lore_core.validation import InputError, check_integer

__all__ = ["estimate_seconds"]


def estimate_seconds(method: str, n: int, p: int, n_components: int = 2) -> float:
    return 0.0
