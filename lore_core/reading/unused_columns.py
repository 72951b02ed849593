"""Unused columns that look as if they were meant: noted, or refused where others depend on them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lore_core.data.validation import InputError
from lore_core.reading.columns import Columns, short
from lore_core.reading.guess import class_column, is_called_label, looks_like_feature
from lore_core.reading.mapping import ColumnMapping

#: Cells looked at.
_SAMPLE = 1000
#: Share of them that are numbers written in a way that is not read as one.
_MOSTLY = 0.5
#: A single probability with such a name needs no word.
_PLAIN = ("p", "p_1", "prob", "proba", "probability", "probs", "probabilities")
#: Names that may be those of weights of rows, and of anything else that weighs.
_WEIGHTS = ("weight", "weights", "w")


def check_unused_columns(columns: Columns, mapping: ColumnMapping) -> list[str]:
    """Say what was taken for the probability, and which columns that look like features are none.

    Raises InputError if one of a family of probability columns holds anything but numbers.
    """
    used = {name for names in mapping.columns().values() for name in names}
    used -= {*(mapping.metadata or ()), *(mapping.groups or ())}
    _check_classes(columns, mapping, used)
    notes = []
    for name in columns.names:
        if name in used or columns.kinds[name] != "text" or len(columns.shapes[name]) != 1:
            continue
        if not looks_like_feature(name):
            continue
        found = _written_numbers(columns, name)
        if found is None:
            continue
        row, value = found
        notes.append(
            f"'{name}' is no feature: it holds text such as {short(repr(value))} "
            f"({columns.where(row)}). Write its numbers without separators and signs to use it."
        )
    for name in columns.names:
        if name in used or columns.shapes[name] != columns.shapes[str(mapping.label)]:
            continue
        if is_called_label(name) and not _says_the_same(columns, name, str(mapping.label)):
            notes.append(
                f"'{name}' of '{columns.file}' is kept beside its rows: the true class is taken "
                f"from '{mapping.label}'."
            )
        if name.lower() in _WEIGHTS and not mapping.weight and mapping.weight != "":
            notes.append(
                f"'{name}' of '{columns.file}' is not used: every row counts once. If it says what "
                f'each row counts for, map it as weight (mapping={{"weight": "{name}"}}, --column '
                f"weight={name}, or its role on the Data page)."
            )
    names, kind = mapping.probabilities or (), mapping.probability_kind
    if kind == "positive" and len(names) == 1 and names[0].lower() not in _PLAIN:
        notes.append(f"'{names[0]}' of '{columns.file}' was taken as the probability of class 1.")
    return notes


def _check_classes(columns: Columns, mapping: ColumnMapping, used: set[str]) -> None:
    """Refuse a column of one more class that is no numbers: without it the others mean less."""
    of_used = [found for name in mapping.probabilities or () if (found := class_column(name))]
    families = {family for family, _ in of_used}
    numbered = all(suffix.isdecimal() for _, suffix in of_used)
    for name in columns.names:
        found = class_column(name)
        if name in used or found is None or (families and found[0] not in families):
            continue
        if columns.kinds[name] in ("whole", "number", "bool"):
            continue
        if columns.shapes[name] != columns.shapes[str(mapping.label)]:
            continue
        cells = columns.series(name)
        plain = pd.to_numeric(cells.astype(object), errors="coerce").notna()
        is_class = _written_numbers(columns, name) is not None
        if families and not is_class:
            is_class = (
                (numbered and found[1].isdecimal())
                or 2 * int(plain.sum()) >= max(int(cells.notna().sum()), 1)
                or found[1] in set(columns.series(str(mapping.label)).astype(str))
            )
        if is_class:
            row = int((cells.isna() | plain).to_numpy().argmin())
            raise InputError(
                f"{columns.called(name)} must hold numbers as the other probabilities do; got "
                f"{short(repr(cells.iloc[row]))} at {columns.where(row)}. Write numbers without "
                "signs, or call the column otherwise if it is no probability."
            )


def _says_the_same(columns: Columns, one: str, other: str) -> bool:
    """Whether two columns divide the rows alike: numbers of classes and their names, say."""
    if not (columns.flat(one) and columns.flat(other)):
        return False
    first, second = (pd.factorize(columns.series(n).astype(str))[0] for n in (one, other))
    return bool(np.array_equal(first, second))


def _written_numbers(columns: Columns, name: str) -> tuple[int, object] | None:
    """Return the first cell that is a number with signs, if most cells are numbers or such."""
    cells = columns.series(name).dropna().iloc[:_SAMPLE]
    if cells.empty:
        return None
    plain = pd.to_numeric(cells.astype(object), errors="coerce").notna()
    bare = cells.astype(str).str.strip().str.rstrip("%").str.replace(r"[,' _]", "", regex=True)
    numbers = pd.to_numeric(bare, errors="coerce").notna()
    signed = (numbers & ~plain).to_numpy()
    if not signed.any() or numbers.mean() <= _MOSTLY:
        return None
    position = int(np.flatnonzero(signed)[0])
    row = int(np.flatnonzero(columns.series(name).notna().to_numpy())[position])
    return row, cells.iloc[position]
