"""Which Parquet files there are, and the parts of them that are summed one at a time."""

from __future__ import annotations

import dataclasses
import glob
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from lore_core.data.dataset import Dataset
from lore_core.data.errors import InputError, as_path
from lore_core.reading.arrow_tables import (
    Extract,
    check_same_names,
    columns_of_table,
    common_name,
    join_tables,
    row_locator,
)
from lore_core.reading.assemble import assemble
from lore_core.reading.checks import check_data
from lore_core.reading.columns import Columns, refusing_damage
from lore_core.reading.file_rows import read_rows
from lore_core.reading.mapping import ColumnMapping
from lore_core.reading.raw_file import check_parts
from lore_core.reading.roles import guess

_SUFFIXES = (".parquet", ".pq")
#: Rows of a part: what is lost at most where a run is stopped, or a worker.
_FEWEST_ROWS, _MOST_ROWS = 2**20, 2**23
#: As many parts as this at least, where they have the fewest rows or more.
_PARTS = 32


@dataclass(frozen=True)
class Partition:
    """Some row groups of a file, one after the other."""

    path: str
    name: str  #: How sentences call the file
    row_groups: tuple[int, ...]
    group_rows: tuple[int, ...]  #: Rows of each row group
    first_row: int  #: Rows of the file before it
    #: Size and time of change of the file, which tell whether it is still the same.
    stamp: tuple[int, int]

    @property
    def n_rows(self) -> int:
        """Rows of the part."""
        return sum(self.group_rows)

    def row_group(self, index: int) -> Partition:
        """Return one of its row groups as a part; ``index``: among its own."""
        return dataclasses.replace(
            self,
            row_groups=self.row_groups[index : index + 1],
            group_rows=self.group_rows[index : index + 1],
            first_row=self.first_row + sum(self.group_rows[:index]),
        )

    def batches(self, n_rows: int, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Read tables of at most ``n_rows`` rows; InputError with the file's name if damaged."""
        left = self.n_rows
        # No reading ahead: it would hold whole row groups.
        with (
            _refusing_damage(self.name),
            pa.parquet.ParquetFile(
                self.path, pre_buffer=False, page_checksum_verification=True
            ) as file,
        ):
            for batch in file.iter_batches(
                n_rows, row_groups=list(self.row_groups), columns=columns, use_threads=False
            ):
                left -= batch.num_rows
                yield pa.Table.from_batches([batch])
            if left:
                raise ValueError(f"{self.n_rows - left:,} rows where {self.n_rows:,} are counted")

    def extracts(self, n_rows: int, columns: Sequence[str] | None = None) -> Iterator[Extract]:
        """Read as :meth:`batches` does, each with the numbers of its rows in the file."""
        start = self.first_row
        for table in self.batches(n_rows, columns):
            yield Extract(self.name, table, np.arange(start, start + table.num_rows))
            start += table.num_rows


def _refusing_damage(name: str) -> AbstractContextManager[None]:
    return refusing_damage(name, "Parquet file", pa.ArrowException, OSError, ValueError)


def parquet_files(data: Sequence[str]) -> list[Path]:
    """Return the Parquet files that paths, directories and patterns name, each once, in order.

    Empty where anything else is named. Raises InputError if a pattern fits no file, or what it fits
    lacks a part that the names of the others count.
    """
    found: list[Path] = []
    for item in data:
        path = as_path(item)
        if path.is_dir():
            fitting = sorted(place for suffix in _SUFFIXES for place in path.glob(f"*{suffix}"))
        elif path.exists() or not glob.has_magic(item):
            found.append(path)
            continue
        else:
            several = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 - ** as in shells
            fitting = [*map(Path, several)]
            if not fitting:
                raise InputError(f"'{item}' fits no file. Check the pattern.")
        check_parts(f"'{item}'", [place.name for place in fitting])
        found += fitting
    if any(path.suffix.lower() not in _SUFFIXES for path in found):
        return []
    return list(dict.fromkeys(path.resolve() for path in found))


def read_whole(paths: Sequence[Path], mapping: ColumnMapping) -> Dataset:
    """Read the rows of several files, which must fit into memory, as one dataset.

    Raises InputError if a file cannot be read, has other columns, or a value breaks a rule.
    """
    parts = partitions_of(paths)
    columns = columns_of_extracts([rows for part in parts for rows in part.extracts(_FEWEST_ROWS)])
    return checked_rows(columns, guess(columns, mapping), paths[0].stem)


def columns_of_extracts(extracts: Sequence[Extract]) -> Columns:
    """Return the columns of rows of several files, each row named by its file and number."""
    name = common_name([extract.file for extract in extracts])
    return columns_of_table(name, join_tables(extracts), locate=row_locator(extracts))


def dataset_of(columns: Columns, roles: ColumnMapping, name: str) -> Dataset:
    """Return the rows of columns whose roles are known."""
    return assemble([read_rows(columns, roles)], name=name)[0]


def checked_rows(columns: Columns, roles: ColumnMapping, name: str) -> Dataset:
    """Return rows of which nothing is in doubt that was not accepted; else an InputError."""
    rows = dataset_of(columns, roles, name)
    check_data(rows, roles.accept or (), kind=roles.probability_kind)
    return rows


def rows_in(paths: Sequence[Path]) -> int:
    """Count the rows of files without reading them.

    Raises InputError if one cannot be read.
    """
    total = 0
    for path in paths:
        with _refusing_damage(path.name):
            total += pa.parquet.read_metadata(path).num_rows
    return total


def _names_of(paths: Sequence[Path]) -> list[str]:
    """Return names of files: with folders where two are called alike, as ``day=1/0.parquet``."""
    several = [path.parts for path in dict.fromkeys(paths)]
    depth = 1
    while len({parts[-depth:] for parts in several}) < len(several):
        depth += 1
    return ["/".join(path.parts[-depth:]) for path in paths]


def partitions_of(paths: Sequence[Path]) -> list[Partition]:
    """Cut files into parts of whole row groups: about 32 in all, of one to eight million rows.

    Raises InputError if a file cannot be read or has other columns than the first.
    """
    sizes: list[list[int]] = []
    first: list[str] = []
    called = _names_of(paths)
    for path, name in zip(paths, called, strict=True):
        with _refusing_damage(name), pa.parquet.ParquetFile(path) as file:
            meta = file.metadata
            names = file.schema_arrow.names
            sizes.append([meta.row_group(k).num_rows for k in range(meta.num_row_groups)])
            if sum(sizes[-1]) != meta.num_rows:
                raise ValueError(f"parts of {sum(sizes[-1]):,} of its {meta.num_rows:,} rows")
        first = first or names
        check_same_names(called[0], first, name, names)
    total = sum(map(sum, sizes))
    if not total:
        raise InputError(f"'{called[0]}' has column names but no rows.")
    wanted = int(np.clip(total // _PARTS, _FEWEST_ROWS, _MOST_ROWS))
    found: list[Partition] = []
    for path, name, groups in zip(paths, called, sizes, strict=True):
        about = path.stat()
        start, before, rows = 0, 0, 0
        for k, size in enumerate(groups):
            rows += size
            if rows >= wanted or k == len(groups) - 1:
                if rows:
                    found.append(
                        Partition(
                            str(path),
                            name,
                            tuple(range(start, k + 1)),
                            tuple(groups[start : k + 1]),
                            before,
                            (about.st_size, about.st_mtime_ns),
                        )
                    )
                start, before, rows = k + 1, before + rows, 0
    return found
