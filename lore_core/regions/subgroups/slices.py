"""Sets of rows in words: slices by one column or two, lists of words."""

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from lore_core.data.arrays import Floats, Mask
from lore_core.regions.subgroups.overall import Average
from lore_core.regions.variables.attributes import Predicate
from lore_core.regions.variables.cutting import Attribute

#: So much of a list's rows lie in the one around it.
_INSIDE = 0.9
#: The longer list has so much of the shorter one's evidence,
_EVIDENCE = 0.9
#: and the rows it adds, within a standard error, so much of its guaranteed excess.
_AS_WRONG = 0.5


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


def subgroup_id(conditions: Iterable[Predicate], rows: Iterable[int]) -> str:
    """Return the id of a slice, by its conditions in any order, or of a region, by its rows."""
    parts = sorted(
        repr((part.column, sorted(part.words), part.least, part.low, part.high))
        if part.words or part.low is not None
        else repr((part.column, part.value))
        for part in conditions
    )
    content = repr(parts or sorted(map(int, rows))).encode()
    return hashlib.blake2b(content, digest_size=4).hexdigest()


def conditions_of(attribute: Attribute, column: int) -> list[Condition]:
    """All values of a column; of a number all ranges but the whole, of words that they are held."""
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
    """Sum moments over slices of one column or two: (n_slices, n_strata, 5; 7 of weighted rows)."""
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


def words_of(found: Slice, attributes: Sequence[Attribute]) -> str | None:
    """Return the column of texts whose words alone name a slice; None where there is none."""
    if len(found) != 1:
        return None
    attribute = attributes[found[0].column]
    return attribute.name if attribute.words else None


def is_wider_slice(wide: Mask, narrow: Mask, sign: int, average: Average) -> bool:
    """Whether to take list of words ``wide`` for ``narrow``, of about whose rows it has more.

    Masks of the rows of ``average``; ``sign``: which way these are off.
    """
    more, n_wide, n_narrow = wide & ~narrow, int(wide.sum()), int(narrow.sum())
    if n_wide <= n_narrow or (wide & narrow).sum() < _INSIDE * n_narrow:
        return False
    around, inside, added = (average.of_rows(rows) for rows in (wide, narrow, more))
    bound = float(inside.lower_bound)
    if float(around.lower_bound) * np.sqrt(n_wide) < _EVIDENCE * bound * np.sqrt(n_narrow):
        return False
    likely = sign * float(added.mean) + max(float(added.error), float(added.scatter))
    return likely >= _AS_WRONG * bound
