"""Records with names for their values, as JSON has them, side by side as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.validation import InputError
from lore_core.reading.columns import Columns, Kind, check_names, kind_of_dtype
from lore_core.reading.raw_file import RawFile

#: Records may hold records, so deep at most.
_DEEPEST = 4


def columns_of_records(
    raw: RawFile, records: Iterable[Mapping[str, Any]], notes: tuple[str, ...] = ()
) -> Columns:
    """Return columns, one value a record; what is nested becomes columns such as ``metrics.acc``.

    Lists of as many numbers in every row are a matrix. Raises InputError if there is no record.
    """
    columns: dict[str, list[Any]] = {}
    count = 0
    for count, record in enumerate(records, start=1):
        for name, value in _flat(record):
            cells = columns.setdefault(name, [])
            cells += [None] * (count - 1 - len(cells))
            cells.append(value)
    if count == 0:
        raise InputError(f"'{raw.name}' holds no record. Save it again with data.")
    check_names(raw.name, list(columns))
    held: dict[str, pd.Series[Any] | NDArray[Any]] = {}
    kinds: dict[str, Kind] = {}
    for name, known in columns.items():
        cells = known + [None] * (count - len(known))
        matrix = _matrix(cells)
        if matrix is not None:
            held[name], kinds[name] = matrix, kind_of_dtype(matrix.dtype)
            continue
        nested = any(isinstance(cell, (list, dict)) for cell in cells)
        held[name] = pd.Series(cells, dtype=object).infer_objects()
        kinds[name] = "other" if nested else kind_of_dtype(held[name].dtype)
    shapes = {name: values.shape for name, values in held.items()}
    return Columns(raw.name, "JSON", shapes, kinds, held.__getitem__, notes=notes)


def _flat(record: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _flat(value, f"{prefix}{name}.", depth + 1)
        else:
            yield f"{prefix}{name}", value


def _matrix(cells: list[Any]) -> NDArray[Any] | None:
    """Return lists of as many numbers in every row as a matrix."""
    first = cells[0]
    if not isinstance(first, list) or not first:
        return None
    plain = all(
        isinstance(cell, list)
        and len(cell) == len(first)
        and all(isinstance(item, (int, float)) for item in cell)
        for cell in cells
    )
    return np.array(cells) if plain else None
