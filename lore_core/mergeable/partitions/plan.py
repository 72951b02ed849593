"""What rows become: which columns are read, on which map and in which bins they are summed."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lore_core.data.archive_files import Kind, fields_of, form_of
from lore_core.data.binning import Binning, ConfidenceBins, confidence_bins
from lore_core.data.dataset import CALIBRATION, TOP_LABEL, Dataset
from lore_core.data.defaults import N_BINS
from lore_core.data.progress import Progress, tell
from lore_core.data.validation import InputError
from lore_core.embedding.embed import embed
from lore_core.embedding.names import MapName
from lore_core.embedding.result import FORMS, Embedding
from lore_core.mergeable.cell_sums.sums import MAX_CELLS, LocalErrorSums
from lore_core.mergeable.partitions.files import (
    Partition,
    checked_rows,
    columns_of_extracts,
    dataset_of,
)
from lore_core.metrics.proper_scores import row_brier, row_nll
from lore_core.reading.arrow_tables import Extract
from lore_core.reading.mapping import ColumnMapping
from lore_core.reading.roles import guess

#: Rows the map and bins of equal mass are made of, from so many places of the files.
SAMPLE_ROWS = 100_000
_SAMPLE_PLACES = 64
#: Rows in memory at a time, and cells that are held before they are joined.
_BATCH_ROWS = 2**18
_FORMS = (form_of(ColumnMapping), form_of(ConfidenceBins), *FORMS)
_KIND = Kind("lore-plan-of-sums", "a plan of sums", "--sums", _FORMS, compressed=True)


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
        read = dataset_of(columns, guess(columns, self.mapping), extract.file)
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
        nothing = LocalErrorSums.nothing(
            self.embedding.n_components, self.bins, max_cells=self.max_cells, map_digest=self.digest
        )
        return LocalErrorSums.joined(itertools.chain([nothing], self._batches(part)))

    def _batches(self, part: Partition) -> Iterator[LocalErrorSums]:
        level = 0
        for extract in part.extracts(_BATCH_ROWS, self.columns):
            rows = self.dataset(extract)
            if rows is not None:
                sums = self.sums_of_rows(rows, level)
                level = max(level, sums.cells.level)
                yield sums

    def sums_of_rows(self, rows: Dataset, level: int = 0) -> LocalErrorSums:
        """Sum rows in memory; ``level``: one that the cells are known to come to."""
        chosen = TOP_LABEL if self.target == TOP_LABEL else rows.class_names.index(self.target)
        target_rows = rows.target(chosen)
        scores = {}
        if rows.complete:
            scores["NLL"] = row_nll(rows.probabilities, rows.labels)
            scores["Brier"] = row_brier(rows.probabilities, rows.labels)
        if rows.features is None:
            raise InputError(f"'{rows.name}' must have features; it has none.")
        return LocalErrorSums.of(
            target_rows.confidence,
            target_rows.outcome,
            self.embedding.transform(rows.features),
            bins=self.bins,
            max_cells=self.max_cells,
            map_digest=self.digest,
            at_least_level=level,
            scores=scores,
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


def make_plan(
    parts: Sequence[Partition],
    *,
    mapping: ColumnMapping | None = None,
    target: str = TOP_LABEL,
    feature_map: MapName | None = None,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    max_cells: int = MAX_CELLS,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """Look at a sample of the rows, and make the map.

    At most 100,000 rows are looked at: as many from the start of each of up to 64 row groups,
    evenly spaced over all files. ``mapping``: columns whose role is not to be guessed. ``target``:
    ``"top-label"`` or a class name. ``feature_map``: of one to three dimensions; by default the
    first two principal components. ``n_bins, binning``: confidence bins; those of equal mass are
    those of the sample. ``max_cells``: see :class:`~lore_core.LocalErrorSums`. ``random_state``: of
    the map. ``progress``: called with the share done.

    Raises InputError if the rows have no features, a column is missing or a value breaks a rule.
    """
    tell(progress, 0.0, "reading a sample of the rows")
    columns = columns_of_extracts(_sample(parts))
    name = parts[0].name
    given = dataclasses.replace(
        mapping or ColumnMapping(), groups=(), metadata=(), images="", row_id=""
    )
    guessed = guess(columns, given)
    if guessed.weight:
        raise InputError(
            f"'{name}' has weights of rows ('{guessed.weight}'), which sums over cells cannot let "
            'count. Leave them out (--column weight=, mapping={"weight": ""}), or give files that '
            "fit into memory together."
        )
    sample = checked_rows(columns, guessed, name)
    n_places = min(sum(len(part.row_groups) for part in parts), _SAMPLE_PLACES)
    return plan_of_rows(
        sample,
        guessed,
        target=target,
        feature_map=feature_map,
        n_bins=n_bins,
        binning=binning,
        max_cells=max_cells,
        random_state=random_state,
        progress=progress,
        whence=f" from {n_places} places",
    )


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
    """Make the map and bins of rows in memory; ``whence``: where they are from, in words.

    The others: see :func:`make_plan`.
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


def saved_sums(path: Path | None) -> LocalErrorSums | None:
    """Return the sums of a part that a former run kept; None where there are none, or damaged."""
    try:
        return None if path is None else LocalErrorSums.load(path)
    except InputError:
        return None


def sum_and_save(plan: Plan, part: Partition, path: Path | None) -> LocalErrorSums:
    """Sum a part, or read what was kept of it; ``path``: where it is kept, if anywhere."""
    sums = saved_sums(path)
    if sums is None:
        sums = plan.sums(part)
        if path is not None:
            sums.save(path)
    return sums
