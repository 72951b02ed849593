"""Workbooks and databases: files of several tables, of which one is read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from lore_core.data.extras import require
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
    holds several sheets and none is named; MissingPackageError without openpyxl.
    """
    require("An Excel workbook", "openpyxl")
    try:
        with raw.open() as stream, pd.ExcelFile(stream, engine="openpyxl") as book:
            names = [str(name) for name in book.sheet_names]
            name = _chosen(raw, names, table, "sheet")
            frame = pd.read_excel(book, sheet_name=name, keep_default_na=False, na_values=[""])
    except InputError:
        raise
    # A damaged workbook raises whatever its parts of XML lead to.
    except (*npz.DAMAGE, AttributeError) as error:
        raise _damaged(raw, "Excel workbook", error) from error
    return _columns(raw, "Excel", frame)


def open_sqlite(raw: RawFile, table: str | None = None) -> Columns:
    """Open a table or view of an SQLite database: ``table``, or the only one.

    The file is opened read-only. Raises InputError if it is damaged, or holds several tables and
    none is named.
    """
    try:
        with _database(raw) as database:
            names = [
                str(name)
                for (name,) in database.execute(
                    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
                    "AND name NOT LIKE 'sqlite_%' ORDER BY name"
                )
            ]
            name = _chosen(raw, names, table, "table")
            quoted = name.replace('"', '""')
            frame = pd.read_sql_query(f'SELECT * FROM "{quoted}"', database)
    except InputError:
        raise
    except (sqlite3.Error, pd.errors.DatabaseError, OSError, UnicodeError) as error:
        raise _damaged(raw, "SQLite database", error) from error
    return _columns(raw, "SQLite", frame)


@contextmanager
def _database(raw: RawFile) -> Iterator[sqlite3.Connection]:
    """Open a file read-only, whatever else writes to it; an upload in memory."""
    if isinstance(raw.content, Path):
        place = f"{raw.content.resolve().as_uri()}?mode=ro"
        opened = sqlite3.connect(place, uri=True)
    else:
        opened = sqlite3.connect(":memory:")
    with closing(opened) as database:
        if isinstance(raw.content, bytes):
            database.deserialize(raw.content)
        # What a view or a default of a file of others calls must be harmless.
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA query_only = ON")
        yield database


def _chosen(raw: RawFile, names: Sequence[str], table: str | None, what: str) -> str:
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


def _columns(raw: RawFile, what: str, frame: pd.DataFrame) -> Columns:
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


def _damaged(raw: RawFile, what: str, error: Exception) -> InputError:
    reason = short(error).rstrip(".") or type(error).__name__
    return InputError(f"'{raw.name}' is damaged or no {what} ({reason}). Save it again.")
