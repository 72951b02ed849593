"""Which runs are compared and how, computed in the background, and what is shown of the answer."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lore_core import Dataset, compare_runs, load_runs, reading
from lore_core.comparison import RunsComparison, conclude_runs
from lore_core.comparison.runs_result import range_words
from lore_core.dashboard.worker_pool import Request
from lore_core.data.dataset import CALIBRATION, EVALUATION
from lore_core.data.number_text import unbroken
from lore_core.data.progress import Progress, part_of
from lore_core.demo import synthetic
from lore_core.embedding import MapName, estimate_seconds
from lore_core.figures import run_scatter_figure, runs_figure
from lore_core.metrics import catalogue
from lore_core.metrics.catalogue import MIN_GROUP_SIZE
from lore_core.metrics.metric import Metric
from lore_core.reading.formats import runs_in
from lore_core.reading.raw_file import RawFile
from lore_core.recalibration import offered_recalibrators
from lore_core.view import View
from lore_core.view.methods import group_columns, group_names
from pages.shared import controls, files
from pages.shared.cells import show_methods
from pages.shared.charts import csv_button, show_chart
from pages.shared.controls import in_session, linked, show_tabs
from pages.shared.header import conclude, plain
from pages.shared.maps import MAPS, available_maps
from pages.shared.methods import choose_methods, labels
from pages.shared.store import store

#: Draws of the sample, and rows of each.
_DRAWS, _ROWS = 10, 2_000
_INSTEAD = "Give the directory that holds the runs; a single file belongs on the Data page."
_TEXT = (
    "**One training is one draw:** a recalibrator that won may have been lucky. Train the model "
    "with ten seeds or more and save each training's predictions as a pair of files (.npz, .csv, "
    ".parquet, …): every recalibrator is measured on each. **Sample** shows what comes out."
)
_EXAMPLE = """my_runs/
├── seed00_cal.npz    to fit on
├── seed00_test.npz   to measure on
├── seed01_cal.npz
├── seed01_test.npz
└── …"""
#: Share of the progress bar that reading the files takes.
_READING = 0.1
_NONE = "none"
#: Rough seconds of one processor for one method on one run, without the map.
_SECONDS = 0.12


@dataclass(frozen=True, eq=False)
class RunsSource:
    """Runs that can be read, and the first of them, which says what they hold."""

    name: str  #: What to call them
    files: tuple[tuple[RawFile, ...], ...]  #: Of each run
    first: Dataset  #: The first run
    digest: str  #: Changes with the files
    drawn: tuple[Dataset, ...] = ()  #: The runs, where there are no files

    @property
    def n_runs(self) -> int:
        """How many runs there are."""
        return len(self.drawn or self.files)


def choose(*, explain: bool = True) -> RunsSource | None:
    """Draw the sources; return the runs that were given; ``explain``: say what is wanted."""
    return controls.choose_source(
        "runs",
        _looked_at,
        label="Runs from",
        sample=f"{_DRAWS} draws of {_ROWS:,} made-up rows, overconfident in one subgroup and "
        "underconfident in another, while every confidence bin is right on average.",
        directory=(
            "Directory of runs on this machine",
            "~/experiments/my_runs",
            "Every pair of files <run>_cal.* and <run>_test.* in it is one training. Without any "
            "pair each file is a run, with a split column of its own.",
        ),
        uploads=(
            "Files of all runs: pairs <run>_cal.* and <run>_test.*, or with a split column",
            None,
        ),
        wanted=(_TEXT, _EXAMPLE) if explain else None,
    )


@st.cache_resource(show_spinner="Drawing the sample …")
def _sample() -> RunsSource:
    """Draw made-up rows with a planted error, as so many trainings might give them."""
    drawn = []
    for draw in range(_DRAWS):
        rows = synthetic(_ROWS, random_state=draw).dataset
        halves = rows.rows(np.argsort(rows.in_split(EVALUATION), kind="stable"))
        drawn.append(replace(halves, name=f"draw{draw}"))
    return RunsSource("the sample", (), drawn[0], "sample", tuple(drawn))


def _looked_at(given: Path | list[Any] | None) -> RunsSource:
    if given is None:
        return _sample()
    uploads = given if isinstance(given, list) else []
    state: Any = [item.file_id for item in uploads]
    name = f"{len(uploads)} uploaded files"
    if isinstance(given, Path):
        state, name = files.directory_state(given, _INSTEAD), given.name

    def look() -> RunsSource:
        with st.spinner("Looking at the first run …"):
            runs = runs_in(given)
            files.check_inside(chain(*runs.values()))
            run, own = next(iter(runs.items()))
            first = reading.load(list(own), name=run, isolate=True)
        marks = [(item.name, hashlib.sha256(item.getvalue()).hexdigest()) for item in uploads]
        digest = hashlib.sha256(repr(marks or state).encode()).hexdigest()
        return RunsSource(name, tuple(runs.values()), first, digest)

    return files.once_a_state("_runs_source", state, look)


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
    one = _SECONDS * len(request.methods)
    if request.feature_map is not None and source.first.features is not None:
        name = MapName.parse(request.feature_map, "feature_map")
        n, p = source.first.features.shape
        one += estimate_seconds(name.method, n, p, name.n_components or 1)
    return Request(
        compare,
        {"source": source, "request": request},
        key,
        f"Comparison of {source.n_runs} runs",
        one * source.n_runs / (os.cpu_count() or 1),
        lane="server",
        keep=lambda answer: runs.put(key, answer),
    )


def compare(source: RunsSource, request: RunsRequest, progress: Progress) -> RunsAnswer:
    """Read the runs and compare them."""
    given, share = list(chain(*source.files)), part_of(progress, 0.0, _READING)
    datasets = source.drawn or load_runs(given, progress=share, isolate=True)
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
    left, middle, right = st.columns([1.3, 2, 1.5], vertical_alignment="bottom")
    feature_map = _feature_map(first, left)
    gamma = View.gamma if feature_map is None else controls.gamma_control(middle)
    n_bins = controls.bins_control(right)
    by, smallest = _groups(source)
    offered = labels(local=feature_map is not None)
    methods = choose_methods(offered, f"runs_methods_{feature_map is not None}")
    if not methods:
        st.info("Choose at least one method.", icon=":material/tune:")
        return None
    return RunsRequest(feature_map, gamma, n_bins, by, smallest, tuple(methods))


def _feature_map(first: Dataset, container: DeltaGenerator) -> str | None:
    """Choose the map the methods and the local metrics work on; None for none."""
    names = [MAPS[title] for title in available_maps(first)]
    if first.features is not None:
        names.insert(0, MapName("pca", min(*first.features.shape, 20)))
    offered = {name.title: name.typed for name in names}
    about = (
        "Made of each run's calibration and evaluation features together, without labels. None: "
        "global methods and metrics only."
    )
    chosen = container.selectbox(
        "Similar by",
        [*offered, _NONE],
        **in_session("runs_map"),
        disabled=not offered,
        help=about if offered else "These runs hold no features.",
    )
    return offered.get(chosen)


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
    counts = np.unique(group_names(source.first.evaluation, by or names[:1]), return_counts=True)[1]
    largest = int(counts.max())
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


_BEST = "★"


def _metric_choice(label: str, names: list[str], preferred: Metric, **where: Any) -> str:
    first = names.index(preferred.name) if preferred.name in names else 0
    chosen: str = st.selectbox(label, names, first, format_func=catalogue.words_of, **where)
    return chosen


def show(answer: RunsAnswer) -> None:
    """Show a finished comparison: which method is best, every run, then the table."""
    result = answer.comparison
    metrics = [metric for metric in catalogue.RUNS_TABLE if metric.name in result.metrics]
    shown = [metric.name for metric in metrics if catalogue.less_is_better(metric.name)]
    top, picture = st.container(key="main_answer"), st.container(key="main_picture")
    preferred, look = catalogue.WORST_GROUP_GAP, {"width": 300, **linked("runs_metric")}
    metric = _metric_choice("Best by", shown, preferred, **look)
    conclude(top, conclude_runs(result, metric))
    with picture:
        rows = f"{answer.source}: {result.in_words}"
        show_chart(runs_figure(result, metric, rows=rows), "runs_strip")

    def how_sure() -> None:
        st.markdown(unbroken(_how_sure(result)))
        st.markdown(plain(_what(answer)))

    shows: dict[str, Callable[[], None]] = {"All metrics": lambda: _table(result, metrics)}
    if catalogue.MAX_GROUPWISE in shown:
        shows["Worst group"] = lambda: _worst_group(answer, shown)
    show_tabs("runs_tab", shows | {"How sure is this?": how_sure})


def _what(answer: RunsAnswer) -> str:
    request, counts = answer.request, answer.comparison.rows
    on = ""
    if request.feature_map is not None:
        name = MapName.parse(request.feature_map, "feature_map")
        called = "all features" if name.method == "identity" else name.title
        on = (
            f" Local methods and metrics: γ = {request.gamma:g} on {called} of each run's "
            "calibration and evaluation rows together."
        )
    groups = ""
    if request.by:
        least = request.min_group_size
        size = f"of {least} evaluation rows or more" if least > 1 else "however small"
        groups = f" Groups by {' × '.join(request.by)}, {size}."
    rows = ""
    if counts is not None:
        fitted, measured = (range_words(counts[f"{of}_rows"]) for of in (CALIBRATION, EVALUATION))
        rows = (
            f"Fitted on the {fitted} calibration rows of each run, "
            f"measured on its {measured} evaluation rows"
        )
    return f"{rows}, {request.n_bins} equal-width confidence bins.{on}{groups}"


def _table(result: RunsComparison, metrics: list[Metric]) -> None:
    """Methods × metrics, mean ± sd; tinted against the first method, a star for the best."""
    mean, sd, paired, best = result.table, result.sd, result.difference(), result.best()

    def column(metric: Metric) -> pd.Series[str]:
        name = metric.name
        text = mean[name].map(metric.text) + " ± " + sd[name].map(metric.text)
        if name in best:
            text.loc[best[name]] += f" {_BEST}"
        return text

    text = pd.DataFrame({metric.name: column(metric) for metric in metrics})
    errors = [metric.name for metric in metrics if metric.direction == "lower"]
    show_methods(text, metrics, {name: (paired.low[name], paired.high[name]) for name in errors})
    st.caption(
        f"Mean ± standard deviation over runs. Green: significantly lower than "
        f"“{plain(result.methods[0])}”, amber: higher; {_BEST} significantly lower than all "
        f"others. {plain(result.note_on_nll)}"
    )
    with st.container(horizontal=True):
        csv_button("Every run as CSV", lambda: result.runs, "runs")
        csv_button("Means and differences as CSV", result.frame, "runs-summary")


def _how_sure(result: RunsComparison) -> str:
    others = len(result.methods) - 1
    if result.n_runs < 2 or not others:
        return "One run has no spread, and one method no other: nothing can be tested."
    return (
        f"“Significantly”: the t interval of the paired difference over {result.n_runs:,} runs "
        f"leaves out 0, at 95 %, or for the best (picked by looking) at 1 − 5 %/{others} against "
        f"each other one. It is about other trainings, not other data, and errors as observed."
    )


def _worst_group(answer: RunsAnswer, shown: list[str]) -> None:
    result = answer.comparison
    left, right = st.columns([1, 1.9], gap="medium")
    others = [name for name in shown if name != catalogue.MAX_GROUPWISE]
    correlation = result.correlation().reindex(others).sort_values(ascending=False)
    with left:
        metric = _metric_choice("Against", others, catalogue.MLCE, **in_session("runs_against"))
        st.dataframe(
            {
                "metric": [catalogue.words_of(name) for name in correlation.index],
                "correlation": correlation.round(2) + 0.0,  # which takes the sign off a zero
            },
            hide_index=True,
            height="content",
            column_config={
                "correlation": st.column_config.NumberColumn("Pearson r", format="%.2f")
            },
        )
        st.caption(
            f"Correlation with the {catalogue.MAX_GROUPWISE} over {len(result.runs):,} pairs of "
            "run and method (Luo et al. 2022, Table 2): part of it is that some methods are "
            "better at everything."
        )
    with right:
        show_chart(run_scatter_figure(result, metric, rows=result.in_words), "runs_scatter")
