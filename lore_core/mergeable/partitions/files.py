"""Which Parquet files there are, and the parts of them that are summed one at a time."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from lore_core.data.dataset import Dataset
from lore_core.data.validation import InputError
from lore_core.reading.arrow_tables import columns_of_table
from lore_core.reading.assemble import assemble
from lore_core.reading.checks import check_data
from lore_core.reading.file_rows import read_rows
from lore_core.reading.guess import guess
from lore_core.reading.mapping import ColumnMapping

_SUFFIXES = (".parquet", ".pq")
#: Rows of a part: what is lost at most where a run is stopped, or a worker.
_FEWEST_ROWS, _MOST_ROWS = 2**20, 2**23
#: As many parts as this at least, where they have the fewest rows or more.
_PARTS = 32


@dataclass(frozen=True)
class Partition:
    """Some row groups of a file, one after the other."""

    path: str
    row_groups: tuple[int, ...]
    n_rows: int
    first_row: int  #: Rows of the file before it
    #: Size and time of change of the file, which tell whether it is still the same.
    stamp: tuple[int, int]

    @property
    def name(self) -> str:
        """How sentences call the file."""
        return Path(self.path).name

    def batches(self, n_rows: int, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Read tables of so many rows at most.

        ``columns``: by default all. Raises InputError, which names the file, if it is damaged.
        """
        # No reading ahead: it would hold whole row groups.
        with told(self.name), pa.parquet.ParquetFile(self.path, pre_buffer=False) as file:
            for batch in file.iter_batches(
                n_rows, row_groups=list(self.row_groups), columns=columns, use_threads=False
            ):
                yield pa.Table.from_batches([batch])


@contextmanager
def told(name: str) -> Iterator[None]:
    """Say in words what pyarrow raises about a file."""
    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise InputError(
            f"'{name}' cannot be read as Parquet ({reason}). Save it again."
        ) from error


def parquet_files(data: Sequence[str]) -> list[Path]:
    """Return the Parquet files that paths, directories and patterns name, each once, in order.

    Empty where anything else is named. Raises InputError if a pattern fits no file.
    """
    found: list[Path] = []
    for item in data:
        path = Path(item).expanduser()
        if path.is_dir():
            found += sorted(place for suffix in _SUFFIXES for place in path.glob(f"*{suffix}"))
        elif path.exists() or not glob.has_magic(item):
            found.append(path)
        else:
            fitting = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 - ** as in shells
            if not fitting:
                raise InputError(f"'{item}' fits no file. Check the pattern.")
            found += map(Path, fitting)
    if any(path.suffix.lower() not in _SUFFIXES for path in found):
        return []
    return list(dict.fromkeys(path.resolve() for path in found))


def read_whole(paths: Sequence[Path], mapping: ColumnMapping) -> Dataset:
    """Read the rows of several files, which must fit into memory, as one dataset.

    Raises InputError if a file cannot be read, has other columns, or a value breaks a rule.
    """
    tables = [table for part in partitions_of(paths) for table in part.batches(_FEWEST_ROWS)]
    name = paths[0].name
    # (Two files may have the same columns in another order.)
    table = pa.concat_tables([table.select(tables[0].column_names) for table in tables])
    columns = columns_of_table(name, table)
    read = assemble([read_rows(columns, guess(columns, mapping))], name=paths[0].stem).dataset
    check_data(read, mapping.accept or ())
    return read


def rows_in(paths: Sequence[Path]) -> int:
    """Count the rows of files without reading them.

    Raises InputError if one cannot be read.
    """
    total = 0
    for path in paths:
        with told(path.name):
            total += pa.parquet.read_metadata(path).num_rows
    return total


def partitions_of(paths: Sequence[Path]) -> list[Partition]:
    """Cut files into parts of whole row groups: about 32 in all, of one to eight million rows.

    Raises InputError if a file cannot be read or has other columns than the first.
    """
    sizes: list[list[int]] = []
    first: Any = None
    for path in paths:
        with told(path.name), pa.parquet.ParquetFile(path) as file:
            meta = file.metadata
            names = file.schema_arrow.names
            sizes.append([meta.row_group(k).num_rows for k in range(meta.num_row_groups)])
        if first is not None and set(first) != set(names):
            other = sorted(set(first) ^ set(names))[0]
            raise InputError(
                f"'{path.name}' must have the columns of '{paths[0].name}'; they differ in "
                f"{other!r}."
            )
        first = names
    total = sum(map(sum, sizes))
    if not total:
        raise InputError(f"'{paths[0].name}' has column names but no rows.")
    wanted = int(np.clip(total // _PARTS, _FEWEST_ROWS, _MOST_ROWS))
    found: list[Partition] = []
    for path, groups in zip(paths, sizes, strict=True):
        about = path.stat()
        start, before, rows = 0, 0, 0
        for k, size in enumerate(groups):
            rows += size
            if rows >= wanted or k == len(groups) - 1:
                if rows:
                    found.append(
                        Partition(
                            str(path),
                            tuple(range(start, k + 1)),
                            rows,
                            before,
                            (about.st_size, about.st_mtime_ns),
                        )
                    )
                start, before, rows = k + 1, before + rows, 0
    return found
