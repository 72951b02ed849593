"""A file on disk, an upload, parts of one table or a table in memory, not yet parsed."""

import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol, TypeAlias, runtime_checkable

import numpy as np
import pandas as pd
import pyarrow as pa

from lore_core.data.errors import InputError, as_path, listed, short

#: First bytes of compressed streams.
PACKED_STARTS = {
    ".gz": b"\x1f\x8b",
    ".zst": b"\x28\xb5\x2f\xfd",
    ".bz2": b"BZh",
    ".xz": b"\xfd7zXZ\0",
    ".zip": b"PK\x03\x04",
}
_HEAD_BYTES = 8
#: Suffixes of compressed files, behind that of what they hold.
PACKED_SUFFIXES = tuple(PACKED_STARTS)
#: Formats that are zip archives, and how the name of a member of each ends.
ARCHIVES = {".npz": ".npy", ".xlsx": "xl/workbook.xml", ".eval": "header.json"}
#: Methods of tables of other libraries that return a table in memory, or one step to it.
_TO_MEMORY = ("toArrow", "collect", "compute", "to_table", "to_arrow", "to_pandas")
_PART = re.compile(r"(?P<set>.*?-)(?P<part>\d{5})-of-(?P<count>\d{5})")


@dataclass(frozen=True, eq=False)
class RawFile:
    """A file on disk, the bytes of an upload, a table, or the parts of one, with its name."""

    name: str
    content: "Path | bytes | pa.Table | tuple[RawFile, ...]"

    def open(self) -> BinaryIO:
        """Return a fresh binary stream at the start of the file."""
        if isinstance(self.content, bytes):
            return io.BytesIO(self.content)
        assert isinstance(self.content, Path)
        try:
            return self.content.open("rb")
        except OSError as error:
            raise InputError(f"'{self.name}' cannot be opened: {error.strerror}.") from error

    @property
    def packing(self) -> str:
        """The suffix of its compression, by its name or first bytes; ``""`` if it has none."""
        suffix = Path(self.name).suffix.lower()
        if suffix in PACKED_SUFFIXES:
            return suffix
        is_file = isinstance(self.content, Path) and self.content.is_file()
        if suffix in ARCHIVES or not (is_file or isinstance(self.content, bytes)):
            return ""
        with self.open() as stream:
            head = stream.read(_HEAD_BYTES)
        return next((end for end, start in PACKED_STARTS.items() if head.startswith(start)), "")

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return Path(plain_name(self.name)).stem

    @property
    def suffix(self) -> str:
        """The suffix in lower case, of a compressed file that of what it holds."""
        return Path(plain_name(self.name)).suffix.lower()


def plain_name(name: str) -> str:
    """Return a file's name without the suffix of its compression."""
    path = Path(name)
    return path.stem if path.suffix.lower() in PACKED_SUFFIXES else path.name


@runtime_checkable
class Table(Protocol):
    """A table of any library that exports Arrow: pandas, Polars, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a capsule with a stream of record batches."""


Source: TypeAlias = "str | os.PathLike[str] | IO[Any] | Table | RawFile"
Sources: TypeAlias = "Source | Sequence[Source]"


def raw_file(source: Any) -> RawFile:
    """Return the file behind a path or a file-like object, or a table, or arrays by name."""
    if isinstance(source, RawFile):
        return source
    if isinstance(source, (str, os.PathLike)):
        path = as_path(source)
        if not path.exists():
            raise InputError(f"'{path}' does not exist. Check the path.")
        if path.is_dir() and not is_saved_dataset(path):
            raise InputError(f"'{path}' is a directory where a file is expected.")
        return RawFile(path.name, path)
    if isinstance(source, (Table, Mapping)):
        try:
            if isinstance(source, pd.DataFrame):
                types = source.dtypes.items()
                sparse = {n: kind.subtype for n, kind in types if isinstance(kind, pd.SparseDtype)}
                source = source.astype(sparse)
            given = dict(_columns_of(source)) if isinstance(source, Mapping) else source
            return RawFile("table", pa.table(given))
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InputError(
                f"the {type(source).__name__} cannot be read as a table "
                f"({short(error, 200).rstrip('.')}). Give each column values of one kind."
            ) from error
    if hasattr(source, "read"):
        if hasattr(source, "seek"):
            source.seek(0)
        content = source.read()
        if isinstance(content, str):
            content = content.encode("utf-8")
        return RawFile(Path(str(getattr(source, "name", "upload"))).name, bytes(content))
    for method in _TO_MEMORY:
        made = getattr(source, method, lambda: source)()
        if type(made) is not type(source):
            return raw_file(made)
    raise InputError(
        "a source must be a path, an open file or a data frame (of pandas, or that lends Arrow or "
        f"has {listed(_TO_MEMORY)}); got {type(source).__name__}."
    )


def _columns_of(arrays: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Yield columns of arrays by name, as of a dict or xarray, whose coordinates name columns."""
    for name, given in arrays.items():
        is_array = isinstance(given, np.ndarray)  # Arrow takes no foreign byte order
        values = given.astype(given.dtype.newbyteorder("="), copy=False) if is_array else given
        if np.ndim(values) == 2:
            is_named = hasattr(values, "to_pandas")
            frame = values.to_pandas() if is_named else pd.DataFrame(np.asarray(values))
            yield from ((f"{name}_{label}", frame[label].to_numpy()) for label in frame)
        else:
            yield str(name), np.asanyarray(values)  # with a mask, if it has one


def check_parts(
    where: str, names: Sequence[str], fix: str = "Add it, or name each file that is to be read."
) -> None:
    """Refuse a missing shard as of ``test-00000-of-00003.parquet``; ``where``: in errors."""
    found: dict[tuple[str, str], set[int]] = {}
    for name in names:
        match = _PART.match(name)
        if match:
            found.setdefault((match["set"], match["count"]), set()).add(int(match["part"]))
    for (stem, count), parts in found.items():
        for part in range(int(count)):
            if part not in parts:
                raise InputError(f"{where} lacks the part {stem}{part:05d}-of-{count}. {fix}")


def is_saved_dataset(folder: Path) -> bool:
    """Return whether Hugging Face's ``save_to_disk`` wrote a folder, as one dataset."""
    return (folder / "state.json").is_file()
