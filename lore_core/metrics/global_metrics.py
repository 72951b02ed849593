"""Global calibration metrics: one number for all rows, or one for each group."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.binning import Binning, ConfidenceBins, confidence_bins
from lore_core.data.defaults import N_BINS
from lore_core.data.shown import Shown
from lore_core.data.units import as_units, chosen_units, design_effects
from lore_core.data.validation import InputError, as_group_labels, as_rows, check_integer
from lore_core.data.weights import as_weights, chosen_weights, effective_rows, weighed

#: A normal variable lies within so many standard deviations with probability 0.95.
NORMAL_95 = 1.959963984540054
#: Smaller groups never count for the largest gap.
FEWEST_GROUP_ROWS = 10


@dataclass(frozen=True, repr=False)
class ReliabilityTable(Shown):
    """Mean confidence and accuracy of each confidence bin. Empty bins hold NaN."""

    bins: ConfidenceBins  #: The partition
    count: Ints  #: (n_bins,); rows in each bin
    #: (n_bins,); conf(B) and acc(B), their means.
    confidence: Floats
    accuracy: Floats
    #: (n_bins,); 95 % Wilson interval of the accuracy.
    accuracy_low: Floats
    accuracy_high: Floats
    #: (n_bins,); Σw, and the effective size (Σw)² / Σw²; without weights ``count``.
    mass: Floats
    effective_size: Floats

    @property
    def gap(self) -> Floats:
        """conf(B) − acc(B), shape (n_bins,): positive where the model is overconfident."""
        return self.confidence - self.accuracy

    @property
    def expected_calibration_error(self) -> float:
        """Mean of |gap| weighted by the rows of each bin."""
        full, mass = self.count > 0, self.mass
        return float(np.sum(mass[full] * np.abs(self.gap[full])) / mass.sum())

    @property
    def maximum_calibration_error(self) -> float:
        """Largest |gap| over the bins that hold rows."""
        return float(np.nanmax(np.abs(self.gap)))

    def worst_bin(self, min_count: int = 1) -> int:
        """Index of the bin of ``min_count`` rows with the largest |gap|, else the fullest."""
        return int(np.argmax(np.where(self._enough(min_count), np.abs(self.gap), -1.0)))

    def best_bin(self, min_count: int = 1) -> int:
        """Index of the bin with the smallest |gap|; see :meth:`worst_bin`."""
        return int(np.argmin(np.where(self._enough(min_count), np.abs(self.gap), np.inf)))

    def _enough(self, min_count: int) -> Mask:
        return np.asarray(self.count >= min(min_count, int(self.count.max())))

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


def wilson_interval(successes: ArrayLike, count: ArrayLike) -> tuple[Floats, Floats]:
    """Wilson's 95 % score interval of a share (JASA 1927): its low and high ends.

    ``successes`` of ``count`` trials; NaN where there are none.
    """
    z = NORMAL_95
    k = np.asarray(successes, dtype=np.float64)
    n = np.where(np.asarray(count) > 0, np.asarray(count, dtype=np.float64), np.nan)
    share = k / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def share_interval(
    outcome: Floats, weights: Floats | None = None, units: Ints | None = None
) -> tuple[float, float, float]:
    """Return the share of right rows with Wilson's 95 % interval, by their weights and units."""
    share = float(np.average(outcome, weights=weights))
    n = effective_rows(weights, len(outcome))
    if units is not None:
        n /= design_effects(outcome, np.zeros_like(units), 1, weights, units)[0]
    are_counted = weights is None and units is None
    low, high = wilson_interval(outcome.sum() if are_counted else share * n, n)
    return share, float(low), float(high)


class SetMeans(NamedTuple):
    """Sizes and means of disjoint sets of rows; means are NaN without rows."""

    rows: Ints
    confidence: Floats  #: Mean confidence
    accuracy: Floats
    #: Wilson's 95 % interval of the accuracy.
    low: Floats
    high: Floats
    mass: Floats  #: Σw
    #: (Σw)² / Σw² over the design effect: how many equal, independent rows a mean is worth; without
    #: weights and units the rows.
    worth: Floats
    design: Floats  #: Design effect of units, 1 without: :func:`design_effects`


def set_means(
    c: Floats,
    a: Floats,
    codes: NDArray[np.integer[Any]],
    size: int,
    weights: Floats | None,
    units: Ints | None = None,
) -> SetMeans:
    """Return sizes and means of disjoint sets of rows; ``codes`` (n,): 0 to ``size`` − 1."""
    rows: Ints = np.bincount(codes, minlength=size)
    sure, right = (np.bincount(codes, weighed(of, weights), size) for of in (c, a))
    mass = worth = rows.astype(np.float64)
    if weights is not None:
        squares = weights**2
        mass, square = (np.bincount(codes, x, size).astype(np.float64) for x in (weights, squares))
        worth = mass**2 / np.where(square > 0, square, 1.0)
    design = np.ones(size)
    if units is not None:
        design = design_effects(c - a, codes, size, weights, units)
    worth = worth / design
    low, high = wilson_interval(right * (worth / np.where(mass > 0, mass, 1.0)), worth)
    with np.errstate(invalid="ignore"):
        return SetMeans(rows, sure / mass, right / mass, low, high, mass, worth, design)


def gap_table(
    c: Floats,
    a: Floats,
    codes: NDArray[np.integer[Any]],
    size: int,
    weights: Floats | None = None,
    units: Ints | None = None,
) -> pd.DataFrame:
    """Return the gap of disjoint sets of rows by Wilson's 95 % interval of their accuracy."""
    of = set_means(c, a, codes, size, weights, units)
    return pd.DataFrame(
        {
            "rows": of.rows,
            "confidence": of.confidence,
            "accuracy": of.accuracy,
            "gap": of.confidence - of.accuracy,
            "gap_low": of.confidence - of.high,
            "gap_high": of.confidence - of.low,
        }
    )


def exact_interval(
    successes: ArrayLike, count: ArrayLike, *, level: float
) -> tuple[Floats, Floats]:
    """Return Clopper and Pearson's interval; it also holds the mean of unlike trials."""
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
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    within: Mask | None = None,
    weights: ArrayLike | None = None,
    units: ArrayLike | None = None,
) -> ReliabilityTable:
    """Count, mean confidence and accuracy of each confidence bin.

    ``confidence`` (n,): in [0, 1]. ``outcome`` (n,): 1 where the prediction was right, else 0.
    ``n_bins``, ``binning``: see :func:`~lore_core.data.binning.confidence_bins`. ``within`` (n,):
    mask of the rows to count, in the bins of all. ``weights`` (n,): what each row counts for, above
    0; intervals of accuracies are then those of (Σw)²/Σw² equal rows (Korn, Graubard, 1998).
    ``units`` (n,): whose rows go together; divides what a mean is worth by its design effect.
    """
    c, a = as_rows(confidence, outcome)
    w, u = as_weights(weights, len(c)), as_units(units, len(c))
    bins = confidence_bins(c, n_bins, binning)
    if within is not None:
        c, a, w, u = c[within], a[within], chosen_weights(w, within), chosen_units(u, within)
    return ReliabilityTable(bins, *set_means(c, a, bins.assign(c), bins.n_bins, w, u)[:-1])


def expected_calibration_error(confidence: ArrayLike, outcome: ArrayLike, **options: Any) -> float:
    """ECE: mean |conf(B) − acc(B)| weighted by bin size (Luo et al. 2022, eq. 2), in [0, 1].

    ``options`` are those of :func:`reliability_table`.
    """
    return reliability_table(confidence, outcome, **options).expected_calibration_error


def maximum_calibration_error(confidence: ArrayLike, outcome: ArrayLike, **options: Any) -> float:
    """MCE: largest |conf(B) − acc(B)| over non-empty bins (Luo et al. 2022, eq. 3), in [0, 1].

    ``options`` are those of :func:`reliability_table`.
    """
    return reliability_table(confidence, outcome, **options).maximum_calibration_error


def groupwise_calibration_error(
    confidence: ArrayLike,
    outcome: ArrayLike,
    groups: ArrayLike,
    *,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    weights: ArrayLike | None = None,
    units: ArrayLike | None = None,
) -> pd.DataFrame:
    """ECE, MCE and mean gap inside each group.

    ``groups`` (n,) or (n, g): group names; of several columns the intersections are taken. Bins are
    chosen once on all rows; for the rest see :func:`reliability_table`.

    Returns a DataFrame: one row a group, largest first: ``group, rows, accuracy, mean_confidence,
    gap, gap_low, gap_high, ece, mce, worth`` (so many equal, independent rows). The intervals of
    the gaps (:func:`exact_interval`) hold all at once with 95 % (Bonferroni).
    """
    names = as_group_labels(groups)
    c, a = as_rows(confidence, outcome, groups=names)
    w, u = as_weights(weights, len(c)), as_units(units, len(c))
    bins = confidence_bins(c, n_bins, binning)
    unique, member = np.unique(names.astype(str), return_inverse=True)
    n_groups = len(unique)
    shape = n_groups, bins.n_bins
    cell = np.ravel_multi_index((member, bins.assign(c)), shape)
    cells = set_means(c, a, cell, n_groups * bins.n_bins, w)
    gaps = np.nan_to_num(np.abs(cells.confidence - cells.accuracy)).reshape(shape)
    of = set_means(c, a, member, n_groups, w, u)
    low, high = exact_interval(of.accuracy * of.worth, of.worth, level=1 - 0.05 / n_groups)
    frame = pd.DataFrame(
        {
            "group": unique,
            "rows": of.rows,
            "accuracy": of.accuracy,
            "mean_confidence": of.confidence,
            "gap": of.confidence - of.accuracy,
            "gap_low": of.confidence - high,
            "gap_high": of.confidence - low,
            "ece": (cells.mass.reshape(shape) * gaps).sum(axis=1) / of.mass,
            "mce": gaps.max(axis=1),
            "worth": of.worth,
        }
    )
    return frame.sort_values("rows", ascending=False, ignore_index=True)


def counted_groups(rows: ArrayLike, min_group_size: int = 1) -> Mask:
    """Return which groups count: of ``min_group_size`` rows and ten, or else the largest, (g,)."""
    sizes = np.asarray(rows)
    return np.asarray(sizes >= min(max(min_group_size, FEWEST_GROUP_ROWS), sizes.max()))


def groupwise_maximum_calibration_error(
    confidence: ArrayLike,
    outcome: ArrayLike,
    groups: ArrayLike,
    *,
    min_group_size: int = 1,
    **options: Any,
) -> float:
    """Largest MCE over groups (Luo et al. 2022, section 5.2), in [0, 1].

    Groups of fewer than ``min_group_size`` rows are left out; InputError if none remains. The other
    ``options`` are those of :func:`groupwise_calibration_error`.
    """
    min_group_size = check_integer(min_group_size, "min_group_size")
    frame = groupwise_calibration_error(confidence, outcome, groups, **options)
    return largest_group_error(frame, min_group_size)


def largest_group_error(frame: pd.DataFrame, min_group_size: int) -> float:
    """Return the largest MCE of groups of ``min_group_size`` rows; InputError if there is none."""
    large = frame[frame["rows"] >= min_group_size]
    if large.empty:
        raise InputError(
            f"'min_group_size' must leave at least one group; the largest has "
            f"{int(frame['rows'].max())} rows, got {min_group_size}."
        )
    return float(large["mce"].max())
