"""Numbers as the page writes them: in their unit, with a minus, and a dash where there is none."""

from __future__ import annotations

import numpy as np


def signed_points(share: float) -> str:
    """Write a difference as points with its sign."""
    if not np.isfinite(share):
        return "–"
    return f"{round(share * 100, 1) + 0.0:+.1f}".replace("-", "−")


def p_value(p: float) -> str:
    """Write a p-value, or nothing where there is none."""
    if not np.isfinite(p):
        return ""
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}"


def percent(share: float, digits: int = 1) -> str:
    """Write a share in per cent."""
    return f"{share * 100:.{digits}f} %"


def thousands(count: float) -> str:
    """Write a whole number, its thousands apart."""
    return f"{count:,.0f}"
