"""Datasets and what every package shares: checked arrays, confidence bins, probabilities."""

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
