"""Parquet files of any length, read in parts: rows that do not fit into memory become sums."""

from __future__ import annotations

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
