"""Metrics in table cells: one unit, one number of digits and one tint on every page."""

from __future__ import annotations

from typing import Any

import numpy as np

from lore_core.metrics.catalogue import MAX_GROUPWISE

__all__ = ["METRICS", "heading", "marked", "number"]

#: Metrics in the order tables show them.
METRICS = ("ECE", "MCE", "ALCE", "MLCE", MAX_GROUPWISE, "NLL", "Brier", "accuracy")
_POINTS = ("ECE", "MCE", "ALCE", "MLCE", MAX_GROUPWISE)
_BETTER = "background-color: rgba(0, 158, 115, 0.18)"
_WORSE = "background-color: rgba(230, 159, 0, 0.22)"


def number(metric: str, value: Any) -> str:
    """Write a metric's value, a number of a table, in its unit; a dash where there is none."""
    if not np.isfinite(value):
        return "–"
    percent = metric in _POINTS or metric == "accuracy"
    return f"{value * 100:.1f}" if percent else f"{value:.3f}"


def heading(metric: str) -> str:
    """Name a metric with its unit."""
    if metric in _POINTS:
        return f"{metric}, points"
    return {"accuracy": "accuracy, %", "NLL": "NLL, nats"}.get(metric, metric)


def marked(low: float, high: float) -> str:
    """Style of a cell whose difference to the first method has this interval; less is better."""
    if high < 0:
        return _BETTER
    return _WORSE if low > 0 else ""
