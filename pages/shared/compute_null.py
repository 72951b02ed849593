"""What chance alone would show, behind the cache: tests, simulations, regions."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from lore_core import (
    Dataset,
    Embedding,
    NullBand,
    NullErrors,
    RegionSearch,
    Significance,
    affordable_null_draws,
    default_gammas,
    find_regions,
    local_significance,
    null_band,
    null_errors,
    reliability_table,
)

__all__ = ["chance_band", "chance_errors", "regions", "significance"]

_HASH: dict[str | type, Any] = {
    Dataset: lambda item: item.digest,
    Embedding: lambda item: item.digest,
}
Target = str | int


def _evaluation_points(dataset: Dataset, embedding: Embedding) -> np.ndarray:
    return embedding.coordinates[dataset.in_split("evaluation")]


@st.cache_resource(max_entries=12, hash_funcs=_HASH, show_spinner="Testing against chance …")
def significance(
    dataset: Dataset, embedding: Embedding, target: Target, gamma: float, n_bins: int, binning: Any
) -> Significance:
    """Test every evaluation row's local error against chance."""
    aimed = dataset.evaluation.target(target)
    return local_significance(
        aimed.confidence,
        aimed.outcome,
        _evaluation_points(dataset, embedding),
        gamma=gamma,
        n_bins=n_bins,
        binning=binning,
    )


@st.cache_resource(max_entries=12, hash_funcs=_HASH, show_spinner="Simulating chance …")
def chance_band(
    dataset: Dataset, embedding: Embedding, target: Target, n_bins: int, binning: Any
) -> NullBand | None:
    """MLCE and ALCE over γ if every confidence were right; None where it would take too long."""
    points = _evaluation_points(dataset, embedding)
    draws = affordable_null_draws(*points.shape, len(default_gammas()))
    if not draws:
        return None
    confidence = dataset.evaluation.target(target).confidence
    return null_band(confidence, points, n_bins=n_bins, binning=binning, n_draws=draws)


@st.cache_resource(max_entries=32, hash_funcs=_HASH, show_spinner="Simulating chance …")
def chance_errors(
    dataset: Dataset,
    embedding: Embedding,
    target: Target,
    gamma: float,
    n_bins: int,
    binning: Any,
    bin_index: int | None = None,
) -> NullErrors | None:
    """Return all summaries at one γ if every confidence were right; CDF of one bin or of all."""
    points = _evaluation_points(dataset, embedding)
    draws = affordable_null_draws(*points.shape, 1)
    if not draws:
        return None
    aimed = dataset.evaluation.target(target)
    within = None
    if bin_index is not None:
        table = reliability_table(aimed.confidence, aimed.outcome, n_bins=n_bins, binning=binning)
        within = table.bins.assign(aimed.confidence) == bin_index
    return null_errors(
        aimed.confidence,
        points,
        gamma=gamma,
        n_bins=n_bins,
        binning=binning,
        n_draws=draws,
        within=within,
    )


@st.cache_resource(max_entries=12, hash_funcs=_HASH, show_spinner="Looking for regions …")
def regions(
    dataset: Dataset,
    embedding: Embedding,
    target: Target,
    gamma: float,
    n_bins: int,
    binning: Any,
    q: float,
    edge: float,
) -> RegionSearch:
    """Regions of wrong confidence among the evaluation rows."""
    aimed = dataset.evaluation.target(target)
    return find_regions(
        aimed.confidence,
        aimed.outcome,
        _evaluation_points(dataset, embedding),
        gamma=gamma,
        n_bins=n_bins,
        binning=binning,
        q=q,
        edge=edge,
    )
