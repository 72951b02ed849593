"""Figures: pictures as plain objects, which Plotly, SVG and browsers draw."""

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
