"""How the runs are to be compared: feature map, bandwidth, bins, groups, methods."""

from __future__ import annotations

import os

import numpy as np
import streamlit as st

from lore_core.embedding import METHODS, MapName, estimate_seconds
from lore_core.metrics.catalogue import MIN_GROUP_SIZE
from lore_core.view.methods import group_columns, group_names
from pages.runs.request import RunsRequest
from pages.runs.source import RunsSource
from pages.shared.controls import bins_control, gamma_control
from pages.shared.header import plain
from pages.shared.methods import labels, preselected
from pages.shared.tasks import expected_duration

_NONE = "none"
#: Methods by their name on the page.
_MAPS = {MapName(method).title: method for method in METHODS}
#: Rough seconds of one processor for one method on one run, without the map.
_SECONDS = 0.12


def ask(source: RunsSource) -> tuple[RunsRequest | None, float]:
    """Draw the settings; return what they ask for, None while it is incomplete, and its seconds."""
    first = source.first
    if first.calibration is None:
        st.error(
            f"The run {plain(first.name)} has no calibration rows to fit recalibrators on. Give "
            "pairs of files <run>_cal.* and <run>_test.*, or a split column.",
            icon=":material/error:",
        )
        return None, 0.0
    features = "no features" if first.features is None else f"{first.features.shape[1]:,} features"
    st.caption(
        f"**{source.n_runs:,} run{'s' * (source.n_runs > 1)}** in {plain(source.name)}. The first, "
        f"{plain(first.name)}: {len(first.calibration):,} calibration + "
        f"{len(first.evaluation):,} evaluation rows, {first.n_classes:,} classes, {features}."
    )
    columns = st.columns([1.1, 0.8, 2, 1.5], vertical_alignment="bottom")
    feature_map = _feature_map(source, columns)
    gamma = 0.2 if feature_map is None else gamma_control(columns[2])
    n_bins = bins_control(columns[3])
    by, smallest = _groups(source)
    offered = labels(local=feature_map is not None, weighted=False)
    methods = st.multiselect(
        "Methods",
        offered,
        default=preselected(offered),
        key=f"runs_methods_{feature_map is not None}",
        persist_state="session",
        help="The first is the one the others are held against.",
    )
    if not methods:
        st.info("Choose at least one method.", icon=":material/tune:")
        return None, 0.0
    request = RunsRequest(feature_map, gamma, n_bins, by, smallest, tuple(methods))
    return request, _seconds(source, request)


def _feature_map(
    source: RunsSource, columns: list[st.delta_generator.DeltaGenerator]
) -> str | None:
    """Choose the map the methods and the local metrics work on; None for none."""
    features = source.first.features
    if features is None:
        columns[0].selectbox(
            "Similar by", [_NONE], disabled=True, help="These runs hold no features."
        )
        return None
    name = columns[0].selectbox(
        "Similar by",
        [*_MAPS, _NONE],
        key="runs_map",
        persist_state="session",
        help="Made of each run's calibration and evaluation features together, without labels. "
        "None: global methods and metrics only.",
    )
    if name == _NONE:
        return None
    method, dimensions = _MAPS[name], None
    if method == "pca":
        most = min(features.shape[1], len(source.first), 50)
        dimensions = columns[1].number_input(
            "Dimensions", 1, most, min(20, most), key="runs_pca", persist_state="session"
        )
    elif MapName(method).learned:
        dimensions = columns[1].number_input(
            "Dimensions", 2, 3, 2, key="runs_dimensions", persist_state="session"
        )
    return MapName(method, dimensions).typed


def _groups(source: RunsSource) -> tuple[tuple[str, ...], int]:
    """Choose group columns and the smallest group that counts."""
    names = group_columns(source.first)
    if not names:
        st.caption(
            "These runs name no groups, so the worst group is not measured. Add a `groups` array "
            "(npz), or a text column of a few values (CSV, Parquet)."
        )
        return (), 1
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    by = left.multiselect(
        "Groups by",
        names,
        default=names[:1],
        key="runs_groups",
        persist_state="session",
        help="For the maximum group-wise MCE. Several columns give their intersections.",
    )
    largest = 1
    if by:
        largest = int(
            np.unique(group_names(source.first.evaluation, by), return_counts=True)[1].max()
        )
    smallest = right.number_input(
        "Smallest group counted",
        1,
        largest,
        min(MIN_GROUP_SIZE, largest),
        key="runs_min_group",
        persist_state="session",
        disabled=not by,
        help="Evaluation rows, in each run for itself. Smaller groups do not set the maximum: "
        "theirs is mostly noise. 1 counts every group, as Luo et al. 2022 do.",
    )
    return tuple(by), int(smallest) if by else 1


def _seconds(source: RunsSource, request: RunsRequest) -> float:
    """Rough duration on the processors of this machine."""
    one = _SECONDS * len(request.methods)
    if request.feature_map is not None and source.first.features is not None:
        name = MapName.parse(request.feature_map, "feature_map")
        n, p = source.first.features.shape
        one += estimate_seconds(name.method, n, p, name.n_components or 1)
    return expected_duration(source.work, one * source.n_runs / (os.cpu_count() or 1))
