"""What a file holds, column by column, before anything is accepted: for the mapping panel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lore_core.reading.columns import Columns
from lore_core.reading.guess import can_be_group, guess
from lore_core.reading.mapping import ColumnMapping, class_suffixes

#: Distinct numbers are counted in so many rows; a million would tell no more.
_SAMPLE = 10_000
_WORDS = {
    "whole": "whole number",
    "number": "number",
    "text": "text",
    "bool": "true or false",
    "date": "date",
    "other": "not readable as values",
}


@dataclass(frozen=True)
class ColumnOverview:
    """One column in plain words."""

    name: str  #: As in the file
    #: ``"whole number"``, ``"number"``, ``"text"``, ``"true or false"``, ``"date"``, or for an
    #: array ``"100 columns of numbers"``.
    kind: str
    #: Distinct values; of fractional numbers in the first 10,000 rows; None for arrays.
    n_distinct: int | None
    n_missing: int  #: Missing values
    examples: tuple[str, ...]  #: The first few distinct values
    role: str  #: Guessed role, a field of :class:`ColumnMapping`, or ``"not used"``
    can_be_group: bool  #: Whether few enough distinct values could name groups


@dataclass(frozen=True)
class FileOverview:
    """A file as the mapping panel shows it."""

    #: Its name and format.
    file: str
    format: str
    n_rows: int  #: Rows
    columns: tuple[ColumnOverview, ...]  #: Every column, in file order
    mapping: ColumnMapping  #: The guess; open roles are None
    class_names: tuple[str, ...] | None  #: Class names as far as the file or its column names tell
    notes: tuple[str, ...]  #: What was done while opening the file

    @property
    def table(self) -> pd.DataFrame:
        """The overview as a table, one row a column."""
        return pd.DataFrame(
            {
                "column": [column.name for column in self.columns],
                "holds": [column.kind for column in self.columns],
                "distinct": pd.array([c.n_distinct for c in self.columns], dtype="Int64"),
                "missing": [column.n_missing for column in self.columns],
                "examples": [", ".join(column.examples) for column in self.columns],
                "role": [column.role for column in self.columns],
            }
        )


def overview_of(columns: Columns, given: ColumnMapping) -> FileOverview:
    """Return the overview of an open file under what the user has mapped so far."""
    mapping = guess(columns, given)
    roles: dict[str, str] = {}
    for role, names in mapping.columns().items():
        for name in names:
            # A group is metadata, too; the more telling role is shown.
            if roles.get(name, "metadata") == "metadata":
                roles[name] = role
    key = mapping.label or next(iter(mapping.probabilities or columns.names))
    class_names = mapping.class_names
    if not class_names and len(mapping.probabilities or ()) > 1:
        class_names = class_suffixes(mapping.probabilities or ())
    return FileOverview(
        columns.file,
        columns.format,
        next(iter(columns.shapes[key]), 0),
        tuple(_column(columns, name, roles.get(name, "not used")) for name in columns.names),
        mapping,
        class_names or None,
        columns.notes,
    )


def _column(columns: Columns, name: str, role: str) -> ColumnOverview:
    shape, kind = columns.shapes[name], columns.kinds[name]
    if len(shape) != 1:
        words = _array_words(shape, _WORDS[kind], role)
        return ColumnOverview(name, words, None, 0, (), role, False)
    if kind == "other":
        return ColumnOverview(name, _WORDS[kind], None, 0, (), role, False)
    values = columns.series(name)
    sample = values.iloc[:_SAMPLE] if kind == "number" else values
    distinct = sample.dropna().unique()
    return ColumnOverview(
        name,
        _WORDS[kind],
        len(distinct),
        int(values.isna().sum()),
        tuple(_shown(value) for value in distinct[:3]),
        role,
        can_be_group(columns, name, values),
    )


def _array_words(shape: tuple[int, ...], of: str, role: str) -> str:
    if not shape:
        return f"a single {of}"
    if role == "images":
        return f"images of {' × '.join(map(str, shape[1:]))}"
    plural = {"number": "numbers", "whole number": "whole numbers"}.get(of, of)
    if len(shape) == 2:
        return f"{shape[1]:,} columns of {plural}"
    return f"array of shape {' × '.join(map(str, shape))} of {plural}"


def _shown(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)
    return text if len(text) <= 24 else text[:23] + "…"
