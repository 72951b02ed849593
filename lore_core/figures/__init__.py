"""Figures: a result object goes in, a Plotly figure comes out; nothing is computed here."""

from __future__ import annotations

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
