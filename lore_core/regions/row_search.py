"""Rows that a reader asks for in words: by a class, by what a column says, by a number's range."""

from __future__ import annotations

import operator
import re

import numpy as np
import pandas as pd

from lore_core.data.arrays import Mask
from lore_core.data.dataset import Dataset

_COMPARISONS = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}
_CONDITION = re.compile(r"(.+?)\s*(>=|<=|>|<|=|:)\s*(.+)")


def rows_with(dataset: Dataset, words: str) -> Mask:
    """Return which rows fit some words, shape (n,).

    Parameters
    ----------
    dataset : Dataset
        Rows.
    words : str
        Conditions with commas between them; a row has to meet all. One is words that any of its
        columns contains (``rotated``), words of one column (``predicted: shirt``; where that is a
        whole value of it, that value alone), or a bound of a column of numbers (``age >= 60``,
        ``confidence < 0.7``). Columns are ``predicted``, ``true``, ``confidence``, groups and
        metadata. Letters' case does not count.
    """
    columns = _columns(dataset)
    found = np.ones(len(dataset), dtype=bool)
    for condition in filter(None, (part.strip() for part in words.split(","))):
        found &= _meets(columns, condition, len(dataset))
    return found


def _columns(dataset: Dataset) -> dict[str, pd.Series]:
    names = np.array(dataset.class_names, dtype=object)
    columns = {
        "predicted": pd.Series(names[dataset.predictions]),
        "true": pd.Series(names[dataset.labels]),
        "confidence": pd.Series(dataset.confidence),
    }
    for frame in (dataset.groups, dataset.metadata):
        if frame is not None:
            columns |= {str(name).lower(): frame[name] for name in frame.columns}
    return columns


def _meets(columns: dict[str, pd.Series], condition: str, n_rows: int) -> Mask:
    parts = _CONDITION.fullmatch(condition)
    column = columns.get(parts[1].lower()) if parts else None
    if parts is None or column is None:
        found = np.zeros(n_rows, dtype=bool)
        for each in columns.values():
            if not pd.api.types.is_numeric_dtype(each):
                found |= _contain(each, condition)
        return found
    if pd.api.types.is_numeric_dtype(column) and (bound := _number(parts[3])) is not None:
        compare = _COMPARISONS.get(parts[2], operator.eq)
        return np.asarray(compare(column.to_numpy(np.float64, na_value=np.nan), bound))
    return _contain(column, parts[3], whole=True)


def _contain(column: pd.Series, words: str, *, whole: bool = False) -> Mask:
    """``whole``: of a value that is just the words no other is meant, though it holds them too."""
    # Of a column that repeats itself each value is looked at once.
    codes, values = pd.factorize(column.astype(str))
    wanted, said = words.lower(), [value.lower() for value in values]
    is_whole = whole and wanted in said
    fits = np.array([wanted == one if is_whole else wanted in one for one in said], dtype=bool)
    # A missing one has the code −1.
    return np.append(fits, False)[codes]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
