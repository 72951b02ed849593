"""Probabilities written with few decimals, whose rows therefore do not sum to 1."""

from __future__ import annotations

import numpy as np

from lore_core.data.arrays import Floats, Mask

#: Decimals that are looked for. With more, sums stay near 1 for as many classes as there are.
_DECIMALS = range(1, 7)
#: What computing loses of a number, and of a sum in half precision.
_SLACK, _SUM_SLACK = 1e-12, 1e-6
#: A row that sums to less than this lost more than it says.
_SMALLEST_SUM = 0.5


def undo_rounding(rows: Floats) -> tuple[Floats, Mask]:
    """Return rows (n, K) that sum to 1 and round to those given, and where there are such rows.

    Each number moves by half a unit of the last decimal at most, and the order of a row's numbers
    stays. Where rounding does not explain a sum, the row is returned as it is.
    """
    total = rows.sum(axis=1)
    unit = _unit_of(rows)
    if not unit:
        return rows, np.zeros(len(rows), dtype=bool)
    room = np.minimum(rows, unit / 2)
    missing = np.maximum(1.0 - total, 0.0)
    excess = np.maximum(total - 1.0, 0.0)
    explained = (
        (missing <= rows.shape[1] * unit / 2 + _SUM_SLACK)
        & (excess <= room.sum(axis=1) + _SUM_SLACK)
        & (total >= _SMALLEST_SUM)
    )
    share = np.minimum(excess / np.maximum(room.sum(axis=1), _SUM_SLACK), 1.0)
    whole = rows + (missing / rows.shape[1])[:, None] - room * share[:, None]
    return np.where(explained[:, None], whole, rows), explained


def _unit_of(rows: Floats) -> float:
    """Return the unit of the last decimal that all numbers are written with; 0 if there is none."""
    for decimals in _DECIMALS:
        rounded = np.round(rows, decimals)
        for kind in (np.float64, np.float32, np.float16):
            # A file of less precision holds the nearest numbers to those that were written.
            nearest = rounded.astype(kind).astype(np.float64)
            if np.abs(nearest - rows).max() <= _SLACK:
                return float(10.0**-decimals)
    return 0.0
