"""Formats of files, by suffix and first bytes; files that belong together: halves of a run."""

import inspect
import itertools
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from lore_core.data.dataset import CALIBRATION, EVALUATION
from lore_core.data.errors import InputError, as_path, require
from lore_core.reading.arrow_tables import (
    columns_of_table,
    open_feather,
    open_parquet,
    open_saved_dataset,
    splits_of,
)
from lore_core.reading.columns import Columns
from lore_core.reading.databases import open_duckdb, open_excel, open_sqlite
from lore_core.reading.npz import open_npz
from lore_core.reading.raw_file import RawFile, Source, check_parts, is_saved_dataset, raw_file
from lore_core.reading.roles import SPLIT_WORDS
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


FORMATS = (
    FileFormat("NPZ", (".npz",), open_npz, "a zip archive of arrays", _ZIP, rank=0),
    FileFormat("CSV", (".csv", ".tsv", ".txt"), open_text, rank=3),
    FileFormat("Parquet", (".parquet", ".pq"), open_parquet, "a Parquet file", (b"PAR1",), rank=1),
    FileFormat("Feather", (".feather", ".arrow"), open_feather, "a Feather file", _ARROW, rank=2),
    FileFormat("JSON", (".json", ".jsonl", ".ndjson"), open_json, rank=4),
    FileFormat("Inspect", (".eval",), open_eval, "a zip archive of samples", _ZIP),
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


def open_columns(source: Source, table: str | None = None, query: str | None = None) -> Columns:
    """Open a file of any readable format; ``table``: sheet or table, ``query``: in its place."""
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
        raise InputError(f"'{raw.name}' is of no readable kind. Readable: {', '.join(SUFFIXES)}.")
    with raw.open() as stream:
        head = stream.read(_HEAD_BYTES)
    if not head:
        raise InputError(f"'{raw.name}' is empty (0 bytes). Save it again.")
    if head.startswith(b"FEA1"):
        raise InputError(f"'{raw.name}' is Feather of version 1. Save it by pandas' to_feather.")
    by_content = [kind for kind in FORMATS if head.startswith(kind.magic, kind.magic_offset)]
    if by_content:
        return by_suffix if by_suffix in by_content else by_content[0]
    if by_suffix is None or not by_suffix.magic:
        return by_suffix or _TEXT
    raise InputError(
        f"'{raw.name}' is not {by_suffix.what} by its first bytes. Correct the suffix."
    )


_HALVES = [word for word, split in SPLIT_WORDS.items() if split in (CALIBRATION, EVALUATION)]
_TOKEN = re.compile(
    rf"(?:^|(?<=[_\-. ]))({'|'.join(map(re.escape, _HALVES))})(?=$|[_\-. ])", re.IGNORECASE
)
#: Run and suffix to its two halves, and the files without a partner.
_Pairs = tuple[dict[tuple[str, str], tuple[RawFile, RawFile]], list[RawFile]]


@dataclass(frozen=True)
class Half:
    """The run a file name belongs to and, perhaps, which half it is."""

    run: str
    split: str | None


def half_of(name: str, *, anywhere: bool = False) -> Half:
    """Parse ``digits_cal`` as a half of ``digits``: last split word, at an end or ``anywhere``."""
    stem = Path(name).stem
    fits = [
        match
        for match in _TOKEN.finditer(stem)
        if anywhere or match.end() == len(stem) or match.start() == 0
    ]
    if not fits:
        return Half(stem, None)
    last = fits[-1]
    run = (stem[: last.start()] + stem[last.end() :]).strip("_-. ")
    return Half(run, SPLIT_WORDS[last[1].lower()])


def sources_of(source: Any) -> list[RawFile]:
    """Return the files behind a path, an upload, a sequence of these, or a directory."""
    if isinstance(source, (list, tuple)):
        if not source:
            raise InputError("there is no file to read: the list of sources is empty.")
        return [raw_file(item) for item in source]
    if isinstance(source, (str, os.PathLike)) and (folder := as_path(source)).is_dir():
        alone = [raw_file(folder)] if is_saved_dataset(folder) else []
        return splits_of(folder) or alone or in_directory(folder)
    return [raw_file(source)]


def in_directory(directory: Path) -> list[RawFile]:
    """Return the files of a directory that holds one pair or one file (and images, perhaps)."""
    files = _readable(directory)
    if not files:
        raise InputError(f"'{directory}' holds no readable file. Readable: {', '.join(SUFFIXES)}.")
    check_parts(f"'{directory}'", [file.name for file in files])
    pairs, rest = _paired(files)
    halves = [file for file in rest if half_of(file.name).split]
    if len(files) == 1 or (len(pairs) == 1 and len(rest) <= 1 and not halves):
        return [*itertools.chain.from_iterable(pairs.values()), *rest]
    raise InputError(
        f"'{directory}' holds {len(files)} files, more than one pair. Name two, or use load_runs."
    )


def runs_in(source: Any) -> dict[str, tuple[RawFile, ...]]:
    """Return run name to its pair or file: of a directory every pair, or without pairs all."""
    are_given = isinstance(source, (list, tuple))
    if are_given:
        files, where, unnamed = [raw_file(item) for item in source], "the files given", "run"
    else:
        path = as_path(source)
        if not path.is_dir():
            raise InputError(f"'{path}' is not a directory. Use load for a file.")
        files, where, unnamed = _readable(path), f"'{path}'", path.name
    pairs, rest = _paired(files)
    names = {run for run, _ in pairs}
    for file in rest:
        half = half_of(file.name)
        if half.split is not None and half.run not in names:
            other = "test" if half.split == CALIBRATION else "calibration"
            raise InputError(f"'{file.name}' has no {other} file in {where}. Add it.")
    if not files:
        raise InputError(f"no run to read in {where}: no pair such as a_cal.npz and a_test.npz.")
    chosen: dict[str, tuple[RawFile, ...]] = {}
    for (run, _), pair in sorted(pairs.items(), key=lambda item: _rank(item[1][0])):
        chosen.setdefault(run or unnamed, pair)
    # Beside pairs of a directory a lone file may be anything.
    alone = rest if are_given or not pairs else []
    for file in sorted(alone, key=_rank):
        chosen.setdefault(file.stem, (file,))
    return dict(sorted(chosen.items()))


def _rank(file: RawFile) -> int:
    return _BY_SUFFIX.get(file.suffix, _TABLE).rank


def _readable(directory: Path) -> list[RawFile]:
    # Text files beside data are notes; hidden files are no data.
    suffixes = set(SUFFIXES) - {".txt"}
    return [
        raw_file(path)
        for path in sorted(directory.iterdir())
        if path.is_file() and path.suffix.lower() in suffixes and not path.name.startswith(".")
    ]


def _paired(files: Sequence[RawFile]) -> _Pairs:
    halves: dict[tuple[str, str], dict[str, RawFile]] = {}
    for file in files:
        half = half_of(file.name)
        if half.split is None:
            continue
        other = halves.setdefault((half.run, file.suffix), {}).setdefault(half.split, file)
        if other is not file:
            raise InputError(f"'{other.name}' and '{file.name}' are one half of a run. Name one.")
    both = {run: found for run, found in halves.items() if len(found) == 2}
    pairs = {run: (found[CALIBRATION], found[EVALUATION]) for run, found in both.items()}
    used = {file for pair in pairs.values() for file in pair}
    return pairs, [file for file in files if file not in used]
