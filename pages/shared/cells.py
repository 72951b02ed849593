"""The tint of a table cell: better or worse beyond chance, the same on every page."""

from __future__ import annotations

from lore_core.comparison.tables import beyond_chance

_TINT = {
    "better": "background-color: rgba(0, 158, 115, 0.18)",
    "worse": "background-color: rgba(230, 159, 0, 0.22)",
    "": "",
}


def marked(low: float, high: float) -> str:
    """Style of a cell whose difference to the first method has this interval; less is better."""
    return _TINT[beyond_chance(low, high)]
