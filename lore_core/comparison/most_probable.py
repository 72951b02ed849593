"""Predictions after recalibration: the predicted class stays, the most probable one may not."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
from scipy import stats

from lore_core.data.dataset import Dataset
from lore_core.data.number_text import POINTS, percent, share_words
from lore_core.kernel_sums.schedule import thread_count

#: Another class must be ahead by this much: ties are no change.
_TIE = 1e-9


def most_probable_classes(datasets: Mapping[str, Dataset]) -> pd.DataFrame:
    """Hold the most probable class of each row against the predicted one.

    Parameters
    ----------
    datasets : dict of str to Dataset
        The same rows as each method left them.

    Returns
    -------
    DataFrame
        One row a method: ``changed``, the share of rows in which another class is more probable
        than the predicted one; ``accuracy`` of the most probable classes; its ``difference`` to
        that of the predicted ones, from ``low`` to ``high``.

    Notes
    -----
    With b rows set right and c set wrong the intervals are those of Agresti and Min for paired
    shares, (b − c)/(n + 2) ± z √(b + c + 1 − (b − c)²/(n + 2)) / (n + 2), and hold for all methods
    at once with 95 % (Bonferroni).

    References
    ----------
    Agresti, Min, "Simple improved confidence intervals for comparing matched proportions",
    Statistics in Medicine 24, 2005.
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
    """Say whether the most probable class is another one than the predicted one.

    ``table``: from :func:`most_probable_classes`.
    """
    changed = table["changed"]
    if not (changed > 0).any():
        return "No method changes a row's most probable class, so the accuracy stays."
    most = str(changed.idxmax())
    said = (
        "Accuracy and errors are those of the class the classifier predicted, which stays. Taking "
        f"the most probable class afterwards changes up to {share_words(changed[most])} of the "
        f"rows (“{most}”)"
    )
    sure = table[(table["low"] > 0) | (table["high"] < 0)].sort_values("difference")[::-1]
    if sure.empty:
        return f"{said}; with no method does the accuracy surely change."
    changes = "; ".join(
        f"with “{name}” to {percent(row['accuracy'])} "
        f"({POINTS.text(row['difference'], signed=True)} points, "
        f"95 %: {POINTS.interval_text(row['low'], row['high'], signed=True)})"
        for name, row in sure.iterrows()
    )
    return f"{said}; the accuracy then surely changes, {changes}."
