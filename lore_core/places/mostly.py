"""What most rows of a region hold, so that it can be named."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lore_core.data.arrays import Mask
from lore_core.variables.attributes import PREDICTED
from lore_core.variables.cutting import Attribute
from lore_core.variables.predicate import Predicate

#: So many times as frequent inside as outside, or a name says nothing of the region.
_MIN_LIFT = 1.25
#: Names of one column that may be joined by "or".
_MOST_NAMES = 2


def mostly(inside: Mask, attributes: Sequence[Attribute]) -> tuple[Predicate, ...]:
    """Return one name, or two of one column, that more than half of some rows hold.

    ``inside`` (n,): the rows. ``attributes``: of all n rows; numbers are left out. The predicted
    class goes before other columns. Empty where no column tells the rows from the others.
    """
    names = [item for item in attributes if not item.numeric]
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
    return ()
