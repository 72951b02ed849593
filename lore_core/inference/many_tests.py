"""p-values of many tests at once."""

from __future__ import annotations

import numpy as np

from lore_core.data.arrays import Floats


def holm(p_values: Floats) -> Floats:
    """Adjust p-values after Holm: the smallest times their number, the next times one less.

    ``p_values`` (m,): of tests that may depend on each other. Returns shape (m,): in [0, 1]; with
    those up to α taken for real, the chance of any mistake is at most α.
    """
    order = np.argsort(p_values, kind="stable")
    stepped = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted
