"""What sums over cells come to: metrics, curves over γ, the distribution of the LCE, chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.number_text import percent
from lore_core.data.progress import Progress, part_of
from lore_core.data.validation import InputError, check_positive
from lore_core.inference.simulation import NullErrors
from lore_core.kernel_sums import laplacian_sums
from lore_core.mergeable.cell_sums.kernel_bounds import Bounded, BoundedNumber
from lore_core.mergeable.cell_sums.local_values import UNIT, LocalValues, Weight
from lore_core.mergeable.cell_sums.sums import LocalErrorSums
from lore_core.metrics.bandwidth import BandwidthCurve, default_gammas
from lore_core.metrics.catalogue import ALCE, DESCRIBED, MLCE, MLCE_SUPPORTED
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, scaled_bandwidth

#: Shares of rows at which draws of the LCE are kept.
_SHARES = np.linspace(0.0, 1.0, 101)
#: Shares of the rows whose largest LCE is said.
_SAID = (0.5, 0.9, 0.99)
#: Rows in cells no wider than this share of γ are drawn together.
FINE_ENOUGH_TO_DRAW = 1 / 2
#: Sums of one step of simulation.
_STEP_SUMS = 2_500_000


@dataclass(frozen=True, eq=False)
class LocalDistribution:
    """The LCE of all rows that were summed, as far as their cells tell."""

    error: Bounded  #: (m,); LCE of the rows of each cell
    mean_error: Bounded  #: (m,); its mean over them, with bounds of its own
    effective_size: Bounded  #: (m,); their n_eff
    rows: Ints  #: (m,); how many they are
    gamma: float

    @classmethod
    def of(
        cls, sums: LocalErrorSums, *, gamma: float = 0.2, progress: Progress | None = None
    ) -> LocalDistribution:
        """Measure the rows of some sums.

        Raises InputError if ``gamma`` is below :attr:`LocalErrorSums.least_gamma`.
        """
        fine = sums.at_least_as_fine(gamma)
        values = fine.cell_values(gamma=gamma, progress=progress)
        rows = fine.cells.table[Weight.ROWS]
        return cls.of_values(values, rows, np.ones(len(rows), dtype=bool))

    @classmethod
    def of_values(cls, values: LocalValues, rows: Ints, chosen: Mask) -> LocalDistribution:
        """Look at some cells, such as those of one confidence bin.

        ``values``: of :meth:`LocalErrorSums.cell_values`. ``rows`` (m,): of each cell. ``chosen``
        (m,): mask of the cells that count.
        """

        def of(ends: Bounded) -> Bounded:
            return Bounded(ends.value[chosen], ends.low[chosen], ends.high[chosen])

        error, mean, size = values.absolute, values.mean_absolute, values.effective_size
        return cls(of(error), of(mean), of(size), rows[chosen], values.gamma)

    @property
    def average(self) -> BoundedNumber:
        """ALCE."""
        value, low, high = (
            float((self.rows * end).sum() / self.rows.sum())
            for end in (self.mean_error.value, self.mean_error.low, self.mean_error.high)
        )
        return BoundedNumber(value, low, high)

    @property
    def maximum(self) -> BoundedNumber:
        """MLCE."""
        error = self.error
        return BoundedNumber(
            float(error.value.max()), float(error.low.max()), float(error.high.max())
        )

    def supported_maximum(self, min_effective_size: float = MIN_EFFECTIVE_SIZE) -> BoundedNumber:
        """MLCE over the rows with n_eff ≥ ``min_effective_size``; NaN where there is none."""
        error, size = self.error, self.effective_size
        value, low, high = (
            _largest(of_cells, enough >= min_effective_size)
            for of_cells, enough in (
                (error.value, size.value),
                (error.low, size.low),
                (error.high, size.high),
            )
        )
        return BoundedNumber(value, low, high)

    def share_below(self, error: ArrayLike) -> Bounded:
        """Share of the rows whose LCE is at most ``error`` (t,): the CDF."""
        asked = np.asarray(error, dtype=np.float64)
        # The larger the errors may be, the fewer rows are surely below.
        value, low, high = (
            _share_below(of_cells, self.rows, asked)
            for of_cells in (self.error.value, self.error.high, self.error.low)
        )
        return Bounded(value, low, high)

    def quantile(self, share: float) -> BoundedNumber:
        """Return the LCE that this share of the rows, in (0, 1], do not exceed."""
        rank = np.array([share * self.rows.sum()])
        value, low, high = (
            float(_at_ranks(end, self.rows, rank)[0])
            for end in (self.error.value, self.error.low, self.error.high)
        )
        return BoundedNumber(value, low, high)

    @property
    def in_words(self) -> dict[str, BoundedNumber]:
        """Return what some shares of the rows do not exceed, by what these are called."""
        named = {f"{percent(share, 0)} of the rows": self.quantile(share) for share in _SAID}
        return {**named, "mean (ALCE)": self.average, "all rows (MLCE)": self.maximum}

    @property
    def median_effective_size(self) -> BoundedNumber:
        """n_eff that half of the rows have."""
        size, half = self.effective_size, np.array([self.rows.sum() / 2])
        value, low, high = (
            float(_at_ranks(end, self.rows, half)[0]) for end in (size.value, size.low, size.high)
        )
        return BoundedNumber(value, low, high)


def metrics_of_sums(
    sums: LocalErrorSums,
    *,
    gamma: float = 0.2,
    chance: NullErrors | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Every metric that sums know, with the bounds that surely hold it.

    One row a metric: ``metric, value, unit, at_least, at_most, p_value, rows``. ``chance``: of
    :func:`null_errors_of_sums`. Raises InputError if ``gamma`` is less than the sums allow.
    """
    found = LocalDistribution.of(sums, gamma=gamma, progress=progress)
    table = sums.reliability
    exact = {
        "accuracy": sums.accuracy,
        "mean_confidence": sums.mean_confidence,
        "NLL": sums.mean_score("NLL"),
        "Brier": sums.mean_score("Brier"),
        "ECE": table.expected_calibration_error,
        "ECE debiased": table.debiased_calibration_error,
        "MCE": table.maximum_calibration_error,
    }
    known = {
        name: BoundedNumber(value, value, value)
        for name, value in exact.items()
        if np.isfinite(value)
    }
    known[MLCE_SUPPORTED.name] = found.supported_maximum()
    known[ALCE.name] = found.average
    known[MLCE.name] = found.maximum
    rows: list[tuple[Any, ...]] = []
    for metric in DESCRIBED:
        if metric.name in known:
            of = known[metric.name]
            p = np.nan
            if chance is not None and metric.chance is not None:
                p = chance.p_value(metric.chance, of.value)
            unit = metric.unit.in_files
            rows.append((metric.name, of.value, unit, of.low, of.high, p, sums.n_rows))
    columns = ["metric", "value", "unit", "at_least", "at_most", "p_value", "rows"]
    return pd.DataFrame(rows, columns=columns)


@dataclass(frozen=True)
class BoundedCurve:
    """MLCE and ALCE over bandwidths, with the curves that surely hold them.

    The limits at γ → 0 need single rows and are NaN; those at γ → ∞ are exact.
    """

    value: BandwidthCurve
    low: BandwidthCurve
    high: BandwidthCurve

    def frame(self) -> pd.DataFrame:
        """Return the curves as a DataFrame, one row a bandwidth."""
        table = self.value.frame()
        for name in ("mlce", "mlce_supported", "alce"):
            table[f"{name}_at_least"] = getattr(self.low, name)
            table[f"{name}_at_most"] = getattr(self.high, name)
        return table


def bandwidth_curve_of_sums(
    sums: LocalErrorSums, gammas: ArrayLike | None = None, *, progress: Progress | None = None
) -> BoundedCurve:
    """MLCE and ALCE for many bandwidths.

    ``gammas`` (g,): by default those of :func:`~lore_core.metrics.bandwidth.default_gammas` that
    the sums allow. Raises InputError if one is below :attr:`LocalErrorSums.least_gamma`.
    """
    grid = default_gammas() if gammas is None else np.atleast_1d(np.asarray(gammas, np.float64))
    if gammas is None:
        grid = grid[grid >= sums.least_gamma]
    if not len(grid):
        raise InputError(
            f"'gammas' must hold a bandwidth of at least {sums.least_gamma:g}, the width of a cell "
            "of these sums; got none."
        )
    found: list[dict[str, BoundedNumber]] = []
    for step, gamma in enumerate(grid):
        said = part_of(progress, step / len(grid), (step + 1) / len(grid), f"γ = {gamma:.3g}")
        on = LocalDistribution.of(sums, gamma=float(gamma), progress=said)
        found.append(
            {
                "mlce": on.maximum,
                "alce": on.average,
                "mlce_supported": on.supported_maximum(),
                "median_effective_size": on.median_effective_size,
            }
        )
    table = sums.reliability
    gap = np.abs(table.gap[table.count >= MIN_EFFECTIVE_SIZE])

    def curve(end: Literal["value", "low", "high"]) -> BandwidthCurve:
        at = {name: np.array([getattr(of[name], end) for of in found]) for name in found[0]}
        return BandwidthCurve(
            gamma=grid,
            mlce=at["mlce"],
            alce=at["alce"],
            mlce_supported=at["mlce_supported"],
            median_effective_size=at["median_effective_size"],
            mlce_zero=float("nan"),
            alce_zero=float("nan"),
            mlce_infinity=table.maximum_calibration_error,
            alce_infinity=table.expected_calibration_error,
            mlce_supported_infinity=float(gap.max()) if len(gap) else float("nan"),
            min_effective_size=MIN_EFFECTIVE_SIZE,
        )

    return BoundedCurve(curve("value"), curve("low"), curve("high"))


def null_errors_of_sums(
    sums: LocalErrorSums,
    *,
    gamma: float = 0.2,
    n_draws: int = 100,
    bin_index: int | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> NullErrors:
    """Draw what the summaries and the LCE of rows are if every confidence is right.

    Parameters
    ----------
    sums : LocalErrorSums
        The rows.
    gamma : float
        Bandwidth γ.
    n_draws : int
        Sets of outcomes drawn.
    bin_index : int, optional
        Confidence bin whose CDF is wanted; by default that of all rows.
    random_state, progress
        See :func:`~lore_core.inference.null_errors`.

    Notes
    -----
    Rows of one bin in a cell no wider than γ/2 have nearly one confidence and one place. The number
    of right ones among them is drawn from a binomial distribution at their mean, and its distance
    from that made to vary as the sum of their outcomes does, Σ c (1 − c). An estimate without a
    bound; docs/mergeable.md says how near it comes. Rows that are alone in their cell, which decide
    the MLCE where data are sparse, are drawn as they are.
    """
    fine = sums.at_least_as_fine(check_positive(gamma, "gamma"), FINE_ENOUGH_TO_DRAW)
    cells = fine.cells
    rows = cells.table[Weight.ROWS]
    places = fine.cell_mean_places
    confidence = fine.mean_confidence_of_cells()
    random = np.random.default_rng(random_state)
    scale = scaled_bandwidth(gamma, fine.n_dimensions)
    bins = cells.bin_index
    mass, square = laplacian_sums(
        places, None, rows, bandwidth=[scale, scale / 2], target_groups=bins
    )
    supported = mass * (mass / square) >= MIN_EFFECTIVE_SIZE
    alike = rows * confidence * (1 - confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        narrower = np.sqrt(np.clip(cells.table[Weight.VARIANCE] * UNIT / alike, 0.0, 1.0))
    narrower[alike <= UNIT * rows] = 1.0  # (nothing varies, but in rounding)
    chosen = np.ones(len(rows), dtype=bool) if bin_index is None else bins == bin_index
    ranks = _SHARES * rows[chosen].sum()
    step = max(1, min(n_draws, _STEP_SUMS // len(cells)))
    drawn: dict[str, list[Floats]] = {
        name: [] for name in ("mlce", "mlce_supported", "alce", "ece", "mce", "lce")
    }
    for start in range(0, n_draws, step):
        count = min(step, n_draws - start)
        right = random.binomial(rows[:, None], confidence[:, None], (len(rows), count))
        gap = narrower[:, None] * (rows[:, None] * confidence[:, None] - right)
        local = laplacian_sums(places, None, gap, bandwidth=scale, target_groups=bins)
        error = np.abs(local / mass[:, None])
        of_bins = np.stack([np.bincount(bins, column, fine.bins.n_bins) for column in gap.T])
        full = np.bincount(bins, rows, fine.bins.n_bins)
        drawn["alce"].append((rows[:, None] * error).sum(axis=0) / rows.sum())
        drawn["mlce"].append(error.max(axis=0))
        drawn["mlce_supported"].append(
            np.max(error, axis=0, where=supported[:, None], initial=0.0)
            if supported.any()
            else np.full(count, np.nan)
        )
        drawn["ece"].append(np.abs(of_bins).sum(axis=1) / rows.sum())
        drawn["mce"].append((np.abs(of_bins) / np.maximum(full, 1)).max(axis=1))
        drawn["lce"].append(
            np.stack([_at_ranks(column, rows[chosen], ranks) for column in error[chosen].T])
        )
        if progress is not None:
            progress((start + count) / n_draws, "simulating calibrated rows")
    put = {name: np.concatenate(parts) for name, parts in drawn.items()}
    return NullErrors(gamma=gamma, share=_SHARES, n_cells=len(cells), **put)


def _share_below(error: Floats, rows: Ints, asked: Floats) -> Floats:
    order = np.argsort(error)
    below = np.concatenate([[0], np.cumsum(rows[order])])
    return np.asarray(below[np.searchsorted(error[order], asked, side="right")] / rows.sum())


def _at_ranks(values: Floats, rows: Ints, ranks: Floats) -> Floats:
    """Return the values that so many rows stay below or at."""
    order = np.argsort(values)
    place = np.searchsorted(np.cumsum(rows[order]), ranks)
    return np.asarray(values[order][np.minimum(place, len(order) - 1)])


def _largest(error: Floats, among: Mask) -> float:
    return float(error[among].max()) if among.any() else float("nan")
