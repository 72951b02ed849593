"""Recalibrators: one interface, and one list of them in ``registry.py``."""

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
