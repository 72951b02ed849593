"""Tables read and written in chunks: Parquet by record batches, CSV by lines."""

import csv
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from lore_core.data.arrays import Floats
from lore_core.data.validation import InputError, repeated
from lore_core.reading.columns import refusing_damage

_SUFFIXES = (".parquet", ".csv")
_SEPARATORS = (",", ";", "\t", "|")
_NUMBERS = (pa.types.is_integer, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_floating)


@dataclass(frozen=True)
class TableFile:
    """A file of rows, read from its beginning to its end."""

    path: Path
    columns: list[str]
    separator: str | None = None  #: Of CSV, all of it read as text; None: Parquet

    @property
    def name(self) -> str:
        """The file's name, for errors."""
        return self.path.name

    def chunks(self, size: int) -> Iterator[tuple[pa.Table, float]]:
        """Yield tables of ``size`` rows, and the share of the file that is read."""
        with _refusing_damage(self.path):
            yield from self._parquet(size) if self.separator is None else self._csv(size)

    def _parquet(self, size: int) -> Iterator[tuple[pa.Table, float]]:
        done = 0
        # No reading ahead: it would hold whole row groups.
        with pa.parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=2**20) as file:
            for table in _of_size(file.iter_batches(batch_size=size), size):
                done += table.num_rows
                yield table, done / file.metadata.num_rows

    def _csv(self, size: int) -> Iterator[tuple[pa.Table, float]]:
        n_bytes = max(self.path.stat().st_size, 1)
        with self.path.open("rb") as file:
            # All as text, so that other columns are copied unchanged.
            reader = pd.read_csv(
                file,
                sep=self.separator,
                dtype=str,
                na_filter=False,
                index_col=False,
                chunksize=size,
                encoding="utf-8-sig",
            )
            for frame in reader:
                table = pa.Table.from_pandas(frame, preserve_index=False)
                # (Not pandas' metadata: some columns become numbers.)
                yield table.replace_schema_metadata(None), min(file.tell() / n_bytes, 1.0)

    @contextmanager
    def writer(
        self, target: Path, metadata: Mapping[str, str]
    ) -> Iterator[Callable[[pa.Table], None]]:
        """Open a file of the same kind for writing in chunks; ``metadata`` is for Parquet."""
        with ExitStack() as stack:
            out: Any = None

            def write(table: pa.Table) -> None:
                nonlocal out
                is_first = out is None
                if self.separator is not None:
                    out = out or stack.enter_context(target.open("w", encoding="utf-8", newline=""))
                    table.to_pandas().to_csv(out, sep=self.separator, index=False, header=is_first)
                    return
                if is_first:
                    about: dict[Any, Any] = {**(table.schema.metadata or {}), **metadata}
                    schema = table.schema.with_metadata(about)
                    out = stack.enter_context(pa.parquet.ParquetWriter(target, schema))
                out.write_table(table.replace_schema_metadata(out.schema.metadata))

            yield write


def _refusing_damage(path: Path) -> AbstractContextManager[None]:
    errors = (pa.ArrowException, pd.errors.ParserError, OSError, ValueError)
    return refusing_damage(path.name, f"{path.suffix.lower()} file", *errors)


def open_table(path: Path) -> TableFile:
    """Open a .parquet or .csv file; InputError if unreadable or with repeated names."""
    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(
            f"'{path.name}' must be a .parquet or .csv file to be read in chunks; got "
            f"'{path.suffix}'. Save it as one of those."
        )
    if not path.exists():
        raise InputError(f"'{path.name}' must be a file that exists; there is none.")
    with _refusing_damage(path):
        if path.suffix.lower() == ".parquet":
            table = TableFile(path, pa.parquet.read_schema(path).names)
        else:
            table = _open_csv(path)
    for twice in repeated(table.columns):
        raise InputError(f"'{path.name}' has two columns named {twice!r}. Rename one.")
    return table


def _open_csv(path: Path) -> TableFile:
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        separator = max(_SEPARATORS, key=first.count)
        file.seek(0)
        columns = next(csv.reader(file, delimiter=separator), [])
    if not columns:
        raise InputError(f"'{path.name}' must begin with the names of its columns; it is empty.")
    return TableFile(path, columns, separator)


def numbers(table: pa.Table, name: str) -> Floats:
    """Return a column of numbers, missing ones as NaN; InputError naming the row in the chunk."""
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if any(is_number(column.type) for is_number in _NUMBERS):
        return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    values = column.to_pylist()
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.array([_number(value, name, row) for row, value in enumerate(values)])


def _number(value: object, name: str, row: int) -> float:
    try:
        return float(str(value)) if str(value).strip() else np.nan
    except ValueError as error:
        raise InputError(
            f"column '{name}' must hold numbers; got {value!r} at row {row}."
        ) from error


def texts(table: pa.Table, name: str) -> NDArray[np.object_]:
    """Return a column as text."""
    return np.array([str(value) for value in table.column(name).to_pylist()], dtype=object)


def with_columns(table: pa.Table, new: Mapping[str, NDArray[Any]]) -> pa.Table:
    """Put columns of numbers or texts into a table, replacing those of their names."""
    for name, values in new.items():
        column = pa.array(values, pa.float64() if values.dtype.kind == "f" else pa.string())
        index = table.schema.get_field_index(name)
        if index < 0:
            table = table.append_column(name, column)
        else:
            table = table.set_column(index, name, column)
    return table


def _of_size(batches: Iterator[Any], size: int) -> Iterator[Any]:
    """Join the small batches of small row groups."""
    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        if sum(item.num_rows for item in held) >= size:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)
