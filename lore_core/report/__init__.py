"""The report: every figure, table and number of one dataset in one bundle to take away."""

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
