"""The tint of a table cell: better or worse beyond chance, the same on every page."""

from __future__ import annotations

__all__ = ["marked"]

_BETTER = "background-color: rgba(0, 158, 115, 0.18)"
_WORSE = "background-color: rgba(230, 159, 0, 0.22)"


def marked(low: float, high: float) -> str:
    """Style of a cell whose difference to the first method has this interval; less is better."""
    if high < 0:
        return _BETTER
    return _WORSE if low > 0 else ""
