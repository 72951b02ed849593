"""From a path or an upload to named columns: which format it is, by suffix and by first bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from lore_core.data.validation import InputError
from lore_core.reading.arrow_tables import (
    columns_of_table,
    open_feather,
    open_parquet,
    open_saved_dataset,
)
from lore_core.reading.columns import Columns
from lore_core.reading.databases import is_duckdb, open_duckdb, open_sqlite
from lore_core.reading.inspect_logs import open_eval
from lore_core.reading.json_tables import open_json
from lore_core.reading.named_tables import open_excel
from lore_core.reading.npz import open_npz
from lore_core.reading.raw_file import RawFile, Source, raw_file
from lore_core.reading.text_tables import open_text

#: Suffix to format.
READABLE = {
    ".npz": "NPZ",
    ".csv": "CSV",
    ".tsv": "CSV",
    ".txt": "CSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".feather": "Feather",
    ".arrow": "Feather",
    ".json": "JSON",
    ".jsonl": "JSON",
    ".ndjson": "JSON",
    ".eval": "Inspect",
    ".xlsx": "Excel",
    ".sqlite": "SQLite",
    ".sqlite3": "SQLite",
    ".db": "SQLite",
    ".duckdb": "DuckDB",
    ".ddb": "DuckDB",
}
#: Formats that a query can be put to.
_DATABASES = ("SQLite", "DuckDB")
QUERIED = tuple(suffix for suffix, kind in READABLE.items() if kind in _DATABASES)
"""Suffixes of files that a query can be put to."""
#: Formats that are a zip archive of another kind.
_ZIPPED = ("Inspect", "Excel")
_MAGIC = {
    b"PK\x03\x04": "NPZ",
    b"PK\x05\x06": "NPZ",
    b"PAR1": "Parquet",
    b"ARROW1": "Feather",
    b"\xff\xff\xff\xff": "Feather",
    b"SQLite f": "SQLite",
}


def open_columns(source: Source, table: str | None = None, query: str | None = None) -> Columns:
    """Open a file of any readable format as named columns.

    ``table``: of a workbook the sheet, of a database the table. ``query``: to a database, in place
    of a table. Raises InputError if the format cannot be read or the file is damaged.
    """
    raw = raw_file(source)
    if query and table:
        raise InputError(f"'{raw.name}' can be read by a table or by a query, not both. Leave one.")
    if query and (not isinstance(raw.content, (Path, bytes)) or _kind(raw) not in _DATABASES):
        raise InputError(f"'{raw.name}' is no database to query. Leave out the query.")
    if isinstance(raw.content, pa.Table):
        return columns_of_table(raw.name, raw.content)
    if isinstance(raw.content, Path) and raw.content.is_dir():
        return open_saved_dataset(raw)
    openers: dict[str, Callable[[RawFile], Columns]] = {
        "NPZ": open_npz,
        "CSV": open_text,
        "Parquet": open_parquet,
        "Feather": open_feather,
        "JSON": open_json,
        "Inspect": open_eval,
        "Excel": lambda file: open_excel(file, table),
        "SQLite": lambda file: open_sqlite(file, table, query),
        "DuckDB": lambda file: open_duckdb(file, table, query),
    }
    columns = openers[_format(raw)](raw)
    if not columns.shapes:
        raise InputError(f"'{raw.name}' holds no column. Save it again with data.")
    return columns


def _kind(raw: RawFile) -> str:
    folder = isinstance(raw.content, Path) and raw.content.is_dir()
    return "Hugging Face" if folder else _format(raw)


def _format(raw: RawFile) -> str:
    by_suffix = READABLE.get(raw.suffix)
    if by_suffix is None and raw.suffix:
        raise InputError(
            f"'{raw.name}' is of no readable kind. These can be read: {', '.join(READABLE)}."
        )
    with raw.open() as stream:
        head = stream.read(12)
    if not head:
        raise InputError(f"'{raw.name}' is empty (0 bytes). Save it again.")
    if head.startswith(b"\x93NUMPY"):
        raise InputError(
            f"'{raw.name}' is a single array (.npy). Save probs, labels and features together "
            "with numpy.savez."
        )
    if head.startswith(b"FEA1"):
        raise InputError(
            f"'{raw.name}' is Feather of version 1, whose damaged files end the program that reads "
            "them. Save it as version 2 (pandas: to_feather), or as Parquet."
        )
    by_content = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
    if is_duckdb(head):
        by_content = "DuckDB"
    if by_content == "NPZ" and by_suffix in _ZIPPED:
        return by_suffix
    if by_content is None:
        if by_suffix in (None, "CSV", "JSON"):
            return by_suffix or "CSV"
        what = {
            "NPZ": "a zip archive, as .npz is",
            "Inspect": "a zip archive, as .eval is",
            "Excel": "a zip archive, as .xlsx is",
            "SQLite": "an SQLite database",
            "DuckDB": "a DuckDB database",
        }
        raise InputError(
            f"'{raw.name}' is not {what.get(str(by_suffix), f'a {by_suffix} file')}: its first "
            "bytes are others. Save it again, or give it the suffix of what it is."
        )
    return by_content
