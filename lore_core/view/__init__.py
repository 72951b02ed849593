"""What is looked at, and what is computed of it: the same for pages, commands and reports."""

from lore_core._lazy import attach

__getattr__, __dir__, _ = attach(__name__, __file__)
# The other modules of its stub are for the pages and commands alone.
__all__ = ["SumsView", "View"]
