"""What most rows of a region hold, so that it can be named."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lore_core.data.arrays import Mask
from lore_core.regions.variables.attributes import PREDICTED
from lore_core.regions.variables.cutting import Attribute
from lore_core.regions.variables.predicate import Predicate

#: So many times as frequent inside as outside, or a name says nothing of the region.
_MIN_LIFT = 1.25
#: The same of words: many are looked at, and one is always somewhat more frequent.
_MIN_WORD_LIFT = 3.0
#: Names of one column that may be joined by "or".
_MOST_NAMES = 2


def mostly(inside: Mask, attributes: Sequence[Attribute]) -> tuple[Predicate, ...]:
    """Return one name, or two of one column, that more than half of some rows hold.

    ``inside`` (n,): the rows. ``attributes``: of all n rows; numbers are left out. The predicted
    class goes before other columns, and words of texts after them. Empty where nothing tells the
    rows from the others.
    """
    names = [item for item in attributes if not (item.numeric or item.words)]
    names.sort(key=lambda item: item.name != PREDICTED)
    for item in names:
        within = np.bincount(item.codes[inside], minlength=len(item.values))
        order = np.argsort(-within, kind="stable")
        for most in range(1, _MOST_NAMES + 1):
            first = order[:most]
            held = within[first].sum()
            share = held / max(inside.sum(), 1)
            outside = (np.isin(item.codes, first).sum() - held) / max((~inside).sum(), 1)
            if share > 0.5 and share >= _MIN_LIFT * outside:
                return tuple(Predicate(item.name, item.values[k]) for k in first)
    return _words(inside, [item for item in attributes if item.words])


def _words(inside: Mask, attributes: Sequence[Attribute]) -> tuple[Predicate, ...]:
    """Return the words that set the rows apart most, if more than half of them hold these."""
    best, told = 0.0, None
    for item in attributes:
        share, outside = item.codes[inside].mean(), item.codes[~inside].mean()
        if share > 0.5 and share >= _MIN_WORD_LIFT * outside and share - outside > best:
            best, told = share - outside, item
    if told is None:
        return ()
    return (Predicate(told.name, told.values[1], words=told.words, least=told.least),)
