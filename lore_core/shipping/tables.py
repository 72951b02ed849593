"""Tables read and written a chunk at a time: Parquet by record batches, CSV by lines."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from lore_core.data.arrays import Floats
from lore_core.data.validation import InputError

_SUFFIXES = (".parquet", ".csv")
_SEPARATORS = (",", ";", "\t", "|")


class Chunk(Protocol):
    """Some rows of a table."""

    def __len__(self) -> int: ...

    def numbers(self, name: str) -> Floats:
        """Return a column of numbers; missing ones are NaN.

        Raises InputError if a value is no number; its row is counted from the start of the chunk.
        """
        ...

    def texts(self, name: str) -> NDArray[np.object_]:
        """Return a column as text."""
        ...


#: Writes a chunk: what came, and the columns to put in or at the end.
Write = Callable[[Any, dict[str, NDArray[Any]]], None]


@dataclass(frozen=True)
class Table:
    """A file of rows, open for one pass."""

    name: str  #: The file's name, for errors
    columns: list[str]  #: In their order
    n_rows: int | None  #: None where only reading tells
    #: Rows to a chunk, and an iterator of (chunk, share of the file read).
    chunks: Callable[[int], Iterator[tuple[Chunk, float]]]
    #: A path, and what Parquet is to say of itself, to a context in which chunks are written.
    writer: Callable[[Path, Mapping[str, str]], AbstractContextManager[Write]]


def open_table(path: Path) -> Table:
    """Open a .parquet or .csv file.

    Raises InputError if it cannot be read, is of another kind, or has two columns of one name.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(
            f"'{path.name}' must be a .parquet or .csv file to be read in chunks; got "
            f"'{path.suffix}'. Save it as one of those."
        )
    with _errors_in_words(path.name):
        table = _open_parquet(path) if path.suffix.lower() == ".parquet" else _open_csv(path)
    twice = [name for name, count in Counter(table.columns).items() if count > 1]
    if twice:
        raise InputError(f"'{path.name}' has two columns named {twice[0]!r}. Rename one.")
    return table


@contextmanager
def _errors_in_words(name: str) -> Iterator[None]:
    """Say in words what pyarrow and pandas raise about a damaged file."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"'{name}' must be a file that exists; there is none.") from error
    except (pa.ArrowException, pd.errors.ParserError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"'{name}' is damaged or of another kind ({reason}).") from error


class _ArrowChunk:
    def __init__(self, table: Any) -> None:
        self.table = table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def numbers(self, name: str) -> Floats:
        column = self.table.column(name)
        kind = column.type
        if pa.types.is_dictionary(kind):
            column, kind = column.cast(kind.value_type), kind.value_type
        if not (
            pa.types.is_floating(kind)
            or pa.types.is_integer(kind)
            or pa.types.is_decimal(kind)
            or pa.types.is_boolean(kind)
        ):
            raise InputError(f"column '{name}' must hold numbers; got {kind}.")
        if not pa.types.is_floating(kind):
            column = column.cast(pa.float64())
        return np.asarray(column.to_numpy(), dtype=np.float64)

    def texts(self, name: str) -> NDArray[np.object_]:
        values = self.table.column(name).to_pylist()
        return np.array([str(value) for value in values], dtype=object)


def _open_parquet(path: Path) -> Table:
    # No reading ahead: it would hold whole row groups.
    with pa.parquet.ParquetFile(path, pre_buffer=False) as file:
        schema, n_rows = file.schema_arrow, file.metadata.num_rows

    def chunks(size: int) -> Iterator[tuple[Chunk, float]]:
        done = 0
        with (
            _errors_in_words(path.name),
            pa.parquet.ParquetFile(path, pre_buffer=False, buffer_size=2**20) as file,
        ):
            for table in _of_size(file.iter_batches(batch_size=size), size):
                done += table.num_rows
                yield _ArrowChunk(table), done / n_rows

    @contextmanager
    def writer(part: Path, metadata: Mapping[str, str]) -> Iterator[Write]:
        out: Any = None
        about: dict[Any, Any] = {}

        def write(chunk: _ArrowChunk, new: dict[str, NDArray[Any]]) -> None:
            nonlocal out, about
            table = chunk.table
            for name, values in new.items():
                column = pa.array(values, pa.float64() if values.dtype.kind == "f" else pa.string())
                place = table.schema.get_field_index(name)
                if place < 0:
                    table = table.append_column(name, column)
                else:
                    table = table.set_column(place, name, column)
            if out is None:
                about = {**(table.schema.metadata or {}), **metadata}
                out = pa.parquet.ParquetWriter(part, table.schema.with_metadata(about))
            out.write_table(table.replace_schema_metadata(about))

        try:
            yield write
        finally:
            if out is not None:
                out.close()

    return Table(path.name, list(schema.names), n_rows, chunks, writer)


def _of_size(batches: Iterator[Any], size: int) -> Iterator[Any]:
    """Join the small batches that small row groups make."""
    held: list[Any] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= size:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held)


class _TextChunk:
    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def __len__(self) -> int:
        return len(self.frame.index)

    def numbers(self, name: str) -> Floats:
        values = self.frame[name].to_numpy(dtype=object)
        try:
            return values.astype(np.float64)
        except ValueError:
            return np.array([_number(value, name, row) for row, value in enumerate(values)])

    def texts(self, name: str) -> NDArray[np.object_]:
        return self.frame[name].to_numpy(dtype=object)


def _number(value: str, name: str, row: int) -> float:
    try:
        return float(value) if value.strip() else np.nan
    except ValueError as error:
        raise InputError(
            f"column '{name}' must hold numbers; got {value!r} at row {row}."
        ) from error


def _open_csv(path: Path) -> Table:
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        separator = max(_SEPARATORS, key=first.count)
        file.seek(0)
        columns = next(csv.reader(file, delimiter=separator), [])
    if not columns:
        raise InputError(f"'{path.name}' must begin with the names of its columns; it is empty.")
    size_on_disk = max(path.stat().st_size, 1)

    def chunks(size: int) -> Iterator[tuple[Chunk, float]]:
        with _errors_in_words(path.name), path.open("rb") as file:
            # All as text, so that what is not touched comes out as it went in.
            reader = pd.read_csv(
                file,
                sep=separator,
                dtype=str,
                na_filter=False,
                index_col=False,
                chunksize=size,
                encoding="utf-8-sig",
            )
            for frame in reader:
                yield _TextChunk(frame), min(file.tell() / size_on_disk, 1.0)

    @contextmanager
    def writer(part: Path, _: Mapping[str, str]) -> Iterator[Write]:
        with part.open("w", encoding="utf-8", newline="") as file:

            def write(chunk: _TextChunk, new: dict[str, NDArray[Any]]) -> None:
                frame = chunk.frame.assign(**new)
                frame.to_csv(file, sep=separator, index=False, header=file.tell() == 0)

            yield write

    return Table(path.name, columns, None, chunks, writer)
