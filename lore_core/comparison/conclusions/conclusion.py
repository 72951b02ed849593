"""The conclusion: a sentence that rests on tests, and words that several share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lore_core.recalibration import NoRecalibration


@dataclass(frozen=True)
class Conclusion:
    """What a page comes to."""

    #: The most important thing that is true; more than one sentence where one does not do.
    sentence: str
    is_significant: bool = False  #: Whether anything is said to be beyond chance


def quoted(names: Sequence[str], most: int = 2) -> str:
    """List names in quotation marks: ``"“A” and “B”"``, ``"“A”, “B” and 3 others"``.

    ``names``: one or more. ``most``: how many are named.
    """
    parts = [f"“{name}”" for name in names[:most]]
    if (more := len(names) - most) > 0:
        parts.append(f"{more} other{'s' * (more > 1)}")
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def nothing_done(first: str) -> str:
    """Name the method the others are compared with, as a sentence does.

    ``first``: its label.
    """
    return "doing nothing" if first == NoRecalibration().label else f"“{first}”"
