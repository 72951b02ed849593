"""Names on a map that do not cover each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lore_core.data.arrays import Floats

#: Pixels: half of a letter's width, half of a line's height, margin around a name.
_LETTER, _LINE, _MARGIN = 3.4, 9.0, 4.0
#: Lines a name may be moved up or down before it stays where it is.
_FURTHEST = 4


def shifts(places: Floats, names: Sequence[str], *, n_fixed: int = 0) -> Floats:
    """Return how many pixels up each name has to move so that it covers none before it, shape (n,).

    ``places`` (n, 2): where the names belong, in pixels. ``names``: most important first;
    ``n_fixed`` of the first stay where they are. 0 where there is no free place near by.
    """
    moved = np.zeros(len(names))
    taken: list[tuple[float, float, float]] = []
    step = 2 * _LINE
    tries = [0.0, *(side * lines * step for lines in range(1, _FURTHEST + 1) for side in (1, -1))]
    for number, (name, (x, y)) in enumerate(zip(names, places.tolist(), strict=True)):
        half = _LETTER * len(name) + _MARGIN
        if number >= n_fixed:
            free = (
                shift
                for shift in tries
                if not any(
                    abs(x - other) < half + width and abs(y + shift - height) < step
                    for other, height, width in taken
                )
            )
            moved[number] = next(free, 0.0)
        taken.append((x, y + moved[number], half))
    return moved
