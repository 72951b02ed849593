"""Calibration of each group, with intervals, and the worst group of a method."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lore_core.data.binning import Binning, confidence_bins
from lore_core.data.dataset import Dataset
from lore_core.data.defaults import N_BINS
from lore_core.data.validation import as_confidence, as_group_labels, as_outcome, check_integer
from lore_core.data.weights import as_weights, chosen_weights
from lore_core.inference.intervals import N_SIMULATED, calibration_intervals
from lore_core.metrics.catalogue import MIN_GROUP_SIZE
from lore_core.metrics.global_metrics import groupwise_calibration_error
from lore_core.metrics.measured import Measured


def group_report(
    confidence: ArrayLike,
    outcome: ArrayLike,
    groups: ArrayLike,
    *,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    small: int = MIN_GROUP_SIZE,
    weights: ArrayLike | None = None,
    n_draws: int = N_SIMULATED,
    random_state: int = 0,
) -> pd.DataFrame:
    """Mean gap, ECE and MCE of each group, with 95 % intervals.

    ``confidence``, ``outcome`` (n,), ``weights`` (n,), ``n_bins``, ``binning``: see
    :func:`~lore_core.metrics.global_metrics.reliability_table`; bins are chosen once on all rows.
    ``groups`` (n,) or (n, g): group names; of several columns the intersections are taken.
    ``small``: groups with fewer rows are marked. ``n_draws``: simulations for each true error tried
    (:func:`~lore_core.inference.intervals.calibration_intervals`), at least 39; 0 for no intervals
    of ECE and MCE.

    Returns
    -------
    DataFrame
        One row a group, largest first: those of
        :func:`~lore_core.metrics.global_metrics.groupwise_calibration_error`, then ``ece_low,
        ece_high, mce_low, mce_high`` (of the true error, so the value, to which chance adds, may
        lie above) and ``small``.
    """
    c, a = as_confidence(confidence), as_outcome(outcome)
    names = as_group_labels(groups).astype(str)
    w = as_weights(weights, len(c))
    frame = groupwise_calibration_error(c, a, names, n_bins=n_bins, binning=binning, weights=w)
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
                n_draws=n_draws,
                random_state=random_state,
            )
            bounds[row] = intervals[["low", "high"]].to_numpy().ravel()
    frame[["ece_low", "ece_high", "mce_low", "mce_high"]] = bounds
    frame["small"] = frame["rows"] < check_integer(small, "small", minimum=0)
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

    Returns
    -------
    DataFrame
        One row a method. ``furthest_group, furthest_rows, gap, gap_low, gap_high`` (joint
        intervals) of the largest |gap| of :func:`~lore_core.metrics.global_metrics.counted_groups`;
        ``cell_gap`` (signed; NaN without one), ``cell, cell_rows`` of the largest of cells with
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
