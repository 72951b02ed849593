"""Which Parquet files and parts there are; which columns, map and bins their rows are summed in."""

from __future__ import annotations

import dataclasses
import glob
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from lore_core.data.archive_files import Kind, fields_of, form_of
from lore_core.data.arrays import Floats
from lore_core.data.binning import Binning, ConfidenceBins, confidence_bins
from lore_core.data.dataset import CALIBRATION, TOP_LABEL, Dataset
from lore_core.data.defaults import N_BINS
from lore_core.data.errors import InputError, as_path
from lore_core.data.progress import Progress, tell
from lore_core.embedding.embed import embed
from lore_core.embedding.result import FORMS as EMBEDDING_FORMS, Embedding, MapName
from lore_core.mergeable.cell_sums.sums import MAX_CELLS, N_GROUPS, LocalErrorSums
from lore_core.metrics.proper_scores import row_brier, row_nll
from lore_core.reading.arrow_tables import (
    Extract,
    check_same_names,
    columns_of_table,
    common_name,
    join_tables,
    refusing_arrow,
    row_locator,
)
from lore_core.reading.checks import check_data
from lore_core.reading.columns import Columns, label_text
from lore_core.reading.file_rows import assemble, read_rows
from lore_core.reading.formats import files_fitting
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

    def extracts(self, n_rows: int, columns: Sequence[str] | None = None) -> Iterator[Extract]:
        """Read at most ``n_rows`` rows at a time; InputError with the file's name if damaged."""
        start, stop = self.first_row, self.first_row + self.n_rows
        # No reading ahead: it would hold whole row groups.
        with (
            refusing_arrow(self.name, "Parquet file"),
            pa.parquet.ParquetFile(
                self.path, pre_buffer=False, page_checksum_verification=True
            ) as file,
        ):
            for batch in file.iter_batches(
                n_rows, row_groups=list(self.row_groups), columns=columns, use_threads=False
            ):
                rows = np.arange(start, start + batch.num_rows)
                start += batch.num_rows
                yield Extract(self.name, pa.Table.from_batches([batch]), rows)
            if start != stop:
                found = self.n_rows - (stop - start)
                raise ValueError(f"{found:,} rows where {self.n_rows:,} are counted")


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
            fitting = files_fitting(path)
        check_parts(f"'{item}'", [place.name for place in fitting])
        found += fitting
    if any(path.suffix.lower() not in _SUFFIXES for path in found):
        return []
    return list(dict.fromkeys(path.resolve() for path in found))


def columns_of_extracts(extracts: Sequence[Extract]) -> Columns:
    """Return the columns of rows of several files, each row named by its file and number."""
    name = common_name([extract.file for extract in extracts])
    return columns_of_table(name, join_tables(extracts), locate=row_locator(extracts))


def checked_rows(columns: Columns, roles: ColumnMapping, name: str) -> Dataset:
    """Return rows of which nothing is in doubt that was not accepted; else an InputError."""
    rows, *_ = assemble([read_rows(columns, roles)], name=name)
    check_data(rows, roles.accept or (), kind=roles.probability_kind)
    return rows


def rows_in(paths: Sequence[Path]) -> int:
    """Count the rows of files without reading them; InputError if one cannot be read."""
    total = 0
    for path in paths:
        with refusing_arrow(path.name, "Parquet file"):
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
        with refusing_arrow(name, "Parquet file"), pa.parquet.ParquetFile(path) as file:
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
        about, ends = path.stat(), [0, *itertools.accumulate(groups)]
        stamp, start = (about.st_size, about.st_mtime_ns), 0
        for stop in range(1, len(ends)):
            rows = ends[stop] - ends[start]
            if rows >= wanted or (rows and stop == len(groups)):
                own = tuple(range(start, stop)), tuple(groups[start:stop]), ends[start]
                found.append(Partition(str(path), name, *own, stamp))
                start = stop
    return found


#: Rows the map and bins of equal mass are made of, from so many places of the files.
SAMPLE_ROWS = 100_000
_SAMPLE_PLACES = 64
#: Rows read at a time, and so many batches summed at once: more share a cell.
_BATCH_ROWS, _SUMMED_BATCHES = 2**18, 4
#: Scores of complete vectors whose mean is wanted.
_SCORES = {"NLL": row_nll, "Brier": row_brier}
FORMS = (form_of(ColumnMapping), form_of(ConfidenceBins), *EMBEDDING_FORMS)
_KIND = Kind("lore-plan-of-sums", "a plan of sums", "--sums", FORMS, compressed=True)


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything but the rows that sums depend on: with the same plan sums can be added."""

    mapping: ColumnMapping  #: Columns
    target: str  #: ``"top-label"`` or a class name
    embedding: Embedding  #: The map; it holds no rows
    bins: ConfidenceBins
    max_cells: int
    note: str  #: What the map was made of, in words

    def dataset(self, extract: Extract) -> Dataset | None:
        """Return rows of a file, without calibration rows; None where there are no others."""
        columns = columns_of_extracts([extract])
        roles = guess(columns, self.mapping)
        read, *_ = assemble([read_rows(columns, roles)], name=extract.file)
        if read.split is None:
            return read
        evaluated = read.split != CALIBRATION
        return read.rows(evaluated) if evaluated.any() else None

    @property
    def columns(self) -> list[str]:
        """Columns of the files that are read."""
        return list(dict.fromkeys(n for names in self.mapping.columns().values() for n in names))

    def sums(self, part: Partition) -> LocalErrorSums:
        """Sum the rows of a part; InputError, which names the file, if a value breaks a rule."""
        total = LocalErrorSums.nothing(
            self.embedding.n_components, self.bins, max_cells=self.max_cells, map_digest=self.digest
        )
        datasets = map(self.dataset, part.extracts(_BATCH_ROWS, self.columns))
        values = (self.values(rows) for rows in datasets if rows is not None)
        while batches := list(itertools.islice(values, _SUMMED_BATCHES)):
            lines = map(np.concatenate, zip(*batches, strict=True))
            total += self.sums_of_values(lines, total.cells.level)
        return total

    def values(self, rows: Dataset) -> list[Floats]:
        """Return confidence, outcome, coordinates, groups of units and scores."""
        if rows.features is None:
            raise InputError(f"'{rows.name}' must have features; it has none.")
        chosen = TOP_LABEL if self.target == TOP_LABEL else rows.class_names.index(self.target)
        target_rows, points = rows.target(chosen), self.embedding.transform(rows.features)
        scores = [of(rows.probabilities, rows.labels) for of in _SCORES.values() if rows.complete]
        groups = np.full(len(rows), np.nan)
        if rows.metadata is not None and self.mapping.metadata:
            groups = unit_groups(rows.metadata[self.mapping.metadata[0]])
        elif rows.units is not None:
            groups = unit_groups(pd.Series(rows.units))
        return [target_rows.confidence, target_rows.outcome, *points.T, groups, *scores]

    def sums_of_values(self, values: Iterable[Floats], level: int = 0) -> LocalErrorSums:
        """Sum what :meth:`values` returns; ``level``: one that the cells are known to come to."""
        confidence, outcome, *others = values
        d = self.embedding.n_components
        groups = others.pop(d)
        return LocalErrorSums.of(
            confidence,
            outcome,
            np.column_stack(others[:d]),
            bins=self.bins,
            max_cells=self.max_cells,
            map_digest=self.digest,
            at_least_level=level,
            scores=dict(zip(_SCORES, others[d:], strict=False)),
            groups=None if np.isnan(groups).any() else groups.astype(np.int64),
        )

    @property
    def digest(self) -> str:
        """Sha256 of the plan."""
        return _KIND.digest(fields_of(self))

    def save(self, path: Path) -> None:
        """Write the plan, for later rows."""
        _KIND.write(path, fields_of(self))

    @classmethod
    def load(cls, path: Path) -> Plan:
        """Read what :meth:`save` wrote. Raises InputError if it is damaged or of another kind."""
        return cls(**_KIND.read(path))


def unit_groups(units: pd.Series[Any]) -> Floats:
    """Return the group of each row's unit, or of the row where it has none, by its name, (n,)."""
    alone = pd.Series(np.arange(len(units)), units.index)
    names = units.astype(object).where(units.notna(), alone).map(label_text)
    return np.asarray(pd.util.hash_array(names.to_numpy(object)) % np.uint64(N_GROUPS), np.float64)


def make_plan(
    parts: Sequence[Partition],
    *,
    mapping: ColumnMapping | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Plan:
    """Look at a sample of the rows, and make the map.

    At most 100,000 rows are looked at: as many from the start of each of up to 64 row groups,
    evenly spaced over all files. ``mapping``: columns whose role is not to be guessed.
    ``progress``: called with the share done. ``**settings``: of :func:`plan_of_rows`.

    Raises InputError if the rows have no features, a column is missing or a value breaks a rule.
    """
    tell(progress, 0.0, "reading a sample of the rows")
    extracts = _sample(parts)
    columns = columns_of_extracts(extracts)
    name = parts[0].name
    given = dataclasses.replace(
        mapping or ColumnMapping(), groups=(), metadata=(), images="", row_id=""
    )
    guessed = guess(columns, given)
    if column := guessed.weight:
        raise InputError(
            f"'{name}' has weights of rows ('{column}'), which sums over cells cannot let count. "
            'Leave them out (--column weight=, mapping={"weight": ""}), or give files that fit '
            "into memory together."
        )
    sample = checked_rows(columns, guessed, name)
    if column := guessed.unit:  # (Some parts may be of one unit alone, which is no role.)
        guessed = dataclasses.replace(guessed, unit="", metadata=(column,))
    whence = f" from {len(extracts)} places"
    return plan_of_rows(sample, guessed, progress=progress, whence=whence, **settings)


def plan_of_rows(
    sample: Dataset,
    mapping: ColumnMapping,
    *,
    target: str = TOP_LABEL,
    feature_map: MapName | None = None,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    max_cells: int = MAX_CELLS,
    random_state: int = 0,
    progress: Progress | None = None,
    whence: str = "",
) -> Plan:
    """Make the map and bins of rows in memory.

    ``target``: ``"top-label"`` or a class name. ``feature_map``: of one to three dimensions; by
    default the first two principal components. ``n_bins, binning``: confidence bins; those of equal
    mass are those of the sample. ``max_cells``: see :class:`~lore_core.LocalErrorSums`.
    ``random_state``: of the map. ``whence``: where the rows are from, in words.
    """
    if target != TOP_LABEL and target not in sample.class_names:
        raise InputError(
            f"'target' must be top-label or a class ({', '.join(sample.class_names[:10])}); got "
            f"{target!r}."
        )
    if sample.features is None:
        raise InputError(
            f"'{sample.name}' must have features (columns f_*) to be summed on a map; it has none. "
            "`lore metrics --map none` measures what is global, with all rows in memory."
        )
    method = feature_map or MapName("pca", min(2, sample.features.shape[1]))
    d = sample.features.shape[1] if method.method == "identity" else method.n_components or 2
    if d > 3:
        raise InputError(
            f"'feature_map' must have 1 to 3 dimensions where rows are summed in cells; got {d}."
        )
    made = embed(sample.features, method.method, d, random_state=random_state, progress=progress)
    chosen = TOP_LABEL if target == TOP_LABEL else sample.class_names.index(target)
    return Plan(
        mapping=dataclasses.replace(mapping, class_names=sample.class_names),
        target=target,
        embedding=made.without_coordinates(),
        bins=confidence_bins(sample.target(chosen).confidence, n_bins, binning),
        max_cells=max_cells,
        note=f"{made.label}, made of {len(sample):,} rows{whence}",
    )


def _sample(parts: Sequence[Partition]) -> list[Extract]:
    groups = [(part, index) for part in parts for index in range(len(part.row_groups))]
    chosen = np.unique(np.linspace(0, len(groups) - 1, _SAMPLE_PLACES).astype(np.int64))
    rows = -(-SAMPLE_ROWS // len(chosen))
    taken = (groups[place] for place in chosen.tolist())
    return [next(part.row_group(index).extracts(rows)) for part, index in taken]
