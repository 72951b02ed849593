"""Rows of any number: sums that merge with bounds of their error, and files of any length.

``cell_sums`` is the arithmetic, ``partitions`` reads files in parts into such sums.
"""

from __future__ import annotations

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
