"""Gains of squared error by recalibration and by features, after Perez-Lebel et al."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats, Ints
from lore_core.data.validation import as_confidence, as_rows, check_finite, check_lengths
from lore_core.metrics.global_metrics import NORMAL_95

#: Least rows, and right and wrong ones among them.
MIN_ROWS, MIN_OF_EACH = 50, 10
#: Bins of confidence at most, parts of each at most, and rows of a part at least.
_MOST_BINS, _MOST_PARTS, _PART_ROWS = 15, 4, 25


@dataclass(frozen=True)
class Gain:
    """A mean gain a row with its 95 % interval; below 0 it is noise."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class LossParts:
    """Mean (c − a)² of some rows, and what of it can be gained."""

    score: float  #: Mean (c − a)²
    calibration: Gain  #: What the best function of the confidence alone would gain
    #: What the features gain beyond it, at least.
    grouping: Gain
    both: Gain  #: Their sum: what a better model gains on these features, at least
    n_rows: int


def are_enough(outcome: Floats) -> bool:
    """Whether outcomes (n,) suffice for the parts: 50, and 10 right and 10 wrong ones."""
    right = float(outcome.sum())
    return len(outcome) >= MIN_ROWS and min(right, len(outcome) - right) >= MIN_OF_EACH


def loss_parts(
    confidence: ArrayLike, outcome: ArrayLike, recalibrated: ArrayLike, predicted: ArrayLike
) -> LossParts:
    """Estimate calibration loss and a lower bound of the grouping loss, with intervals.

    ``confidence``, ``outcome`` (n,): confidences c in [0, 1], outcomes a, 0 or 1; no weights.
    ``recalibrated`` (n,): a function g of the confidence, in [0, 1], learnt on *other* rows.
    ``predicted`` (n,): what a model learnt on *other* rows says of a − g from the features. Only
    its order within a bin counts. Formulas: docs/method.md ("Recalibrate, or retrain?"), after
    Perez-Lebel et al., "Beyond calibration", ICLR 2023, section 4.2.
    """
    c, a = as_rows(confidence, outcome)
    g = as_confidence(recalibrated, "recalibrated")
    h = np.asarray(predicted, np.float64)
    check_finite(h, "predicted")
    n = check_lengths(confidence=c, recalibrated=g, predicted=h)
    bins, cells = cells_of(c, h)
    size, mean, noise = _means(c - a, bins)
    unit = _variance(a, bins) / n
    calibration = _squares(n, size / n, mean, noise.dot(size / n), unit, 2 * float(unit @ unit))
    grouping = _grouping(g - a, a, bins, cells)
    return LossParts(
        score=float(np.mean((c - a) ** 2)),
        calibration=calibration.as_gain(),
        grouping=grouping.as_gain(),
        both=calibration.plus(grouping).as_gain(),
        n_rows=n,
    )


def cells_of(confidence: Floats, predicted: Floats) -> tuple[Ints, Ints]:
    """Return each row's bin of confidence, and its part of that by ``predicted``."""
    one = np.zeros(len(confidence), np.int64)
    bins = _equal_parts(confidence, one, _PART_ROWS * _MOST_PARTS, _MOST_BINS)
    return bins, _equal_parts(predicted, bins, _PART_ROWS, _MOST_PARTS)


@dataclass(frozen=True)
class _Squares:
    """A weighted sum of squared means, less its noise, and the two terms of its variance."""

    value: float
    constant: float  #: Its variance where all means are 0
    growth: float  #: How much of the variance comes with each unit of it

    def plus(self, other: _Squares) -> _Squares:
        """Return the sum with one of independent noise."""
        parts = [max(self.value, 0.0), max(other.value, 0.0)]
        growth = max(self.growth, other.growth)
        if sum(parts):
            growth = float(np.average([self.growth, other.growth], weights=parts))
        return _Squares(self.value + other.value, self.constant + other.constant, growth)

    def as_gain(self) -> Gain:
        """Return the value, and as interval all θ of (value − θ)² ≤ 1.96² (constant + growth θ)."""
        z = NORMAL_95**2
        middle = self.value + z * self.growth / 2
        half = np.sqrt(max(middle**2 - self.value**2 + z * self.constant, 0.0))
        return Gain(self.value, float(max(middle - half, 0.0)), float(max(middle + half, 0.0)))


def _grouping(residual: Floats, a: Floats, bins: Ints, cells: Ints) -> _Squares:
    n = len(a)
    size, mean, noise = _means(residual, cells)
    of_bin, bin_mean, bin_noise = _means(residual, bins)
    around = bins[np.unique(cells, return_index=True)[1]]
    parts = np.bincount(around)
    lost = noise.dot(size / n) - bin_noise.dot(of_bin / n)
    # Where nothing is lost all cells of a bin have its variance; else each has its own.
    unit = _variance(a, bins) / n
    constant = 2 * float(unit**2 @ (parts - 1))
    apart = mean - bin_mean[around]
    return _squares(n, size / n, apart, lost, _variance(a, cells) / n, constant)


def _squares(
    n: int, share: Floats, mean: Floats, noise: float, unit: Floats, constant: float
) -> _Squares:
    """Sum squared means; ``unit``: variance of an outcome of each over n."""
    square = share * mean**2
    total = float(square.sum())
    # (Which rows come, and so how many of each cell, varies too.)
    among = max(float((share * mean**4).sum()) - total**2, 0.0) / n
    return _Squares(
        value=float(total - noise),
        constant=constant,
        growth=(4 * float(square @ unit) + among) / total if total else 0.0,
    )


def _means(residual: Floats, code: Ints) -> tuple[Floats, Floats, Floats]:
    """Return number of rows, mean and its squared standard error, by code."""
    size = np.bincount(code).astype(np.float64)
    mean = np.bincount(code, residual) / size
    square = np.bincount(code, (residual - mean[code]) ** 2)
    return size, mean, square / np.maximum(size - 1, 1) / size


def _variance(a: Floats, bins: Ints) -> Floats:
    """Return an outcome's variance in every bin; never 0, even where all came out alike."""
    share = (np.bincount(bins, a) + 0.5) / (np.bincount(bins) + 1)
    return np.asarray(share * (1 - share))


def _equal_parts(values: Floats, within: Ints, least: int, most: int) -> Ints:
    """Cut each set of rows into parts of about equal number by values; ties stay together."""
    code = np.empty(len(values), np.int64)
    first = 0
    for rows in np.split(np.argsort(within, kind="stable"), np.cumsum(np.bincount(within))[:-1]):
        n_parts = int(np.clip(len(rows) // least, 1, most))
        own = values[rows]
        edges = np.unique(np.quantile(own, np.arange(1, n_parts) / n_parts))
        found, part = np.unique(np.searchsorted(edges, own, side="right"), return_inverse=True)
        code[rows] = first + part
        first += len(found)
    return code
