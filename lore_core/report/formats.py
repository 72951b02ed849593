"""Numbers as the page writes them: in their unit, with a minus, and a dash where there is none."""

from __future__ import annotations

import numpy as np

__all__ = ["beyond_chance", "p_value", "percent", "signed_points", "thousands"]


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
    return f"{share:.{digits}%}"


def thousands(count: float) -> str:
    """Write a whole number, its thousands apart."""
    return f"{count:,.0f}"


def beyond_chance(low: float, high: float) -> str:
    """Name the class of a difference by its interval; of an error, less is better.

    Parameters
    ----------
    low, high : float
        95 % interval of the difference; NaN where there is none.

    Returns
    -------
    {"better", "worse", ""}
        Nothing where it could be chance.
    """
    return "better" if high < 0 else "worse" if low > 0 else ""
