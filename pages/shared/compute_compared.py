"""What pages compute from recalibrated rows, behind the cache: groups and rewards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from lore_core import Comparison, compare_groups, group_report, reliability_table, reward_curve
from lore_core.metrics import ReliabilityTable, RewardCurve
from pages.shared.controls import View

__all__ = ["group_comparison", "group_reliability", "group_reports", "rewards"]

Key = tuple[Any, ...]


def _key(view: View, result: Comparison, *more: Any) -> Key:
    """Name a comparison, and what is asked of it, for the cache."""
    embedding = "" if view.embedding is None else view.embedding.digest
    settings = (view.gamma, view.n_bins, view.binning)
    return (view.dataset.digest, embedding, *settings, *result.datasets, *more)


@st.cache_resource(max_entries=32, show_spinner="Comparing groups …")
def _group_comparison(
    key: Key, _view: View, _result: Comparison, _names: np.ndarray, min_group_size: int
) -> pd.DataFrame:
    return compare_groups(
        _result.datasets,
        _names,
        n_bins=_view.n_bins,
        binning=_view.binning,
        min_group_size=min_group_size,
    )


def group_comparison(
    view: View, result: Comparison, by: str, names: np.ndarray, min_group_size: int
) -> pd.DataFrame:
    """Maximum group-wise MCE of every method; ``by`` names the grouping for the cache."""
    return _group_comparison(_key(view, result, by), view, result, names, min_group_size)


@st.cache_resource(max_entries=32, show_spinner="Measuring groups …")
def _group_reports(
    key: Key, _view: View, _result: Comparison, _names: np.ndarray
) -> dict[str, pd.DataFrame]:
    return {
        method: group_report(
            dataset.confidence,
            dataset.outcome,
            _names,
            n_bins=_view.n_bins,
            binning=_view.binning,
        )
        for method, dataset in _result.datasets.items()
    }


def group_reports(
    view: View, result: Comparison, by: str, names: np.ndarray
) -> dict[str, pd.DataFrame]:
    """Each group's numbers under every method."""
    return _group_reports(_key(view, result, by), view, result, names)


@st.cache_resource(max_entries=64, show_spinner=False)
def _group_reliability(
    key: Key, _view: View, _result: Comparison, method: str, _rows: np.ndarray
) -> ReliabilityTable:
    dataset = _result.datasets[method]
    return reliability_table(
        dataset.confidence[_rows],
        dataset.outcome[_rows],
        n_bins=_view.n_bins,
        binning=_view.binning,
    )


def group_reliability(
    view: View, result: Comparison, method: str, by: str, group: str, rows: np.ndarray
) -> ReliabilityTable:
    """Bins of one group's rows under one method."""
    return _group_reliability(_key(view, result, by, group), view, result, method, rows)


@st.cache_resource(max_entries=64, show_spinner="Counting rewards …")
def _rewards(
    key: Key, _result: Comparison, _rows: np.ndarray, ratio: float | None
) -> dict[str, RewardCurve]:
    first = next(iter(_result.datasets.values()))
    return {
        method: reward_curve(
            dataset.confidence[_rows],
            dataset.outcome[_rows],
            None if ratio is None else [ratio],
            baseline=first.confidence[_rows],
        )
        for method, dataset in _result.datasets.items()
    }


def rewards(
    view: View,
    result: Comparison,
    who: tuple[str, str],
    rows: np.ndarray,
    ratio: float | None = None,
) -> dict[str, RewardCurve]:
    """Reward curves of every method on some rows, or the rewards at one cost ratio."""
    return _rewards(_key(view, result, *who), result, rows, ratio)
