"""Uniform samples of files of any length, alone and beside the sums of all rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from lore_core.data.archive_files import Kind, fields_of, form_of
from lore_core.data.arrays import Ints, Mask
from lore_core.data.dataset import Dataset
from lore_core.data.progress import Progress, part_of, tell
from lore_core.data.validation import InputError, check_integer
from lore_core.mergeable.cell_sums.sums import FORMS as SUMS_FORMS, LocalErrorSums
from lore_core.mergeable.partitions.plan import (
    FORMS as PLAN_FORMS,
    Partition,
    Plan,
    checked_rows,
    columns_of_extracts,
)
from lore_core.mergeable.partitions.run import Run
from lore_core.reading.arrow_tables import Extract, join_tables
from lore_core.reading.file_rows import splits_in
from lore_core.reading.mapping import ColumnMapping
from lore_core.reading.roles import guess

_BATCH_ROWS = 2**17
_WHOLE = "whole.npz"


@dataclass(frozen=True)
class Sample:
    """Rows drawn without replacement, in the order of the files."""

    rows: Dataset
    table: pa.Table  #: The same, as the files hold them
    n_total: int  #: Of so many that could have been drawn

    @property
    def is_all(self) -> bool:
        """Whether nothing was left out."""
        return len(self.rows) == self.n_total

    @property
    def sentence(self) -> str:
        """How they were chosen."""
        return _drawn(len(self.rows), self.n_total)


def sample_rows(
    parts: Sequence[Partition],
    n_rows: int,
    *,
    mapping: ColumnMapping | None = None,
    split: str | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Sample:
    """Draw rows uniformly, without replacement; memory is that of these rows and a batch.

    ``n_rows``: all, where there are no more. ``mapping``: columns whose role is not to be guessed.
    ``split``: only rows of this half. The same files in the same order give the same rows.

    Raises InputError if a file cannot be read, no row has the split, or a drawn value is no good.
    """
    n_rows = check_integer(n_rows, "n_rows")
    first = next(parts[0].extracts(_BATCH_ROWS))
    given = mapping or ColumnMapping()
    known = guess(columns_of_extracts([first]), given)
    column = known.split if split is not None else None
    total = sum(part.n_rows for part in parts)
    counts = [part.n_rows for part in parts]
    if column:
        counts, done = [], 0
        for part in parts:
            counts.append(int(_eligible(part, known, split).sum()))
            done += part.n_rows
            tell(progress, 0.3 * done / total, f"{done:,} of {total:,} rows looked at")
    n_total = sum(counts)
    if not n_total:
        raise InputError(f"'{parts[0].name}' must have {split} rows; the column says of none.")
    random = np.random.default_rng(random_state)
    chosen = np.sort(random.choice(n_total, min(n_rows, n_total), replace=False, shuffle=False))
    starts = np.concatenate([[0], np.cumsum(counts)])
    drawn: list[Extract] = []
    reading = part_of(progress, 0.3 if column else 0.0, 1.0)
    for k, part in enumerate(parts):
        inside = (starts[k] <= chosen) & (chosen < starts[k + 1])
        if inside.any():
            drawn += _taken(part, chosen[inside] - starts[k], known, split if column else None)
        tell(reading, (k + 1) / len(parts), f"rows drawn from {part.name}")
    columns = columns_of_extracts(drawn)
    rows = checked_rows(columns, guess(columns, given), parts[0].name)
    return Sample(rows, join_tables(drawn), n_total)


def _eligible(part: Partition, known: ColumnMapping, split: str | None) -> Mask:
    found = [np.zeros(0, dtype=bool)]
    for extract in part.extracts(_BATCH_ROWS, [known.split or ""]):
        names, _ = splits_in(columns_of_extracts([extract]), known, len(extract.rows))
        found.append(np.asarray(names == split))
    return np.concatenate(found)


def _taken(
    part: Partition, wanted: Ints, known: ColumnMapping, split: str | None
) -> Iterator[Extract]:
    """Yield the rows of a part that are wanted, by their numbers among those of the split."""
    if split is not None:
        wanted = np.flatnonzero(_eligible(part, known, split))[wanted]
    start = 0
    for extract in part.extracts(_BATCH_ROWS):
        stop = start + len(extract.rows)
        here = wanted[(start <= wanted) & (wanted < stop)] - start
        if len(here):
            table = extract.table.take(pa.array(here))
            yield Extract(extract.file, table, extract.rows[here])
        start = stop


def _drawn(n_rows: int, n_total: int) -> str:
    if n_rows == n_total:
        return f"all {n_rows:,} rows"
    return f"{n_rows:,} of {n_total:,} rows, drawn uniformly at random"


@dataclass(frozen=True)
class WholeData:
    """Sums of all rows, and how many files and rows they were."""

    sums: LocalErrorSums
    plan: Plan
    n_files: int
    n_drawn: int  #: Rows of the sample
    n_drawn_from: int

    @property
    def sentence(self) -> str:
        """What the pages show, and what of it is of all rows."""
        return (
            f"These pages show {_drawn(self.n_drawn, self.n_drawn_from)}. Numbers of all "
            f"{self.sums.n_rows:,} evaluation rows of {self.n_files} files come from sums over "
            f"{len(self.sums.cells):,} cells of width {self.sums.width:g} on {self.plan.note}; "
            "“guaranteed” are bounds of the exact number, and without them a number is exact."
        )


_KIND = Kind(
    "lore-whole-data",
    "what stands beside a sample",
    "lore app",
    (form_of(Plan), *PLAN_FORMS, *SUMS_FORMS),
)


def write_whole(folder: Path, run: Run, samples: list[tuple[str, Sample]]) -> list[Path]:
    """Write sums and samples (by stem of their file) into a folder; return the samples' files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for stem, sample in samples:
        path = folder / f"{stem}.parquet"
        pyarrow.parquet.write_table(sample.table, path)
        paths.append(path)
    n_drawn = sum(len(sample.rows) for _, sample in samples)
    n_drawn_from = sum(sample.n_total for _, sample in samples)
    whole = WholeData(run.sums, run.plan, run.n_files, n_drawn, n_drawn_from)
    _KIND.write(folder / _WHOLE, fields_of(whole))
    return paths


def read_whole_data(folder: Path) -> WholeData:
    """Read what :func:`write_whole` wrote. Raises InputError if it is damaged."""
    return WholeData(**_KIND.read(folder / _WHOLE))
