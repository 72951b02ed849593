"""Some rows of files of any length, each as likely as every other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lore_core.data.arrays import Ints, Mask
from lore_core.data.dataset import Dataset
from lore_core.data.progress import Progress, part_of, tell
from lore_core.data.validation import InputError, check_integer
from lore_core.mergeable.partitions.files import Partition, columns_of_extracts
from lore_core.reading.arrow_tables import Extract, join_tables
from lore_core.reading.assemble import assemble
from lore_core.reading.checks import check_data
from lore_core.reading.file_rows import read_rows, splits_in
from lore_core.reading.mapping import ColumnMapping
from lore_core.reading.roles import guess

_BATCH_ROWS = 2**17


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
        if self.is_all:
            return f"all {self.n_total:,} rows"
        return f"{len(self.rows):,} of {self.n_total:,} rows, drawn uniformly at random"


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

    Parameters
    ----------
    parts : sequence of Partition
        Where the rows are.
    n_rows : int
        How many; all, where there are no more.
    mapping : ColumnMapping, optional
        Columns whose role is not to be guessed.
    split : {"calibration", "evaluation"}, optional
        Only rows of this half, where a column says which half rows are of.
    random_state : int
        The same rows are drawn for the same files in the same order.
    progress : callable, optional
        Called with the share done and a short message; may raise to stop.

    Raises
    ------
    InputError
        If a file cannot be read, no row has the split, or a value of a drawn row breaks a rule.
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
    guessed = guess(columns, given)
    read = assemble([read_rows(columns, guessed)], name=parts[0].name).dataset
    check_data(read, given.accept or (), kind=guessed.probability_kind)
    return Sample(read, join_tables(drawn), n_total)


def _eligible(part: Partition, known: ColumnMapping, split: str | None) -> Mask:
    """Tell which rows of a part are of the split, shape (n,)."""
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
