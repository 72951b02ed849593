"""Numbers as sentences and tables write them."""

from __future__ import annotations

import math

__all__ = ["p_words", "points"]


def points(share: float) -> str:
    """Write a difference of shares in points, signed: 0.0213 is ``"+2.1"``, −0.5 is ``"−50.0"``.

    A dash stands for NaN.
    """
    if not math.isfinite(share):
        return "–"
    return f"{round(share * 100, 1) + 0.0:+.1f}".replace("-", "−")  # + 0.0: no minus before nothing


def p_words(p: float) -> str:
    """Write a p-value as ``"< 0.001"`` or with two digits."""
    return "< 0.001" if p < 0.001 else f"{p:.2g}"
