"""Confidences as people and language models say them: ``85%``, ``very likely``."""

from __future__ import annotations

import re

import numpy as np

from lore_core.data.arrays import Floats, Ints
from lore_core.data.validation import InputError
from lore_core.reading.columns import Columns, counted, listed, short

#: Words of estimative probability and the middle of what they stand for in the Intelligence
#: Community Directive 203 of the United States (2015): 1–5, 5–20, 20–45, 45–55, 55–80, 80–95 and
#: 95–99 %.
WORDS = {
    **dict.fromkeys(("almost no chance", "remote"), 0.03),
    **dict.fromkeys(("very unlikely", "highly improbable"), 0.125),
    **dict.fromkeys(("unlikely", "improbable"), 0.325),
    **dict.fromkeys(("roughly even chance", "roughly even odds"), 0.5),
    **dict.fromkeys(("likely", "probable"), 0.675),
    **dict.fromkeys(("very likely", "highly probable"), 0.875),
    **dict.fromkeys(("almost certain", "nearly certain"), 0.97),
}
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*(?:%|percent|per cent)")
_SHARE = re.compile(r"[01](?:\.\d+)?|\.\d+")


def numbers_said(columns: Columns, name: str, rows: Ints, notes: list[str]) -> Floats:
    """Return what confidences in words come to, shape (n,); a note says by which rule.

    ``rows`` (n,): the file's rows. Raises InputError at the first that is none: a number without
    its sign among percentages, or a word of no agreed size.
    """
    cells = columns.series(name).iloc[rows]
    values = np.full(len(cells), np.nan)
    used: dict[str, float] = {}
    signed = False
    for place, cell in enumerate(cells):
        said = " ".join(str(cell).split()).casefold().rstrip(".!")
        if said in WORDS:
            values[place] = used[said] = WORDS[said]
        elif match := _PERCENT.fullmatch(said):
            values[place] = float(match[1]) / 100
            signed = True
        elif _SHARE.fullmatch(said):
            values[place] = float(said)
    bad = ~(values <= 1.0)
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"{columns.called(name)} must hold confidences in [0, 1], as percentages with their "
            f"sign, or in the words {listed(WORDS, 20)}; got {short(repr(cells.iloc[first]))} at "
            f"{columns.where(int(rows[first]))} ({counted(int(bad.sum()), 'such row')}). Write a "
            "number there."
        )
    if signed:
        notes.append(f"Percentages in '{name}' were read as shares: “85%” as 0.85.")
    if used:
        words = ", ".join(f"“{said}” as {value:.3g}" for said, value in used.items())
        notes.append(
            f"Words in '{name}' were read as the middle of their ranges in the Intelligence "
            f"Community Directive 203: {words}."
        )
    return values
