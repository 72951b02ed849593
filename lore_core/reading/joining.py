"""Join files of images, texts or metadata to predictions, by an id column or row by row."""

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from lore_core.data.errors import InputError, counted
from lore_core.reading.columns import Columns
from lore_core.reading.formats import half_of
from lore_core.reading.mapping import ColumnMapping
from lore_core.reading.roles import guess

#: Roles that only a file with predictions fills: such columns of a side file are not joined.
_OWN_ROLES = ("label", "prediction", "split", "row_id", "weight", "unit")


def image_only_array(columns: Columns) -> str | None:
    """Return the image array of an archive without predictions, else None."""
    if columns.format != "NPZ":
        return None
    mapping = guess(columns, ColumnMapping())
    return None if mapping.probabilities else mapping.images


def prediction_files(files: Sequence[Columns], mapping: ColumnMapping) -> list[Columns]:
    """Return the files that hold predictions; where none does, all that hold more than images.

    Of these those without labels, if others have some, by which columns of classes are known.
    """
    found = [columns for columns in files if has_role(columns, mapping, "probabilities")]
    if not found:
        without = [columns for columns in files if not has_role(columns, mapping, "label")]
        found = without if len(without) < len(files) else []
    halves = [columns for columns in files if half_of(columns.file).split]
    return [
        columns
        for columns in files
        if not image_only_array(columns)
        and (not found or columns in found or (columns in halves and len(halves) > 1))
    ]


def has_role(columns: Columns, mapping: ColumnMapping, role: str) -> bool:
    """Return whether a column of a file has a role, by the mapping or by guess."""
    try:
        return bool(getattr(guess(columns, mapping), role))
    except InputError:  # what was named is in another file
        return False


def join(
    files: Sequence[Columns], side: Columns, mapping: ColumnMapping, notes: list[str]
) -> list[Columns]:
    """Join a side file to those with predictions: by an id column of both, else row by row.

    Raises InputError where neither fits exactly one file, or an id is missing or duplicated.
    """
    side_mapping = guess(side, ColumnMapping())
    has_labels = any(guess(columns, mapping).label for columns in files)
    own = {getattr(side_mapping, role) for role in _OWN_ROLES if role != "label" or has_labels}
    new = [name for name in side.names if name not in own]
    own_key = side_mapping.row_id or _key_of_both(files, side)
    key = own_key if mapping.row_id is None else mapping.row_id
    if key in side.shapes and any(key in columns.shapes for columns in files):
        return [
            _by_id(columns, side, new, str(key), notes) if key in columns.shapes else columns
            for columns in files
        ]
    main = _file_like(files, side, side_mapping)
    _check_order(main, side, side_mapping, mapping)
    notes.append(f"'{side.file}' was attached to '{main.file}', row by row.")
    return [c.joined(side, new) if c is main else c for c in files]


def _key_of_both(files: Sequence[Columns], side: Columns) -> str | None:
    """Return a column that names each row once, in a side file and in one with predictions."""
    for name, columns in itertools.product(side.names, files):
        kind = side.kinds[name]
        are_flat = all(len(of.shapes.get(name, ())) == 1 for of in (side, columns))
        if kind not in ("whole", "text") or not are_flat or kind != columns.kinds[name]:
            continue
        ids, others = (of.series(name).astype(str) for of in (columns, side))
        if ids.is_unique and others.is_unique and (kind == "text" or ids.isin(others).mean() > 0.5):
            return name
    return None


def _file_like(files: Sequence[Columns], side: Columns, side_mapping: ColumnMapping) -> Columns:
    count = count_rows(side)
    fitting = [columns for columns in files if count_rows(columns) == count]
    hint = half_of(side.file, anywhere=True).split
    if len(fitting) > 1:
        fitting = [c for c in fitting if hint and half_of(c.file, anywhere=True).split == hint]
    if len(fitting) != 1:
        rows = ", ".join(f"'{columns.file}' {count_rows(columns):,}" for columns in files)
        what = "images" if side_mapping.images else "rows without predictions"
        raise InputError(
            f"'{side.file}' holds {count:,} {what}, which must belong to exactly one file of as "
            f"many rows, or share an id column (id, row_id) with it; rows: {rows}. Map row_id."
        )
    return fitting[0]


def count_rows(columns: Columns) -> int:
    """Return the length of the longest column: names of classes and the like are shorter."""
    return max((shape[0] for shape in columns.shapes.values() if shape), default=0)


def _check_order(
    main: Columns, side: Columns, side_mapping: ColumnMapping, mapping: ColumnMapping
) -> None:
    """Refuse a side file whose labels, if it has any of the same kind, are in another order."""
    label, own = side_mapping.label, guess(main, mapping).label
    if not label or not own or side.kinds[label] != main.kinds[own]:
        return
    beside, expected = side.series(label), main.series(own)
    differ = np.flatnonzero((beside.astype(str) != expected.astype(str)).to_numpy())
    if len(differ):
        row = int(differ[0])
        raise InputError(
            f"'{side.file}' is not in the row order of '{main.file}': its label at "
            f"{side.where(row)} is {beside.iloc[row]!s}, not {expected.iloc[row]!s}. Sort them."
        )


def _by_id(main: Columns, side: Columns, new: Sequence[str], key: str, notes: list[str]) -> Columns:
    ids, wanted = (columns.series(key).astype(str) for columns in (side, main))
    twice, rule = ids.duplicated().to_numpy(), "name each row once to be joined"
    side.check(key, twice, rule, "Drop those that are there again.")
    rows = pd.Index(ids).get_indexer(pd.Index(wanted))
    n_missing = int((rows < 0).sum())
    has_arrays = any(len(side.shapes[name]) > 1 for name in new)
    if n_missing == len(rows) or has_arrays:
        fix = 'Add them, or join row by row (mapping={"row_id": ""}).'
        main.check(key, rows < 0, f"name rows of '{side.file}'", fix)
    missing = f"; {counted(n_missing, 'row')} without one" if n_missing else ""
    notes.append(f"'{side.file}' was joined to '{main.file}' by '{key}'{missing}.")
    return main.joined(side.take(rows, count_rows(side)), new)
