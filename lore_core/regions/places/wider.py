"""Words that stand together name a place together: the longer list, where its rows are as wrong.

Of a topic some words look worse than the others by chance, and a search for what is worst takes
these. So of two lists of words, one around the other, the longer one is taken unless the shorter
is clearly the better place.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lore_core.data.arrays import Mask
from lore_core.regions.places.average import Average
from lore_core.regions.places.slices import Slice
from lore_core.regions.variables.cutting import Attribute

#: So much of a list's rows lie in the one around it.
_INSIDE = 0.9
#: The longer list has so much of the shorter one's evidence,
_EVIDENCE = 0.9
#: and for all that one standard error tells, the rows it adds have so much of the excess that those
#: of the shorter one surely have.
_AS_WRONG = 0.5


def words_of(found: Slice, attributes: Sequence[Attribute]) -> str | None:
    """Return the column of texts whose words alone name a slice; None where there is none."""
    if len(found) != 1:
        return None
    attribute = attributes[found[0].column]
    return attribute.name if attribute.words else None


def is_wider(wide: Mask, narrow: Mask, sign: int, average: Average) -> bool:
    """Whether to take one list of words for another, of about whose rows it has more.

    ``wide``, ``narrow``: masks of the rows of ``average``; ``sign``: which way these are off.
    """
    more, n_wide, n_narrow = wide & ~narrow, int(wide.sum()), int(narrow.sum())
    if n_wide <= n_narrow or (wide & narrow).sum() < _INSIDE * n_narrow:
        return False
    around, inside, added = (average.of_rows(rows) for rows in (wide, narrow, more))
    surely = float(inside.surely)
    if float(around.surely) * np.sqrt(n_wide) < _EVIDENCE * surely * np.sqrt(n_narrow):
        return False
    likely = sign * float(added.mean) + max(float(added.error), float(added.scatter))
    return likely >= _AS_WRONG * surely
