"""Registry of file formats; a file's format is found by its suffix and first bytes."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from lore_core.data.errors import require
from lore_core.data.validation import InputError
from lore_core.reading.arrow_tables import (
    columns_of_table,
    open_feather,
    open_parquet,
    open_saved_dataset,
)
from lore_core.reading.columns import Columns
from lore_core.reading.databases import open_duckdb, open_excel, open_sqlite
from lore_core.reading.npz import open_npz
from lore_core.reading.raw_file import RawFile, Source, raw_file
from lore_core.reading.text_tables import open_eval, open_json, open_text

_ZIP, _ARROW = (b"PK\x03\x04", b"PK\x05\x06"), (b"ARROW1", b"\xff\xff\xff\xff")
_SQL, _DUCK = (b"SQLite f",), (b"DUCK",)
_HEAD_BYTES = 12


@dataclass(frozen=True)
class FileFormat:
    """A readable file format."""

    name: str
    suffixes: tuple[str, ...]
    open: Callable[..., Columns]
    what: str = ""  #: One of its files, in sentences
    magic: tuple[bytes, ...] = ()  #: First bytes of its files; none for text
    magic_offset: int = 0
    package: str = ""  #: Optional package that reads it
    rank: int = 5  #: Of a run stored in several formats the lowest rank is read

    @property
    def options(self) -> list[str]:
        """Optional arguments of :func:`open_columns` that its reader takes."""
        return list(inspect.signature(self.open).parameters)[1:]

    def begins(self, head: bytes) -> bool:
        """Return whether a file's first bytes are those of this format."""
        return head.startswith(self.magic, self.magic_offset)


FORMATS = (
    FileFormat("NPZ", (".npz",), open_npz, magic=_ZIP, rank=0),
    FileFormat("CSV", (".csv", ".tsv", ".txt"), open_text, rank=3),
    FileFormat("Parquet", (".parquet", ".pq"), open_parquet, "a Parquet file", (b"PAR1",), rank=1),
    FileFormat("Feather", (".feather", ".arrow"), open_feather, "a Feather file", _ARROW, rank=2),
    FileFormat("JSON", (".json", ".jsonl", ".ndjson"), open_json, rank=4),
    FileFormat("Inspect", (".eval",), open_eval, magic=_ZIP),
    FileFormat("Excel", (".xlsx",), open_excel, "an Excel workbook", _ZIP, package="openpyxl"),
    FileFormat("SQLite", (".sqlite", ".sqlite3", ".db"), open_sqlite, "an SQLite database", _SQL),
    FileFormat("DuckDB", (".duckdb", ".ddb"), open_duckdb, "a DuckDB database", _DUCK, 8, "duckdb"),
)
#: What is no file: a data frame, and a folder that Hugging Face wrote.
_TABLE = FileFormat("table", (), lambda raw: columns_of_table(raw.name, raw.content))
_FOLDER = FileFormat("Hugging Face", (), open_saved_dataset)
_TEXT = next(kind for kind in FORMATS if kind.name == "CSV")
_BY_SUFFIX = {suffix: kind for kind in FORMATS for suffix in kind.suffixes}
#: Suffixes of readable files, and of those that take a query.
SUFFIXES = tuple(_BY_SUFFIX)
DATABASE_SUFFIXES = tuple(suffix for suffix in SUFFIXES if "query" in _BY_SUFFIX[suffix].options)


def rank_of(suffix: str) -> int:
    """Return the rank of a suffix's format; unreadable ones come last."""
    return _BY_SUFFIX[suffix].rank if suffix in _BY_SUFFIX else len(FORMATS)


def open_columns(source: Source, table: str | None = None, query: str | None = None) -> Columns:
    """Open a file of any readable format as named columns.

    ``table``: sheet or table; ``query``: instead of a table. Raises InputError if the file is
    damaged or of another format, MissingPackageError without the package that reads it.
    """
    raw = raw_file(source)
    if query and table:
        raise InputError(f"'{raw.name}' can be read by a table or by a query, not both. Leave one.")
    kind = _format_of(raw)
    options = {"table": table, "query": query}
    if query and "query" not in kind.options:
        raise InputError(f"'{raw.name}' is no database to query. Leave out the query.")
    if kind.package:
        require(kind.what[0].upper() + kind.what[1:], kind.package)
    columns = kind.open(raw, **{name: options[name] for name in kind.options})
    if not columns.shapes:
        raise InputError(f"'{raw.name}' holds no column. Save it again with data.")
    return columns


def _format_of(raw: RawFile) -> FileFormat:
    if isinstance(raw.content, pa.Table):
        return _TABLE
    if isinstance(raw.content, Path) and raw.content.is_dir():
        return _FOLDER
    by_suffix = _BY_SUFFIX.get(raw.suffix)
    if by_suffix is None and raw.suffix:
        raise InputError(
            f"'{raw.name}' is of no readable kind. These can be read: {', '.join(SUFFIXES)}."
        )
    with raw.open() as stream:
        head = stream.read(_HEAD_BYTES)
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
    by_content = [kind for kind in FORMATS if kind.magic and kind.begins(head)]
    if by_content:
        return by_suffix if by_suffix in by_content else by_content[0]
    if by_suffix is None or not by_suffix.magic:
        return by_suffix or _TEXT
    is_zip = by_suffix.magic == _ZIP
    what = f"a zip archive, as {by_suffix.suffixes[0]} is" if is_zip else by_suffix.what
    raise InputError(
        f"'{raw.name}' is not {what}: its first bytes are others. Save it again, or give it the "
        "suffix of what it is."
    )
