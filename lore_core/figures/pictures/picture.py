"""What every figure says, whichever way it is drawn."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lore_core.data.arrays import Floats, Ints
from lore_core.data.number_text import signed_points

Numbers = Floats | Ints
#: One row of a table, by its columns.
Record = Mapping[Hashable, Any]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """The words around a figure, and the numbers it shows."""

    title: str  #: What is shown
    subtitle: str  #: Of which rows
    how_to_read: str  #: One line for under the picture
    alt: str  #: The same for a reader who cannot see it
    name: str  #: Stem of exported files
    table: pd.DataFrame  #: The numbers shown
    height: int = 420  #: Pixels that suit it

    @property
    def zooms(self) -> bool:
        """Whether the wheel of a mouse zooms."""
        return False


@dataclass(frozen=True)
class Hover:
    """What is said about an item when it is pointed at: plain text, the head set off.

    Where one hover is for all points of a mark, ``{x:.3g}`` stands for a point's own x as it is
    drawn, ``{text}`` for its word, and ``{0:.3g}`` for what it has in the first column.
    """

    head: str
    beside: str = ""
    lines: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All of it, line by line."""
        return "\n".join(filter(None, [f"{self.head}{self.beside}", *self.lines]))


#: Ends of a scale of gaps: round, and so are their halves.
_LIMITS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)


def shared_limit(*gaps: Floats) -> float:
    """One end for the colours of pictures that are compared: round, and beyond 99 % of the gaps.

    ``*gaps``: those of all pictures; NaN is passed over.
    """
    every = np.abs(np.concatenate([values.ravel() for values in gaps]))
    every = every[np.isfinite(every)]
    reached = float(np.quantile(every, 0.99)) if every.size else 0.0
    return next((limit for limit in _LIMITS if limit >= reached - 1e-9), 1.0)


def gap_ticks(limit: float) -> tuple[tuple[float, str], ...]:
    """Place points along a scale of gaps, and say what its ends mean."""
    at = (-limit, -limit / 2, 0.0, limit / 2, limit)
    low, lower, none, upper, high = (signed_points(value, 0) for value in at)
    words = (f"{low}\nunder-\nconfident", lower, none, upper, f"{high}\nover-\nconfident")
    return tuple(zip(at, words, strict=True))


def shortened(value: object, most: int) -> str:
    """Cut a text that is longer than ``most`` letters."""
    text = str(value)
    return text if len(text) <= most else text[: most - 1] + "…"
