"""Whether a gap is surely nearer to zero than it was."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Changes of a gap by less are of no consequence, however sure.
MATTERS = 0.01


def nearer(
    accuracy_low: ArrayLike, accuracy_high: ArrayLike, before: ArrayLike, after: ArrayLike
) -> NDArray[np.int64]:
    """Return whether a changed confidence is surely nearer to the accuracy, 1, or further off, −1.

    ``accuracy_low``, ``accuracy_high``: interval of the accuracy, which no recalibration changes.
    ``before``, ``after``: mean confidence. 0 where that is open or the gap changes by less than a
    point.

    The accuracy is nearer to the one on whose side of their middle it lies. As all methods are held
    against one accuracy, an interval of it that holds is right about all of them at once: the
    number of methods needs no correction.
    """
    low, high, old, new = map(np.asarray, (accuracy_low, accuracy_high, before, after))
    middle, change = (old + new) / 2, new - old
    side = np.where(high < middle, -1, np.where(low > middle, 1, 0))
    return np.asarray(np.where(np.abs(change) >= MATTERS, side * np.sign(change), 0), np.int64)
