"""Recalibrators: a module for each or for a family, one interface, one list of them in ``registry.py``."""

from __future__ import annotations

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
