"""Units that rows belong to, such as clips of frames: outcomes within one may go together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.binning import confidence_bins
from lore_core.data.validation import check_lengths, in_memory
from lore_core.data.weights import linearised

#: Strata of confidence whose mean residuals are taken off before residuals are correlated.
_STRATA = 12
#: Numbers drawn for what a whole correlation would give.
_DRAWN = 2**21
#: Of fewer units an interval is at least as wide as that of independent rows.
FEW_UNITS = 30


def as_units(values: ArrayLike | None, n_rows: int | None = None) -> Ints | None:
    """Return numbers of units, 0, 1, … by their first rows, (n,); None if no two rows share one.

    ``values`` (n,): names or numbers; rows without one are units of their own.
    """
    if values is None:
        return None
    array = np.asarray(in_memory(values)).reshape(-1)
    if n_rows is not None:
        check_lengths(units=array, rows=range(n_rows))
    import pandas as pd  # methods are applied without it

    codes = pd.factorize(array)[0].astype(np.int64)
    missing = codes < 0
    if missing.any():
        codes[missing] = codes.max() + 1 + np.arange(np.count_nonzero(missing))
        codes = pd.factorize(codes)[0].astype(np.int64)
    return None if int(codes.max()) + 1 == len(codes) else codes


def chosen_units(units: Ints | None, rows: Ints | Mask | slice) -> Ints | None:
    """Return the units of some rows (mask, indices or slice), numbered again."""
    return None if units is None else as_units(units[rows])


def row_units(units: Ints | None, n_rows: int) -> Ints:
    """Return the unit of each row, its own where there are no units."""
    return np.arange(n_rows) if units is None else units


def shuffled_halves(units: Ints | None, n_rows: int, random_state: int) -> Mask:
    """Mask of a random half of the rows, or of the units, whose rows stay together, shape (n,)."""
    n = n_rows if units is None else int(units.max()) + 1
    inside = np.zeros(n, dtype=bool)
    inside[np.random.default_rng(random_state).permutation(n)[n // 2 :]] = True
    return inside if units is None else inside[units]


def random_folds(units: Ints | None, n_rows: int, n_folds: int, random_state: int = 0) -> Ints:
    """Return a random fold of each row, of equal size; rows of a unit stay together, (n,)."""
    n = n_rows if units is None else int(units.max()) + 1
    fold = np.random.default_rng(random_state).permutation(n) % n_folds
    return fold if units is None else fold[units]


def by_unit(values: Floats, weights: Floats | None, units: Ints) -> Floats:
    """Return values of units whose plain mean is that of the rows, and whose scatter its error.

    ``values`` (n,): NaN for rows that take no part. u_g = m + G (S_g − m W_g) / Σ W, NaN without
    rows; the rest is in docs/method.md ("Units of rows").
    """
    part = values == values
    n_units = int(units.max()) + 1
    each = part.astype(np.float64) if weights is None else np.where(part, weights, 0.0)
    total = np.bincount(units, each * np.where(part, values, 0.0), n_units)
    mass, known = np.bincount(units, each, n_units), np.bincount(units, part, n_units) > 0
    mean = total.sum() / mass.sum() if known.any() else np.nan
    return np.where(known, mean + known.sum() * (total - mean * mass) / mass.sum(), np.nan)


def mean_values(values: Floats, weights: Floats | None, units: Ints | None) -> Floats:
    """Return values whose plain mean is that of rows, and whose scatter its error: :func:`by_unit`.

    Without units: :func:`~lore_core.data.weights.linearised`, one a row.
    """
    return linearised(values, weights) if units is None else by_unit(values, weights, units)


def set_errors(
    values: Floats, codes: NDArray[np.integer], size: int, weights: Floats | None, units: Ints
) -> tuple[Floats, Floats]:
    """Return cluster-robust standard errors of the means of disjoint sets, and their units' number.

    ``codes`` (n,): 0 to ``size`` − 1. NaN where a set has rows of fewer than two units.
    """
    pair, place = np.unique(codes.astype(np.int64) * (units.max() + 1) + units, return_inverse=True)
    of_set = pair // (units.max() + 1)
    each = np.ones(len(values)) if weights is None else weights
    mass, total = (np.bincount(place, of) for of in (each, each * values))
    n_units = np.bincount(of_set, minlength=size).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = np.bincount(of_set, mass, size)
        mean = np.bincount(of_set, total, size) / whole
        square = np.bincount(of_set, np.square(total - mean[of_set] * mass), size)
        error = np.sqrt(square * n_units / (n_units - 1)) / whole
    return np.where(n_units > 1, error, np.nan), n_units


def design_effects(
    values: Floats, codes: NDArray[np.integer], size: int, weights: Floats | None, units: Ints
) -> Floats:
    """Return how many times fewer rows the means of disjoint sets are worth for their units.

    The cluster-robust variance over that of independent rows, at least 1, times (t / 1.96)² with
    Student's t of one less than the units; rows a unit where no variance is known.
    """
    from scipy.special import ndtri, stdtrit  # methods are applied without it

    error, n_units = set_errors(values, codes, size, weights, units)
    alone, n_rows = set_errors(values, codes, size, weights, np.arange(len(values)))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.maximum(np.square(error / alone), 1.0)
        ratio *= np.square(stdtrit(np.maximum(n_units - 1, 1), 0.975) / ndtri(0.975))
        rows_a_unit = np.maximum(n_rows, 1.0) / np.maximum(n_units, 1.0)
        return np.where(np.isfinite(ratio), ratio, rows_a_unit)


@dataclass(frozen=True, eq=False)
class Dependence:
    """How alike outcomes within a unit are, beyond what their confidences say.

    Two rows of a unit have the ``correlation`` times the covariance of outcomes that come true by
    one draw; rows of two units are independent.
    """

    units: Ints  #: (n,); 0 to G − 1
    correlation: float  #: 0: independent, 1: one draw for all rows of a unit

    @classmethod
    def of(cls, confidence: Floats, outcome: Floats, units: Ints | None) -> Dependence | None:
        """Estimate it; None without units.

        ``confidence, outcome`` (n,), or of all classes (n, K). With residuals r, less the mean of
        rows of like confidence: Σ over pairs of a unit of r_i r_j, over what it is in expectation
        if one draw decides all rows of a unit; at least 0, at most 1.
        """
        if units is None:
            return None
        residual = confidence - outcome
        sure = confidence if confidence.ndim == 1 else confidence.max(axis=1)
        level = confidence_bins(sure, min(_STRATA, len(sure)), "equal-mass").assign(sure)
        count = np.maximum(np.bincount(level), 1)
        columns = residual.reshape(len(residual), -1)
        means = np.column_stack([np.bincount(level, of) / count for of in columns.T])
        observed = _pair_products(columns - means[level], units)
        rng = np.random.default_rng(0)
        n_draws = int(np.clip(_DRAWN / columns.size, 4, 200))
        whole, alike = cls(units, 1.0), 0.0
        for _ in range(n_draws):
            drawn = residual_of_draw(confidence, whole.uniform(rng, sure=True))
            alike += _pair_products(drawn.reshape(columns.shape), units) / n_draws
        return cls(units, float(np.clip(observed / alike, 0.0, 1.0)) if alike > 0 else 0.0)

    @classmethod
    def of_values(cls, values: Floats, units: Ints | None) -> Dependence | None:
        """Estimate it of any values (n,) that should be 0 on average; None without units."""
        if units is None:
            return None
        size = np.bincount(units)
        pairs = float((size * (size - 1)).sum()) * float(np.square(values).mean())
        together = _pair_products(values[:, None], units)
        return cls(units, float(np.clip(together / pairs, 0.0, 1.0)) if pairs > 0 else 0.0)

    @cached_property
    def n_units(self) -> int:
        """G, the number of units."""
        return int(self.units.max()) + 1

    def uniform(self, rng: np.random.Generator, *, sure: bool = False) -> Floats:
        """Draw a uniform number a row, alike within units, shape (n,).

        A row takes that of its unit with probability √correlation, else its own. Unless ``sure``
        the correlation of a draw is G − 1 over a χ² variable with so many degrees: an estimate from
        few units is uncertain, as in Student's t.
        """
        own = rng.random(len(self.units))
        if self.correlation == 0:
            return own
        degrees = max(self.n_units - 1, 1)
        size = self.correlation * (1.0 if sure else degrees / rng.chisquare(degrees))
        shared = rng.random(self.n_units)[self.units]
        return np.where(rng.random(len(own)) < np.sqrt(min(size, 1.0)), shared, own)

    def inflation(self, groups: NDArray[np.integer] | None = None) -> Floats:
        """Return by what to multiply the variance of each row so that their sum is enough, (n,).

        A sum of weighted rows has at most the variance of one of independent rows, each times
        1 + correlation × (rows of its unit − 1). ``groups`` (n,): which rows are summed together.
        """
        code = self.units if groups is None else groups.astype(np.int64) * self.n_units + self.units
        _, place, count = np.unique(code, return_inverse=True, return_counts=True)
        return np.asarray(1.0 + self.correlation * (count[place] - 1.0))

    def variance(self, scale: Floats) -> float:
        """Return the variance of a sum of residuals whose standard deviations are |scale|, (n,)."""
        alone = float(np.square(scale).sum())
        together = float(np.square(np.bincount(self.units, scale)).sum())
        return max(alone + self.correlation * (together - alone), alone)


def drawn_uniform(dependence: Dependence | None, n_rows: int, rng: np.random.Generator) -> Floats:
    """Draw a uniform number a row, alike within units if there are any, shape (n,)."""
    return rng.random(n_rows) if dependence is None else dependence.uniform(rng)


def residual_of_draw(predicted: Floats, uniform: Floats) -> Floats:
    """Return probabilities less the outcomes that uniform numbers (n,) give: (n,) or (n, K)."""
    if predicted.ndim == 1:
        return np.asarray(predicted - (uniform < predicted))
    upto = np.cumsum(predicted, axis=1)
    level = uniform[:, None] * upto[:, -1:]
    drawn = (upto <= level).sum(axis=1).clip(max=predicted.shape[1] - 1)
    residual = predicted.copy()
    residual[np.arange(len(predicted)), drawn] -= 1.0
    return residual


def _pair_products(residual: Floats, units: Ints) -> float:
    """Return Σ r_i · r_j over ordered pairs of different rows of a unit; ``residual`` (n, K)."""
    sums = np.stack([np.bincount(units, column) for column in residual.T])
    return float(np.square(sums).sum() - np.square(residual).sum())
