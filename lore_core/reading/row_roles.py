"""What one column says of each row: how much it counts, and whether its answer is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from lore_core.data.arrays import Floats, Ints
from lore_core.data.validation import InputError
from lore_core.data.weights import effective_rows
from lore_core.reading.columns import Columns, counted, short
from lore_core.reading.mapping import ColumnMapping

#: Words for right and wrong answers.
_RIGHT = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "right", "correct"), 1),
    **dict.fromkeys(("0", "0.0", "false", "no", "wrong", "incorrect"), 0),
}


def weights_of(columns: Columns, mapping: ColumnMapping) -> Floats | None:
    """Return what each row of the file counts for."""
    if not mapping.weight:
        return None
    values = np.asarray(columns.numbers(mapping.weight), dtype=np.float64).reshape(-1)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"{columns.called(mapping.weight)} must say what each row counts for, as a finite "
            f"number from 0; got {values[row]:g} at {columns.where(row)} "
            f"({counted(int(bad.sum()), 'such row')}). Correct it, or map no weight."
        )
    return values


def said_weights(columns: Columns, mapping: ColumnMapping, weights: Floats) -> str:
    """Say by what the rows of the file count, and how many equal ones they are worth."""
    if weights.min() == weights.max():
        return f"Rows of '{columns.file}' all weigh the same by '{mapping.weight}'."
    low, high = (f"{end:.4g}" for end in (weights.min(), weights.max()))
    worth = effective_rows(weights, len(weights))
    return (
        f"Rows of '{columns.file}' count by '{mapping.weight}' ({low} to {high}); "
        f"{len(weights):,} of them are worth {worth:,.0f} equal ones."
    )


def right_of(columns: Columns, name: str, values: pd.Series[Any], rows: Ints) -> pd.Series[Any]:
    """Return 1 for answers that are right and 0 for others."""
    words = values.map(lambda value: str(value).strip().casefold())
    found = words.map(_RIGHT)
    bad = found.isna().to_numpy()
    if bad.any():
        position = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"{columns.called(name)} must say which answers are right, as 1 or 0, true or false, "
            f"yes or no; got {short(repr(values.iloc[position]))} at "
            f"{columns.where(int(rows[position]))} ({counted(int(bad.sum()), 'such row')}). "
            "Correct it, or map another column as label."
        )
    return found.astype(np.int64)
