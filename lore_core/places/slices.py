"""Sets of rows that can be said in words: values and ranges of columns, alone and in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from lore_core.places.average import Average
from lore_core.variables.cutting import Attribute


@dataclass(frozen=True)
class Condition:
    """A column holds one of some neighbouring parts."""

    column: int  #: Its place among the attributes
    #: Parts ``first`` to ``end − 1``.
    first: int
    end: int

    def holds(self, attributes: Sequence[Attribute]) -> NDArray[np.bool_]:
        """Rows for which it is true, shape (n,)."""
        codes = attributes[self.column].codes
        return np.asarray((codes >= self.first) & (codes < self.end))

    def words(self, attributes: Sequence[Attribute]) -> tuple[str, str]:
        """Column and value in words."""
        attribute = attributes[self.column]
        if self.end - self.first == 1:
            return attribute.name, attribute.values[self.first]
        last = len(attribute.borders)
        if self.first == 0:
            return attribute.name, f"< {attribute.borders[self.end - 1]}"
        if self.end > last:
            return attribute.name, f"≥ {attribute.borders[self.first - 1]}"
        low, high = attribute.borders[self.first - 1], attribute.borders[self.end - 1]
        return attribute.name, f"{low} to {high}"


Slice = tuple[Condition, ...]


def conditions_of(attribute: Attribute, column: int) -> list[Condition]:
    """All values of a column; of a number all ranges of its parts but the whole."""
    size = len(attribute.values)
    if not attribute.numeric:
        return [Condition(column, k, k + 1) for k in range(size)]
    parts = len(attribute.borders) + 1
    ranges = [
        Condition(column, first, end)
        for first in range(parts)
        for end in range(first + 1, parts + 1)
        if end - first < parts
    ]
    missing = [Condition(column, k, k + 1) for k in range(parts, size)]
    return ranges + missing


def slice_tables(
    attributes: Sequence[Attribute], columns: Sequence[int], average: Average
) -> tuple[list[Slice], NDArray[np.float64]]:
    """Sum the moments over every slice of one column or of two together.

    Parameters
    ----------
    attributes : sequence of Attribute
        Of n rows.
    columns : sequence of int
        One or two of them.
    average : Average
        Of the same rows.

    Returns
    -------
    slices, ndarray of shape (n_slices, n_strata, 5)
    """
    sizes = [len(attributes[k].values) for k in columns]
    code = average.stratum
    for k, size in zip(columns, sizes, strict=True):
        code = code * size + attributes[k].codes
    shape = (average.n_strata, *sizes)
    sums: NDArray[np.float64] = np.stack(
        [
            np.bincount(code, weights=moment, minlength=int(np.prod(shape))).reshape(shape)
            for moment in average.moments.T
        ],
        axis=-1,
    )
    conditions = [conditions_of(attributes[k], k) for k in columns]
    for axis, items in enumerate(conditions, start=1):
        upto = np.insert(np.cumsum(sums, axis=axis), 0, 0.0, axis=axis)
        end, first = ([getattr(item, side) for item in items] for side in ("end", "first"))
        sums = np.take(upto, end, axis=axis) - np.take(upto, first, axis=axis)
    sums = np.moveaxis(sums, 0, -2)
    return list(product(*conditions)), sums.reshape(-1, *sums.shape[-2:])
