"""Effects of recalibration on the same rows: most probable classes, rewards, groups."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from lore_core.data.arrays import Mask
from lore_core.data.binning import Binning, confidence_bins
from lore_core.data.dataset import Dataset
from lore_core.data.defaults import N_BINS
from lore_core.data.number_text import POINTS, percent, share_words
from lore_core.data.probabilities import row_maximum
from lore_core.data.units import as_units, by_unit, chosen_units
from lore_core.data.validation import as_confidence, as_group_labels, as_outcome
from lore_core.data.weights import as_weights, chosen_weights
from lore_core.inference.intervals import N_SIMULATED, calibration_intervals
from lore_core.kernel_sums.schedule import thread_count
from lore_core.metrics.catalogue import MIN_GROUP_SIZE
from lore_core.metrics.global_metrics import groupwise_calibration_error
from lore_core.metrics.measured import Measured
from lore_core.metrics.rewards import RewardCurve, reward_curves

#: Another class must be more probable by this much.
_TIE = 1e-9
#: Changes of a gap by less are of no consequence.
MATTERS = 0.01


def closer_to_zero(
    accuracy_low: ArrayLike, accuracy_high: ArrayLike, before: ArrayLike, after: ArrayLike
) -> NDArray[np.int64]:
    """Return whether a confidence is significantly nearer to the accuracy, 1, or further off, −1.

    One interval of the accuracy serves all methods, so their number needs no correction.
    """
    low, high, old, new = map(np.asarray, (accuracy_low, accuracy_high, before, after))
    middle, change = (old + new) / 2, new - old
    side = np.where(high < middle, -1, np.where(low > middle, 1, 0))
    return np.asarray(np.where(np.abs(change) >= MATTERS, side * np.sign(change), 0), np.int64)


def most_probable_classes(datasets: Mapping[str, Dataset]) -> pd.DataFrame:
    """Compare the most probable class of each row with the predicted one, one row a method.

    ``changed``: share of such rows; ``accuracy`` of the most probable classes, its ``difference``
    with joint 95 % ends (Agresti, Min, Statistics in Medicine 24, 2005; Bonferroni).
    """
    level = 1 - 0.025 / max(len(datasets), 1)
    z = ndtri(level)

    def row(data: Dataset) -> tuple[float, ...]:
        changed = row_maximum(data.probabilities) > data.confidence + _TIE
        right = data.outcome == 1
        right[changed] = data.probabilities[changed].argmax(axis=1) == data.labels[changed]
        apart = right - data.outcome
        n, net, moved = len(data), apart.sum(), np.abs(apart).sum()
        middle = net / (n + 2)
        half = z * np.sqrt(moved + 1 - net**2 / (n + 2)) / (n + 2)
        if data.units is not None:
            of_units = by_unit(apart, None, data.units)
            degrees = len(of_units) - 1
            half = stdtrit(degrees, level) * of_units.std(ddof=1) / np.sqrt(degrees + 1)
            middle = apart.mean()
        ends = (middle - half, middle + half) if changed.any() else (0.0, 0.0)
        return changed.mean(), right.mean(), apart.mean(), *ends

    with ThreadPoolExecutor(thread_count(None)) as threads:
        rows = dict(zip(datasets, threads.map(row, datasets.values()), strict=True))
    names = ["changed", "accuracy", "difference", "low", "high"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=names, dtype=np.float64)


def about_predictions(table: pd.DataFrame) -> str:
    """Say whether the most probable class differs from the predicted one."""
    changed = table["changed"]
    if not (changed > 0).any():
        return "No method changes a row's most probable class, so the accuracy stays."
    most = str(changed.idxmax())
    text = (
        "Accuracy and errors are those of the class the classifier predicted, which stays. Taking "
        f"the most probable class afterwards changes up to {share_words(changed[most])} of the "
        f"rows (“{most}”)"
    )
    sure = table[(table["low"] > 0) | (table["high"] < 0)].sort_values("difference")[::-1]
    if sure.empty:
        return f"{text}; with no method does the accuracy change significantly."
    changes = "; ".join(
        f"with “{name}” to {percent(row['accuracy'])} "
        f"({POINTS.text(row['difference'], signed=True)} points, "
        f"95 % CI {POINTS.interval_text(row['low'], row['high'], signed=True)})"
        for name, row in sure.iterrows()
    )
    return f"{text}; the accuracy then changes significantly, {changes}."


def compare_rewards(
    datasets: Mapping[str, Dataset], ratios: ArrayLike | None = None, *, rows: Mask | None = None
) -> dict[str, RewardCurve]:
    """Reward of every method over cost ratios, and its gain over the first.

    ``datasets``: the same evaluation rows as each method left them. ``ratios`` (r,): cost ratios
    w/u ≥ 1; by default :func:`~lore_core.metrics.rewards.default_ratios`. ``rows`` (n,): mask of
    the rows that count.
    """
    counted: Mask | slice = slice(None) if rows is None or rows.all() else rows
    first = next(iter(datasets.values()))
    return reward_curves(
        {label: item.confidence[counted] for label, item in datasets.items()},
        first.outcome[counted],
        ratios,
        weights=chosen_weights(first.weights, counted),
        units=chosen_units(first.units, counted),
    )


def group_report(
    confidence: ArrayLike,
    outcome: ArrayLike,
    groups: ArrayLike,
    *,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    weights: ArrayLike | None = None,
    units: ArrayLike | None = None,
    n_draws: int = N_SIMULATED,
    random_state: int = 0,
) -> pd.DataFrame:
    """Mean gap, ECE and MCE of each group, with 95 % intervals.

    ``confidence``, ``outcome``, ``weights``, ``units`` (n,), ``n_bins``, ``binning``: see
    :func:`~lore_core.metrics.global_metrics.reliability_table`; bins are chosen once on all rows.
    ``groups`` (n,) or (n, g): group names; of several columns the intersections are taken.
    ``n_draws``: simulations for each true error tried
    (:func:`~lore_core.inference.intervals.calibration_intervals`), at least 39; 0 for no intervals
    of ECE and MCE.

    Returns a DataFrame: one row a group, largest first: those of
    :func:`~lore_core.metrics.global_metrics.groupwise_calibration_error`, then ``ece_low, ece_high,
    mce_low, mce_high`` (of the true error, so the value, to which chance adds, may lie above) and
    ``small`` (fewer than 30 rows).
    """
    c, a = as_confidence(confidence), as_outcome(outcome)
    names = as_group_labels(groups).astype(str)
    w, u = as_weights(weights, len(c)), as_units(units, len(c))
    frame = groupwise_calibration_error(
        c, a, names, n_bins=n_bins, binning=binning, weights=w, units=u
    )
    bounds = np.full((len(frame), 4), np.nan)
    if n_draws:
        bins = confidence_bins(c, n_bins, binning)
        for row, name in enumerate(frame["group"]):
            own = names == name
            intervals = calibration_intervals(
                c[own],
                a[own],
                bins=bins,
                weights=chosen_weights(w, own),
                units=chosen_units(u, own),
                n_draws=n_draws,
                random_state=random_state,
            )
            bounds[row] = intervals[["low", "high"]].to_numpy().ravel()
    frame[["ece_low", "ece_high", "mce_low", "mce_high"]] = bounds
    frame["small"] = frame["rows"] < MIN_GROUP_SIZE
    return frame


def compare_groups(
    datasets: Mapping[str, Dataset],
    groups: ArrayLike,
    *,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    min_group_size: int = 1,
) -> pd.DataFrame:
    """Name the group furthest off under every method, and the worst cells.

    ``datasets``: the same evaluation rows as each method left them. ``groups``, ``n_bins``,
    ``binning``: see :func:`group_report`.

    Returns a DataFrame: one row a method. ``furthest_group, furthest_rows, gap, gap_low, gap_high``
    (joint intervals) of the largest |gap| of
    :func:`~lore_core.metrics.global_metrics.counted_groups`; ``cell_gap`` (signed; NaN without
    one), ``cell, cell_rows`` of the largest of cells with
    :data:`~lore_core.metrics.catalogue.MIN_CELL_ROWS` rows; ``max_group_mce, worst_group,
    worst_rows`` of the paper's maximum over all cells (Luo et al. 2022, table 1).
    """
    records: dict[str, dict[str, Any]] = {}
    for label, dataset in datasets.items():
        rows = Measured(
            dataset, n_bins=n_bins, binning=binning, groups=groups, min_group_size=min_group_size
        )
        table = rows.of_groups
        worst = table[table["rows"] >= min_group_size].sort_values("mce").iloc[-1]
        furthest = rows.counted_gaps.iloc[int(rows.counted_gaps["gap"].abs().argmax())]
        cell = {"cell_gap": np.nan, "cell": "", "cell_rows": 0}
        if len(rows.cells):
            found = rows.cells.iloc[int(rows.cells["gap"].abs().argmax())]
            words = f"{found['group']}, confidence {rows.reliability.bins.name(int(found['bin']))}"
            cell = {"cell_gap": float(found["gap"]), "cell": words, "cell_rows": int(found["rows"])}
        records[label] = {
            "furthest_group": furthest["group"],
            "furthest_rows": int(furthest["rows"]),
            **{name: float(furthest[name]) for name in ("gap", "gap_low", "gap_high")},
            **cell,
            "max_group_mce": rows.largest_group_error,
            "worst_group": worst["group"],
            "worst_rows": int(worst["rows"]),
        }
    return pd.DataFrame.from_dict(records, orient="index")
