"""Measurements side by side: one summary, methods, groups, runs, and what they come to in words."""

from __future__ import annotations

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
