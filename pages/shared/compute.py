"""The library's functions behind this server's cache: one line each, keyed by digests."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from lore_core import (
    BandwidthCurve,
    Comparison,
    Dataset,
    Embedding,
    InputError,
    bandwidth_curve,
    compare,
    error_field,
    local_errors,
    reliability_table,
    suggest_bandwidth,
    summarize,
)
from lore_core.chance import affordable_intervals
from lore_core.comparison import Summary
from lore_core.data.dataset import CALIBRATION
from lore_core.metrics import BandwidthSuggestion, LocalErrors, ReliabilityTable
from lore_core.recalibration import offered_recalibrators
from lore_core.regions import Field, smoothed_field
from pages.shared.caching import HASH, Settings, Target, rows_of

__all__ = [
    "comparison",
    "curve",
    "errors",
    "exact_field",
    "method_curve",
    "reliability",
    "row_field",
    "suggestion",
    "summary",
]


@st.cache_resource(max_entries=64, hash_funcs=HASH, show_spinner=False)
def reliability(dataset: Dataset, target: Target, n_bins: int, binning: Any) -> ReliabilityTable:
    """Bins of the evaluation rows."""
    aimed = dataset.evaluation.target(target)
    return reliability_table(aimed.confidence, aimed.outcome, n_bins=n_bins, binning=binning)


@st.cache_resource(max_entries=12, hash_funcs=HASH, show_spinner="Computing local errors …")
def errors(dataset: Dataset, embedding: Embedding, settings: Settings) -> LocalErrors:
    """Local errors of the evaluation rows."""
    aimed = dataset.evaluation.target(settings.target)
    points = rows_of(dataset, embedding)
    return local_errors(aimed.confidence, aimed.outcome, points, **settings.local)


@st.cache_resource(max_entries=64, hash_funcs=HASH, show_spinner="Drawing the landscape …")
def exact_field(
    dataset: Dataset,
    embedding: Embedding,
    settings: Settings,
    bin_index: int,
    min_effective_size: float,
    largest_p: float | None = None,
) -> Field:
    """Exact field of one bin of the evaluation rows."""
    target, gamma, n_bins, binning = settings
    aimed = dataset.evaluation.target(target)
    table = reliability(dataset, target, n_bins, binning)
    return error_field(
        aimed.confidence,
        aimed.outcome,
        rows_of(dataset, embedding),
        gamma=gamma,
        rows=table.bins.assign(aimed.confidence) == bin_index,
        min_effective_size=min_effective_size,
        largest_p=largest_p,
    )


@st.cache_resource(max_entries=64, hash_funcs=HASH, show_spinner="Drawing the landscape …")
def row_field(
    dataset: Dataset,
    on_map: Embedding,
    key: tuple[Any, ...],
    _found: LocalErrors,
    _rows: np.ndarray,
    min_effective_size: float,
    _significant: np.ndarray | None = None,
) -> Field:
    """Rows' own errors averaged on a map; ``key`` names the errors and the rows for the cache."""
    return smoothed_field(
        _found.signed,
        _found.effective_size,
        rows_of(dataset, on_map),
        rows=_rows,
        min_effective_size=min_effective_size,
        significant=_significant,
    )


@st.cache_resource(max_entries=12, hash_funcs=HASH, show_spinner="Bootstrapping intervals …")
def summary(dataset: Dataset, embedding: Embedding | None, settings: Settings) -> Summary:
    """Every metric of the evaluation rows, with as many bootstrap draws as can be afforded."""
    points = rows_of(dataset, embedding)
    # Nothing to compare with: resampled local metrics would be for nothing.
    afforded = _affordable(dataset, points) | {"local_draws": False}
    return summarize(
        dataset.evaluation, points, target=settings.target, **settings.local, **afforded
    )


def _affordable(dataset: Dataset, points: Any, **limits: int) -> dict[str, Any]:
    dimensions = None if points is None else points.shape[1]
    return affordable_intervals(len(dataset.evaluation), dimensions, **limits)


@st.cache_resource(max_entries=32, hash_funcs=HASH, show_spinner="Computing the curve …")
def curve(
    dataset: Dataset, embedding: Embedding, target: Target, n_bins: int, binning: Any
) -> BandwidthCurve:
    """MLCE and ALCE of the evaluation rows over γ."""
    aimed = dataset.evaluation.target(target)
    return bandwidth_curve(
        aimed.confidence,
        aimed.outcome,
        rows_of(dataset, embedding),
        n_bins=n_bins,
        binning=binning,
    )


@st.cache_resource(max_entries=32, hash_funcs=HASH, show_spinner="Looking for the best γ …")
def suggestion(
    dataset: Dataset, embedding: Embedding, target: Target, n_bins: tuple[int, ...], binning: Any
) -> BandwidthSuggestion | None:
    """Return the γ and bins that predict calibration rows best; None where they are too few."""
    if dataset.calibration is None:
        return None
    try:
        return _suggestion(dataset, embedding, target, n_bins, binning)
    except InputError:  # no bin holds two rows
        return None


def _suggestion(
    dataset: Dataset, embedding: Embedding, target: Target, n_bins: tuple[int, ...], binning: Any
) -> BandwidthSuggestion:
    assert dataset.calibration is not None
    aimed = dataset.calibration.target(target)
    return suggest_bandwidth(
        aimed.confidence,
        aimed.outcome,
        rows_of(dataset, embedding, CALIBRATION),
        n_bins=n_bins,
        binning=binning,
    )


@st.cache_resource(max_entries=4, hash_funcs=HASH, show_spinner="Fitting the recalibrators …")
def comparison(
    dataset: Dataset,
    embedding: Embedding | None,
    measured_on: Embedding | None,
    methods: tuple[str, ...],
    gamma: float,
    n_bins: int,
    binning: Any,
    groups: tuple[str, int] | None,
) -> Comparison:
    """Every method fitted on the calibration rows and measured on the evaluation rows.

    ``groups`` names the group column and the smallest group of the maximum group-wise MCE.
    """
    assert dataset.calibration is not None
    metric_points = rows_of(dataset, measured_on)
    column, smallest = groups or (None, 1)
    frame = dataset.evaluation.groups
    made = {item.label: item for item in offered_recalibrators(gamma, n_bins, binning)}
    return compare(
        dataset.calibration,
        dataset.evaluation,
        [made[name] for name in methods],
        # With its map, so that what was fitted can be saved and place new rows by itself.
        calibration_embedding=None
        if embedding is None
        else embedding.rows(dataset.in_split(CALIBRATION)),
        evaluation_embedding=rows_of(dataset, embedding),
        metric_embedding=metric_points,
        gamma=gamma,
        n_bins=n_bins,
        binning=binning,
        groups=None if column is None or frame is None else frame[column],
        min_group_size=smallest,
        **_affordable(dataset, metric_points, n_methods=len(methods), wanted=100),
    )


@st.cache_resource(max_entries=64, hash_funcs=HASH, show_spinner="Computing the curves …")
def method_curve(
    dataset: Dataset,
    embedding: Embedding,
    method: tuple[str, str],
    gamma: float,
    n_bins: int,
    binning: Any,
    _recalibrated: Dataset,
) -> BandwidthCurve:
    """MLCE and ALCE over γ after one method; ``method`` names it and the map it used."""
    return bandwidth_curve(
        _recalibrated.confidence,
        _recalibrated.outcome,
        rows_of(dataset, embedding),
        n_bins=n_bins,
        binning=binning,
    )
