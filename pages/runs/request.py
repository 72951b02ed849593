"""How runs are to be compared, and the answer: computed in the background, kept by its key."""

import hashlib
import os
from dataclasses import dataclass
from itertools import chain

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lore_core import compare_runs, load_runs
from lore_core.comparison import RunsComparison
from lore_core.dashboard.worker_pool import Request
from lore_core.data.progress import Progress, part_of
from lore_core.embedding import METHODS, MapName, estimate_seconds
from lore_core.metrics.catalogue import MIN_GROUP_SIZE
from lore_core.recalibration import offered_recalibrators
from lore_core.view import View
from lore_core.view.methods import group_columns, group_names
from pages.runs.source import RunsSource
from pages.shared.controls import bins_control, gamma_control, in_session
from pages.shared.header import plain
from pages.shared.methods import labels, preselected
from pages.shared.store import store

#: Share of the progress bar that reading the files takes.
_READING = 0.1
_NONE = "none"
_MAPS = {MapName(method).title: method for method in METHODS}
#: Rough seconds of one processor for one method on one run, without the map.
_SECONDS = 0.12


@dataclass(frozen=True)
class RunsRequest:
    """How the runs are to be compared."""

    feature_map: str | None  #: As :func:`lore_core.compare_runs` takes it.
    #: Settings of the metrics; ``by`` names the group columns.
    gamma: float
    n_bins: int
    by: tuple[str, ...]
    min_group_size: int
    methods: tuple[str, ...]  #: Labels; the first is the one the others are held against

    def key(self, source: RunsSource) -> str:
        """Return what links name the answer by."""
        return hashlib.sha256(f"{source.digest} {self!r}".encode()).hexdigest()[:20]


@dataclass(frozen=True)
class RunsAnswer:
    """A finished comparison, what it was asked and of which runs."""

    comparison: RunsComparison
    request: RunsRequest
    source: str


def work(source: RunsSource, request: RunsRequest) -> Request[RunsAnswer]:
    """Return the work that compares them."""
    key, runs = request.key(source), store().runs
    return Request(
        compare,
        {"source": source, "request": request},
        key,
        f"Comparison of {source.n_runs} runs",
        _seconds(source, request),
        lane="server",
        keep=lambda answer: runs.put(key, answer),
    )


def compare(source: RunsSource, request: RunsRequest, progress: Progress) -> RunsAnswer:
    """Read the runs and compare them."""
    files, reading = list(chain(*source.files)), part_of(progress, 0.0, _READING)
    datasets = source.drawn or load_runs(files, progress=reading, isolate=True)
    made = {item.label: item for item in offered_recalibrators(request.gamma, request.n_bins)}
    found = compare_runs(
        datasets,
        [made[name] for name in request.methods],
        feature_map=request.feature_map,
        gamma=request.gamma,
        n_bins=request.n_bins,
        group_column=request.by or None,
        min_group_size=request.min_group_size,
        progress=part_of(progress, _READING, 1.0),
    )
    return RunsAnswer(found, request, source.name)


def ask(source: RunsSource) -> RunsRequest | None:
    """Draw the settings; return what they ask for, None while it is incomplete."""
    first = source.first
    if first.calibration is None:
        st.error(
            f"The run {plain(first.name)} has no calibration rows to fit recalibrators on. Give "
            "pairs of files <run>_cal.* and <run>_test.*, or a split column.",
            icon=":material/error:",
        )
        return None
    features = "no features" if first.features is None else f"{first.features.shape[1]:,} features"
    st.caption(
        f"**{source.n_runs:,} run{'s' * (source.n_runs > 1)}** in {plain(source.name)}. The first, "
        f"{plain(first.name)}: {len(first.calibration):,} calibration + "
        f"{len(first.evaluation):,} evaluation rows, {first.n_classes:,} classes, {features}."
    )
    columns = st.columns([1.1, 0.8, 2, 1.5], vertical_alignment="bottom")
    feature_map = _feature_map(source, columns)
    gamma = View.gamma if feature_map is None else gamma_control(columns[2])
    n_bins = bins_control(columns[3])
    by, smallest = _groups(source)
    offered = labels(local=feature_map is not None, weighted=False)
    methods = st.multiselect(
        "Methods",
        offered,
        default=preselected(offered),
        **in_session(f"runs_methods_{feature_map is not None}"),
        help="The others are compared with the first.",
    )
    if not methods:
        st.info("Choose at least one method.", icon=":material/tune:")
        return None
    return RunsRequest(feature_map, gamma, n_bins, by, smallest, tuple(methods))


def _feature_map(source: RunsSource, columns: list[DeltaGenerator]) -> str | None:
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
        **in_session("runs_map"),
        help="Made of each run's calibration and evaluation features together, without labels. "
        "None: global methods and metrics only.",
    )
    if name == _NONE:
        return None
    method, dimensions = _MAPS[name], None
    if method == "pca":
        most = min(features.shape[1], len(source.first), 50)
        dimensions = columns[1].number_input(
            "Dimensions", 1, most, min(20, most), **in_session("runs_pca")
        )
    elif MapName(method).learned:
        dimensions = columns[1].number_input("Dimensions", 2, 3, 2, **in_session("runs_dimensions"))
    return MapName(method, dimensions).typed


def _groups(source: RunsSource) -> tuple[tuple[str, ...], int]:
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
        **in_session("runs_groups"),
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
        **in_session("runs_min_group"),
        disabled=not by,
        help="Evaluation rows, in each run for itself. Smaller groups do not set the maximum: "
        "theirs is mostly noise. 1 counts every group, as Luo et al. 2022 do.",
    )
    return tuple(by), int(smallest) if by else 1


def _seconds(source: RunsSource, request: RunsRequest) -> float:
    one = _SECONDS * len(request.methods)
    if request.feature_map is not None and source.first.features is not None:
        name = MapName.parse(request.feature_map, "feature_map")
        n, p = source.first.features.shape
        one += estimate_seconds(name.method, n, p, name.n_components or 1)
    return one * source.n_runs / (os.cpu_count() or 1)
