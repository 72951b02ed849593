"""A sentence that rests on tests, and words several of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lore_core.recalibration import NoRecalibration

#: Changes of a gap by less are of no consequence, however sure.
MATTERS = 0.01


@dataclass(frozen=True)
class Conclusion:
    """What a page comes to."""

    #: The most important thing that is true; more than one sentence where one does not do.
    sentence: str
    claims: bool  #: Whether anything is said to be beyond chance


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


def quoted(names: Sequence[str], most: int = 2) -> str:
    """List names in quotation marks: ``"“A” and “B”"``, ``"“A”, “B” and 3 others"``.

    ``names``: one or more. ``most``: how many are named.
    """
    parts = [f"“{name}”" for name in names[:most]]
    if (more := len(names) - most) > 0:
        parts.append(f"{more} other{'s' * (more > 1)}")
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def nothing_done(first: str) -> str:
    """Name the method the others are held against, as a sentence does.

    ``first``: its label.
    """
    return "doing nothing" if first == NoRecalibration().label else f"“{first}”"
