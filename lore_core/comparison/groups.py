"""For whom? Calibration inside each group, with intervals, and the worst group of a method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lore_core.chance.bootstrap import N_RESAMPLED, bootstrap_draws
from lore_core.chance.central_interval import central_interval
from lore_core.chance.intervals import N_SIMULATED, calibration_intervals
from lore_core.data.arrays import Floats
from lore_core.data.binning import Binning, confidence_bins
from lore_core.data.dataset import Dataset
from lore_core.data.validation import (
    as_confidence,
    as_group_labels,
    as_outcome,
    check_integer,
)
from lore_core.metrics.catalogue import MAX_GROUPWISE, MIN_GROUP_SIZE
from lore_core.metrics.global_metrics import (
    counted_groups,
    groupwise_calibration_error,
    groupwise_maximum_calibration_error,
)


def group_report(
    confidence: ArrayLike,
    outcome: ArrayLike,
    groups: ArrayLike,
    *,
    n_bins: int = 15,
    binning: Binning = "equal-width",
    small: int = MIN_GROUP_SIZE,
    n_draws: int = N_SIMULATED,
    random_state: int = 0,
) -> pd.DataFrame:
    """Mean gap, ECE and MCE of each group, with 95 % intervals.

    Parameters
    ----------
    confidence, outcome : array-like of shape (n,)
        Confidences in [0, 1] and outcomes 0 or 1.
    groups : array-like of shape (n,) or (n, g)
        Group names; of several columns the intersections are taken.
    n_bins, binning
        Bins are chosen once on all rows.
    small : int
        Groups with fewer rows are marked: their numbers are mostly noise.
    n_draws : int
        Simulations for each true error tried by the intervals of ECE and MCE, at least 39
        (:func:`~lore_core.chance.intervals.calibration_intervals`); 0 for none.
    random_state : int
        Seed of the draws.

    Returns
    -------
    DataFrame
        One row a group, largest first: those of
        :func:`~lore_core.metrics.global_metrics.groupwise_calibration_error`, then ``ece_low,
        ece_high, mce_low, mce_high`` (NaN without; of the true error, so that the value, to which
        chance adds, may lie above) and ``small``.
    """
    c, a = as_confidence(confidence), as_outcome(outcome)
    names = as_group_labels(groups).astype(str)
    frame = groupwise_calibration_error(c, a, names, n_bins=n_bins, binning=binning)
    bounds = np.full((len(frame), 4), np.nan)
    if n_draws:
        # Binned by the edges of all rows, not anew inside each group.
        bins = confidence_bins(c, n_bins, binning)
        for row, name in enumerate(frame["group"]):
            own = names == name
            intervals = calibration_intervals(
                c[own], a[own], bins=bins, n_draws=n_draws, random_state=random_state
            )
            bounds[row] = intervals[["low", "high"]].to_numpy().ravel()
    frame[["ece_low", "ece_high", "mce_low", "mce_high"]] = bounds
    frame["small"] = frame["rows"] < check_integer(small, "small", minimum=0)
    return frame


def worst_group_error(
    confidence: ArrayLike,
    outcome: ArrayLike,
    groups: ArrayLike,
    *,
    n_bins: int = 15,
    binning: Binning = "equal-width",
    min_group_size: int = 1,
    n_draws: int = N_RESAMPLED,
    random_state: int = 0,
) -> tuple[float, Floats]:
    """Maximum group-wise MCE, and the same on resampled rows.

    Parameters
    ----------
    confidence, outcome, groups, n_bins, binning, min_group_size
        See :func:`~lore_core.metrics.global_metrics.groupwise_maximum_calibration_error`.
    n_draws : int
        Resamples of all rows. The same seed draws the same rows for every method, so draws can be
        compared in pairs.
    random_state : int
        Seed.

    Returns
    -------
    value : float
        On the rows themselves.
    draws : ndarray of shape (n_draws,)
        On resamples; a maximum over noisy cells, so they lean upwards.
    """
    options: dict[str, Any] = {
        "n_bins": n_bins,
        "binning": binning,
        "min_group_size": min_group_size,
    }
    value = groupwise_maximum_calibration_error(confidence, outcome, groups, **options)
    if not n_draws:
        return value, np.empty(0)
    draws = bootstrap_draws(
        confidence, outcome, groups=groups, n_draws=n_draws, random_state=random_state, **options
    )
    return value, draws.values[MAX_GROUPWISE].to_numpy(np.float64)


def compare_groups(
    datasets: Mapping[str, Dataset],
    groups: ArrayLike,
    *,
    n_bins: int = 15,
    binning: Binning = "equal-width",
    min_group_size: int = 1,
    n_draws: int = N_RESAMPLED,
    random_state: int = 0,
) -> pd.DataFrame:
    """Name the group furthest off under every method, and its maximum group-wise MCE.

    Parameters
    ----------
    datasets : mapping of str to Dataset
        The same evaluation rows as each method left them; the first is what the others are held
        against.
    groups : array-like of shape (n,) or (n, g)
        Group names; of several columns the intersections are taken.
    n_bins, binning, min_group_size, n_draws, random_state
        See :func:`worst_group_error`.

    Returns
    -------
    DataFrame
        One row a method. The group of the largest |gap|, of groups that count
        (:func:`~lore_core.metrics.global_metrics.counted_groups`): ``furthest_group,
        furthest_rows, gap, gap_low, gap_high``, the intervals of all groups at once. Then the
        paper's maximum (Luo et al. 2022, table 1): ``max_group_mce, low, high`` (95 % bootstrap),
        ``worst_group``, ``worst_rows``, and the paired difference to the first method with its
        interval: ``difference, difference_low, difference_high``.
    """
    records: dict[str, dict[str, Any]] = {}
    options: dict[str, Any] = {"n_bins": n_bins, "binning": binning, "random_state": random_state}
    first: tuple[float, Floats] | None = None
    for label, dataset in datasets.items():
        c, a = dataset.confidence, dataset.outcome
        value, draws = worst_group_error(
            c, a, groups, min_group_size=min_group_size, n_draws=n_draws, **options
        )
        first = (value, draws) if first is None else first
        table = groupwise_calibration_error(c, a, groups, n_bins=n_bins, binning=binning)
        worst = table[table["rows"] >= min_group_size].sort_values("mce").iloc[-1]
        counted = table[counted_groups(table["rows"], min_group_size)]
        furthest = counted.iloc[int(counted["gap"].abs().argmax())]
        records[label] = {
            "furthest_group": furthest["group"],
            "furthest_rows": int(furthest["rows"]),
            **{name: float(furthest[name]) for name in ("gap", "gap_low", "gap_high")},
            "max_group_mce": value,
            **_bounds("", draws),
            "worst_group": worst["group"],
            "worst_rows": int(worst["rows"]),
            "difference": value - first[0],
            **_bounds("difference_", draws - first[1]),
        }
    return pd.DataFrame.from_dict(records, orient="index")


def _bounds(prefix: str, draws: Floats) -> dict[str, float]:
    """Percentile interval of draws, NaN without any."""
    low, high = central_interval(draws, 0.95) if draws.size else (np.nan, np.nan)
    return {f"{prefix}low": float(low), f"{prefix}high": float(high)}
