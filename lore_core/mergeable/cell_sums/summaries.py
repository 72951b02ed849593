"""What sums over cells come to: metrics, curves over γ, the distribution of the LCE, chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.defaults import GAMMA
from lore_core.data.number_text import percent
from lore_core.data.progress import Progress, part_of, tell
from lore_core.data.validation import InputError, check_positive
from lore_core.inference.simulation import NullErrors, summaries_of_draws
from lore_core.kernel_sums import laplacian_sums
from lore_core.mergeable.cell_sums.cells import Bounded
from lore_core.mergeable.cell_sums.local_values import UNIT, LocalValues, Weight
from lore_core.mergeable.cell_sums.sums import LocalErrorSums
from lore_core.metrics.bandwidth import BandwidthCurve, default_gammas
from lore_core.metrics.catalogue import ALCE, MLCE, MLCE_SUPPORTED
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, scaled_bandwidth
from lore_core.metrics.metric import CurveKey
from lore_core.metrics.tables import table_of_metrics

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

    error: Bounded[Floats]  #: (m,); LCE of the rows of each cell
    mean_error: Bounded[Floats]  #: (m,); its mean over them, with bounds of its own
    effective_size: Bounded[Floats]  #: (m,); their n_eff
    rows: Ints  #: (m,); how many they are
    gamma: float

    @classmethod
    def of(
        cls, sums: LocalErrorSums, *, gamma: float = GAMMA, progress: Progress | None = None
    ) -> LocalDistribution:
        """Measure the rows of some sums.

        Raises InputError if ``gamma`` is below :attr:`LocalErrorSums.width`.
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
        error, mean, size = (
            of.each(lambda end: np.asarray(end[chosen]))
            for of in (values.absolute, values.mean_absolute, values.effective_size)
        )
        return cls(error, mean, size, rows[chosen], values.gamma)

    @property
    def average(self) -> Bounded[float]:
        """ALCE."""
        return self.mean_error.each(lambda end: float((self.rows * end).sum() / self.rows.sum()))

    @property
    def maximum(self) -> Bounded[float]:
        """MLCE."""
        return self.error.each(lambda end: float(end.max()))

    def supported_maximum(self) -> Bounded[float]:
        """MLCE over the rows with ten effective neighbours or more; NaN where there is none."""
        supported = (size >= MIN_EFFECTIVE_SIZE for size in self.effective_size)
        ends = (error[among] for error, among in zip(self.error, supported, strict=True))
        return Bounded(*(float(error.max()) if len(error) else float("nan") for error in ends))

    def quantile(self, share: float) -> Bounded[float]:
        """Return the LCE that this share of the rows, in (0, 1], do not exceed."""
        return self.error.each(lambda end: _quantile(end, self.rows, share))

    @property
    def median_effective_size(self) -> Bounded[float]:
        """n_eff that half of the rows have."""
        return self.effective_size.each(lambda end: _quantile(end, self.rows, 0.5))

    @property
    def in_words(self) -> dict[str, Bounded[float]]:
        """Return what some shares of the rows do not exceed, by what these are called."""
        named = {f"{percent(share, 0)} of the rows": self.quantile(share) for share in _SAID}
        return {**named, "mean (ALCE)": self.average, "all rows (MLCE)": self.maximum}


def metrics_of_sums(
    sums: LocalErrorSums,
    *,
    gamma: float = GAMMA,
    chance: NullErrors | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Every metric that sums know, with the bounds that surely hold it.

    As :func:`~lore_core.metrics.tables.table_of_metrics` lists them. ``chance``: of
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
        "MCE": table.maximum_calibration_error,
    }
    known = {name: Bounded(of, of, of) for name, of in exact.items() if np.isfinite(of)}
    known |= {
        MLCE_SUPPORTED.name: found.supported_maximum(),
        ALCE.name: found.average,
        MLCE.name: found.maximum,
    }
    return table_of_metrics(
        {name: of.value for name, of in known.items()},
        sums.n_rows,
        bounds={name: (of.low, of.high) for name, of in known.items()},
        chance=chance,
    )


def bandwidth_curve_of_sums(
    sums: LocalErrorSums, gammas: ArrayLike | None = None, *, progress: Progress | None = None
) -> BandwidthCurve:
    """MLCE and ALCE for many bandwidths, with the curves that surely hold them.

    The limits at γ → 0 need single rows and are NaN; those at γ → ∞ are exact. ``gammas`` (g,): by
    default those of :func:`~lore_core.metrics.bandwidth.default_gammas` that the sums allow. Raises
    InputError if one is below :attr:`LocalErrorSums.width`.
    """
    grid = default_gammas() if gammas is None else np.atleast_1d(np.asarray(gammas, np.float64))
    if gammas is None:
        grid = grid[grid >= sums.width]
    if not len(grid):
        raise InputError(
            f"'gammas' must hold a bandwidth of at least {sums.width:g}, the width of a cell "
            "of these sums; got none."
        )
    found: dict[CurveKey, list[Bounded[float]]] = {"mlce": [], "mlce_supported": [], "alce": []}
    median = []
    for step, gamma in enumerate(grid):
        text = part_of(progress, step / len(grid), (step + 1) / len(grid), f"γ = {gamma:.3g}")
        on = LocalDistribution.of(sums, gamma=float(gamma), progress=text)
        found["mlce"].append(on.maximum)
        found["mlce_supported"].append(on.supported_maximum())
        found["alce"].append(on.average)
        median.append(on.median_effective_size.value)
    at = {key: Bounded(*np.array(values).T) for key, values in found.items()}
    table = sums.reliability
    gap = np.abs(table.gap[table.count >= MIN_EFFECTIVE_SIZE])
    return BandwidthCurve(
        gamma=grid,
        mlce=at["mlce"].value,
        alce=at["alce"].value,
        mlce_supported=at["mlce_supported"].value,
        median_effective_size=np.array(median),
        mlce_zero=float("nan"),
        alce_zero=float("nan"),
        mlce_infinity=table.maximum_calibration_error,
        alce_infinity=table.expected_calibration_error,
        mlce_supported_infinity=float(gap.max()) if len(gap) else float("nan"),
        bounds={key: (of.low, of.high) for key, of in at.items()},
    )


def null_errors_of_sums(
    sums: LocalErrorSums,
    *,
    gamma: float = GAMMA,
    n_draws: int = 100,
    bin_index: int | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> NullErrors:
    """Draw what the summaries and the LCE of rows are if every confidence is right.

    As :func:`~lore_core.inference.null_errors` of single rows; how, and how well: docs/mergeable.md
    ("What has no bound"). ``bin_index``: confidence bin whose CDF is wanted; by default that of all
    rows.
    """
    fine = sums.at_least_as_fine(check_positive(gamma, "gamma"), FINE_ENOUGH_TO_DRAW)
    cells = fine.cells
    rows = cells.table[Weight.ROWS]
    places = fine.cell_mean_coordinates
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
    full = np.bincount(bins, rows, fine.bins.n_bins)
    drawn = []
    for start in range(0, n_draws, step):
        count = min(step, n_draws - start)
        right = random.binomial(rows[:, None], confidence[:, None], (len(rows), count))
        gap = narrower[:, None] * (rows[:, None] * confidence[:, None] - right)
        local = laplacian_sums(places, None, gap, bandwidth=scale, target_groups=bins)
        error = np.abs(local / mass[:, None])
        lce = [_at_ranks(column, rows[chosen], ranks) for column in error[chosen].T]
        found = summaries_of_draws(gap, error, supported, bins, full, rows)
        drawn.append({**found, "lce": np.stack(lce)})
        tell(progress, (start + count) / n_draws, "simulating calibrated rows")
    joined = {name: np.concatenate([of[name] for of in drawn]) for name in drawn[0]}
    return NullErrors(gamma=gamma, share=_SHARES, n_cells=len(cells), **joined)


def _at_ranks(values: Floats, rows: Ints, ranks: Floats) -> Floats:
    order = np.argsort(values)
    place = np.searchsorted(np.cumsum(rows[order]), ranks)
    return np.asarray(values[order][np.minimum(place, len(order) - 1)])


def _quantile(values: Floats, rows: Ints, share: float) -> float:
    return float(_at_ranks(values, rows, np.array([share * rows.sum()]))[0])
