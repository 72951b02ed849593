"""Rows of any number: ``cell_sums`` that merge, with bounds, and ``partitions`` of files."""

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
