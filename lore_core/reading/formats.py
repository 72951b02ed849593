"""Formats of files, by suffix and first bytes; files that belong together: halves of a run."""

import bz2
import glob
import gzip
import inspect
import io
import itertools
import lzma
import os
import re
import urllib.parse
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from lore_core.data.dataset import CALIBRATION, EVALUATION
from lore_core.data.errors import InputError, as_path, require
from lore_core.reading.arrow_tables import (
    check_same_names,
    columns_of_table,
    common_name,
    open_feather,
    open_parquet,
    open_saved_dataset,
    splits_of,
)
from lore_core.reading.columns import MAX_BYTES, Columns, Kind, damaged
from lore_core.reading.databases import open_duckdb, open_excel, open_sqlite
from lore_core.reading.npz import open_npz
from lore_core.reading.raw_file import (
    PACKED_SUFFIXES,
    RawFile,
    Source,
    check_parts,
    is_saved_dataset,
    plain_name,
    raw_file,
)
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
SUFFIXES = (*_BY_SUFFIX, *PACKED_SUFFIXES)
DATABASE_SUFFIXES = tuple(suffix for suffix in _BY_SUFFIX if "query" in _BY_SUFFIX[suffix].options)
#: First bytes of a compressed file to what unpacks it.
_PACKED: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
    b"\x28\xb5\x2f\xfd": lambda stream: pa.CompressedInputStream(
        pa.PythonFile(stream, "r"), "zstd"
    ),
}
#: Bytes that a compressed file may hold: so many, and so many more for each of its own.
_UNPACKED_BYTES, _UNPACKED_RATIO, _PIECE_BYTES = 2**28, 100, 2**24


def open_columns(source: Source, table: str | None = None, query: str | None = None) -> Columns:
    """Open a file of any readable format; ``table``: sheet or table, ``query``: in its place."""
    raw = raw_file(source)
    if isinstance(raw.content, tuple):
        return _joined(raw.name, [_open_part(part, table, query) for part in raw.content])
    packed, raw = raw, _unpacked(raw)
    if query and table:
        raise InputError(f"'{raw.name}' can be read by a table or by a query, not both. Leave one.")
    kind = _format_of(raw)
    options = {"table": table, "query": query}
    if query and "query" not in kind.options:
        raise InputError(f"'{raw.name}' is no database to query. Leave out the query.")
    if packed is not raw and "query" in kind.options:
        raise InputError(f"'{raw.name}' is a compressed database. Unpack it first.")
    if kind.package:
        require(kind.what[0].upper() + kind.what[1:], kind.package)
    columns = kind.open(raw, **{name: options[name] for name in kind.options})
    if not columns.shapes:
        raise InputError(f"'{raw.name}' holds no column. Save it again with data.")
    return columns


def _unpacked(raw: RawFile) -> RawFile:
    """Return what a compressed file holds, in memory; any other file as it is."""
    if not isinstance(raw.content, bytes) and (isinstance(raw.content, pa.Table) or _is_dir(raw)):
        return raw
    with raw.open() as stream:
        head = stream.read(_HEAD_BYTES)
        if not head:
            raise InputError(f"'{raw.name}' is empty (0 bytes). Save it again.")
        unpack = next((_PACKED[magic] for magic in _PACKED if head.startswith(magic)), None)
        if unpack is None:
            return raw
        size = stream.seek(0, io.SEEK_END)
        most = min(MAX_BYTES, _UNPACKED_BYTES + _UNPACKED_RATIO * size)
        stream.seek(0)
        content = io.BytesIO()
        try:
            with unpack(stream) as unpacked:
                while content.tell() <= most and (piece := unpacked.read(_PIECE_BYTES)):
                    content.write(piece)
        except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
            raise damaged(raw.name, "compressed file", error) from error
    if content.tell() > most:
        raise InputError(
            f"'{raw.name}' holds more than {most / 2**30:.3g} GiB, {most / size:,.0f} times its "
            "size, which is not read. Unpack it first."
        )
    return RawFile(raw.name, content.getvalue())


def _is_dir(raw: RawFile) -> bool:
    return isinstance(raw.content, Path) and raw.content.is_dir()


def _open_part(part: RawFile, table: str | None, query: str | None) -> Columns:
    """Open a file of a table in parts, with the columns its folders name, ``day=1/0.parquet``."""
    columns = open_columns(part, table, query)
    pairs = (folder.partition("=") for folder in part.name.split("/")[:-1])
    unquote = urllib.parse.unquote
    keys = {unquote(name): unquote(value) for name, equals, value in pairs if equals}
    keys = {name: value for name, value in keys.items() if name not in columns.shapes}
    n = max((shape[0] for shape in columns.shapes.values() if shape), default=0)
    kinds: dict[str, Kind] = {**columns.kinds, **dict.fromkeys(keys, "text")}
    return replace(
        columns,
        shapes={**columns.shapes, **dict.fromkeys(keys, (n,))},
        kinds=kinds,
        load=lambda name: (
            pd.Series([keys[name]] * n, dtype=object) if name in keys else columns.load(name)
        ),
    )


def _joined(name: str, parts: Sequence[Columns]) -> Columns:
    """Return the columns of a table in parts, one below the other."""
    first = parts[0]
    for part in parts[1:]:
        check_same_names(first.file, first.names, part.file, part.names)
        if part.class_names != first.class_names:
            raise InputError(f"'{first.file}' and '{part.file}' must name the same classes.")
        for column, shape in part.shapes.items():
            if shape[1:] != first.shapes[column][1:]:
                raise InputError(
                    f"'{column}' must have as many values a row in '{first.file}' and "
                    f"'{part.file}'; got {first.shapes[column][1:]} and {shape[1:]}."
                )

    def load(column: str) -> Any:
        values = [part.load(column) for part in parts]
        is_series = isinstance(values[0], pd.Series)
        return pd.concat(values, ignore_index=True) if is_series else np.concatenate(values)

    def kind(column: str) -> Kind:
        kinds = {part.kinds[column] for part in parts}
        return kinds.pop() if len(kinds) == 1 else "number" if kinds == _NUMBERS else "text"

    def locate(row: int) -> str:
        for part in parts:
            n = max(shape[0] for shape in part.shapes.values() if shape)
            if row < n:
                break
            row -= n
        return f"{part.where(row)} of '{part.file}'"

    note = f"{len(parts):,} files were read as parts of one table, '{name}'."
    return replace(
        first,
        file=name,
        shapes={
            column: (sum(part.shapes[column][0] for part in parts), *shape[1:])
            for column, shape in first.shapes.items()
        },
        kinds={column: kind(column) for column in first.names},
        load=load,
        notes=tuple(dict.fromkeys((note, *(note for part in parts for note in part.notes)))),
        locate=locate,
        incomplete=next((part.incomplete for part in parts if part.incomplete), ""),
    )


_NUMBERS = {"whole", "number"}


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
    if head.startswith(b"FEA1"):
        raise InputError(f"'{raw.name}' is Feather of version 1. Save it by pandas' to_feather.")
    by_content = [kind for kind in FORMATS if head.startswith(kind.magic, kind.magic_offset)]
    if by_content:
        return by_suffix if by_suffix in by_content else by_content[0]
    if by_suffix is None and head.lstrip()[:1] in (b"{", b"["):
        return _BY_SUFFIX[".json"]
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
_PART_NAME = re.compile(r"(?:part|data|shard|chunk)[-_.]?\d+(?:[-_.].*)?|\d+|.*0\d{11}")
_COUNTED_PART = re.compile(r".*\d{5}-of-\d{5}.*")


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
    fitting = glob.glob(str(path), recursive=True)  # noqa: PTH207 - ** as in shells
    if not fitting:
        raise InputError(f"'{path}' fits no file. Check the pattern.")
    return parts_of([_named(Path(name)) for name in sorted(fitting, key=_by_numbers)])


def _named(path: Path) -> RawFile:
    """Return a file by its name behind those of its folders that give a value of a column."""
    folders = itertools.takewhile(lambda name: "=" in name, reversed(path.parts[:-1]))
    return RawFile("/".join([*reversed([*folders]), path.name]), raw_file(path).content)


def parts_of(files: Sequence[RawFile], name: str = "") -> list[RawFile]:
    """Return files that are parts of one table as one, or as a pair where their names say so."""
    names = [Path(file.name).name for file in files]
    check_parts(f"'{name or common_name(names)}'", names)
    name = name or common_name([file.name for file in files])
    if len(files) == 1 and "/" not in files[0].name:
        return list(files)
    halves: dict[str | None, list[RawFile]] = {}
    for file, called in zip(files, names, strict=True):
        halves.setdefault(half_of(called, anywhere=True).split, []).append(file)
    if set(halves) != {CALIBRATION, EVALUATION}:
        return [RawFile(name, tuple(files))]
    return [
        one[0] if len(one) == 1 else RawFile(f"{name}_{half}", tuple(one))
        for half in (CALIBRATION, EVALUATION)
        if (one := halves[half])
    ]


def _is_part(file: RawFile) -> bool:
    if "/" in file.name or _COUNTED_PART.fullmatch(file.stem):
        return True
    return bool(_PART_NAME.fullmatch(file.stem)) and half_of(file.name).split is None


def in_directory(directory: Path) -> list[RawFile]:
    """Return the files of a directory: one pair, one file (and images), or parts of one table."""
    files = _readable(directory)
    if not files:
        raise InputError(f"'{directory}' holds no readable file. Readable: {', '.join(SUFFIXES)}.")
    if len({file.suffix for file in files}) == 1 and all(map(_is_part, files)):
        return parts_of(files, directory.name)
    check_parts(f"'{directory}'", [file.name for file in files])
    pairs, rest = _paired(files)
    halves = [file for file in rest if half_of(file.name).split]
    if len(files) == 1 or (len(pairs) == 1 and len(rest) <= 1 and not halves):
        return [*itertools.chain.from_iterable(pairs.values()), *rest]
    raise InputError(
        f"'{directory}' holds {len(files)} files, more than one pair. Name two; read parts of one "
        f"table by a pattern, '{directory.name}/*{files[0].suffix}'; or runs by load_runs."
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
    found = []
    for path in sorted(directory.iterdir(), key=lambda path: _by_numbers(path.name)):
        if path.name.startswith((".", "_")):
            continue
        if path.is_dir() and "=" in path.name:
            below = _readable(path)
            found += [RawFile(f"{path.name}/{file.name}", file.content) for file in below]
        # (Text files beside data are notes.)
        elif path.is_file() and (file := raw_file(path)).suffix in _BY_SUFFIX.keys() - {".txt"}:
            found.append(file)
    return found


def _by_numbers(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts ``part.9`` before ``part.10``."""
    return [(int(n or 0), text) for text, n in re.findall(r"(\D*)(\d*)", name)]


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
