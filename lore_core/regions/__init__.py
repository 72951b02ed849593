"""Sets of rows, found or drawn: what is true of them and what they are made of."""

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
