"""Local errors of any number of rows: sums over the cells of a grid that merge."""

from __future__ import annotations

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
