"""Files of several tables, of which one is read: workbooks, and what databases share with them."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from typing import Any

import pandas as pd

from lore_core.data.validation import InputError
from lore_core.reading import npz
from lore_core.reading.columns import Columns, check_names, kind_of_dtype, listed, short
from lore_core.reading.raw_file import RawFile


class SeveralTablesError(InputError):
    """A file holds several ``tables``, and none was named; ``found`` says it without how to."""

    def __init__(self, file: str, what: str, tables: Sequence[str]) -> None:
        self.file, self.what, self.tables = file, what, tuple(tables)
        self.found = f"'{file}' holds several {what}s ({listed(tables, 12)})."
        one = short(tables[0], 40)
        super().__init__(
            f'{self.found} Name one as table: mapping={{"table": "{one}"}}, or --column '
            f"table={one}."
        )


def open_excel(raw: RawFile, table: str | None = None) -> Columns:
    """Open a sheet of an Excel workbook (``.xlsx``): ``table``, or the only one.

    Values are read, neither formulas nor formats. Raises InputError if the file is damaged, or
    holds several sheets and none is named.
    """
    try:
        with raw.open() as stream, zipfile.ZipFile(stream) as archive:
            npz.check_entries(stream, archive)
        with raw.open() as stream, pd.ExcelFile(stream, engine="openpyxl") as book:
            names = [str(name) for name in book.sheet_names]
            name = chosen_table(raw, names, table, "sheet")
            frame = pd.read_excel(book, sheet_name=name, keep_default_na=False, na_values=[""])
    except InputError:
        raise
    # A damaged workbook raises whatever its parts of XML lead to.
    except (*npz.DAMAGE, AttributeError) as error:
        raise damaged(raw, "Excel workbook", error) from error
    return columns_of_frame(raw, "Excel", frame)


def chosen_table(raw: RawFile, names: Sequence[str], table: str | None, what: str) -> str:
    """Return the table to read: ``table``, or the only one of ``names``.

    ``what``: how sentences call one. Raises InputError, of several tables SeveralTablesError.
    """
    if not names:
        raise InputError(f"'{raw.name}' holds no {what}. Save it again with data.")
    if table is None:
        if len(names) > 1:
            raise SeveralTablesError(raw.name, what, names)
        return names[0]
    if table not in names:
        raise InputError(
            f"'{raw.name}' has no {what} '{short(table)}', which was named as table. It has: "
            f"{listed(names)}."
        )
    return table


def columns_of_frame(raw: RawFile, what: str, frame: pd.DataFrame) -> Columns:
    """Return the columns of a table that was read; ``what``: its format."""
    names = [str(name) for name in frame.columns]
    check_names(raw.name, names)
    if frame.empty:
        raise InputError(f"'{raw.name}' has column names but no rows. Save it again with data.")
    held: dict[str, pd.Series[Any]] = {}
    for position, name in enumerate(names):
        held[name] = frame.iloc[:, position].infer_objects()
    return Columns(
        raw.name,
        what,
        shapes={name: (len(frame),) for name in names},
        kinds={name: kind_of_dtype(values.dtype) for name, values in held.items()},
        loader=held.__getitem__,
    )


def damaged(raw: RawFile, what: str, error: Exception) -> InputError:
    """Say that a file is damaged; ``what``: the kind of file it should be."""
    reason = short(error).rstrip(".") or type(error).__name__
    return InputError(f"'{raw.name}' is damaged or no {what} ({reason}). Save it again.")
