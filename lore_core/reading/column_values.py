"""Values of columns: matrices, weights, right or wrong answers, verbal confidences.

An error names the first wrong cell by its place in the file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.validation import InputError
from lore_core.data.weights import effective_rows
from lore_core.reading.columns import Columns, counted, listed, short
from lore_core.reading.mapping import ColumnMapping

#: Words for right and wrong answers.
_RIGHT = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "right", "correct"), 1),
    **dict.fromkeys(("0", "0.0", "false", "no", "wrong", "incorrect"), 0),
}
#: Words of estimative probability and the middle of what they stand for in the Intelligence
#: Community Directive 203 of the United States (2015): 1–5, 5–20, 20–45, 45–55, 55–80, 80–95 and
#: 95–99 %.
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


def matrix_of(
    columns: Columns, names: Sequence[str], taken: Any, *, dtype: Any = None
) -> NDArray[Any]:
    """Put columns and arrays side by side, one at a time so that memory holds them once."""
    if len(names) == 1 and len(columns.shapes[names[0]]) > 1:
        whole = columns.numbers(names[0])[taken]
        whole = whole.reshape(len(whole), -1)
        return np.asarray(whole, dtype=dtype or _float_type(whole.dtype))
    widths = [int(np.prod(columns.shapes[name][1:])) for name in names]
    matrix: NDArray[Any] = np.empty((0, sum(widths)), dtype=dtype or np.float32)
    start = 0
    for name, width in zip(names, widths, strict=True):
        values = columns.numbers(name)[taken]
        kind = np.result_type(matrix.dtype, dtype or _float_type(values.dtype))
        if start == 0:
            matrix = np.empty((len(values), sum(widths)), dtype=kind)
        elif kind != matrix.dtype:
            matrix = matrix.astype(kind)
        matrix[:, start : start + width] = values.reshape(len(values), -1)
        start += width
    return matrix


def _float_type(dtype: np.dtype[Any]) -> type[np.floating[Any]]:
    """Return float32 where it holds every value of the stored type, else float64."""
    return np.float32 if np.can_cast(dtype, np.float32) else np.float64


def check_cells(
    bad: Mask,
    matrix: NDArray[Any],
    rule: str,
    fix: str,
    columns: Columns,
    names: Sequence[str],
    rows: Ints,
) -> None:
    """Raise for the first bad cell: its column, the rule, what it holds and where it stands.

    ``bad``: mask of the cells of ``matrix`` (n, p) that break the rule. ``rule``, ``fix``: what
    every cell must do, and how to put it right. ``rows`` (n,): the file's row of each matrix row.
    """
    wrong = bad.any(axis=1)
    if not wrong.any():
        return
    position = int(np.flatnonzero(wrong)[0])
    index = int(np.flatnonzero(bad[position])[0])
    value = matrix[position, index]
    widths = [int(np.prod(columns.shapes[name][1:])) for name in names]
    k = int(np.searchsorted(np.cumsum(widths), index, side="right"))
    within = f", column {index - sum(widths[:k])}" if len(columns.shapes[names[k]]) > 1 else ""
    got = "a missing value (NaN)" if np.isnan(value) else f"{value:.6g}"
    raise InputError(
        f"{columns.called(names[k])} must {rule}; got {got} at "
        f"{columns.where(int(rows[position]))}{within} "
        f"({counted(int(wrong.sum()), 'such row')}). {fix}"
    )


def weights_of(columns: Columns, mapping: ColumnMapping) -> Floats | None:
    """Return what each row of the file counts for."""
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
    columns.check(
        name,
        found.isna().to_numpy(),
        "say which answers are right, as 1 or 0, true or false, yes or no",
        lambda position: short(repr(values.iloc[position])),
        "Correct it, or map another column as label.",
        rows,
    )
    return found.astype(np.int64)


def parse_verbal_confidence(columns: Columns, name: str, rows: Ints, notes: list[str]) -> Floats:
    """Return confidences such as ``85%`` and ``very likely`` as numbers, shape (n,).

    ``rows`` (n,): the file's rows. ``notes`` takes the rules that were used.
    """
    cells = columns.series(name).iloc[rows]
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
        lambda position: short(repr(cells.iloc[position])),
        "Write a number there.",
        rows,
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
