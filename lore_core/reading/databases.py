"""Tables, views and queries of databases, which are opened read-only: SQLite and DuckDB."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from lore_core.data.extras import require
from lore_core.data.validation import InputError
from lore_core.reading.arrow_tables import columns_of_table
from lore_core.reading.columns import Columns, short
from lore_core.reading.named_tables import chosen_table, columns_of_frame, damaged
from lore_core.reading.raw_file import RawFile

#: A DuckDB database of others reaches nothing but itself, and no variable of this program.
_CLOSED = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
    "threads": "1",
    "lock_configuration": "true",
}


def open_sqlite(raw: RawFile, table: str | None = None, query: str | None = None) -> Columns:
    """Open a table or view of an SQLite database: ``table``, or the only one; or a query.

    The file is opened read-only. Raises InputError if it is damaged, holds several tables and none
    is named, or the query cannot be run.
    """
    try:
        with _sqlite(raw) as database:
            names = [
                str(name)
                for (name,) in database.execute(
                    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
                    "AND name NOT LIKE 'sqlite_%' ORDER BY name"
                )
            ]
            asked = query or f"SELECT * FROM {_quoted(chosen_table(raw, names, table, 'table'))}"
            frame = pd.read_sql_query(asked, database)
    except InputError:
        raise
    # (A statement that gives no rows leads to a TypeError.)
    except (sqlite3.Error, pd.errors.DatabaseError, OSError, UnicodeError, TypeError) as error:
        if query and not _is_damage(error):
            raise _no_query(raw, error.__cause__ or error) from error
        raise damaged(raw, "SQLite database", error) from error
    return columns_of_frame(raw, "SQLite", frame)


def open_duckdb(raw: RawFile, table: str | None = None, query: str | None = None) -> Columns:
    """Open a table or view of a DuckDB database: ``table``, or the only one; or a query.

    The file is opened read-only, and reaches no other file. Raises InputError as
    :func:`open_sqlite` does; MissingPackageError without duckdb.
    """
    require("A DuckDB database", "duckdb")
    import duckdb

    try:
        with (
            _on_disk(raw) as place,
            closing(duckdb.connect(str(place), read_only=True, config=_CLOSED)) as database,
        ):
            names = [
                str(name)
                for (name,) in database.execute(
                    "SELECT table_name FROM information_schema.tables "
                    "WHERE table_schema = 'main' ORDER BY table_name"
                ).fetchall()
            ]
            asked = query or f"SELECT * FROM {_quoted(chosen_table(raw, names, table, 'table'))}"
            found: Any = database.sql(asked)
            if found is None:
                raise InputError(f"the query on '{raw.name}' gives no rows. Write a SELECT.")
            made = found.to_arrow_table()
    except duckdb.Error as error:
        if query and not isinstance(error, (duckdb.IOException, duckdb.FatalException)):
            raise _no_query(raw, error) from error
        raise damaged(raw, "DuckDB database", error) from error
    return columns_of_table(raw.name, made, "DuckDB")


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _is_damage(error: Exception) -> bool:
    code = getattr(error.__cause__ or error, "sqlite_errorcode", None)
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR)


def _no_query(raw: RawFile, error: BaseException) -> InputError:
    reason = short(error, 200).rstrip(".")
    return InputError(f"the query on '{raw.name}' cannot be run ({reason}). Write a SELECT.")


@contextmanager
def _sqlite(raw: RawFile) -> Iterator[sqlite3.Connection]:
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
        database.set_authorizer(_of_this_file_alone)
        yield database


def _of_this_file_alone(action: int, *_: str | None) -> int:
    denied = action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_PRAGMA)
    return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK


@contextmanager
def _on_disk(raw: RawFile) -> Iterator[Path]:
    """Return where a file lies; an upload is written down while it is read."""
    if isinstance(raw.content, Path):
        yield raw.content
        return
    assert isinstance(raw.content, bytes)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "upload.duckdb"
        place.write_bytes(raw.content)
        yield place


def in_memory_file(raw: RawFile) -> RawFile:
    """Return an upload as a file that lies in memory, for who may write none (on Linux)."""
    if not isinstance(raw.content, bytes):
        return raw
    number = os.memfd_create(raw.name)
    with open(number, "wb", closefd=False) as stream:
        stream.write(raw.content)
    return RawFile(raw.name, Path(f"/proc/self/fd/{number}"))
