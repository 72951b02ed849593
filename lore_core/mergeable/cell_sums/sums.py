"""LocalErrorSums: local calibration errors of any number of rows, from sums that merge."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from lore_core.data.archive_files import Form, Kind, fields_of, form_of
from lore_core.data.arrays import Floats, Ints
from lore_core.data.binning import ConfidenceBins, confidence_bins
from lore_core.data.defaults import GAMMA, N_BINS
from lore_core.data.number_text import gap_words
from lore_core.data.progress import Progress
from lore_core.data.rules import Number, Values, check_fields
from lore_core.data.units import by_unit, set_errors
from lore_core.data.validation import (
    InputError,
    Points,
    as_coordinates,
    as_placed_rows,
    check_integer,
    check_positive,
)
from lore_core.mergeable.cell_sums.cells import (
    HIGHEST_LEVEL,
    Boxes,
    Cells,
    Targets,
    cells_of_rows,
    joined,
    packed,
)
from lore_core.mergeable.cell_sums.local_values import UNIT, LocalValues, Weight, turned, values_at
from lore_core.metrics.global_metrics import NORMAL_95, ReliabilityTable, wilson_interval
from lore_core.metrics.means import mean_interval

#: Cells kept by default: some 170 bytes each in the plane.
MAX_CELLS = 2**20
#: Narrowest cells are 2 to the minus this wide.
_FINEST = {1: 14, 2: 10, 3: 8}
#: Cells no wider than this share of γ are fine enough for summaries; finer ones are joined.
_FINE_ENOUGH = 1 / 32
#: Sums of whole numbers are exact up to so many rows.
MOST_ROWS = 2**31
#: Whole units are put into so many groups, whose sums are kept in cells at least this wide, by
#: dimensions of the map: errors are compared within them.
N_GROUPS, STRATUM = 64, {1: 1 / 8, 2: 1 / 4, 3: 1 / 2}
#: Row scores are summed in units of this.
_SCORE_UNIT = 2.0**-36


def _exact_sum(values: Ints) -> int:
    """Sum whole numbers in two parts, neither of which overflows."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def _edges(bins: ConfidenceBins) -> tuple[Ints, Ints]:
    """Return lower and upper ends of bins in whole units that hold all of them."""
    ends = np.floor(bins.edges[:-1] / UNIT), np.ceil(bins.edges[1:] / UNIT)
    return ends[0].astype(np.int64), ends[1].astype(np.int64)


def level_at(gamma: float, n_dimensions: int, share: float = _FINE_ENOUGH) -> int:
    """Return the level of the widest cells that are fine enough for summaries at ``gamma``."""
    wide = int(np.floor(np.log2(check_positive(gamma, "gamma") * share)))
    return min(max(wide + _FINEST[n_dimensions], 0), HIGHEST_LEVEL)


@dataclass(frozen=True, eq=False)
class LocalErrorSums:
    """Sums of rows on a map, by confidence bin and cell of a grid, that tell their local errors.

    Made in one pass by :meth:`of`; ``+`` joins the sums of other rows. All are whole numbers, so
    the result is the same to the last bit in whatever parts and order rows were added. Where the
    rows fill more than ``max_cells`` cells, cells twice as wide are used. ``docs/mergeable.md`` has
    the derivation and the proof of the bounds.
    """

    bins: ConfidenceBins  #: Confidence bins, the same in all that is added
    max_cells: Annotated[int, Number(1, whole=True)]  #: Most cells kept
    map_digest: str  #: What the coordinates are of; only sums on one map can be added
    cells: Cells
    #: (3, n_bins): rows, right rows, and Σ confidence in units of 2^−30.
    of_bins: Annotated[Ints, Values((3, "b"), whole=True)]
    #: By name of a score: its rows and its sum over them in units of 2^−36.
    scores: dict[str, tuple[int, int]]
    #: Where rows are of units: cells of each group, whose number times ``n_bins`` is added to bins.
    of_units: Cells | None

    @classmethod
    def of(
        cls,
        confidence: ArrayLike,
        outcome: ArrayLike,
        embedding: Points,
        *,
        n_bins: int = N_BINS,
        bins: ConfidenceBins | None = None,
        max_cells: int = MAX_CELLS,
        map_digest: str = "",
        at_least_level: int = 0,
        scores: Mapping[str, Floats] | None = None,
        groups: Ints | None = None,
    ) -> Self:
        """Sum rows.

        ``confidence, outcome`` (n,): confidences in [0, 1]; 1 where the prediction was right, else
        0. ``embedding`` (n, d): one to three dimensions, in the units of γ. ``n_bins, bins``: bins
        of equal width, or others, the same for all parts. ``max_cells``: more make the bounds
        narrower. ``map_digest``: of the map of the coordinates. ``at_least_level``: a level the
        cells are known to come to; saves time. ``scores`` (n,) each: further numbers, up to ±1,000,
        whose mean is wanted, such as ``NLL``. ``groups`` (n,): of rows whose outcomes go together,
        the number of a group of whole units, from 0 to 63, the same in all parts.
        """
        c, a, z = as_placed_rows(confidence, outcome, embedding)
        if not 1 <= z.shape[1] <= 3:
            raise InputError(
                f"'embedding' must have 1 to 3 dimensions to be summed in cells; got {z.shape[1]}."
            )
        max_cells = check_integer(max_cells, "max_cells", minimum=16)
        chosen = confidence_bins([], n_bins) if bins is None else bins
        if chosen.n_bins > (most := 10_000 if groups is None else 10_000 // N_GROUPS):
            raise InputError(f"'bins' must be {most:,} at most; got {chosen.n_bins:,}.")
        index = chosen.assign(c)
        whole, variance = (np.rint(of / UNIT).astype(np.int64) for of in (c, c * (1 - c)))
        flip, (low, high) = turned(chosen), _edges(chosen)
        edges = np.where(flip, high, low)
        other, lift = (a == flip[index]).astype(np.int64), np.abs(whole - edges[index])
        weights = other, lift, variance  # in the order of `Weight`, whose first is 1
        d = z.shape[1]
        cells = cells_of_rows(index, z, weights, _FINEST[d], max_cells, at_least_level)
        of_bins = np.zeros((3, chosen.n_bins), dtype=np.int64)
        for row, values in zip(of_bins, cells.table, strict=False):
            np.add.at(row, cells.bin_index, values)
        rows, others, lifts = of_bins
        of_bins[1:] = np.where(flip, (others, -lifts), (rows - others, lifts))
        of_bins[2] += rows * edges
        of_units, wide = None, level_at(STRATUM[d], d, 1.0)
        if groups is not None:
            index = groups * chosen.n_bins + index
            of_units = cells_of_rows(index, z, weights, _FINEST[d], max_cells, wide)
        totals = {
            name: (len(c), _exact_sum(np.rint(values / _SCORE_UNIT).astype(np.int64)))
            for name, values in (scores or {}).items()
        }
        return cls(chosen, max_cells, map_digest, cells, of_bins, totals, of_units)

    @classmethod
    def nothing(
        cls, n_dimensions: int, bins: ConfidenceBins, *, max_cells: int, map_digest: str
    ) -> Self:
        """Return the sums of no rows, to which others can be added."""
        columns = len(Weight) * (1 + 2 * n_dimensions)
        none = np.empty(0, dtype=np.int64)
        cells = Cells(n_dimensions, 0, none, np.empty((columns, 0), dtype=np.int64))
        of_bins = np.zeros((3, bins.n_bins), dtype=np.int64)
        return cls(bins, max_cells, map_digest, cells, of_bins, {}, None)

    @classmethod
    def joined(cls, parts: Iterable[LocalErrorSums]) -> LocalErrorSums:
        """Add several, some at a time: faster than one by one, and no more are in memory.

        Raises InputError if there is none, or bins, dimensions, size or map differ.
        """
        pending: list[LocalErrorSums] = []
        for part in parts:
            if pending:
                pending[0].check_like(part)
            pending.append(part)
            if len(pending) > 1 and sum(len(of.cells) for of in pending) > 2 * part.max_cells:
                pending = [cls._added(pending)]
        if not pending:
            raise InputError("'parts' must hold at least one; got none.")
        filled = [of for of in pending if of.n_rows] or pending[:1]
        return filled[0] if len(filled) == 1 else cls._added(filled)

    @staticmethod
    def _added(several: list[LocalErrorSums]) -> LocalErrorSums:
        first = several[0]
        scores: dict[str, tuple[int, int]] = {}
        for part in several:
            for name, (count, total) in part.scores.items():
                before = scores.get(name, (0, 0))
                scores[name] = (before[0] + count, before[1] + total)
        of_units = [part.of_units for part in several if part.of_units is not None]
        result = dataclasses.replace(
            first,
            cells=joined([part.cells for part in several], first.max_cells),
            of_bins=np.sum([part.of_bins for part in several], axis=0),
            scores=dict(sorted(scores.items())),
            of_units=joined(of_units, first.max_cells) if of_units else None,
        )
        if result.n_rows > MOST_ROWS:
            raise InputError(
                f"sums hold {MOST_ROWS:,} rows at most, to be exact; got {result.n_rows:,}."
            )
        return result

    def __add__(self, other: LocalErrorSums) -> LocalErrorSums:
        return type(self).joined([self, other])

    def __repr__(self) -> str:
        return (
            f"LocalErrorSums({self.n_rows:,} rows, {self.n_dimensions}-D, {len(self.cells):,} "
            f"cells of width {self.width:g}, {self.bins.n_bins} bins)"
        )

    def check_like(self, other: LocalErrorSums) -> None:
        """Raise InputError where other sums can be neither joined nor compared with these."""
        none = not (self.n_rows and other.n_rows)
        for what, one, two in (
            ("confidence bins", self.bins.edges.tolist(), other.bins.edges.tolist()),
            ("ways of choosing bins", self.bins.binning, other.bins.binning),
            ("dimensions", self.n_dimensions, other.n_dimensions),
            ("'max_cells'", self.max_cells, other.max_cells),
            ("maps", self.map_digest, other.map_digest),
            ("units of rows", none or self.of_units is None, none or other.of_units is None),
        ):
            if one != two:
                raise InputError(f"sums must share {what} to be added or compared; these differ.")

    @property
    def n_dimensions(self) -> int:
        """Dimensions d of the map."""
        return self.cells.n_dimensions

    @property
    def n_rows(self) -> int:
        """Rows that were summed."""
        return int(self.of_bins[0].sum())

    @property
    def width(self) -> float:
        """Width h of a cell, in units of the coordinates: the least γ of local errors."""
        return self.width_at(self.cells.level)

    def width_at(self, level: int) -> float:
        """Return the width of cells of a level."""
        return float(np.ldexp(1.0, level - _FINEST[self.n_dimensions]))

    def strata(self, level: int) -> tuple[Cells, Floats]:
        """Return cells of a level; rows, right ones and Σ confidence of each, (3, m)."""
        cells = self.cells.at_level(level)
        coarse = dataclasses.replace(self, cells=cells)
        rows, other = (cells.table[weight] for weight in (Weight.ROWS, Weight.OTHER))
        right = np.where(turned(self.bins)[cells.bin_index % self.bins.n_bins], other, rows - other)
        return cells, np.stack([rows, right, rows * coarse.mean_confidence_of_cells()])

    def strata_of_groups(self, level: int = 0) -> tuple[Ints, Ints, Ints, Floats]:
        """Return keys, bins and groups of units of cells (m,); the same counts of each, (3, m)."""
        cells, counts = dataclasses.replace(self, cells=self.of_units or self.cells).strata(level)
        group, index = np.divmod(cells.bin_index, self.bins.n_bins)
        return packed(index, cells.coordinates), index, group, counts

    @cached_property
    def _gap(self) -> tuple[float, float, float]:
        """Mean confidence − accuracy and its interval by groups of units."""
        _, _, group, (rows, right, sure) = self.strata_of_groups()
        return mean_interval(by_unit((sure - right) / rows, rows, group))

    @property
    def units_sentence(self) -> str:
        """The mean gap of rows of units, its cluster-robust interval; of other rows nothing."""
        if self.of_units is None:
            return ""
        how = f"Intervals go by {N_GROUPS} groups of whole units; p-values need the rows."
        return f" Mean confidence − accuracy: {gap_words(*self._gap)}. {how}"

    @property
    def error_ratio(self) -> float:
        """How many times larger the mean gap's error is for the units of rows; 1 without."""
        if self.of_units is None:
            return 1.0
        _, low, high = self._gap
        alone = np.sqrt(self.cells.table[Weight.VARIANCE].sum() * UNIT) / self.n_rows
        return float(max(1.0, (high - low) / (2 * NORMAL_95 * alone)))

    @cached_property
    def reliability(self) -> ReliabilityTable:
        """Mean confidence and accuracy of each confidence bin: exact up to 2^−31."""
        count, right, confidence = self.of_bins
        worth = mass = count.astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = right / mass
            if self.of_units is not None:
                _, index, group, (rows, good, _) = self.strata_of_groups()
                error, n_groups = set_errors(good / rows, index, self.bins.n_bins, rows, group)
                error *= stdtrit(n_groups - 1, 0.975) / NORMAL_95
                known = share * (1 - share) / np.square(error)
                worth = np.where(known > 0, np.minimum(known, mass), n_groups)
            low, high = wilson_interval(right * (worth / mass), worth)
            return ReliabilityTable(
                self.bins, count, confidence * UNIT / count, share, low, high, mass, worth
            )

    @property
    def accuracy(self) -> float:
        """Share of right rows."""
        return float(self.of_bins[1].sum() / self.n_rows)

    @property
    def mean_confidence(self) -> float:
        """Mean confidence."""
        return float(self.of_bins[2].sum() * UNIT / self.n_rows)

    def mean_score(self, name: str) -> float:
        """Mean of a score over the rows that had it; NaN where none had."""
        count, total = self.scores.get(name, (0, 0))
        return total * _SCORE_UNIT / count if count else float("nan")

    @cached_property
    def cell_mean_coordinates(self) -> Floats:
        """Mean place of the rows of each cell, shape (m, d)."""
        places = (self.cells.coordinates + self.cells.mean_offset(Weight.ROWS)) * self.width
        return np.asarray(places)

    def mean_confidence_of_cells(self) -> Floats:
        """Mean confidence of the rows of each cell, shape (m,)."""
        index, (low, high) = self.cells.bin_index % self.bins.n_bins, _edges(self.bins)
        lift = self.cells.table[Weight.LIFT] / self.cells.table[Weight.ROWS]
        whole = np.where(turned(self.bins)[index], high[index] - lift, low[index] + lift)
        return np.asarray(np.clip(whole * UNIT, 0.0, 1.0))

    def at_least_as_fine(self, gamma: float, share: float = _FINE_ENOUGH) -> LocalErrorSums:
        """Return the same rows in the widest cells (≤ ``share`` of γ) fine enough for summaries."""
        level = level_at(gamma, self.n_dimensions, share)
        if level <= self.cells.level:
            return self
        return dataclasses.replace(self, cells=self.cells.at_level(level))

    def local_values(
        self,
        confidence: ArrayLike,
        embedding: Points,
        *,
        gamma: float = GAMMA,
        progress: Progress | None = None,
    ) -> LocalValues:
        """Local errors at places (t, d), of the summed rows in the bins of ``confidence`` (t,).

        Arrays of shape (t,), NaN where no summed row has that bin. ``gamma``: no less than
        :attr:`width`. ``progress``: called with the share done; may raise to cancel.
        """
        c, _, z = as_placed_rows(confidence, np.zeros(np.shape(confidence)), embedding)
        if z.shape[1] != self.n_dimensions:
            raise InputError(
                f"'embedding' must have the {self.n_dimensions} dimensions of the sums; got "
                f"{z.shape[1]}."
            )
        within = as_coordinates(z, "embedding") / self.width
        cell = np.floor(within)
        targets = Targets(self.bins.assign(c), cell.astype(np.int64), within - cell)
        return self._at(targets, gamma, None, progress)

    def cell_values(self, *, gamma: float = GAMMA, progress: Progress | None = None) -> LocalValues:
        """Local errors at the mean place of each cell (m,), with bounds for every row in it."""
        cells = self.cells
        own = Targets(cells.bin_index, cells.coordinates, cells.mean_offset(Weight.ROWS))
        return self._at(own, gamma, self._boxes, progress)

    @cached_property
    def _boxes(self) -> Boxes:
        return Boxes(self.cells)

    def _at(
        self, targets: Targets, gamma: float, boxes: Boxes | None, progress: Progress | None
    ) -> LocalValues:
        gamma = check_positive(gamma, "gamma")
        if gamma < self.width:
            raise InputError(
                f"'gamma' must be at least {self.width:g}, the width of a cell of these sums;"
                f" got {gamma:g}. Sum the rows with more cells ('max_cells'), or measure a sample."
            )
        return values_at(
            self.cells, self.bins, self.width, targets, gamma, boxes=boxes, progress=progress
        )

    def save(self, path: str | Path) -> None:
        """Write the sums to a ``.npz`` file, as a whole or not at all; nothing is pickled."""
        _KIND.write(path, {"sums": self})

    @classmethod
    def load(cls, path: str | Path) -> LocalErrorSums:
        """Read what :meth:`save` wrote; InputError if it is missing, damaged or of another kind."""
        content: dict[str, LocalErrorSums] = _KIND.read(path)
        return content["sums"]

    @property
    def digest(self) -> str:
        """Sha256 of everything in the sums: equal only where they are equal to the last bit."""
        return _KIND.digest({"sums": self})

    def _parts(self) -> dict[str, Any]:
        scores = {name: (str(n), str(total)) for name, (n, total) in self.scores.items()}
        return fields_of(self) | {"scores": scores}  # (whole numbers of any size)

    @classmethod
    def _of_parts(cls, parts: dict[str, Any]) -> LocalErrorSums:
        scores = {name: (int(n), int(total)) for name, (n, total) in parts["scores"].items()}
        check_fields(cls, parts | {"scores": {}}, "")
        return cls(**parts | {"scores": scores})


def _parts_of_cells(cells: Cells) -> dict[str, Any]:
    table = [
        column.astype(np.min_scalar_type(int(column.max(initial=0)))) for column in cells.table
    ]
    return fields_of(cells) | {"table": table}


def _cells_of_parts(parts: dict[str, Any]) -> Cells:
    table = np.stack([column.astype(np.int64) for column in parts["table"]])
    check_fields(Cells, parts | {"table": table}, "")
    return Cells(**parts | {"table": table})


FORMS = (
    form_of(ConfidenceBins),
    Form("Cells", Cells, _parts_of_cells, _cells_of_parts),
    Form("LocalErrorSums", LocalErrorSums, LocalErrorSums._parts, LocalErrorSums._of_parts),
)
#: (Packing by zlib takes as long as summing, and saves a third.)
_KIND = Kind("lore-local-error-sums", "sums of local errors", "LocalErrorSums.save()", FORMS)
