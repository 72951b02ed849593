"""Numbers as sentences and tables write them."""

from __future__ import annotations


def points(share: float) -> str:
    """Write a difference of shares in points, signed: 0.0213 is ``"+2.1"``, −0.5 is ``"−50.0"``."""
    return f"{share * 100:+.1f}".replace("-", "−")


def p_words(p: float) -> str:
    """Write a p-value as ``"< 0.001"`` or with two digits."""
    return "< 0.001" if p < 0.001 else f"{p:.2g}"
