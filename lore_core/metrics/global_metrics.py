"""Global calibration metrics: one number for all rows, or one for each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.binning import Binning, ConfidenceBins, confidence_bins
from lore_core.data.probabilities import PROBABILITY_FLOOR
from lore_core.data.validation import (
    InputError,
    as_group_labels,
    as_labels,
    as_probabilities,
    as_rows,
    check_integer,
    check_lengths,
)

#: A normal variable lies within so many standard deviations with probability 0.95.
NORMAL_95 = 1.959963984540054
#: Groups with fewer rows have no gap worth the name, however small a group is allowed to be.
FEWEST_GROUP_ROWS = 10


@dataclass(frozen=True)
class ReliabilityTable:
    """What each confidence bin promised and what it got. Empty bins hold NaN."""

    bins: ConfidenceBins  #: The partition
    count: Ints  #: (n_bins,); rows in each bin
    #: (n_bins,); conf(B) and acc(B), their means.
    confidence: Floats
    accuracy: Floats
    #: (n_bins,); 95 % Wilson interval of the accuracy.
    accuracy_low: Floats
    accuracy_high: Floats

    @property
    def gap(self) -> Floats:
        """conf(B) − acc(B), shape (n_bins,): positive where the model is overconfident."""
        return self.confidence - self.accuracy

    @property
    def expected_calibration_error(self) -> float:
        """Mean of |gap| weighted by the rows of each bin."""
        full = self.count > 0
        return float(np.sum(self.count[full] * np.abs(self.gap[full])) / self.count.sum())

    @property
    def debiased_calibration_error(self) -> float:
        """ECE less what chance adds to it; may fall below 0.

        The gap of n rows scatters around its true value with variance σ² = acc(1 − acc)/n, so its
        absolute value is too large, most where the true gap is 0. Each bin's |gap| is lowered by
        E|N(gap, σ²)| − |gap|, as in Kumar, Liang and Ma, "Verified Uncertainty Calibration",
        NeurIPS 2019, but in closed form (folded normal). What is left of the bias is about half.
        """
        full = self.count > 0
        n, gap = self.count[full], np.abs(self.gap[full])
        # One right and one wrong row more: a bin without mistakes is not free of noise.
        share = (self.accuracy[full] * n + 1) / (n + 2)
        error = np.sqrt(share * (1 - share) / n)
        folded = error * np.sqrt(2 / np.pi) * np.exp(-(gap**2) / (2 * error**2))
        folded += gap * (1 - 2 * special.ndtr(-gap / error))
        return float(np.sum(n * (2 * gap - folded)) / self.count.sum())

    @property
    def maximum_calibration_error(self) -> float:
        """Largest |gap| over the bins that hold rows."""
        return float(np.nanmax(np.abs(self.gap)))

    def _extreme(self, pick: Any, min_count: int) -> int:
        gap = np.abs(self.gap)
        enough = self.count >= min(min_count, int(self.count.max()))
        candidates = np.flatnonzero(enough)
        return int(candidates[pick(gap[candidates])])

    def worst_bin(self, min_count: int = 1) -> int:
        """Index of the bin with the largest |gap| among those with ``min_count`` rows or more.

        Where no bin holds that many, the fullest bin is the only candidate.
        """
        return self._extreme(np.argmax, min_count)

    def best_bin(self, min_count: int = 1) -> int:
        """Index of the bin with the smallest |gap|; see :meth:`worst_bin`."""
        return self._extreme(np.argmin, min_count)

    def frame(self) -> pd.DataFrame:
        """Return the table as a DataFrame, one row a bin."""
        return pd.DataFrame(
            {
                "bin": np.arange(self.bins.n_bins),
                "from": self.bins.edges[:-1],
                "to": self.bins.edges[1:],
                "rows": self.count,
                "mean_confidence": self.confidence,
                "accuracy": self.accuracy,
                "accuracy_low": self.accuracy_low,
                "accuracy_high": self.accuracy_high,
                "gap": self.gap,
            }
        )


def wilson_interval(
    successes: ArrayLike, count: ArrayLike, *, z: float = NORMAL_95
) -> tuple[Floats, Floats]:
    """Wilson's score interval of a share.

    Parameters
    ----------
    successes, count : array-like
        Successes and trials; NaN where there are no trials.
    z : float
        Normal quantile; 1.96 gives 95 %.

    Returns
    -------
    low, high : ndarray

    References
    ----------
    Wilson, "Probable inference, the law of succession, and statistical inference", JASA 1927.
    """
    k = np.asarray(successes, dtype=np.float64)
    n = np.where(np.asarray(count) > 0, np.asarray(count, dtype=np.float64), np.nan)
    share = k / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def gap_table(c: Floats, a: Floats, codes: NDArray[np.integer[Any]], size: int) -> pd.DataFrame:
    """Mean confidence − accuracy of disjoint sets of rows, one line a set.

    ``codes`` (n,): the set of each row, 0 to ``size`` − 1. Columns: ``rows, confidence, accuracy,
    gap, gap_low, gap_high`` (95 %, Wilson's interval of the accuracy turned round); NaN without
    rows.
    """
    rows = np.bincount(codes, minlength=size)
    right = np.bincount(codes, weights=a, minlength=size)
    promised = np.bincount(codes, weights=c, minlength=size)
    with np.errstate(invalid="ignore"):
        mean, accuracy = promised / rows, right / rows
    low, high = wilson_interval(right, rows)
    return pd.DataFrame(
        {
            "rows": rows,
            "confidence": mean,
            "accuracy": accuracy,
            "gap": mean - accuracy,
            "gap_low": mean - high,
            "gap_high": mean - low,
        }
    )


def exact_interval(
    successes: ArrayLike, count: ArrayLike, *, level: float
) -> tuple[Floats, Floats]:
    """Clopper and Pearson's interval of a share ("The use of confidence or fiducial limits", 1934).

    Wider than Wilson's, which near 0 and 1 holds the truth less often than it says. ``successes``
    of ``count`` trials, one at least. At least as often as ``level`` it holds the truth, whatever
    that is, and if the trials' probabilities differ their mean (Hoeffding, "On the distribution of
    the number of successes in independent trials", 1956).
    """
    k, n = np.asarray(successes, dtype=np.float64), np.asarray(count, dtype=np.float64)
    tail = (1 - level) / 2
    with np.errstate(invalid="ignore"):
        low = np.where(k > 0, special.betaincinv(np.maximum(k, 1), n - k + 1, tail), 0.0)
        high = np.where(k < n, special.betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail), 1.0)
    return low, high


def reliability_table(
    confidence: ArrayLike,
    outcome: ArrayLike,
    *,
    n_bins: int = 15,
    binning: Binning = "equal-width",
    within: Mask | None = None,
) -> ReliabilityTable:
    """Count, mean confidence and accuracy of each confidence bin.

    Parameters
    ----------
    confidence : array-like of shape (n,)
        Confidences in [0, 1].
    outcome : array-like of shape (n,)
        1 where the prediction was right, else 0.
    n_bins, binning
        See :func:`~lore_core.data.binning.confidence_bins`.
    within : ndarray of shape (n,), optional
        Mask of the rows to count, in the bins of all; by default all.
    """
    c, a = as_rows(confidence, outcome)
    bins = confidence_bins(c, n_bins, binning)
    if within is not None:
        c, a = c[within], a[within]
    index = bins.assign(c)
    count = np.bincount(index, minlength=bins.n_bins)
    right = np.bincount(index, weights=a, minlength=bins.n_bins)
    with np.errstate(invalid="ignore"):
        mean_c = np.bincount(index, weights=c, minlength=bins.n_bins) / count
        mean_a = right / count
    low, high = wilson_interval(right, count)
    return ReliabilityTable(bins, count, mean_c, mean_a, low, high)


def expected_calibration_error(
    confidence: ArrayLike,
    outcome: ArrayLike,
    *,
    n_bins: int = 15,
    binning: Binning = "equal-width",
) -> float:
    """ECE: mean |conf(B) − acc(B)| weighted by bin size (Luo et al. 2022, eq. 2), in [0, 1].

    See :func:`reliability_table` for the arguments.
    """
    table = reliability_table(confidence, outcome, n_bins=n_bins, binning=binning)
    return table.expected_calibration_error


def maximum_calibration_error(
    confidence: ArrayLike,
    outcome: ArrayLike,
    *,
    n_bins: int = 15,
    binning: Binning = "equal-width",
) -> float:
    """MCE: largest |conf(B) − acc(B)| over non-empty bins (Luo et al. 2022, eq. 3), in [0, 1].

    See :func:`reliability_table` for the arguments.
    """
    table = reliability_table(confidence, outcome, n_bins=n_bins, binning=binning)
    return table.maximum_calibration_error


def groupwise_calibration_error(
    confidence: ArrayLike,
    outcome: ArrayLike,
    groups: ArrayLike,
    *,
    n_bins: int = 15,
    binning: Binning = "equal-width",
) -> pd.DataFrame:
    """ECE, MCE and mean gap inside each group.

    Parameters
    ----------
    confidence, outcome : array-like of shape (n,)
        See :func:`reliability_table`.
    groups : array-like of shape (n,) or (n, g)
        Group names; of several columns the intersections are taken.
    n_bins, binning
        Bins are chosen once on all rows, then applied inside each group.

    Returns
    -------
    DataFrame
        One row a group, largest first: ``group, rows, accuracy, mean_confidence, gap, gap_low,
        gap_high, ece, mce``. The intervals of the gaps (:func:`exact_interval`) hold all at once
        with 95 %: each is taken at 1 − 5 %/groups (Bonferroni).
    """
    names = as_group_labels(groups)
    c, a = as_rows(confidence, outcome, groups=names)
    bins = confidence_bins(c, n_bins, binning)
    unique, member = np.unique(names.astype(str), return_inverse=True)
    n_groups = len(unique)
    cell = member * bins.n_bins + bins.assign(c)
    shape = (n_groups, bins.n_bins)
    count = np.bincount(cell, minlength=n_groups * bins.n_bins).reshape(shape)
    sum_c = np.bincount(cell, weights=c, minlength=n_groups * bins.n_bins).reshape(shape)
    sum_a = np.bincount(cell, weights=a, minlength=n_groups * bins.n_bins).reshape(shape)
    difference = np.abs(sum_c - sum_a)
    rows, right = count.sum(axis=1), sum_a.sum(axis=1)
    promised = sum_c.sum(axis=1) / rows
    low, high = exact_interval(right, rows, level=1 - 0.05 / n_groups)
    frame = pd.DataFrame(
        {
            "group": unique,
            "rows": rows,
            "accuracy": right / rows,
            "mean_confidence": promised,
            "gap": promised - right / rows,
            "gap_low": promised - high,
            "gap_high": promised - low,
            "ece": difference.sum(axis=1) / rows,
            "mce": (difference / np.maximum(count, 1)).max(axis=1),
        }
    )
    return frame.sort_values("rows", ascending=False, ignore_index=True)


def counted_groups(rows: ArrayLike, min_group_size: int = 1) -> Mask:
    """Return which groups are large enough for their gap to say something.

    ``rows`` (g,): rows of each group. ``min_group_size``: groups with fewer rows, or fewer than
    :data:`FEWEST_GROUP_ROWS`, do not count. Where all are smaller the largest does.
    """
    sizes = np.asarray(rows)
    return np.asarray(sizes >= min(max(min_group_size, FEWEST_GROUP_ROWS), sizes.max()))


def groupwise_maximum_calibration_error(
    confidence: ArrayLike,
    outcome: ArrayLike,
    groups: ArrayLike,
    *,
    n_bins: int = 15,
    binning: Binning = "equal-width",
    min_group_size: int = 1,
) -> float:
    """Largest MCE over groups (Luo et al. 2022, section 5.2), in [0, 1].

    Parameters
    ----------
    confidence, outcome, groups, n_bins, binning
        See :func:`groupwise_calibration_error`.
    min_group_size : int
        Groups with fewer rows are left out: their MCE is mostly noise.

    Raises
    ------
    InputError
        If no group has ``min_group_size`` rows.
    """
    min_group_size = check_integer(min_group_size, "min_group_size")
    frame = groupwise_calibration_error(confidence, outcome, groups, n_bins=n_bins, binning=binning)
    kept = frame[frame["rows"] >= min_group_size]
    if kept.empty:
        raise InputError(
            f"'min_group_size' must leave at least one group; the largest has "
            f"{int(frame['rows'].max())} rows, got {min_group_size}."
        )
    return float(kept["mce"].max())


def negative_log_likelihood(probabilities: ArrayLike, labels: ArrayLike) -> float:
    """NLL: mean of −log p of the true class, probabilities clipped to [1e-6, 1], in nats.

    Parameters
    ----------
    probabilities : array-like of shape (n, K) or (n,)
        Class probabilities; a vector is P(y = 1).
    labels : array-like of shape (n,)
        True class indices.
    """
    return float(row_nll(*_checked(probabilities, labels)).mean())


def brier_score(probabilities: ArrayLike, labels: ArrayLike) -> float:
    """Brier score: mean squared distance of the probability vector to the truth.

    Parameters
    ----------
    probabilities, labels
        See :func:`negative_log_likelihood`.

    Returns
    -------
    float
        For two classes (p₁ − y)², in [0, 1]; for K > 2 the sum over classes, in [0, 2]. This is
        scikit-learn's ``scale_by_half="auto"``.

    References
    ----------
    Brier, "Verification of forecasts expressed in terms of probability", 1950.
    """
    return float(row_brier(*_checked(probabilities, labels)).mean())


def class_nll(probabilities: Floats) -> Floats:
    """−log p of every class of each row, shape (n, K); see :func:`negative_log_likelihood`.

    ``probabilities`` (n, K).
    """
    return -np.log(np.maximum(probabilities, PROBABILITY_FLOOR))


def class_brier(probabilities: Floats) -> Floats:
    """Brier score of each row had each class been true, shape (n, K); see :func:`brier_score`.

    ``probabilities`` (n, K).
    """
    # Σ_k (p_k − 1[k = y])² = Σ p_k² − 2 p_y + 1
    total = (probabilities**2).sum(axis=1, keepdims=True) - 2 * probabilities + 1
    return np.asarray(total / 2 if probabilities.shape[1] == 2 else total)


def row_nll(probabilities: Floats, labels: Ints) -> Floats:
    """−log p of the true class of each row, shape (n,); ``probabilities`` (n, K)."""
    return class_nll(probabilities[np.arange(len(labels)), labels])


def row_brier(probabilities: Floats, labels: Ints) -> Floats:
    """Brier score of each row, shape (n,); ``probabilities`` (n, K)."""
    return class_brier(probabilities)[np.arange(len(labels)), labels]


def _checked(probabilities: ArrayLike, labels: ArrayLike) -> tuple[Floats, Ints]:
    p = as_probabilities(probabilities)
    y = as_labels(labels, p.shape[1])
    check_lengths(labels=y, probabilities=p)
    return p, y
