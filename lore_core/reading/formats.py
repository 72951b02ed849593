"""Formats of files, by suffix and first bytes; files that belong together: halves of a run."""

import glob
import inspect
import io
import itertools
import lzma
import os
import re
import urllib.parse
import zipfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from lore_core.data.dataset import CALIBRATION, EVALUATION
from lore_core.data.errors import InputError, as_path, listed, require
from lore_core.reading.arrow_tables import (
    Extract,
    columns_of_table,
    common_name,
    join_tables,
    open_feather,
    open_parquet,
    open_saved_dataset,
    refusing_arrow,
    row_locator,
    splits_of,
)
from lore_core.reading.columns import MAX_BYTES, Columns, refusing_damage
from lore_core.reading.databases import open_duckdb, open_excel, open_sqlite, open_stata
from lore_core.reading.logs import open_eval
from lore_core.reading.npz import DAMAGE, check_entries, open_npz
from lore_core.reading.raw_file import (
    ARCHIVES,
    PACKED_SUFFIXES,
    RawFile,
    Source,
    check_parts,
    is_saved_dataset,
    plain_name,
    raw_file,
)
from lore_core.reading.roles import SPLIT_WORDS, with_true_class
from lore_core.reading.text_tables import open_arff, open_json, open_text

_ZIP, _ARROW = (b"PK\x03\x04", b"PK\x05\x06"), (b"ARROW1", b"\xff\xff\xff\xff")
_SQL, _DUCK, _STATA = (b"SQLite f",), (b"DUCK",), (b"<stata_dta>", b"r\x02", b"s\x02")
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
    FileFormat("CSV", (".csv", ".tsv", ".txt", ".tab"), open_text, rank=3),
    FileFormat("Parquet", (".parquet", ".pq"), open_parquet, "a Parquet file", (b"PAR1",), rank=1),
    FileFormat("Feather", (".feather", ".arrow"), open_feather, "a Feather file", _ARROW, rank=2),
    FileFormat("JSON", (".json", ".jsonl", ".ndjson"), open_json, rank=4),
    FileFormat("Inspect", (".eval",), open_eval, "a zip archive of samples", _ZIP),
    FileFormat("Excel", (".xlsx", ".xlsm"), open_excel, "an Excel workbook", _ZIP, 0, "openpyxl"),
    FileFormat("ARFF", (".arff",), open_arff),
    FileFormat("Stata", (".dta",), open_stata, "a Stata file", _STATA),
    FileFormat("SQLite", (".sqlite", ".sqlite3", ".db"), open_sqlite, "an SQLite database", _SQL),
    FileFormat("DuckDB", (".duckdb", ".ddb"), open_duckdb, "a DuckDB database", _DUCK, 8, "duckdb"),
)
#: What is no file: a data frame, and a folder that Hugging Face wrote.
_TABLE = FileFormat("table", (), lambda raw: columns_of_table(raw.name, raw.content))
_FOLDER = FileFormat("Hugging Face", (), open_saved_dataset)
_TEXT, _PARQUET, _, _JSON = FORMATS[1:5]
_BY_SUFFIX = {suffix: kind for kind in FORMATS for suffix in kind.suffixes}
#: Suffixes of readable files, and of those that take a query.
SUFFIXES = (*_BY_SUFFIX, *PACKED_SUFFIXES)
DATABASE_SUFFIXES = tuple(suffix for suffix in _BY_SUFFIX if "query" in _BY_SUFFIX[suffix].options)
#: First bytes of JSON (not of CSV, ``[label],[p]``).
_JSON_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*(?:["}]|\Z)|\[\s*(?:["\d{\[]|\Z))')
#: Bytes that a compressed file may hold: so many, and so many more for each of its own.
_UNPACKED_BYTES, _UNPACKED_RATIO, _PIECE_BYTES = 2**28, 100, 2**24


def open_columns(source: Source, table: str | None = None, query: str | None = None) -> Columns:
    """Open a file of any readable format; ``table``: sheet or table, ``query``: in its place."""
    raw = raw_file(source)
    if isinstance(raw.content, tuple):
        return with_true_class(_joined(raw.name, raw.content))
    packing = raw.packing if raw.suffix in ("", *_BY_SUFFIX) else ""
    archive = _archive_of(raw) if packing == ".zip" else None
    raw = _unpacked(raw, packing) if packing and not archive else raw
    if query and table:
        raise InputError(f"'{raw.name}' can be read by a table or by a query, not both. Leave one.")
    kind = archive or _format_of(raw)
    options = {"table": table, "query": query}
    if query and "query" not in kind.options:
        raise InputError(f"'{raw.name}' is no database to query. Leave out the query.")
    if packing and "query" in kind.options:
        raise InputError(f"'{raw.name}' is a compressed database. Unpack it first.")
    if kind.package:
        require(kind.what[0].upper() + kind.what[1:], kind.package)
    columns = kind.open(raw, **{name: options[name] for name in kind.options})
    if not columns.shapes:
        raise InputError(f"'{raw.name}' holds no column. Save it again with data.")
    return with_true_class(columns)


def _archive_of(raw: RawFile) -> FileFormat | None:
    """Return the format of a zip archive by its members, whatever it is called."""
    damage = refusing_damage(raw.name, "compressed file", *DAMAGE)
    with damage, raw.open() as stream, zipfile.ZipFile(stream) as archive:
        names = archive.namelist()
    found = (end for end, own in ARCHIVES.items() for name in names if name.endswith(own))
    return _BY_SUFFIX.get(next(found, ""))


def _unpacked(raw: RawFile, packing: str) -> RawFile:
    """Return what a compressed file holds, in memory."""
    content = io.BytesIO()
    errors = (pa.ArrowException, lzma.LZMAError, *DAMAGE)
    with raw.open() as stream, refusing_damage(raw.name, "compressed file", *errors):
        most = min(MAX_BYTES, _UNPACKED_BYTES + _UNPACKED_RATIO * stream.seek(0, io.SEEK_END))
        stream.seek(0)
        unpacked, inner = _unpacking(raw, packing, stream)
        with closing(unpacked):  # at once: it may hold much memory
            while content.tell() <= most and (piece := unpacked.read(_PIECE_BYTES)):
                content.write(piece)
    if content.tell() > most:
        raise InputError(
            f"'{raw.name}' holds more than {most / 2**30:.3g} GiB, which is not read of a file of "
            "its size. Unpack it first."
        )
    return RawFile(raw.name if raw.suffix else inner, content.getvalue())


def _unpacking(raw: RawFile, packing: str, stream: BinaryIO) -> tuple[Any, str]:
    """Return a stream of what a compressed file holds, and the name of that."""
    if packing == ".xz":
        return lzma.open(stream), raw.name
    if packing != ".zip":
        codec = pa.Codec.detect(f"any{packing}").name
        return pa.CompressedInputStream(pa.PythonFile(stream, "r"), codec), raw.name
    archive = zipfile.ZipFile(stream)
    check_entries(stream, archive)
    names = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
    if len(names) != 1:
        raise InputError(
            f"'{raw.name}' holds {len(names)} files ({listed(names, 4)}), not one. Unpack it, and "
            "name those to read."
        )
    return archive.open(names[0]), Path(names[0]).name


def _joined(file: str, parts: Sequence[RawFile]) -> Columns:
    """Return the columns of a table in parts, with those its folders name, ``day=1/0.parquet``."""
    extracts = []
    for part in parts:
        table = _table_of(part)
        for name, _, value in (folder.partition("=") for folder in part.name.split("/")[:-1]):
            if name not in table.column_names:
                cells = pa.repeat(urllib.parse.unquote(value), table.num_rows)
                table = table.append_column(name, cells)
        extracts.append(Extract(part.name, table, np.arange(table.num_rows)))
    columns = columns_of_table(file, join_tables(extracts), locate=row_locator(extracts))
    note = f"{len(extracts):,} files were read as parts of one table, '{file}'."
    return replace(columns, notes=(note, *columns.notes))


def _table_of(part: RawFile) -> pa.Table:
    """Return a part of a table; one that is cut off is refused."""
    if part.suffix in _PARQUET.suffixes:
        with refusing_arrow(part.name, "Parquet file"), part.open() as stream:
            return pa.parquet.ParquetFile(stream, page_checksum_verification=True).read()
    columns = open_columns(part)
    if columns.incomplete:
        raise InputError(columns.incomplete)
    values = {name: columns.load(name) for name in columns.names}
    known = {n: v if isinstance(v, pd.Series) else [*v] for n, v in values.items()}
    return raw_file(pd.DataFrame(known)).content


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
    if by_suffix in (_TEXT, None):
        return _JSON if _JSON_START.match(head) else _TEXT
    if not by_suffix.magic:
        return by_suffix
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
    stem = Path(plain_name(name)).stem
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


#: Names of files that are parts of one table: ``part-00000-…``, ``0001``, ``test-00000-of-00002``.
_PART_NAME = re.compile(r"(?:part|data|shard|chunk)[-_.]?\d+(?:[-_.].*)?|\d+|.*\d{5}.*")


def sources_of(source: Any) -> list[RawFile]:
    """Return the files behind a path, a pattern, an upload, a sequence of these, or a directory."""
    if isinstance(source, (list, tuple)):
        if not source:
            raise InputError("there is no file to read: the list of sources is empty.")
        return [file for item in source for file in sources_of(item)]
    if not isinstance(source, (str, os.PathLike)):
        return [raw_file(source)]
    path = as_path(source)
    if path.is_dir():
        alone = [raw_file(path)] if is_saved_dataset(path) else []
        return splits_of(path) or alone or in_directory(path)
    if path.exists() or not glob.has_magic(str(path)):
        return [raw_file(path)]
    return parts_of([_named(file, file.parts) for file in files_fitting(path)])


def files_fitting(pattern: Path) -> list[Path]:
    """Return the files that a pattern fits, by name; InputError if there is none."""
    found = glob.glob(str(pattern), recursive=True)  # noqa: PTH207 - ** as in shells
    if not found:
        raise InputError(f"'{pattern}' fits no file. Check the pattern.")
    _check_no_log({folder for file in found for folder in Path(file).parents})
    return [*map(Path, sorted(found))]


def _check_no_log(folders: Iterable[Path]) -> None:
    """Refuse tables whose log says which of their files still count."""
    for folder in folders:
        if any((folder / log).is_dir() for log in ("_delta_log", ".hoodie")):
            raise InputError(
                f"'{folder.name}' is a Delta or Hudi table: by its log some files may be outdated. "
                "Give lore.load what its library reads, such as DeltaTable(…).to_pyarrow_table()."
            )


def _named(path: Path, below: Sequence[str]) -> RawFile:
    """Return a file by its name behind those of its folders that give a value of a column."""
    name = "/".join([*(folder for folder in below[:-1] if "=" in folder), path.name])
    return RawFile(name, raw_file(path).content)


def parts_of(files: Sequence[RawFile], name: str = "") -> list[RawFile]:
    """Return files that are parts of one table as one, or as a pair where their names say so."""
    names = [Path(file.name).name for file in files]
    check_parts(f"'{name or common_name(names)}'", names)
    name = name or common_name([file.name for file in files])
    halves: dict[str | None, list[RawFile]] = {}
    for file, called in zip(files, names, strict=True):
        halves.setdefault(half_of(called, anywhere=True).split, []).append(file)
    if set(halves) != {CALIBRATION, EVALUATION}:
        halves = {None: list(files)}
    return [
        one[0] if len(one) == 1 and "/" not in one[0].name else RawFile(f"{name}{half}", (*one,))
        for half, one in ((f"_{split}" if split else "", halves[split]) for split in halves)
    ]


def in_directory(directory: Path) -> list[RawFile]:
    """Return the files of a directory: one pair, one file (and images), or parts of one table."""
    files = _readable(directory)
    if not files:
        raise InputError(f"'{directory}' holds no readable file. Readable: {', '.join(SUFFIXES)}.")
    are_parts = all("/" in file.name or _PART_NAME.fullmatch(file.stem) for file in files)
    if are_parts and len({file.suffix for file in files}) == 1:
        return parts_of(files, directory.name)
    check_parts(f"'{directory}'", [file.name for file in files])
    pairs, rest = _paired(files)
    halves = [file for file in rest if half_of(file.name).split]
    if len(files) == 1 or (len(pairs) == 1 and len(rest) <= 1 and not halves):
        return [*itertools.chain.from_iterable(pairs.values()), *rest]
    raise InputError(
        f"'{directory}' holds {len(files)} files, more than one pair. Name two; read parts of one "
        f"table by a pattern, '{directory.name}/*{files[0].suffix}'; runs by load_runs or on the "
        "page Runs."
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
    """Return the data files of a directory, and of folders named ``column=value`` below it."""
    # Text files beside data are notes; hidden files are no data.
    suffixes = _BY_SUFFIX.keys() - {".txt"}
    _check_no_log([directory])
    return [
        _named(path, path.relative_to(directory).parts)
        for path in sorted({*directory.glob("*"), *directory.glob("*=*/**/*")})
        if not path.name.startswith((".", "_")) and path.is_file()
        if Path(plain_name(path.name)).suffix.lower() in suffixes
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
