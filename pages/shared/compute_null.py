"""What chance alone would show, behind the cache: tests, simulations, regions."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from lore_core import Dataset, Embedding, find_regions, local_significance, null_band, null_errors
from lore_core.chance import NullBand, NullErrors, Significance, affordable_null_draws
from lore_core.data import confidence_bins
from lore_core.metrics import default_gammas
from lore_core.regions import Outline, RegionSearch, rows_outline
from pages.shared.caching import HASH, Settings, Target, rows_of

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
def significance(dataset: Dataset, embedding: Embedding, settings: Settings) -> Significance:
    """Test every evaluation row's local error against chance."""
    aimed = dataset.evaluation.target(settings.target)
    points = rows_of(dataset, embedding)
    return local_significance(aimed.confidence, aimed.outcome, points, **settings.local)


@st.cache_resource(max_entries=12, hash_funcs=HASH, show_spinner="Simulating chance …")
def chance_band(
    dataset: Dataset, embedding: Embedding, target: Target, n_bins: int, binning: Any
) -> NullBand | None:
    """MLCE and ALCE over γ if every confidence were right; None where it would take too long."""
    points = rows_of(dataset, embedding)
    draws = affordable_null_draws(len(points), points.shape[1], len(default_gammas()))
    if not draws:
        return None
    confidence = dataset.evaluation.target(target).confidence
    return null_band(confidence, points, n_bins=n_bins, binning=binning, n_draws=draws)


@st.cache_resource(max_entries=32, hash_funcs=HASH, show_spinner="Simulating chance …")
def chance_errors(
    dataset: Dataset, embedding: Embedding, settings: Settings, bin_index: int | None = None
) -> NullErrors | None:
    """Return all summaries at one γ if every confidence were right; CDF of one bin or of all."""
    points = rows_of(dataset, embedding)
    draws = affordable_null_draws(len(points), points.shape[1], 1)
    if not draws:
        return None
    confidence = dataset.evaluation.target(settings.target).confidence
    within = None
    if bin_index is not None:
        bins = confidence_bins(confidence, settings.n_bins, settings.binning)
        within = bins.assign(confidence) == bin_index
    return null_errors(confidence, points, n_draws=draws, within=within, **settings.local)


@st.cache_resource(max_entries=12, hash_funcs=HASH, show_spinner="Looking for regions …")
def regions(
    dataset: Dataset, embedding: Embedding, settings: Settings, q: float, edge: float
) -> RegionSearch:
    """Regions of wrong confidence among the evaluation rows."""
    aimed = dataset.evaluation.target(settings.target)
    points = rows_of(dataset, embedding)
    return find_regions(aimed.confidence, aimed.outcome, points, q=q, edge=edge, **settings.local)


@st.cache_resource(max_entries=128, hash_funcs=HASH, show_spinner=False)
def region_outline(
    dataset: Dataset, on_map: Embedding, key: tuple[Any, ...], _inside: np.ndarray
) -> Outline:
    """Where on a map a region lies; ``key`` names the region for the cache."""
    return rows_outline(rows_of(dataset, on_map), _inside)
