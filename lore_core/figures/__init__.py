"""Figures: a picture is what is shown, as a plain object; Plotly, SVG and browsers draw it.

``pictures`` says what each figure shows: numbers, words, limits, what colours mean. ``plotly``
draws it for dashboard, notebook and exports, ``svg`` for print, and ``browser`` is the landscape
that needs no server. ``charts`` has the functions that do both steps at once.
"""

from __future__ import annotations

from lore_core._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
