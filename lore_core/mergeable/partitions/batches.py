"""Sums of batches in a directory; whether errors of new rows differ by more than chance."""

from __future__ import annotations

import dataclasses
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from lore_core.data.arrays import Floats, Ints
from lore_core.data.binning import ConfidenceBins
from lore_core.data.defaults import GAMMA
from lore_core.data.errors import InputError, as_path
from lore_core.data.number_text import decimal, p_words, rows_words, share_words, signed_points
from lore_core.data.progress import Progress, part_of, tell
from lore_core.data.validation import check_integer
from lore_core.mergeable.cell_sums.summaries import metrics_of_sums
from lore_core.mergeable.cell_sums.sums import N_GROUPS, STRATUM, LocalErrorSums, level_at
from lore_core.mergeable.partitions.plan import Plan, partitions_of
from lore_core.mergeable.partitions.run import PLAN, made_directory, planned, sum_files
from lore_core.metrics.catalogue import ALCE, CATALOGUE, ECE, MLCE_SUPPORTED

#: Places are so many times as wide as a stratum: 2 to the power of these.
_SCALES = (0, 1, 2, 3)
#: Rows of a place at least, before and after.
_FEWEST_ROWS = 30
#: Simulations behind each p; regions or slices of a batch that are kept.
N_DRAWS, N_PLACES = 999, 5
#: Simulated numbers at a time.
_STEP = 4_000_000


@dataclass(frozen=True)
class Change:
    """What changed from some rows to others, and whether chance alone changes as much."""

    #: How often rows whose errors are the same everywhere show a place that changed as much.
    p_value: float
    #: Places, the one that changed most (in standard errors) first: ``bin`` (−1: all), ``from_<m>,
    #: to_<m>`` a dimension m of the map (NaN: all of it), ``rows_before``, ``rows_after``,
    #: ``change`` (in the signed error, after − before), ``z``.
    places: pd.DataFrame
    #: Share of the new rows without an earlier row of their bin and cell.
    unseen: float
    n_draws: int


def stratified_change(before: Floats, after: Floats) -> tuple[Floats, Floats, Floats]:
    """Return what each stratum adds to a change, its weight, and the variance without one.

    ``before``, ``after`` (3, …): rows, right ones and Σ confidence of each stratum. See
    :func:`change_between`.
    """
    (n_a, right_a, sure_a), (n_b, right_b, sure_b) = before, after
    n, right = n_a + n_b, right_a + right_b
    at_least_one = np.maximum(n, 1)
    weight = n_a * n_b / at_least_one
    moved = (n_a * (sure_b - right_b) - n_b * (sure_a - right_a)) / at_least_one
    return moved, weight, weight * right * (n - right) / (at_least_one * np.maximum(n - 1, 1))


def change_between(
    before: LocalErrorSums, after: LocalErrorSums, *, n_draws: int = 999, random_state: int = 0
) -> Change:
    """Test whether the signed error changed anywhere between two sets of rows.

    The rows are no part of one another, on one map and in the same bins, else an InputError is
    raised. ``n_draws``: simulations; p is no less than 1 / (n_draws + 1). Steps and formulas:
    docs/mergeable.md ("Whether errors change").
    """
    before.check_like(after)
    n_draws = check_integer(n_draws, "n_draws", minimum=19)
    wide = level_at(STRATUM[before.n_dimensions], before.n_dimensions, 1.0)
    every = [cells for of in (before, after) for cells in (of.cells, of.of_units) if cells]
    level = max(wide, *(cells.level for cells in every))
    (cells, one), (of_after, two) = before.strata(level), after.strata(level)
    _, here, there = np.intersect1d(cells.keys, of_after.keys, return_indices=True)
    unseen = 1.0 - float(two[0, there].sum() / max(two[0].sum(), 1.0))
    one, two = one[:, here], two[:, there]
    (n_a, right_a, _), (n_b, right_b, _) = one, two
    n, right = n_a + n_b, right_a + right_b
    moved, weight, spread = stratified_change(one, two)
    expected = right * n_b / n
    of_strata, width = (cells.bin_index[here], cells.coordinates[here]), before.width_at(level)
    members, named = _places(*of_strata, (n_a, n_b), width)
    variance, of_units = members @ spread, None
    if before.of_units is not None:
        of_bin = np.bincount(of_strata[0], (one + two)[2] - right), np.bincount(of_strata[0], n)
        means = of_bin[0] / np.maximum(of_bin[1], 1)
        of_units = _added_by_groups(after, level, cells.keys[here], n_a / n, means)
        of_units -= _added_by_groups(before, level, cells.keys[here], n_b / n, means)
        variance = np.maximum(variance, (members @ of_units).power(2).sum(axis=1).A1)
    known = variance > 0
    members, named, variance = members[known], named[known], variance[known]
    if not len(variance):
        return Change(1.0, named.assign(change=[], z=[]), unseen, n_draws)
    z = (members @ moved) / np.sqrt(variance)
    random = np.random.default_rng(random_state)
    largest = np.empty(n_draws)
    step = max(1, _STEP // len(n))
    for start in range(0, n_draws, step):
        count = min(step, n_draws - start)
        if of_units is None:
            good, bad, new = (of.astype(np.int64)[:, None] for of in (right, n - right, n_b))
            drawn = expected[:, None] - random.hypergeometric(good, bad, new, (len(n), count))
        else:
            drawn = of_units @ random.choice([-1.0, 1.0], (of_units.shape[1], count))
        scores = (members @ drawn) / np.sqrt(variance)[:, None]
        largest[start : start + count] = np.abs(scores).max(axis=0)
    beyond = np.count_nonzero(largest >= np.abs(z).max() - 1e-9)
    table = named.assign(change=(members @ moved) / (members @ weight), z=z)
    order = np.argsort(-np.abs(z), kind="stable")
    return Change(
        (1 + beyond) / (1 + n_draws), table.iloc[order].reset_index(drop=True), unseen, n_draws
    )


def _added_by_groups(
    sums: LocalErrorSums, level: int, keys: Ints, share: Floats, means: Floats
) -> sparse.csr_matrix:
    """Return Σ share · (r − mean r of the bin) by stratum and group of units, (s, groups)."""
    own, index, group, counts = sums.strata_of_groups(level)
    known = np.isin(own, keys)
    stratum, (rows, right, sure) = np.searchsorted(keys, own[known]), counts[:, known]
    added = share[stratum] * (sure - right - rows * means[index[known]])
    return sparse.csr_matrix((added, (stratum, group[known])), shape=(len(keys), N_GROUPS))


def _places(
    bin_index: Ints, coordinates: Ints, rows: tuple[Floats, Floats], width: float
) -> tuple[sparse.csr_matrix, pd.DataFrame]:
    """Return which strata are of which place, (p, s), and where places are."""
    blocks, tables = [], []
    for of_bin in (True, False):
        bins = bin_index if of_bin else np.full(len(bin_index), -1)
        for scale in (*_SCALES, None):
            places = np.zeros_like(coordinates) if scale is None else coordinates >> scale
            labels, inverse = np.unique(
                np.column_stack([bins, places]), axis=0, return_inverse=True
            )
            inverse = inverse.ravel()
            before, after = (np.bincount(inverse, n, len(labels)) for n in rows)
            enough = (before >= _FEWEST_ROWS) & (after >= _FEWEST_ROWS)
            ones = np.ones(len(inverse))
            block = sparse.csr_matrix((ones, (inverse, np.arange(len(inverse)))))
            blocks.append(block[enough])
            table = pd.DataFrame({"bin": labels[enough, 0]})
            for m in range(coordinates.shape[1]):
                low = labels[enough, 1 + m] * width * (1 if scale is None else 2**scale)
                table[f"from_{m + 1}"] = np.nan if scale is None else low
                table[f"to_{m + 1}"] = np.nan if scale is None else low + width * 2**scale
            tables.append(table.assign(rows_before=before[enough], rows_after=after[enough]))
    return sparse.vstack(blocks, format="csr"), pd.concat(tables, ignore_index=True)


_SUFFIX = ".sums.npz"
#: Metrics that are listed batch by batch.
_SHOWN = ("accuracy", "mean_confidence", ECE.name, ALCE.name, MLCE_SUPPORTED.name)


@dataclass(frozen=True)
class SummedBatches(ABC):
    """Batches in their order, all on one map and in the same bins."""

    plan: Plan

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """Names of the batches in their order: as texts are, but numbers by size."""

    @property
    @abstractmethod
    def what(self) -> str:
        """What holds them, as a sentence names it."""

    @abstractmethod
    def sums(self, name: str) -> LocalErrorSums:
        """Return the sums of a batch. Raises InputError if they cannot be used."""

    @abstractmethod
    def state_of(self, name: str) -> Hashable:
        """Return what tells the rows of a batch, on the map, from those it had before."""

    def slices_of(self, number: int) -> Sequence[Any]:  # noqa: ARG002 - for those that hold rows
        """Return slices of a batch, by its number from 1 on, that changed most; of sums none."""
        return ()

    def keys(
        self, *, gamma: float = GAMMA, n_draws: int = N_DRAWS, random_state: int = 0
    ) -> dict[str, tuple[Hashable, Hashable]]:
        """Return what the numbers of each batch are known by: its metrics, and its change.

        Arguments as of :meth:`movement`.
        """
        up_to = ""
        keys: dict[str, tuple[Hashable, Hashable]] = {}
        for name in self.names:
            state = self.state_of(name)
            up_to = sha256(f"{up_to} {state!r}".encode()).hexdigest()
            keys[name] = (state, gamma), (up_to, n_draws, random_state)
        return keys

    def movement(
        self,
        *,
        known: dict[Hashable, Any] | None = None,
        progress: Progress | None = None,
        gamma: float = GAMMA,
        n_draws: int = N_DRAWS,
        random_state: int = 0,
    ) -> list[Watched]:
        """Measure every batch, and compare each with all before it; five places of each are kept.

        ``known``: what was found before, by :meth:`keys`; what is found now is added at once.
        ``gamma``: bandwidth of the local metrics. ``n_draws``: simulations of a test. Raises
        InputError if there is no batch, or ``gamma`` is less than the sums allow.
        """
        names, known = self.names, {} if known is None else known
        if not names:
            raise InputError(f"{self.what} must hold a batch; it has none.")
        testing = {"n_draws": n_draws, "random_state": random_state}
        keys = self.keys(gamma=gamma, **testing)
        before: LocalErrorSums | None = None
        n, n_before = len(names), 0
        for at, (name, (own, up_to)) in enumerate(keys.items()):
            if {own, up_to} <= known.keys():
                continue
            step = part_of(progress, at / n, (at + 1) / n, f"{name}, {at + 1:,} of {n:,}")
            tell(step, 0.0, "")
            sums = self.sums(name)
            found: dict[Hashable, Any] = {}
            if up_to not in known:
                if n_before < at:
                    before = self.joined(names[:at], part_of(step, 0.0, 0.1))
                change, slices = None, self.slices_of(at)[:N_PLACES] if at else ()
                if before is not None:
                    change = change_between(before, sums, **testing)
                    # (Of thousands of regions only those that are listed are kept.)
                    change = dataclasses.replace(change, places=change.places.head(N_PLACES))
                found[up_to] = change, slices
                before, n_before = sums if before is None else before + sums, at + 1
                tell(step, 0.3, "")
            if own not in known:
                metrics = metrics_of_sums(sums, gamma=gamma).set_index("metric")
                found[own] = sums.n_rows, metrics
            if (self.state_of(name), gamma) != own:
                raise InputError(f"the batch '{name}' was summed anew meanwhile. Begin again.")
            known |= found
        return [Watched(name, *known[own], *known[to]) for name, (own, to) in keys.items()]

    def joined(self, names: Sequence[str], progress: Progress | None = None) -> LocalErrorSums:
        """Return the sums of some batches together; at least one. InputError as of :meth:`sums`."""

        def each() -> Iterator[LocalErrorSums]:
            for step, name in enumerate(names):
                tell(progress, step / len(names), f"joining {name} and those before it")
                yield self.sums(name)

        return LocalErrorSums.joined(each())


@dataclass(frozen=True)
class Batches(SummedBatches):
    """A directory of sums, a file a batch, all on one map and in the same bins."""

    directory: Path

    @classmethod
    def opened(cls, directory: str | Path) -> Batches:
        """Open a directory in which batches are kept. Raises InputError if there is none."""
        place = as_path(directory)
        plan = planned(place)
        if plan is None:
            raise InputError(
                f"'{directory}' must be a directory of batches; it has no plan. Name the first "
                "batches behind it: lore watch DIR 'day-*.parquet'."
            )
        return cls(plan, place)

    @classmethod
    def begun(cls, directory: str | Path, plan: Plan) -> Batches:
        """Make a directory for batches. Raises InputError if it cannot be written."""
        place = made_directory(directory)
        plan.save(place / PLAN)
        return cls(plan, place)

    @property
    def names(self) -> list[str]:
        """Names of the batches in their order."""
        found = (path.name.removesuffix(_SUFFIX) for path in self.directory.glob(f"*{_SUFFIX}"))
        return sorted(found, key=in_order)

    @property
    def what(self) -> str:
        """The directory."""
        return f"'{self.directory}'"

    def state_of(self, name: str) -> Hashable:
        """Return paths, sizes and times of change of the batch and the plan; InputError if gone."""
        try:
            found = [(path, path.stat()) for path in (self.directory / PLAN, self.path_of(name))]
        except OSError as error:
            raise InputError(f"the batch '{name}' cannot be read: {error.strerror}.") from error
        return tuple((str(path), of.st_size, of.st_mtime_ns) for path, of in found)

    def path_of(self, name: str) -> Path:
        """Return the file that holds the sums of a batch."""
        return self.directory / f"{name}{_SUFFIX}"

    def sums(self, name: str) -> LocalErrorSums:
        """Return the sums of a batch; InputError if damaged, empty or of another map."""
        try:
            sums = LocalErrorSums.load(self.path_of(name))
        except InputError as error:
            raise InputError(
                f"{error} That is: remove it from '{self.directory}' and give the rows of "
                f"'{name}' to lore watch once more."
            ) from error
        if sums.map_digest != self.plan.digest:
            raise InputError(
                f"the batch '{name}' must be on the map and in the bins of '{self.directory}'; it "
                "was summed with others. Remove it and sum it again."
            )
        if not sums.n_rows:
            raise InputError(f"the batch '{name}' must have rows to evaluate; it has none.")
        return sums

    def add(
        self, files: Sequence[Path], *, n_workers: int = 1, progress: Progress | None = None
    ) -> list[str]:
        """Sum files that are no batches yet, each as one; return the names of the new ones.

        A batch has the name of its file without the suffix, and does not change if the file does.
        ``n_workers``: processes that sum. InputError if a file cannot be read, or two have one
        name; batches before it are saved.
        """
        new = {path.stem: path for path in files if path.stem not in self.names}
        if len({path.stem for path in files}) < len(files):
            raise InputError("two of the files have one name, which names the batch. Rename one.")
        for step, (name, path) in enumerate(new.items()):
            text = part_of(progress, step / len(new), (step + 1) / len(new), f"summing {name}")
            parts = partitions_of([path])
            run = sum_files(parts, self.plan, n_workers=n_workers, progress=text)
            run.sums.save(self.path_of(name))
        return list(new)


@dataclass(frozen=True)
class Watched:
    """What one batch shows."""

    name: str
    n_rows: int
    metrics: pd.DataFrame  #: Of :func:`~lore_core.mergeable.metrics_of_sums`, by name
    change: Change | None  #: Since all batches before; None for the first
    slices: Sequence[Any] = ()  #: Of :meth:`SummedBatches.slices_of`, the most significant first

    @property
    def change_p(self) -> float:
        """P-value of the test of regions; NaN for the first."""
        return math.nan if self.change is None else self.change.p_value

    @property
    def slice_p(self) -> float:
        """P-value of the test of slices; NaN where rows are known by sums alone."""
        return float(self.slices[0].p_value) if self.slices else math.nan

    @property
    def p_value(self) -> float:
        """How often a model that does not change shows as much (Bonferroni); NaN for the first."""
        if math.isnan(self.slice_p):
            return self.change_p
        return min(2 * min(self.change_p, self.slice_p), 1.0)

    def is_marked(self, level: float) -> bool:
        """Whether it changed by more than chance does in a share ``level`` of batches."""
        return bool(np.nan_to_num(self.p_value, nan=1.0) <= level)


def movement_frame(watched: Sequence[Watched]) -> pd.DataFrame:
    """List batches, one a row: ``batch, rows``, metrics with bounds, ``p_value, unseen``."""
    rows = []
    for of in watched:
        row: dict[str, object] = {"batch": of.name, "rows": of.n_rows}
        for name, metric in of.metrics.iterrows():
            row[str(name)] = metric["value"]
            if metric["at_least"] < metric["at_most"]:
                row[f"{name} at least"] = metric["at_least"]
                row[f"{name} at most"] = metric["at_most"]
        row["p_value"] = of.p_value
        row["unseen"] = np.nan if of.change is None else of.change.unseen
        rows.append(row)
    return pd.DataFrame(rows)


def movement_words(watched: Sequence[Watched], level: float) -> dict[str, list[str]]:
    """Write batches as columns of a table for reading; those with p up to ``level`` have a star."""
    columns = {"batch": [of.name for of in watched], "rows": [f"{of.n_rows:,}" for of in watched]}
    for name in _SHOWN:
        metric = CATALOGUE[name]
        columns[metric.heading] = [metric.text(of.metrics["value"][name]) for of in watched]
    columns["new regions"] = [
        "" if of.change is None else share_words(of.change.unseen) for of in watched
    ]
    columns["p"] = [p_words(of.p_value) + (" *" if of.is_marked(level) else "") for of in watched]
    return columns


def change_words(change: Change, bins: ConfidenceBins) -> str:
    """Say where a batch changed most; nothing where no region has enough rows."""
    if change.places.empty:
        return "No region has enough rows, before and after, to be compared."
    most = change.places.iloc[0].to_dict()
    where = place_words(most, bins)
    return (
        f"confidence − accuracy moved most {where}, by {signed_points(most['change'])} points: "
        f"{rows_words(int(most['rows_after']))}, {rows_words(int(most['rows_before']))} before."
    )


def place_words(place: Mapping[Hashable, Any], bins: ConfidenceBins) -> str:
    """Say where a region is; ``place``: a row of :attr:`Change.places`."""
    k = int(place["bin"])
    where = "at all confidences" if k < 0 else f"at confidence {bins.name(k)}"
    ends = [(place[f"from_{m}"], place[f"to_{m}"]) for m in (1, 2, 3) if f"from_{m}" in place]
    if ends and math.isfinite(ends[0][0]):
        where += ", on the map " + " × ".join(
            f"{decimal(low, 2)} to {decimal(high, 2)}" for low, high in ends
        )
    return where


def in_order(name: str) -> list[tuple[int, int, str]]:
    """Return what names of batches are sorted by: as texts are, but numbers by size."""
    parts = re.split(r"(\d+)", name)
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]
