"""What comparisons come to: one sentence each, the same on pages, in reports and in the command."""

from __future__ import annotations

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
