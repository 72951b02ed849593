"""Start the dashboard from Python, a notebook or the command line."""

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
