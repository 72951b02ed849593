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
    Outline,
    RegionSearch,
    Significance,
    affordable_null_draws,
    default_gammas,
    find_regions,
    local_significance,
    null_band,
    null_errors,
    reliability_table,
    rows_outline,
)
from pages.shared.caching import HASH, Target, rows_of

__all__ = [
    "REGIONS_AT_ONCE",
    "chance_band",
    "chance_errors",
    "region_outline",
    "regions",
    "significance",
]

#: More evaluation rows than this are searched for regions only when the reader asks for it.
REGIONS_AT_ONCE = 50_000


@st.cache_resource(max_entries=12, hash_funcs=HASH, show_spinner="Testing against chance …")
def significance(
    dataset: Dataset, embedding: Embedding, target: Target, gamma: float, n_bins: int, binning: Any
) -> Significance:
    """Test every evaluation row's local error against chance."""
    aimed = dataset.evaluation.target(target)
    return local_significance(
        aimed.confidence,
        aimed.outcome,
        rows_of(dataset, embedding),
        gamma=gamma,
        n_bins=n_bins,
        binning=binning,
    )


@st.cache_resource(max_entries=12, hash_funcs=HASH, show_spinner="Simulating chance …")
def chance_band(
    dataset: Dataset, embedding: Embedding, target: Target, n_bins: int, binning: Any
) -> NullBand | None:
    """MLCE and ALCE over γ if every confidence were right; None where it would take too long."""
    points = rows_of(dataset, embedding)
    draws = affordable_null_draws(*points.shape, len(default_gammas()))
    if not draws:
        return None
    confidence = dataset.evaluation.target(target).confidence
    return null_band(confidence, points, n_bins=n_bins, binning=binning, n_draws=draws)


@st.cache_resource(max_entries=32, hash_funcs=HASH, show_spinner="Simulating chance …")
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
    points = rows_of(dataset, embedding)
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


@st.cache_resource(max_entries=12, hash_funcs=HASH, show_spinner="Looking for regions …")
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
        rows_of(dataset, embedding),
        gamma=gamma,
        n_bins=n_bins,
        binning=binning,
        q=q,
        edge=edge,
    )


@st.cache_resource(max_entries=128, hash_funcs=HASH, show_spinner=False)
def region_outline(
    dataset: Dataset, on_map: Embedding, key: tuple[Any, ...], _inside: np.ndarray
) -> Outline:
    """Where on a map a region lies; ``key`` names the region for the cache."""
    return rows_outline(rows_of(dataset, on_map), _inside)
