"""Numbers as the page writes them: in their unit, with a minus, and a dash where there is none."""

from __future__ import annotations

import numpy as np

from lore_core.metrics.catalogue import MAX_GROUPWISE

__all__ = [
    "beyond_chance", "bounds", "difference", "heading", "number", "p_value", "percent", "points",
    "signed_points", "thousands",
]  # fmt: skip

_POINTS = ("ECE", "ECE debiased", "MCE", "ALCE", "MLCE", "MLCE supported", MAX_GROUPWISE)
_SHARES = ("accuracy", "mean_confidence")


def number(metric: str, value: float) -> str:
    """Write a metric in its unit; a dash where there is none."""
    if not np.isfinite(value):
        return "–"
    if metric in _POINTS or metric in _SHARES:
        return f"{round(value * 100, 1) + 0.0:.1f}"
    return f"{round(value, 3) + 0.0:.3f}"  # + 0.0: no minus before nothing


def bounds(metric: str, low: float, high: float) -> str:
    """Write an interval, or nothing where there is none."""
    if not (np.isfinite(low) and np.isfinite(high)):
        return ""
    return f"{number(metric, low)} to {number(metric, high)}".replace("-", "−")


def difference(metric: str, change: float) -> str:
    """Write by how much a metric changes, with its sign."""
    return f"{'+' if change > 0 else ''}{number(metric, change)}".replace("-", "−")


def heading(metric: str) -> str:
    """Name a metric with its unit."""
    if metric in _POINTS:
        return f"{metric}, points"
    return {
        "accuracy": "accuracy, %", "mean_confidence": "mean confidence, %", "NLL": "NLL, nats",
    }.get(metric, metric)  # fmt: skip


def points(share: float) -> str:
    """Write a share as points: 0.123 is 12.3."""
    if not np.isfinite(share):
        return "–"
    return f"{round(share * 100, 1) + 0.0:.1f}".replace("-", "−")


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
