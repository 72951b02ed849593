"""Parquet, Feather and Hugging Face datasets: columns are decoded when they are asked for."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from lore_core.data.arrays import Ints
from lore_core.data.dataset import CALIBRATION, EVALUATION
from lore_core.data.errors import InputError, listed, short
from lore_core.reading.columns import (
    Columns,
    Kind,
    check_size,
    check_table,
    columns_of_records,
    may_be_nested,
    refusing_damage,
)
from lore_core.reading.images import SIDE, thumbnails
from lore_core.reading.logs import is_log, rows_of_log
from lore_core.reading.raw_file import RawFile, check_parts, is_saved_dataset
from lore_core.reading.roles import SPLIT_WORDS

#: Bytes of an Arrow file before its first batch.
_BEFORE_BATCHES = 8
#: Files that mark a folder as a dataset, or as a dict of datasets by split.
_STATE, _SPLITS = "state.json", "dataset_dict.json"
#: Key of a schema's metadata for the columns' kinds.
_KINDS = b"huggingface"
_END_BYTES = 8
_Read = Callable[[str], Any]


def open_parquet(raw: RawFile) -> Columns:
    """Open a Parquet file; columns are decoded one at a time, so memory stays small."""
    with refusing_arrow(raw.name, "Parquet file"):
        content = raw.open() if isinstance(raw.content, bytes) else str(raw.content)
        file = pa.parquet.ParquetFile(content, page_checksum_verification=True)
        schema, n_rows = file.schema_arrow, file.metadata.num_rows

    def first(name: str) -> Any:
        rows = file.iter_batches(1, columns=[name])
        return next(rows, pa.table({name: pa.nulls(1)})).column(0)

    def read(name: str) -> Any:
        return file.read(columns=[name]).column(name)

    return _columns(raw, "Parquet", schema, n_rows, read, first)


def open_feather(raw: RawFile) -> Columns:
    """Open a Feather (Arrow IPC) file, or an Arrow stream."""
    with refusing_arrow(raw.name, "Feather file"), raw.open() as stream:
        head = stream.read(4)
        stream.seek(0)
        if head == b"\xff\xff\xff\xff":
            table, is_whole = _read_stream(stream)
        else:
            _check_batches(raw)
            table, is_whole = pa.feather.read_table(stream), True
    lost = (
        f"the Arrow stream '{raw.name}' has no end marker where the file ends: rows after these "
        f"{table.num_rows:,} may be missing. Save it again."
    ) * (not is_whole)
    return _columns(raw, "Feather", table.schema, table.num_rows, table.column, incomplete=lost)


def _check_batches(raw: RawFile) -> None:
    """Compare a file's count of batches with those in it; ValueError if it lists fewer."""
    in_memory = isinstance(raw.content, bytes)
    with pa.BufferReader(raw.content) if in_memory else pa.memory_map(str(raw.content)) as source:
        counted = pa.ipc.open_file(source).num_record_batches
        source.seek(_BEFORE_BATCHES)
        n_found = 0
        # (Some writers do not mark where the batches end.)
        with suppress(pa.ArrowException, OSError):
            for message in pa.ipc.MessageReader.open_stream(source):
                n_found += message.type == "record batch"
    if counted < n_found:
        raise ValueError(f"its end lists {counted} of {n_found} batches of rows")


def open_saved_dataset(raw: RawFile) -> Columns:
    """Open a folder that Hugging Face's ``save_to_disk`` has written."""
    extracts = [Extract(name, table, np.arange(table.num_rows)) for name, table in _parts_of(raw)]
    with refusing_arrow(raw.name, "Hugging Face file"):
        table = join_tables(extracts)
    return columns_of_table(raw.name, table, "Hugging Face", locate=row_locator(extracts))


def columns_of_table(
    name: str, table: pa.Table, what: str = "Parquet", *, locate: Callable[[int], str] | None = None
) -> Columns:
    """Return the columns of a table in memory; ``locate`` gives the name of a row in sentences."""
    raw = RawFile(name, b"")
    return _columns(raw, what, table.schema, table.num_rows, table.column, locate=locate)


@dataclass(frozen=True, eq=False)
class Extract:
    """Some rows of a file."""

    file: str
    table: pa.Table
    rows: Ints  #: Their 0-based numbers in the file, shape (n,)


def join_tables(extracts: Sequence[Extract]) -> pa.Table:
    """Concatenate tables by column name; mixed numeric types become one that holds all."""
    first = extracts[0]
    for other in extracts:
        check_same_names(first.file, first.table.column_names, other.file, other.table.column_names)
    names = first.table.column_names
    tables = [extract.table.select(names) for extract in extracts]
    if any(not table.schema.equals(tables[0].schema) for table in tables):
        tables = [_without_dictionaries(table) for table in tables]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        files = listed(dict.fromkeys(repr(extract.file) for extract in extracts), 4)
        raise InputError(
            f"each column of {files} must hold values of one kind ({short(error).rstrip('.')}). "
            "Save it alike in all files."
        ) from error


def _without_dictionaries(table: pa.Table) -> pa.Table:
    for index, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            values = table.column(index).cast(field.type.value_type)
            table = table.set_column(index, field.name, values)
    return table


def check_same_names(one: str, names: Sequence[str], two: str, others: Sequence[str]) -> None:
    """Check that two files have the same columns, in any order."""
    only = set(names) - set(others), set(others) - set(names)
    for file, other, lacking in ((one, two, only[0]), (two, one, only[1])):
        if lacking:
            raise InputError(
                f"'{one}' and '{two}' must have the same columns; '{other}' lacks "
                f"{listed(sorted(lacking), 6)} of '{file}'. Save both with the same columns."
            )


def common_name(files: Sequence[str]) -> str:
    """Return the name of a file, or what several have in common: ``part-*.parquet``."""
    if len(set(files)) == 1:
        return files[0]
    suffix = Path(files[0]).suffix
    start = os.path.commonprefix([file.removesuffix(suffix) for file in files])  # noqa: RUF071
    return f"{start}*{suffix}"


def row_locator(extracts: Sequence[Extract]) -> Callable[[int], str]:
    """Return what names a row of the joined table: its number in its file, and the file."""
    ends = np.cumsum([len(extract.rows) for extract in extracts])
    has_several = len({extract.file for extract in extracts}) > 1

    def locate(row: int) -> str:
        index = int(np.searchsorted(ends, row, side="right"))
        extract = extracts[index]
        number = extract.rows[row - (ends[index - 1] if index else 0)]
        return f"row {number}" + (f" of '{extract.file}'" if has_several else "")

    return locate


def refusing_arrow(name: str, what: str) -> AbstractContextManager[None]:
    """Turn errors of a damaged file of Arrow's formats into InputError; ``what`` it should be."""
    return refusing_damage(name, what, pa.ArrowException, OSError, ValueError)


def _columns(
    raw: RawFile,
    what: str,
    schema: Any,
    n_rows: int,
    read: _Read,
    first: _Read | None = None,
    **more: Any,
) -> Columns:
    with refusing_arrow(raw.name, f"{what} file"):
        names = list(schema.names)
    check_table(raw.name, names, n_rows)
    check_size(raw.name, n_rows * sum(_width(schema.field(name).type) for name in names))

    def checked(name: str, read: _Read = read, n_rows: int = n_rows) -> Any:
        with refusing_arrow(raw.name, f"{what} file"):
            values = read(name)
            # Offsets and texts of a damaged file can point anywhere, even outside memory.
            values.validate(full=True)
            if len(values) != n_rows:
                raise ValueError(f"{len(values):,} values of '{name}' for {n_rows:,} rows")
        if pa.types.is_run_end_encoded(values.type):
            return pa.compute.run_end_decode(values)
        are_bytes = pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type)
        with suppress(pa.ArrowInvalid):  # texts of some writers, unless they are no UTF-8
            return values.cast(pa.large_string()) if are_bytes else values
        return values

    def head(name: str) -> Any:
        return checked(name, first, 1) if first else checked(name)

    if is_log(names):
        records = pa.table({name: checked(name) for name in names}).to_pylist()
        if (found := rows_of_log(records)) is not None:
            return columns_of_records(raw, found[0], notes=found[1])

    def is_nested(name: str, kind: Any) -> bool:
        if _kind(kind) == "text":
            return may_be_nested(head(name)[0].as_py())
        kind = kind.value_type if _is_list(kind) else kind
        return pa.types.is_map(kind) or (pa.types.is_struct(kind) and not _holds_images(kind))

    if nested := [field.name for field in schema if is_nested(field.name, field.type)]:
        cells = pa.table({name: checked(name) for name in nested})
        inner = columns_of_records(raw, cells.to_pylist(maps_as_pydicts="lossy"))
        rest = pa.schema([field for field in schema if field.name not in nested], schema.metadata)
        plain = _columns(raw, what, rest, n_rows, read, first, **more)
        return plain.joined(inner, inner.names)
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(names, (n_rows,))
    kinds: dict[str, Kind] = {name: _kind(schema.field(name).type) for name in names}
    named = {name: known for name, known in _class_names_in(schema).items() if name in names}
    for name in names:
        kind_of = schema.field(name).type
        if name in named:
            kinds[name] = "text"
        elif _holds_images(kind_of):
            shapes[name], kinds[name] = (n_rows, SIDE, SIDE, 3), "whole"
        elif _is_list(kind_of) and (matrix := _matrix(checked(name))) is not None:
            shapes[name], kinds[name] = matrix.shape, _kind(kind_of.value_type)
        elif kinds[name] == "other" and _kind(head(name).type) == "text":
            kinds[name] = _kind(checked(name).type)

    def load(name: str) -> Any:
        values = checked(name)
        if name in named and _kind(values.type) != "text":
            # (Other numbers, such as −1 for unknown, become NaN.)
            return _series(values).map(dict(enumerate(named[name]))).astype(object)
        if len(shapes[name]) == 4:
            contents = (value["bytes"].as_py() if value.is_valid else None for value in values)
            streams = (None if content is None else io.BytesIO(content) for content in contents)
            called = f"of {columns.called(name)} at"
            return thumbnails(
                "A column of images", streams, n_rows, lambda row: f"{called} {columns.where(row)}"
            )
        with refusing_arrow(raw.name, f"{what} file"):
            return _matrix(values) if len(shapes[name]) == 2 else _series(values)

    # Numbers of probabilities are in the order of the numbered classes.
    class_names = next(iter(named.values())) if len(set(named.values())) == 1 else None
    columns = Columns(raw.name, what, shapes, kinds, load, class_names=class_names, **more)
    return columns


def _width(kind: Any) -> int:
    """Return the least bytes of a value; those of texts and lists are known only when read."""
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size) * _width(kind.value_type)
    return max(1, kind.bit_width // 8) if pa.types.is_primitive(kind) else 1


def _is_list(kind: Any) -> bool:
    return isinstance(kind, (pa.ListType, pa.LargeListType, pa.FixedSizeListType))


def _kind(kind: Any) -> Kind:
    types = pa.types
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _kind(kind.value_type)
    if types.is_boolean(kind):
        return "bool"
    if types.is_integer(kind):
        return "whole"
    if types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_temporal(kind):
        return "date"
    is_text = not (types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind))
    return "text" if is_text else "other"


def _without_decimals(values: Any) -> Any:
    return values.cast(pa.float64()) if pa.types.is_decimal(values.type) else values


def _series(values: Any) -> pd.Series[Any]:
    series: pd.Series[Any] = _without_decimals(values).to_pandas()
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.dtype.categories.dtype)
    series.name = None
    return series


def _matrix(values: Any) -> np.ndarray[Any, Any] | None:
    """Return a list column as a matrix, or None where its lists differ in length."""
    flat = _without_decimals(pa.compute.list_flatten(values))
    lengths = pa.compute.unique(pa.compute.list_value_length(values))
    if values.null_count or flat.null_count or _is_list(flat.type) or len(lengths) != 1:
        return None
    return flat.to_numpy().reshape(len(values), -1) if len(flat) else None


def splits_of(folder: Path) -> list[RawFile]:
    """Return a folder's calibration and evaluation split, or the only one; none without any."""
    if not (folder / _SPLITS).is_file():
        return []
    names = _json(folder / _SPLITS).get("splits")
    known = [str(name) for name in names] if isinstance(names, list) else []
    halves = {name: SPLIT_WORDS.get(name.lower()) for name in known if Path(name).name == name}
    chosen = [[n for n in halves if halves[n] == half] for half in (CALIBRATION, EVALUATION)]
    if not any(chosen) or max(map(len, chosen)) > 1:
        raise InputError(
            f"'{folder.name}' must hold one split called validation and one called test; it holds "
            f"{listed(known) or 'none with a name'}. Name the two folders to read."
        )
    others = sorted(p.name for p in folder.iterdir() if is_saved_dataset(p) and p.name not in known)
    if others:
        raise InputError(
            f"{_SPLITS} of '{folder.name}' does not name the folder {listed(others)}. Save them "
            "again, or name the folders to read."
        )
    return [RawFile(f"{folder.name}_{name}", folder / name) for half in chosen for name in half]


def _read_stream(source: pa.NativeFile | BinaryIO) -> tuple[pa.Table, bool]:
    """Read an Arrow stream; False if no marker ends it: it may be cut off between two batches."""
    with pa.ipc.open_stream(source) as reader:
        batches = []
        while True:
            end = source.tell()
            try:
                batches.append(reader.read_next_batch())
            except StopIteration:
                is_whole = source.tell() - end == _END_BYTES and not source.read(1)
                return pa.Table.from_batches(batches, reader.schema), is_whole


def _parts_of(raw: RawFile) -> list[tuple[str, pa.Table]]:
    """Read name and rows of the Arrow streams in a folder, in the order of its state file."""
    folder = raw.content
    assert isinstance(folder, Path)
    files = _json(folder / _STATE).get("_data_files")
    names = [str(item.get("filename")) for item in files or [] if isinstance(item, dict)]
    if not names or any(Path(name).name != name for name in names):
        raise InputError(f"'{raw.name}' names no data files in {_STATE}. Save the dataset again.")
    check_parts(f"{_STATE} of '{raw.name}'", names, "Save the dataset again.")
    parts = []
    for name in names:
        with refusing_arrow(short(name), f"part of '{raw.name}'"):
            with pa.memory_map(str(folder / name)) as source:
                table, is_whole = _read_stream(source)
            if not is_whole:
                raise ValueError(f"it is cut off after {table.num_rows:,} rows")
        parts.append((name, table))
    return parts


def _class_names_in(schema: pa.Schema) -> dict[str, tuple[str, ...]]:
    """Return column to class names, for columns of class numbers by the schema."""
    try:
        kinds = json.loads((schema.metadata or {})[_KINDS])["info"]["features"]
        found = {
            str(name): tuple(map(str, kind["names"]))
            for name, kind in kinds.items()
            if isinstance(kind, dict) and kind.get("_type") == "ClassLabel"
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}
    return {name: names for name, names in found.items() if names}


def _holds_images(kind: pa.DataType) -> bool:
    """Return whether a column holds encoded images, ``{bytes, path}``."""
    if not pa.types.is_struct(kind) or kind.num_fields != 2:
        return False
    names = {kind.field(k).name: kind.field(k).type for k in range(2)}
    return set(names) == {"bytes", "path"} and pa.types.is_binary(names["bytes"])


def _json(path: Path) -> dict[str, Any]:
    what = f"part of '{path.parent.name}'"
    with refusing_damage(path.name, what, OSError, ValueError, RecursionError):
        found = json.loads(path.read_text(encoding="utf-8"))
    return found if isinstance(found, dict) else {}
