"""What a column says of some rows, as data: the same rows are chosen from any dataset."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lore_core.data.dataset import Dataset
from lore_core.data.validation import InputError
from lore_core.regions.variables.attributes import PREDICTED, columns
from lore_core.regions.variables.cutting import is_line, names_of, numbers_of
from lore_core.regions.variables.words import words_held


@dataclass(frozen=True)
class Predicate:
    """A column holds one value, or a number within borders."""

    column: str  #: By the name :func:`~lore_core.regions.variables.attributes.columns` gives it
    value: str  #: In words: ``"north"``, ``"0.2 to 0.4"``, ``"missing"``
    #: Numbers from ``low`` up to, not with, ``high``; dates in nanoseconds. None where it is the
    #: words that must hold.
    low: float | None = None
    high: float | None = None
    #: Words of which the column's text must hold ``least``.
    words: tuple[str, ...] = ()
    least: int = 1

    def __str__(self) -> str:
        return f"{self.value} in {self.column}" if self.words else f"{self.column} {self.value}"

    @property
    def says_less(self) -> bool:
        """Whether its value names fewer words than there are."""
        return any(word not in self.value for word in self.words)

    def holds(self, dataset: Dataset) -> NDArray[np.bool_]:
        """Return for which rows it is true, shape (n,).

        ``dataset``: with such a column. Raises InputError if it has none.
        """
        if self.column == PREDICTED:
            names = np.array(dataset.class_names, dtype=object)
            return np.asarray(names[dataset.predictions] == self.value)
        known = {name: values for name, _, values in columns(dataset, identifiers=True)}
        if self.column not in known:
            raise InputError(f"'{dataset.name}' must have a column {self.column!r}; it has none.")
        series = known[self.column]
        if self.words:
            texts = series.fillna("").astype(str).tolist()
            return np.asarray(words_held(texts, self.words) >= self.least)
        if self.low is None or self.high is None:
            return np.asarray(names_of(series) == self.value)
        if not is_line(series):
            return np.zeros(len(series), dtype=bool)
        missing = series.isna().to_numpy()
        inside = np.zeros(len(series), dtype=bool)
        numbers = numbers_of(series[~missing])
        inside[~missing] = (numbers >= self.low) & ((numbers < self.high) | math.isinf(self.high))
        return inside
