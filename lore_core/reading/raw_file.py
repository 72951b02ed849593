"""A file on disk, an upload or a table in memory, not yet parsed."""

import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from lore_core.data.errors import InputError, as_path, short

_PART = re.compile(r"(?P<set>.*?-)(?P<part>\d{5})-of-(?P<count>\d{5})")


@dataclass(frozen=True, eq=False)
class RawFile:
    """A file on disk, or the bytes of an upload or a table, with its name."""

    name: str
    content: Path | bytes | pa.Table

    def open(self) -> BinaryIO:
        """Return a fresh binary stream at the start of the file."""
        if isinstance(self.content, bytes):
            return io.BytesIO(self.content)
        try:
            return self.content.open("rb")
        except OSError as error:
            raise InputError(f"'{self.name}' cannot be opened: {error.strerror}.") from error

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return Path(self.name).stem

    @property
    def suffix(self) -> str:
        """The suffix in lower case."""
        return Path(self.name).suffix.lower()


@runtime_checkable
class Table(Protocol):
    """A table of any library that exports Arrow: pandas, Polars, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a capsule with a stream of record batches."""


Source: TypeAlias = "str | os.PathLike[str] | IO[Any] | Table | RawFile"
Sources: TypeAlias = "Source | Sequence[Source]"


def raw_file(source: Source) -> RawFile:
    """Return the file behind a path or a file-like object."""
    if isinstance(source, RawFile):
        return source
    if isinstance(source, (str, os.PathLike)):
        path = as_path(source)
        if not path.exists():
            raise InputError(f"'{path}' does not exist. Check the path.")
        if path.is_dir() and not is_saved_dataset(path):
            raise InputError(f"'{path}' is a directory where a file is expected.")
        return RawFile(path.name, path)
    if isinstance(source, Table):
        try:
            return RawFile("table", pa.table(source))
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
    raise InputError(
        "a source must be a path, an open file or a data frame (or build a lore_core.Dataset); "
        f"got {type(source).__name__}."
    )


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
