"""A dataset with a split, and how it came to be."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lore_core import Dataset
from lore_core.reading import Check
from pages.shared.files import State

#: Where the demos come from.
DEMO = "demo"


@dataclass(frozen=True)
class Loaded:
    """A dataset with a split, and how it came to be."""

    dataset: Dataset  #: Every row; always with a split
    source: str  #: ``"demo"``, ``"upload"`` or a path
    #: What was read, what was done on the way, and what to be careful about.
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()  #: What was looked for in it
    split_by_app: bool = False  #: True where the file named no split and rows were split at random
    files: State = ()  #: Of this machine, in the state in which they were read
    demo: str = ""  #: The name of the demo, which any server can make; empty for other data

    @property
    def key(self) -> str:
        """What links name these data by."""
        return self.demo or self.dataset.digest[:20]


def bytes_of(loaded: Loaded) -> int:
    """Return what loaded data take in memory; the demo, which all readers share, nothing."""
    if loaded.source == DEMO:
        return 0
    dataset = loaded.dataset
    arrays = (getattr(dataset, item.name) for item in dataclasses.fields(dataset))
    total = 0
    for part in arrays:
        if isinstance(part, np.ndarray):
            total += part.nbytes
        elif isinstance(part, pd.DataFrame):
            total += int(part.memory_usage(index=False, deep=True).sum())
    return total
