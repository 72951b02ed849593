"""Sets of rows that can be said in words: values and ranges of columns, alone and in pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from lore_core.data.arrays import Floats, Mask
from lore_core.regions.places.average import Average
from lore_core.regions.variables.cutting import Attribute
from lore_core.regions.variables.predicate import Predicate


@dataclass(frozen=True)
class Condition:
    """A column holds one of some neighbouring parts."""

    column: int  #: Its place among the attributes
    #: Parts ``first`` to ``end − 1``.
    first: int
    end: int

    def holds(self, attributes: Sequence[Attribute]) -> Mask:
        """Rows for which it is true, shape (n,)."""
        codes = attributes[self.column].codes
        return np.asarray((codes >= self.first) & (codes < self.end))

    def predicate(self, attributes: Sequence[Attribute]) -> Predicate:
        """Return it as data, for rows whose columns are cut in another way."""
        attribute, first, end = attributes[self.column], self.first, self.end
        name, value = attribute.name, attribute.values[first]
        if attribute.words:
            return Predicate(name, value, words=attribute.words, least=attribute.least)
        if end - first == 1 and attribute.only and math.isfinite(attribute.only[first]):
            number = attribute.only[first]
            return Predicate(name, value, number, math.nextafter(number, math.inf))
        if first > len(attribute.edges) or not attribute.edges:  # missing, or a name
            return Predicate(name, value)
        borders, edges = ("", *attribute.borders, ""), (-math.inf, *attribute.edges, math.inf)
        if first == 0:
            value = f"< {borders[end]}"
        elif end > len(attribute.edges):
            value = f"≥ {borders[first]}"
        else:
            value = f"{borders[first]} to {borders[end]}"
        return Predicate(name, value, edges[first], edges[end])


Slice = tuple[Condition, ...]


def conditions_of(attribute: Attribute, column: int) -> list[Condition]:
    """All values of a column; of a number all ranges of its parts but the whole.

    Of words only that they are held: what lacks them is no place.
    """
    size = len(attribute.values)
    if attribute.words:
        return [Condition(column, 1, 2)]
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
) -> tuple[list[Slice], Floats]:
    """Sum the moments over every slice of one column or of two together.

    ``attributes``: of the n rows of ``average``; ``columns``: one or two of them. The sums have
    shape (n_slices, n_strata, 5), or 7 in place of 5 of weighted rows.
    """
    sizes = [len(attributes[k].values) for k in columns]
    code = average.stratum
    for k, size in zip(columns, sizes, strict=True):
        code = code * size + attributes[k].codes
    shape = (average.n_strata, *sizes)
    sums: Floats = np.stack(
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
