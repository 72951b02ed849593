"""Columns side by side as one matrix, and the error that finds the wrong cell in its file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Ints, Mask
from lore_core.data.validation import InputError
from lore_core.reading.columns import Columns, counted


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


def _column_called(columns: Columns, names: Sequence[str], index: int) -> tuple[str, str]:
    """Return the words for one column of a matrix: the column, and the index inside an array."""
    for name in names:
        width = int(np.prod(columns.shapes[name][1:]))
        if index < width:
            inside = f", column {index}" if len(columns.shapes[name]) > 1 else ""
            return columns.called(name), inside
        index -= width
    raise AssertionError("the index lies inside the matrix")


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
    called, inside = _column_called(columns, names, index)
    value = matrix[position, index]
    got = "a missing value (NaN)" if np.isnan(value) else f"{value:.6g}"
    raise InputError(
        f"{called} must {rule}; got {got} at {columns.where(int(rows[position]))}{inside} "
        f"({counted(int(wrong.sum()), 'such row')}). {fix}"
    )
