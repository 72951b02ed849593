"""Values of columns: weights of rows, right or wrong answers, verbal confidences."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from lore_core.data.arrays import Floats
from lore_core.data.errors import listed, short
from lore_core.data.weights import effective_rows
from lore_core.reading.columns import Columns
from lore_core.reading.mapping import ColumnMapping

_RIGHT = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "right", "correct"), 1),
    **dict.fromkeys(("0", "0.0", "false", "no", "wrong", "incorrect"), 0),
}
#: Words of estimative probability: mid-points of Intelligence Community Directive 203 (2015).
VERBAL_CONFIDENCES = {
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


def weights_of(columns: Columns, mapping: ColumnMapping) -> Floats | None:
    """Return the weight of each row of the file."""
    if not mapping.weight:
        return None
    values = np.asarray(columns.numbers(mapping.weight), dtype=np.float64).reshape(-1)
    columns.check(
        mapping.weight,
        ~(np.isfinite(values) & (values >= 0)),
        "say what each row counts for, as a finite number from 0",
        lambda row: f"{values[row]:g}",
        "Correct it, or map no weight.",
    )
    return values


def weights_in_words(columns: Columns, mapping: ColumnMapping, weights: Floats) -> str:
    """Return a sentence on the weights and the effective number of rows."""
    if weights.min() == weights.max():
        return f"Rows of '{columns.file}' all weigh the same by '{mapping.weight}'."
    low, high = (f"{end:.4g}" for end in (weights.min(), weights.max()))
    worth = effective_rows(weights, len(weights))
    return (
        f"Rows of '{columns.file}' count by '{mapping.weight}' ({low} to {high}); "
        f"{len(weights):,} of them are worth {worth:,.0f} equal ones."
    )


def right_of(columns: Columns, name: str) -> pd.Series[Any]:
    """Return 1 for right answers, else 0."""
    values = columns.series(name)
    found = values.map(lambda value: _RIGHT.get(str(value).strip().casefold()))
    columns.check(
        name,
        found.isna().to_numpy(),
        "say which answers are right, as 1 or 0, true or false, yes or no",
        lambda row: short(repr(values.iloc[row])),
        "Correct it, or map another column as label.",
    )
    return found.astype(np.int64)


def parse_verbal_confidence(columns: Columns, name: str, notes: list[str]) -> Floats:
    """Parse confidences such as ``85%`` and ``very likely``; ``notes`` takes the rules."""
    cells = columns.series(name)
    values = np.full(len(cells), np.nan)
    used: dict[str, float] = {}
    signed = False
    for row, cell in enumerate(cells):
        text = " ".join(str(cell).split()).casefold().rstrip(".!")
        if text in VERBAL_CONFIDENCES:
            values[row] = used[text] = VERBAL_CONFIDENCES[text]
        elif match := _PERCENT.fullmatch(text):
            values[row] = float(match[1]) / 100
            signed = True
        elif _SHARE.fullmatch(text):
            values[row] = float(text)
    columns.check(
        name,
        ~(values <= 1.0),
        "hold confidences in [0, 1], as percentages with their sign, or in the words "
        f"{listed(VERBAL_CONFIDENCES, 20)}",
        lambda row: short(repr(cells.iloc[row])),
        "Write a number there.",
    )
    if signed:
        notes.append(f"Percentages in '{name}' were read as shares: “85%” as 0.85.")
    if used:
        words = ", ".join(f"“{text}” as {value:.3g}" for text, value in used.items())
        notes.append(
            f"Words in '{name}' were read as the middle of their ranges in the Intelligence "
            f"Community Directive 203: {words}."
        )
    return values
