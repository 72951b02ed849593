"""Averages that rows are compared with, and tests of rows against them: of some, and of all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.binning import Binning, confidence_bins
from lore_core.data.defaults import N_BINS
from lore_core.data.units import Dependence, as_units, drawn_uniform
from lore_core.data.validation import as_rows
from lore_core.data.weights import as_weights, effective_rows, weighed
from lore_core.metrics.global_metrics import NORMAL_95, reliability_table
from lore_core.regions.selection import RegionReport, region_report

#: What a subgroup is compared with: no gap, the mean gap of all rows, that of rows of the same
#: confidence (what is left after the best global recalibration), or that of its own rows under
#: another model (confidences and outcomes are then differences of two models').
Against = Literal["zero", "average", "same confidence", "other model"]
#: Those that are not measured on other rows.
WITHOUT_OTHERS: tuple[Against, ...] = ("zero", "other model")
#: Strata of confidence: at most so many, of at least so many rows.
_MOST_STRATA, _ROWS_A_STRATUM = 12, 60
_NORMAL_90 = 1.645
#: Smaller skewness is none: the sum is normal.
_SYMMETRIC = 1.6e-5


@dataclass(frozen=True)
class Average:
    """What rows are compared with, and what they are then expected to do."""

    against: Against
    #: (n,); which rows are compared with each other; all 0 unless rows of the same confidence are.
    stratum: Ints
    n_strata: int
    #: (n, 5); addends of a set's sums: 1, the gap beyond what it is compared with, its variance and
    #: third central moment, and its square. Of weighted rows times the powers of w that go with
    #: them; then w², w² times the gap beyond.
    moments: Floats
    total: Floats  #: (n_strata, 5 or 7); sums of the moments over all rows
    dependence: Dependence | None = None  #: Of rows of a unit

    @classmethod
    def of(
        cls,
        confidence: Floats,
        outcome: Floats,
        against: Against,
        weights: Floats | None = None,
        units: Ints | None = None,
    ) -> Average:
        """Measure the average; ``weights`` (n,): what each row counts for, None: all alike.

        ``units`` (n,): whose rows go together.
        """
        n = len(confidence)
        residual = confidence - outcome
        if against == "other model":
            return cls._of_differences(residual, weights, units)
        bins = confidence_bins(
            confidence, int(np.clip(n // _ROWS_A_STRATUM, 1, _MOST_STRATA)), "equal-mass"
        )
        level = bins.assign(confidence)
        mass = np.bincount(level, weights=weights)
        mean = np.bincount(level, weights=weighed(residual, weights)) / np.where(mass > 0, mass, 1)
        stratum, n_strata = np.zeros(n, dtype=np.int64), 1
        if against == "zero":
            excess, chance = residual, confidence
        else:
            # How often a row is right is best told by those of its confidence, with either average.
            chance = np.clip(confidence - mean[level], 0.0, 1.0)
            excess = residual - np.average(residual, weights=weights)
            if against == "same confidence":
                excess, stratum, n_strata = residual - mean[level], level, bins.n_bins
        variance = chance * (1 - chance)
        third = variance * (2 * chance - 1)
        moments = _moments(excess, variance, third, weights)
        total = _sums(moments, stratum, n_strata)
        dependence = Dependence.of(confidence, outcome, units)
        return cls(against, stratum, n_strata, moments, total, dependence)

    @classmethod
    def _of_differences(
        cls, difference: Floats, weights: Floats | None, units: Ints | None
    ) -> Average:
        """Take the squares of differences for their variances: those of means 0 alike.

        A sum over its root of squares has tails no heavier than a normal variable's, if differences
        are symmetric (Efron, "Student's t-test under symmetry conditions", 1969).
        """
        square = np.square(difference)
        moments = _moments(difference, square, np.zeros(len(difference)), weights)
        stratum = np.zeros(len(difference), dtype=np.int64)
        dependence = Dependence.of_values(difference, units)
        return cls("other model", stratum, 1, moments, _sums(moments, stratum, 1), dependence)

    def of_rows(self, rows: Ints | Mask) -> Excess:
        """Compare some rows (mask or row numbers) with the others."""
        sums = _sums(self.moments, self.stratum, self.n_strata, rows)
        found = excess_of(sums, self.total, against_zero=self.against in WITHOUT_OTHERS)
        return found if self.dependence is None else self._by_units(rows, found, sums)

    def _by_units(self, rows: Ints | Mask, found: Excess, sums: Floats) -> Excess:
        """Return an excess with the error that units have, and one less than those of its rows.

        D = Σ z_i with z = (1_R − f_b) r; its variance is the larger of Σ_g (Σ_{i∈g} z_i)² and of
        what the correlation of all rows makes of each row's own variance.
        """
        assert self.dependence is not None
        units = self.dependence.units
        part = np.zeros(len(units))
        part[rows] = 1.0
        n_units = np.count_nonzero(np.bincount(units, part))
        if self.against not in WITHOUT_OTHERS:
            share = sums[:, 0] / np.where(self.total[:, 0] > 0, self.total[:, 0], 1.0)
            part -= share[self.stratum]
        seen = float(np.square(np.bincount(units, part * self.moments[:, 1])).sum())
        modelled = self.dependence.variance(part * np.sqrt(self.moments[:, 2]))
        mass = sums[:, 0].sum()
        error = np.asarray(np.sqrt(max(seen, modelled)) / (mass if mass > 0 else 1.0))
        return replace(found, error=error, scatter=error, degrees=int(n_units) - 1)

    def widened(self, found: Excess, groups: Ints) -> Excess:
        """Return excesses of disjoint sets, or of unions of them, with errors for their units."""
        if self.dependence is None:
            return found
        variance = self.moments[:, 2]
        times = np.sqrt(np.average(self.dependence.inflation(groups), weights=variance + 1e-300))
        return replace(found, error=found.error * times, scatter=found.scatter * times)


@dataclass(frozen=True)
class Excess:
    """How much further off than what they are compared with sets of rows are."""

    n: Floats  #: Rows of each set, or how many equal rows it is worth; all arrays have one shape
    share: Floats  #: Of all rows, by their weights
    mean: Floats  #: Mean excess of the gap; positive = more overconfident
    error: Floats  #: Its standard deviation if there were none
    skewness: Floats  #: Its skewness then
    variance: Floats  #: Sum of the variances of so many rows: how much evidence there can be.
    scatter: Floats  #: Standard error of the mean excess as the rows themselves scatter
    degrees: int | None = None  #: Of Student's t of its sum over units; None without

    @property
    def half_width(self) -> Floats:
        """Half of a 95 % interval of the mean excess."""
        if self.degrees is None:
            return NORMAL_95 * self.error
        return np.asarray(special.stdtrit(max(self.degrees, 1), 0.975) * self.error)

    @property
    def lower_bound(self) -> Floats:
        """Size of the excess less 1.645 standard errors (of the null or the rows), at least 0."""
        error = np.maximum(self.error, self.scatter)
        return np.maximum(np.abs(self.mean) - _NORMAL_90 * error, 0.0)

    @property
    def lower_bound_of_many(self) -> Floats:
        """The same for ranges of which there are many: √(2 ln(e / share)) errors, at least 1.645.

        Dümbgen, Spokoiny, 2001: docs/method.md ("Subgroups and the verdict").
        """
        errors = np.sqrt(2 - 2 * np.log(np.where(self.share > 0, self.share, 1.0)))
        error = np.maximum(self.error, self.scatter) * np.maximum(errors, _NORMAL_90)
        return np.asarray(np.maximum(np.abs(self.mean) - error, 0.0))

    def p_value(self, sign: Ints | int) -> Floats:
        """P(so far off or further in one direction) if there were no excess (Pearson's type III).

        ``sign``: +1 or −1. With a continuity correction of half an outcome.
        """
        toward = np.asarray(sign)
        skewness = toward * self.skewness
        with np.errstate(divide="ignore", invalid="ignore"):
            size = toward * self.mean - 0.5 / np.maximum(self.n, 1.0)
            t = np.where(self.error > 0, size / self.error, np.where(size > 0, np.inf, -np.inf))
            if self.degrees is not None:
                # (Of a single unit nothing is known.)
                return np.asarray(special.stdtr(self.degrees, -t) if self.degrees > 0 else 1.0)
            # A gamma distribution of this shape, moved and scaled to mean 0 and variance 1.
            beta = 2.0 / skewness
            at, shape = np.maximum(beta * (t + beta), 0.0), np.square(beta)
        tail = np.where(beta > 0, special.gammaincc(shape, at), special.gammainc(shape, at))
        return np.asarray(np.where(np.abs(skewness) < _SYMMETRIC, special.ndtr(-t), tail))


def _moments(excess: Floats, variance: Floats, third: Floats, weights: Floats | None) -> Floats:
    """Return :attr:`Average.moments`."""
    columns = [np.ones(len(excess)), excess, variance, third, np.square(excess)]
    if weights is not None:
        columns += [np.ones(len(excess)), excess]
        columns = [v * weights**k for v, k in zip(columns, (1, 1, 2, 3, 2, 2, 2), strict=True)]
    return np.column_stack(columns)


def _sums(
    moments: Floats, stratum: Ints, n_strata: int, rows: Ints | Mask | slice = slice(None)
) -> Floats:
    """Sum the moments of some rows over each stratum, shape (n_strata, 5 or 7)."""
    if n_strata == 1:  # in a fifth of the time
        inside = np.zeros(len(moments))
        inside[rows] = 1.0
        return np.asarray(inside @ moments)[None]
    of, chosen = stratum[rows], moments[rows].T
    return np.stack([np.bincount(of, moment, minlength=n_strata) for moment in chosen], axis=-1)


def excess_of(inside: Floats, total: Floats, *, against_zero: bool) -> Excess:
    """Compare sets of rows with the other rows of their strata.

    ``inside`` (..., n_strata, 5 or 7): sums of :attr:`Average.moments` over each set; ``total``
    (n_strata, 5 or 7): over all rows. ``against_zero``: the average is known to be 0 and not
    measured on these rows.

    D and Var D: docs/method.md ("Subgroups and the verdict"). Of weighted rows w r stands for r and
    n is Σ w; what a set is worth is (Σ w)² / Σ w² rows.
    """
    mass, value, own_variance, own_third, square, *more = np.moveaxis(inside.sum(axis=-2), -1, 0)
    variance, third = own_variance, own_third
    if not against_zero:
        share = inside[..., 0] / np.where(total[:, 0] > 0, total[:, 0], 1.0)
        rest = total - inside
        variance = ((1 - share) ** 2 * inside[..., 2] + share**2 * rest[..., 2]).sum(axis=-1)
        third = ((1 - share) ** 3 * inside[..., 3] - share**3 * rest[..., 3]).sum(axis=-1)
    some = np.where(mass > 0, mass, 1.0)
    variance = np.maximum(variance, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = np.where(variance > 0, third / variance**1.5, 0.0)
    mean = value / some
    n, spread = mass, square / some - mean**2
    if more:
        squares = np.where(more[0] > 0, more[0], 1.0)
        n = np.where(mass > 0, mass**2 / squares, 0.0)
        own_variance = own_variance * n / squares
        spread = (square - 2 * mean * more[1] + mean**2 * more[0]) / some
    scatter = np.sqrt(np.maximum(spread, 0.0) / some)
    share = mass / total[:, 0].sum()
    return Excess(n, share, mean, np.sqrt(variance) / some, skewness, own_variance, scatter)


#: Chance that all rows together are called wrong where every confidence is right; half of it for
#: the mean gap, half for the calibration error.
OVERALL_ALPHA = 0.01
#: A significant average gap or calibration error below this, in shares, is called small.
SMALL = 0.02
#: Simulated models behind its p-value: enough to tell 1 in 1,000.
_N_SIMULATED = 2000
#: Steps of the grid of confidences: an outcome's variance hardly differs from one to the next.
_GRID = 250
#: Of more rows with weights or units than this only a quarter of the simulations are made.
_MOST_DRAWN_OFTEN = 100_000


@dataclass(frozen=True)
class Overall(RegionReport):
    """What all rows together say."""

    gap_p: float  #: Two-sided p-value of the gap if every confidence were right
    error: float  #: Expected calibration error
    error_p: float  #: P(as large or larger) if every confidence were right, simulated
    #: Ends of the confidence bin that has the most to do with the error, rows × sure gap.
    worst_low: float
    worst_high: float
    worst_gap: float  #: Its gap
    worst_rows: int  #: Its rows
    worth: float  #: How many equal rows all of them are worth

    @property
    def p_value(self) -> float:
        """Of both tests together (Bonferroni)."""
        return min(2 * min(self.gap_p, self.error_p), 1.0)

    @property
    def size(self) -> float:
        """How wrong: the larger of |gap| and calibration error."""
        return max(abs(self.gap), self.error)

    @property
    def matters(self) -> bool:
        """Whether they are significantly wrong, and by enough."""
        return self.p_value <= OVERALL_ALPHA and self.size >= SMALL


def overall_gap(
    confidence: ArrayLike,
    outcome: ArrayLike,
    *,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    weights: ArrayLike | None = None,
    units: ArrayLike | None = None,
    random_state: int = 0,
) -> Overall:
    """Test the mean gap and the calibration error of all rows against "each confidence is right".

    ``confidence, outcome`` (n,): confidences in [0, 1] and outcomes 0 or 1. ``n_bins, binning``: of
    the calibration error. ``weights`` (n,): above 0. ``units`` (n,): whose rows go together.
    ``random_state``: seed of the simulation.
    """
    c, a = as_rows(confidence, outcome)
    w, u = as_weights(weights, len(c)), as_units(units, len(c))
    report = region_report(c, a, np.ones(len(c), dtype=bool), weights=w, units=u)
    table = reliability_table(c, a, n_bins=n_bins, binning=binning, weights=w, units=u)
    least, most = table.accuracy_low - table.confidence, table.confidence - table.accuracy_high
    bound = np.maximum(np.maximum(least, most), 0.0)
    size = np.abs(table.gap) if not np.nansum(bound) else bound
    worst = int(np.nanargmax(np.where(table.count > 0, table.mass * size, np.nan)))
    error = table.expected_calibration_error
    index, dependence = table.bins.assign(c), Dependence.of(c, a, u)
    drawn = (
        _simulated_errors(c, index, random_state)
        if w is None and dependence is None
        else _simulated_row_errors(c, index, w, dependence, random_state)
    )
    worth = effective_rows(w, len(c))
    if dependence is not None:
        worth /= float(dependence.inflation().mean())
    return Overall(
        **vars(report),
        gap_p=mean_gap_p(c, a, w, u),
        error=error,
        error_p=float((1 + (drawn >= error - 1e-12).sum()) / (len(drawn) + 1)),
        worst_low=float(table.bins.edges[worst]),
        worst_high=float(table.bins.edges[worst + 1]),
        worst_gap=float(table.gap[worst]),
        worst_rows=int(table.count[worst]),
        worth=worth,
    )


def mean_gap_p(
    confidence: Floats, outcome: Floats, weights: Floats | None = None, units: Ints | None = None
) -> float:
    """Two-sided p-value of the mean gap if every confidence were right."""
    average = Average.of(confidence, outcome, "zero", weights, units)
    everyone = average.of_rows(np.arange(len(confidence)))
    return min(2 * float(everyone.p_value(1 if everyone.mean >= 0 else -1)), 1.0)


def _simulated_errors(c: Floats, index: Ints, random_state: int) -> Floats:
    """Calibration errors of models whose confidences are right, shape (_N_SIMULATED,)."""
    rng = np.random.default_rng(random_state)
    cell = index * _GRID + np.minimum((c * _GRID).astype(np.int64), _GRID - 1)
    count, confidence_sum = np.bincount(cell), np.bincount(cell, weights=c)
    key = np.flatnonzero(count)
    count, confidence_sum = count[key], confidence_sum[key]
    right = rng.binomial(count, confidence_sum / count, size=(_N_SIMULATED, len(key)))
    starts = np.flatnonzero(np.diff(key // _GRID, prepend=-1))
    gap = np.add.reduceat(confidence_sum - right, starts, axis=1)
    return np.asarray(np.abs(gap).sum(axis=1) / len(c))


def _simulated_row_errors(
    c: Floats, index: Ints, w: Floats | None, dependence: Dependence | None, random_state: int
) -> Floats:
    """Calibration errors of such models over rows with weights or units: no sum is binomial."""
    rng = np.random.default_rng(random_state)
    n_draws = _N_SIMULATED if len(c) <= _MOST_DRAWN_OFTEN else _N_SIMULATED // 4
    drawn = np.empty(n_draws)
    for k in range(n_draws):
        residual = c - (drawn_uniform(dependence, len(c), rng) < c)
        gap = np.bincount(index, weights=weighed(residual, w))
        drawn[k] = np.abs(gap).sum() / len(c)
    return drawn
