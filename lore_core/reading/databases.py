"""Files of several tables: workbooks, SQLite and DuckDB databases; Stata's files."""

import os
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from lore_core.data.errors import InputError, listed, short
from lore_core.reading import npz
from lore_core.reading.arrow_tables import columns_of_table
from lore_core.reading.columns import Columns, columns_of_frame, damaged, refusing_damage
from lore_core.reading.raw_file import RawFile

#: An untrusted DuckDB database reaches no file but itself, and no variable of this program.
_CLOSED = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
    "threads": "1",
    "lock_configuration": "true",
}
#: Where an SQLite header says if it uses a rollback journal or a write-ahead log.
_MODE, _BY_LOG = slice(18, 20), b"\x02\x02"
_NO_LOG = "was not there"
#: First bytes of an SQLite file, and the bytes from the ninth on of a DuckDB file.
_DATABASES = {b"SQLite f", b"DUCK"}
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR)
#: Bytes of a write-ahead log before its first page, and before each page.
_LOG_HEADER, _PAGE_HEADER = 32, 24
#: Indexes with an entry for every row.
_INDEXES = (
    "SELECT tables.name, indexes.name FROM sqlite_master AS tables, "
    "pragma_index_list(tables.name) AS indexes "
    "WHERE tables.type = 'table' AND NOT indexes.partial"
)


class SeveralTablesError(InputError):
    """A file holds several ``tables``, and none was named; ``found`` says it without how to."""

    def __init__(self, file: str, what: str, tables: Sequence[str]) -> None:
        self.what, self.tables = what, tuple(tables)
        self.arguments = (file, what, self.tables)
        self.found = f"'{file}' holds several {what}s ({listed(tables, 12)})."
        one = short("".join(tables[:1]), 40)
        super().__init__(
            f'{self.found} Name one: mapping={{"table": "{one}"}}, or --column table={one}.'
        )


def open_excel(raw: RawFile, table: str | None = None) -> Columns:
    """Open a sheet of an ``.xlsx`` workbook, ``table`` or the only one; values only."""
    # A damaged workbook raises almost anything.
    with refusing_damage(raw.name, "Excel workbook", *npz.DAMAGE, AttributeError, UserWarning):
        with raw.open() as stream, zipfile.ZipFile(stream) as archive:
            npz.check_entries(stream, archive)
        with raw.open() as stream, pd.ExcelFile(stream, engine="openpyxl") as book:
            names = [str(name) for name in book.sheet_names]
            name = chosen_table(raw, names, table, "sheet")
            frame = pd.read_excel(book, sheet_name=name, keep_default_na=False, na_values=[""])
    return columns_of_frame(raw, "Excel", frame)


def open_stata(raw: RawFile) -> Columns:
    """Open a ``.dta`` file of Stata; numbers with labels are read as their labels."""
    with refusing_damage(raw.name, "Stata file", *npz.DAMAGE), raw.open() as stream:
        return columns_of_frame(raw, "Stata", pd.read_stata(stream))


def chosen_table(raw: RawFile, names: Sequence[str], table: str | None, what: str) -> str:
    """Return ``table`` or the only one of ``names``, else raise (SeveralTablesError of several)."""
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


def open_sqlite(raw: RawFile, table: str | None = None, query: str | None = None) -> Columns:
    """Open a table or view of an SQLite database read-only: ``table``, the only one or a query."""
    try:
        with on_disk(raw) as file, _sqlite(file) as (database, fault):
            names = database.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
                "AND name NOT LIKE 'sqlite_%' ORDER BY name"
            ).fetchall()
            frame = pd.read_sql_query(query or _select(raw, names, table), database)
    # (A statement that gives no rows leads to a TypeError.)
    except (sqlite3.Error, pd.errors.DatabaseError, OSError, UnicodeError, TypeError) as error:
        cause = error.__cause__ or error
        is_query = query and getattr(cause, "sqlite_errorcode", None) not in _DAMAGED
        raise _refusal(raw, "" if is_query else "SQLite database", cause) from error
    note = f"'{raw.name}' needs a second file, '{raw.name}-wal', which {fault}: rows may be lost."
    return columns_of_frame(raw, "SQLite", frame, notes=(note,) if fault else ())


def open_duckdb(raw: RawFile, table: str | None = None, query: str | None = None) -> Columns:
    """Open a table or view of a DuckDB database read-only: ``table``, the only one or a query."""
    import duckdb

    try:
        with (
            on_disk(raw) as file,
            closing(duckdb.connect(str(file.content), read_only=True, config=_CLOSED)) as database,
        ):
            names = database.execute(
                "SELECT table_name FROM information_schema.tables "
                "WHERE table_schema = 'main' ORDER BY table_name"
            ).fetchall()
            found: Any = database.sql(query or _select(raw, names, table))
            if found is None:
                raise InputError(f"the query on '{raw.name}' gives no rows. Write a SELECT.")
            made = found.to_arrow_table()
    except duckdb.Error as error:
        is_query = query and not isinstance(error, (duckdb.IOException, duckdb.FatalException))
        raise _refusal(raw, "" if is_query else "DuckDB database", error) from error
    return columns_of_table(raw.name, made, "DuckDB")


def _select(raw: RawFile, names: Sequence[tuple[str]], table: str | None) -> str:
    chosen = chosen_table(raw, [str(name) for (name,) in names], table, "table")
    return f"SELECT * FROM {_quoted(chosen)}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _refusal(raw: RawFile, what: str, error: BaseException) -> InputError:
    """Return the error for a damaged file, or without ``what`` for a query that cannot be run."""
    if what:
        return damaged(raw.name, what, error)
    reason = short(error, 200).rstrip(".")
    return InputError(f"the query on '{raw.name}' cannot be run ({reason}). Write a SELECT.")


def _log_fault(path: Path) -> str:
    """Return what is wrong with the database's write-ahead log; empty if nothing."""
    with path.open("rb") as stream:
        if stream.read(_MODE.stop)[_MODE] != _BY_LOG:
            return ""
    log = Path(f"{path}-wal")
    if not log.exists() or log.stat().st_size == 0:
        return _NO_LOG
    with log.open("rb") as stream:
        head = stream.read(_LOG_HEADER)
        rest = stream.seek(0, os.SEEK_END) - _LOG_HEADER
    page = int.from_bytes(head[8:12], "big")
    is_whole = len(head) == _LOG_HEADER and rest % (_PAGE_HEADER + page) == 0
    return "" if is_whole else "ends too early"


@contextmanager
def _sqlite(raw: RawFile) -> Iterator[tuple[sqlite3.Connection, str]]:
    """Open a file read-only, and tell the fault of its log; a missing one is not made."""
    assert isinstance(raw.content, Path)
    path = raw.content.resolve()
    fault = _log_fault(path)
    how = "mode=ro&immutable=1" if fault == _NO_LOG else "mode=ro"
    with closing(sqlite3.connect(f"{path.as_uri()}?{how}", uri=True)) as database:
        # What a view or default of an untrusted file calls must be harmless.
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA query_only = ON")
        for fault in _faults(database):
            raise damaged(raw.name, "SQLite database", sqlite3.DatabaseError(fault))
        denied = sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_PRAGMA
        database.set_authorizer(
            lambda action, *_: sqlite3.SQLITE_DENY if action in denied else sqlite3.SQLITE_OK
        )
        yield database, fault


def _faults(database: sqlite3.Connection) -> Iterator[str]:
    """Check every page, and recount rows by indexes: SQLite overlooks a page that lists too few."""
    for (found,) in database.execute("PRAGMA quick_check(1)"):
        # (Also finds rows that break a rule of their table, which is no damage.)
        if found.startswith("*** in database"):
            yield f"{found.splitlines()[-1]}; rows may be missing"
    for table, index in database.execute(_INDEXES).fetchall():
        by_table, by_index = (
            database.execute(f"SELECT count(*) FROM {_quoted(table)} {by}").fetchone()[0]
            for by in ("NOT INDEXED", f"INDEXED BY {_quoted(index)}")
        )
        if by_table != by_index:
            yield f"the table '{short(table, 40)}' holds {by_table:,} rows, its index {by_index:,}"


@contextmanager
def on_disk(raw: RawFile) -> Iterator[RawFile]:
    """Write an upload of a database to a temporary file while it is read."""
    content = raw.content
    if not isinstance(content, bytes) or not {content[:8], content[8:12]} & _DATABASES:
        yield raw
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "upload"
        path.write_bytes(content)
        yield RawFile(raw.name, path)
