"""What is looked at, and what is computed of it: the same for pages, commands and reports."""

from __future__ import annotations

from lore_core.view.sums import SumsView
from lore_core.view.view import View

__all__ = ["SumsView", "View"]
