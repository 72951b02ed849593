"""A comparison over many runs: the table, one metric run by run, and what goes with the groups."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from lore_core.comparison import RunsComparison, conclude_runs
from lore_core.data.number_text import unbroken
from lore_core.embedding import MapName
from lore_core.figures import run_scatter_figure, runs_figure
from lore_core.metrics.catalogue import (
    MAX_GROUPWISE,
    MLCE,
    RUNS_TABLE,
    WORST_GROUP_GAP,
    less_is_better,
    words_of,
)
from lore_core.metrics.metric import Metric
from pages.runs.request import RunsAnswer
from pages.shared.cells import show_methods
from pages.shared.charts import csv_button, show_chart
from pages.shared.controls import in_session, linked
from pages.shared.header import conclude, plain

_BEST = "★"


def show(answer: RunsAnswer) -> None:
    """Show a finished comparison: which method is best, every run, then the table."""
    result = answer.comparison
    metrics = [metric for metric in RUNS_TABLE if metric.name in result.metrics]
    shown = [metric.name for metric in metrics if less_is_better(metric.name)]
    top, picture = st.container(key="main_answer"), st.container(key="main_picture")
    left, right = st.columns([1, 2.5], vertical_alignment="bottom")
    preferred = WORST_GROUP_GAP.name if WORST_GROUP_GAP.name in shown else shown[0]
    metric = left.selectbox(
        "Best by",
        shown,
        index=shown.index(preferred),
        format_func=words_of,
        **linked("runs_metric"),
    )
    lines = right.toggle(
        "Join the dots of each run",
        **in_session("runs_lines"),
        help="A method that is better in nearly every run shows as lines that lean one way.",
    )
    conclude(top, conclude_runs(result, metric))
    with picture:
        rows = f"{answer.source}: {_rows(answer)}"
        show_chart(runs_figure(result, metric, rows=rows, lines=lines), "runs_strip")
    names = ["All metrics", "How sure is this?"]
    names[1:1] = ["Worst group"] if MAX_GROUPWISE in shown else []
    tabs = dict(zip(names, st.tabs(names, **linked("runs_tab")), strict=True))
    if tabs["All metrics"].open:
        with tabs["All metrics"]:
            _table(result, metrics)
            with st.container(horizontal=True):
                csv_button("Every run as CSV", lambda: result.runs, "runs")
                csv_button("Means and differences as CSV", result.frame, "runs-summary")
    if "Worst group" in tabs and tabs["Worst group"].open:
        with tabs["Worst group"]:
            _worst_group(answer, shown)
    if tabs["How sure is this?"].open:
        with tabs["How sure is this?"]:
            st.markdown(unbroken(_how_sure(result)))
            st.markdown(plain(_what(answer)))


def _rows(answer: RunsAnswer) -> str:
    counts = answer.comparison.rows
    rows = "" if counts is None else f", {_range(counts['evaluation_rows'])} evaluation rows each"
    return f"{answer.comparison.n_runs:,} runs{rows}"


def _range(counts: pd.Series) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


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
        rows = (
            f"Fitted on the {_range(counts['calibration_rows'])} calibration rows of each run, "
            f"measured on its {_range(counts['evaluation_rows'])} evaluation rows"
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
        f"“{plain(result.methods[0])}”, amber: higher; {_BEST} significantly lower than all others."
    )


def _how_sure(result: RunsComparison) -> str:
    others = len(result.methods) - 1
    if result.n_runs < 2 or not others:
        return "One run has no spread, and one method no other: nothing can be tested."
    return (
        f"Runs are pairs: “significantly” means that the t interval of the paired difference over "
        f"{result.n_runs:,} runs leaves out 0, at 95 %, or for the best (which was picked by "
        f"looking) at 1 − 5 %/{others} against each of the other {others}. It is about other "
        "trainings of the same kind, not other data, and about errors as observed, with noise."
    )


def _worst_group(answer: RunsAnswer, shown: list[str]) -> None:
    result = answer.comparison
    left, right = st.columns([1, 1.9], gap="medium")
    others = [name for name in shown if name != MAX_GROUPWISE]
    correlation = result.correlation().reindex(others).sort_values(ascending=False).rename(words_of)
    with left:
        preferred = MLCE.name if MLCE.name in others else others[0]
        metric = st.selectbox(
            "Against",
            others,
            index=others.index(preferred),
            format_func=words_of,
            **in_session("runs_against"),
        )
        st.dataframe(
            # Adding 0 takes the sign off a zero.
            (correlation.round(2) + 0.0).rename("correlation").rename_axis("metric").reset_index(),
            hide_index=True,
            height="content",
            column_config={
                "correlation": st.column_config.NumberColumn("Pearson r", format="%.2f")
            },
        )
        st.caption(
            f"Correlation with the {MAX_GROUPWISE} over {len(result.runs):,} pairs of run and "
            "method (Luo et al. 2022, Table 2): part of it is that some methods are better at "
            "everything."
        )
    with right:
        show_chart(run_scatter_figure(result, metric, rows=_rows(answer)), "runs_scatter")
