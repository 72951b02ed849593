"""Effects of recalibration on the same rows: worst parts, most probable classes, rewards."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from lore_core.comparison.summary import Summary
from lore_core.data.arrays import Mask
from lore_core.data.dataset import Dataset
from lore_core.data.number_text import POINTS, percent, share_words
from lore_core.data.weights import chosen_weights
from lore_core.kernel_sums.schedule import thread_count
from lore_core.metrics.catalogue import COMPARED
from lore_core.metrics.global_metrics import share_interval
from lore_core.metrics.rewards import RewardCurve, reward_curves

#: Another class must be more probable by this much.
_TIE = 1e-9
#: Changes of a gap by less are of no consequence.
MATTERS = 0.01
COLUMNS = ["metric", "worst", "where", "rows", "before", "after", "low", "high", "change"]


def try_worst_parts(
    summaries: Mapping[str, Summary], datasets: Mapping[str, Dataset]
) -> pd.DataFrame:
    """Compare the worst subgroups before each method, and those that are worst after it.

    One row a method but the first, a maximum, and "before" or "after": the subgroup, its held-out
    rows, their gaps with 95 % Wilson intervals, and ``change``: "nearer" to zero, "further" or
    "open". The difference of the two maxima themselves has no valid interval.
    """
    (first, before), *others = summaries.items()
    records: list[dict[str, Any]] = []
    for method, after in others:
        for metric in COMPARED:
            for when, summary in (("before", before), ("after", after)):
                if metric.name not in summary.worst_parts:
                    continue
                part = summary.worst_parts[metric.name]
                rows, n = part.held_out, len(part.held_out)
                weights = chosen_weights(datasets[first].weights, rows)
                mean = partial(np.average, weights=weights)
                accuracy, low, high = share_interval(datasets[first].outcome[rows], weights)
                old, new = (float(mean(datasets[m].confidence[rows])) for m in (first, method))
                change = int(closer_to_zero(low, high, old, new))
                records.append(
                    {
                        "method": method,
                        "metric": metric.name,
                        "worst": when,
                        "where": part.name,
                        "rows": n,
                        "before": old - accuracy,
                        "after": new - accuracy,
                        "low": new - high,
                        "high": new - low,
                        "change": ("open", "nearer", "further")[change],
                    }
                )
    return pd.DataFrame(records, columns=["method", *COLUMNS])


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
    z = stats.norm.ppf(1 - 0.025 / max(len(datasets), 1))

    def row(data: Dataset) -> tuple[float, ...]:
        top = data.probabilities.argmax(axis=1)
        changed = data.probabilities.max(axis=1) > data.confidence + _TIE
        right = np.where(changed, top == data.labels, data.outcome == 1)
        apart = right - data.outcome
        n, net, moved = len(data), apart.sum(), np.abs(apart).sum()
        middle = net / (n + 2)
        half = z * np.sqrt(moved + 1 - net**2 / (n + 2)) / (n + 2)
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
    )
