"""All parts of all files into one set of sums, by processes; uniform samples."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import joblib  # type: ignore[import-untyped]
import numpy as np
import pyarrow as pa
import pyarrow.parquet
from joblib.externals.loky.process_executor import BrokenProcessPool  # type: ignore[import-untyped]

from lore_core.data.archive_files import Kind, fields_of, form_of
from lore_core.data.arrays import Ints, Mask
from lore_core.data.dataset import Dataset
from lore_core.data.errors import InputError, as_path
from lore_core.data.progress import Progress, part_of, tell
from lore_core.data.validation import check_integer
from lore_core.mergeable.cell_sums.sums import FORMS as SUMS_FORMS, LocalErrorSums
from lore_core.mergeable.partitions.plan import (
    FORMS as PLAN_FORMS,
    Partition,
    Plan,
    checked_rows,
    columns_of_extracts,
)
from lore_core.reading.arrow_tables import Extract, join_tables
from lore_core.reading.file_rows import splits_in
from lore_core.reading.mapping import ColumnMapping
from lore_core.reading.roles import guess

PLAN = "plan.npz"
#: How often parts are given to new processes where one was ended from outside.
_ATTEMPTS = 3


@dataclass(frozen=True)
class Run:
    """Sums of all rows, and how they came about."""

    sums: LocalErrorSums
    plan: Plan
    n_files: int
    #: Parts summed now, and parts whose sums a former run had kept.
    n_summed: int
    n_kept: int


def planned(directory: Path) -> Plan | None:
    """Return the plan of a directory of sums; None without one, InputError if damaged."""
    place = directory / PLAN
    return Plan.load(place) if place.exists() else None


def sum_files(
    parts: Sequence[Partition],
    plan: Plan,
    *,
    directory: str | Path | None = None,
    n_workers: int = 1,
    progress: Progress | None = None,
) -> Run:
    """Sum the rows of every part; to the last bit the same by whatever processes.

    ``parts, plan``: the rows, and what they become. ``directory``: where plan and sums of each part
    are saved; what is there is not summed again. ``n_workers``: processes. ``progress``: called
    with the share done and a short message; may raise to stop.

    Raises InputError if a file cannot be read or a value breaks a rule; it says how to go on, and
    sums of other parts are saved. Raises MemoryError if workers were ended from outside again and
    again.
    """
    paths: list[Path | None] = [None] * len(parts)
    if directory is not None:
        folder, tag = made_directory(directory), plan.digest
        if not (folder / PLAN).exists():
            plan.save(folder / PLAN)
        paths = [folder / _name(part, tag) for part in parts]
    there = [path is not None and path.exists() for path in paths]
    total, done, n_kept = sum(part.n_rows for part in parts), 0, 0

    def report(number: int, is_kept: bool) -> None:
        nonlocal done, n_kept
        done += parts[number].n_rows
        n_kept += is_kept and there[number]
        tell(progress, done / total, f"{done:,} of {total:,} rows summed")

    tasks = list(zip(parts, paths, strict=True))
    try:
        sums = LocalErrorSums.joined(_sums_of_processes(plan, tasks, n_workers, report))
    except InputError as error:
        hint = "(--sums DIR keeps the sums of the parts that were read.)"
        if directory is not None:
            hint = f"Sums of other parts are kept in '{directory}': the same again goes on."
        raise InputError(f"{error} {hint}") from error
    except BrokenProcessPool as error:
        hint = "" if directory is None else " Run it again to go on."
        raise MemoryError(
            "worker processes were ended from outside, most likely for want of memory; take "
            f"fewer workers or cells.{hint}"
        ) from error
    return Run(sums, plan, len({part.path for part in parts}), len(parts) - n_kept, n_kept)


#: Parts, and the files that keep their sums, if any.
_Tasks = Sequence[tuple[Partition, Path | None]]


def _sums_of_processes(
    plan: Plan, tasks: _Tasks, n_workers: int, report: Callable[[int, bool], None]
) -> Iterator[LocalErrorSums]:
    n_done = 0
    for attempt in range(_ATTEMPTS):
        try:
            with joblib.Parallel(n_jobs=n_workers, return_as="generator") as pool:
                work = joblib.delayed(_sums_of)
                for sums, is_kept in pool(work(plan, *task) for task in tasks[n_done:]):
                    report(n_done, is_kept)
                    n_done += 1
                    yield sums
            return
        except BrokenProcessPool:
            if attempt == _ATTEMPTS - 1:
                raise


def _sums_of(plan: Plan, part: Partition, path: Path | None) -> tuple[LocalErrorSums, bool]:
    """Sum a part, or read what was kept of it, and say whether; ``path``: where, if anywhere."""
    if path is None:
        return plan.sums(part), False
    with suppress(InputError):  # none is there yet, or it is damaged
        return LocalErrorSums.load(path), True
    sums = plan.sums(part)
    sums.save(path)
    return sums, False


def _name(part: Partition, plan_digest: str) -> str:
    """Name the file of a part's sums: another where the part's file changed, or the plan."""
    text = f"{part.path} {part.row_groups} {part.stamp} {plan_digest}"
    return f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.npz"


def made_directory(directory: str | Path) -> Path:
    """Make a directory, where there is none. Raises InputError if it cannot be written."""
    place = as_path(directory)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"'{directory}' must be a directory that can be written; got {error.strerror}."
        ) from error
    return place


_BATCH_ROWS = 2**17
_WHOLE = "whole.npz"


@dataclass(frozen=True)
class Sample:
    """Rows drawn without replacement, in the order of the files."""

    rows: Dataset
    table: pa.Table  #: The same, as the files hold them
    n_total: int  #: Of so many that could have been drawn

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
    counts = [part.n_rows for part in parts]
    for k, part in enumerate(parts if column else ()):
        counts[k] = int(_eligible(part, known, split).sum())
        tell(progress, 0.3 * (k + 1) / len(parts), f"rows of {part.name} counted")
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
        names = splits_in(columns_of_extracts([extract]), known)
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
class WholeData(Run):
    """Sums of all rows, and of how many a sample was drawn."""

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
            f"{self.sums.units_sentence}"
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
    whole = WholeData(**fields_of(run), n_drawn=n_drawn, n_drawn_from=n_drawn_from)
    _KIND.write(folder / _WHOLE, fields_of(whole))
    return paths


def read_whole_data(folder: Path) -> WholeData:
    """Read what :func:`write_whole` wrote. Raises InputError if it is damaged."""
    return WholeData(**_KIND.read(folder / _WHOLE))
