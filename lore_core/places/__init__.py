"""Places where the confidence is worse than on average, in words and on the map; the verdict."""

from __future__ import annotations

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
