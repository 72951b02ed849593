"""Test of all rows together: is the confidence right on average, at every level?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats, Ints
from lore_core.data.binning import Binning
from lore_core.data.defaults import N_BINS
from lore_core.data.validation import as_rows
from lore_core.data.weights import as_weights, effective_rows
from lore_core.metrics.global_metrics import reliability_table, share_interval
from lore_core.regions.subgroups.average import Average

#: Chance that all rows together are called wrong where every confidence is right; half of it for
#: the mean gap, half for the calibration error.
OVERALL_ALPHA = 0.01
#: Simulated models behind its p-value: enough to tell 1 in 1,000.
_N_SIMULATED = 2000
#: Steps of the grid of confidences: an outcome's variance hardly differs from one to the next.
_GRID = 2000
#: Of more weighted rows than this only a quarter of the simulations are made.
_MOST_DRAWN_OFTEN = 100_000


@dataclass(frozen=True)
class Overall:
    """What all rows together say."""

    n_rows: int
    #: Their means.
    confidence: float
    accuracy: float
    #: 95 % interval of their difference (Wilson).
    gap_low: float
    gap_high: float
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
    def gap(self) -> float:
        """Mean confidence − accuracy."""
        return self.confidence - self.accuracy

    @property
    def p_value(self) -> float:
        """Of both tests together (Bonferroni)."""
        return min(2 * min(self.gap_p, self.error_p), 1.0)


def overall_gap(
    confidence: ArrayLike,
    outcome: ArrayLike,
    *,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    weights: ArrayLike | None = None,
    random_state: int = 0,
) -> Overall:
    """Test the mean gap and the calibration error of all rows against "each confidence is right".

    ``confidence, outcome`` (n,): confidences in [0, 1] and outcomes 0 or 1. ``n_bins, binning``: of
    the calibration error. ``weights`` (n,): above 0. ``random_state``: seed of the simulation.
    """
    c, a = as_rows(confidence, outcome)
    w = as_weights(weights, len(c))
    n = effective_rows(w, len(c))
    promised = float(np.average(c, weights=w))
    got, low, high = share_interval(a, w)
    table = reliability_table(c, a, n_bins=n_bins, binning=binning, weights=w)
    least, most = table.accuracy_low - table.confidence, table.confidence - table.accuracy_high
    bound = np.maximum(np.maximum(least, most), 0.0)
    size = np.abs(table.gap) if not np.nansum(bound) else bound
    worst = int(np.nanargmax(np.where(table.count > 0, table.mass * size, np.nan)))
    error = table.expected_calibration_error
    index = table.bins.assign(c)
    drawn = (
        _simulated_errors(c, index, random_state)
        if w is None
        else _simulated_weighted_errors(c, index, w, random_state)
    )
    return Overall(
        n_rows=len(c),
        confidence=promised,
        accuracy=got,
        gap_low=float(promised - high),
        gap_high=float(promised - low),
        gap_p=mean_gap_p(c, a, w),
        error=error,
        error_p=float((1 + (drawn >= error - 1e-12).sum()) / (len(drawn) + 1)),
        worst_low=float(table.bins.edges[worst]),
        worst_high=float(table.bins.edges[worst + 1]),
        worst_gap=float(table.gap[worst]),
        worst_rows=int(table.count[worst]),
        worth=n,
    )


def mean_gap_p(confidence: Floats, outcome: Floats, weights: Floats | None = None) -> float:
    """Two-sided p-value of the mean gap if every confidence were right."""
    average = Average.of(confidence, outcome, "zero", weights)
    everyone = average.of_rows(np.arange(len(confidence)))
    return min(2 * float(everyone.p_value(1 if everyone.mean >= 0 else -1)), 1.0)


def _simulated_errors(c: Floats, index: Ints, random_state: int) -> Floats:
    """Calibration errors of models whose confidences are right, shape (_N_SIMULATED,)."""
    rng = np.random.default_rng(random_state)
    cell = np.minimum((c * _GRID).astype(np.int64), _GRID - 1)
    key, place = np.unique(index * _GRID + cell, return_inverse=True)
    count = np.bincount(place)
    promised = np.bincount(place, weights=c)
    right = rng.binomial(count, promised / count, size=(_N_SIMULATED, len(key)))
    starts = np.flatnonzero(np.diff(key // _GRID, prepend=-1))
    gap = np.add.reduceat(promised - right, starts, axis=1)
    return np.asarray(np.abs(gap).sum(axis=1) / len(c))


def _simulated_weighted_errors(c: Floats, index: Ints, w: Floats, random_state: int) -> Floats:
    """Calibration errors of such models over weighted rows: no sum of them is binomial."""
    rng = np.random.default_rng(random_state)
    n_draws = _N_SIMULATED if len(c) <= _MOST_DRAWN_OFTEN else _N_SIMULATED // 4
    drawn = np.empty(n_draws)
    for k in range(n_draws):
        gap = np.bincount(index, weights=w * (c - (rng.random(len(c)) < c)))
        drawn[k] = np.abs(gap).sum() / w.sum()
    return drawn
