"""What every figure says, whichever way it is drawn."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.float64] | NDArray[np.int64]
#: One row of a table, by its columns.
Record = Mapping[Hashable, Any]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """The words around a figure, and the numbers it shows.

    Attributes
    ----------
    title : str
        What is shown.
    subtitle : str
        Of which rows.
    how_to_read : str
        One line for under the picture.
    alt : str
        The same for a reader who cannot see it.
    name : str
        Stem of exported files.
    table : DataFrame
        The numbers shown.
    height : int
        Pixels that suit it.
    """

    title: str
    subtitle: str
    how_to_read: str
    alt: str
    name: str
    table: pd.DataFrame
    height: int = 420

    @property
    def zooms(self) -> bool:
        """Whether the wheel of a mouse zooms."""
        return False


@dataclass(frozen=True)
class Hover:
    """What is said about an item when it is pointed at: plain text, the head set off.

    Where one hover is for all points of a mark, ``{x:.3g}`` stands for a point's own x, ``{text}``
    for its word, and ``{0:.3g}`` for what it has in the first column.
    """

    head: str
    beside: str = ""
    lines: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All of it, line by line."""
        return "\n".join(filter(None, [f"{self.head}{self.beside}", *self.lines]))


def signed_ticks(words: Sequence[str], limit: float) -> tuple[tuple[float, str], ...]:
    """Place five words along a scale of gaps, and say what its ends mean."""
    low, lower, _, upper, high = words
    said = (f"{low}\nunder-\nconfident", lower, "0", upper, f"{high}\nover-\nconfident")
    return tuple(zip(np.linspace(-limit, limit, 5).tolist(), said, strict=True))


def shortened(value: object, most: int) -> str:
    """Cut a text that is longer than ``most`` letters."""
    text = str(value)
    return text if len(text) <= most else text[: most - 1] + "…"
