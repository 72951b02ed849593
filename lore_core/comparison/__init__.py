"""Comparisons of measurements: summaries, methods, groups, runs, and their conclusions in words."""

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
