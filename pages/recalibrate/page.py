"""Recalibrate: does it help?"""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from lore_core import Comparison, region_report
from lore_core.figures import bandwidth_figure, cdf_figure, landscape_figure, shared_limit
from lore_core.recalibration import LoRe
from pages.shared import compute
from pages.shared.charts import next_step, show_chart
from pages.shared.controls import (
    MIN_EFFECTIVE_SIZE,
    View,
    curve_metric,
    evaluation_points,
    map_control,
    theme_mode,
    view_controls,
)
from pages.shared.header import question
from pages.shared.maps import planar_maps
from pages.shared.methods import compared

_POINTS = ("ECE", "MCE", "ALCE", "MLCE")
_SHOWN = ("ECE", "MCE", "ALCE", "MLCE", "NLL", "Brier", "accuracy")


def _cell(result: Comparison, method: str, metric: str) -> str:
    scale, digits = (100, 1) if metric in (*_POINTS, "accuracy") else (1, 3)
    text = f"{result.table.loc[method, metric] * scale:.{digits}f}"
    if result.low is not None and result.high is not None and metric in result.low:
        low, high = result.low.loc[method, metric], result.high.loc[method, metric]
        text += f"  ({low * scale:.{digits}f}–{high * scale:.{digits}f})"
    return text


def _metrics_table(result: Comparison) -> None:
    """Methods × metrics; tinted where the paired difference to the first is beyond chance."""
    metrics = [name for name in _SHOWN if name in result.table]
    text = pd.DataFrame(
        {m: [_cell(result, method, m) for method in result.table.index] for m in metrics},
        index=result.table.index,
    )

    def tint(column: pd.Series) -> list[str]:
        low, high = result.difference_low, result.difference_high
        styles = []
        for method in column.index:
            style = ""
            if low is not None and high is not None and column.name in low:
                if column.name != "accuracy" and high.loc[method, column.name] < 0:
                    style = "background-color: rgba(0, 158, 115, 0.18)"
                elif column.name != "accuracy" and low.loc[method, column.name] > 0:
                    style = "background-color: rgba(230, 159, 0, 0.22)"
            styles.append(style)
        return styles

    units = {m: f"{m}, points" if m in _POINTS else m for m in metrics}
    units |= {"accuracy": "accuracy, %"}
    st.dataframe(
        text.style.apply(tint),
        column_config={m: st.column_config.TextColumn(units[m]) for m in metrics},
        height="content",
    )
    draws = next(iter(result.summaries.values())).draws
    first = result.table.index[0]
    n = next(iter(result.summaries.values())).n_rows
    if draws is None:
        st.caption(f"n = {n:,} evaluation rows; too many for bootstrap intervals on this map.")
    else:
        st.caption(
            f"n = {n:,} evaluation rows; 95 % intervals from {len(draws.values)} resamples. Green: "
            f"better than “{first}” beyond chance (the paired 95 % interval of the difference "
            "excludes 0); amber: worse. Recalibration never changes the predicted class, so the "
            "accuracy stays."
        )


def _before_after(view: View, result: Comparison) -> None:
    """Draw two landscapes of the same rows on one colour scale."""
    assert view.embedding is not None
    methods = list(result.datasets)
    head = st.columns(4, vertical_alignment="bottom")
    before = head[2].selectbox("Before", methods, key="before", persist_state="session")
    others = [name for name in methods if name != before]
    after = head[3].selectbox(
        "After", others, index=len(others) - 1, key="after", persist_state="session"
    )
    table = result.summaries[before].reliability
    names = {int(b): table.bins.name(b) for b in np.flatnonzero(table.count)}
    bin_name = head[0].selectbox(
        "Rows of confidence bin",
        ["all", "worst", *names.values()],
        key="compare_bin",
        bind="query-params",
        help=f"The rows of this bin before (by “{before}”); the same rows are shown after.",
    )
    on_name, on_map = map_control(view, head[1])
    first, second = result.summaries[before].local, result.summaries[after].local
    assert first is not None
    assert second is not None
    if bin_name == "all":
        rows = np.ones(len(first.signed), dtype=bool)
    else:
        index = (
            table.worst_bin(30)
            if bin_name == "worst"
            else next(b for b, name in names.items() if name == bin_name)
        )
        rows = first.bin_index == index
        bin_name = names[index]
    points = evaluation_points(view, on_map)
    if points.shape[1] != 2:
        st.info(
            f"Landscapes before and after are drawn on a 2-D map; {on_name} is not one. Choose "
            "another under “Draw on”.",
            icon=":material/map:",
        )
        return
    limit = shared_limit(
        first.signed[rows & (first.effective_size >= MIN_EFFECTIVE_SIZE)],
        second.signed[rows & (second.effective_size >= MIN_EFFECTIVE_SIZE)],
    )
    columns = st.columns(2)
    for column, name, local in ((columns[0], before, first), (columns[1], after, second)):
        field = compute.row_field(
            view.dataset,
            on_map,
            (view.embedding.digest, *view.settings, bin_name, before, name),
            local,
            rows,
            MIN_EFFECTIVE_SIZE,
        )
        dataset = result.datasets[name]
        report = region_report(dataset.confidence, dataset.outcome, rows)
        with column:
            show_chart(
                landscape_figure(
                    field,
                    points,
                    n_total=int(rows.sum()),
                    limit=limit,
                    rows=f"confidence {bin_name}, γ = {view.gamma:g} on {view.features}",
                    axes=on_name,
                    mode=theme_mode(),
                    height=430,
                    title=name if name != "None" else "No recalibration",
                ),
                f"landscape_{'before' if column is columns[0] else 'after'}",
            )
            st.caption(report.sentence)
    show_chart(
        cdf_figure(
            {before: first.absolute[rows], after: second.absolute[rows]},
            rows=f"confidence {bin_name}, {int(rows.sum()):,} rows, γ = {view.gamma:g}",
            mode=theme_mode(),
        ),
        "cdf_compare",
    )


question(
    "Does recalibration help?",
    "Each method is fitted on the calibration rows and measured on the evaluation rows; rows are "
    "binned anew by their new confidence.",
)
view = view_controls()
dataset = view.dataset
result = compared(view)
methods = list(result.datasets)
_metrics_table(result)
lore = result.recalibrators.get("LoRe")
if isinstance(lore, LoRe):
    assert view.embedding is not None
    local = lore.local_accuracy(dataset.evaluation, evaluation_points(view, view.embedding))
    n_kept = int(local.empty.sum())
    st.caption(
        f"Fitted on {lore.n_rows_:,} calibration rows. LoRe uses γ = {view.gamma:g} on "
        f"{view.features} ({view.embedding.description}). "
        + (
            f"{n_kept:,} evaluation rows keep their confidence: their bin holds no calibration row."
            if n_kept
            else "Every evaluation row shares its bin with calibration rows."
        )
    )
if view.embedding is not None and len(methods) > 1:
    st.subheader("Before and after, place by place", anchor=False)
    if planar_maps(dataset):
        _before_after(view, result)
    st.subheader("At every bandwidth", anchor=False)
    metric = curve_metric(st.container())
    curves = {
        name: compute.method_curve(
            dataset,
            view.embedding,
            name,
            view.gamma,
            view.n_bins,
            view.binning,
            result.datasets[name],
        )
        for name in methods
    }
    show_chart(
        bandwidth_figure(
            curves,
            metric=metric,
            rows=f"{len(dataset.evaluation):,} evaluation rows, measured on {view.features}",
            gamma=view.gamma,
            mode=theme_mode(),
        ),
        "method_curves",
    )
st.subheader("Take it away", anchor=False)
with st.container(horizontal=True):
    st.download_button(
        "Metrics as CSV",
        lambda: result.table.rename_axis("method").to_csv().encode(),
        "lore-lens-metrics.csv",
        "text/csv",
        icon=":material/download:",
        on_click="ignore",
    )
    st.download_button(
        "Recalibrated confidences as CSV",
        lambda: (
            pd.DataFrame(
                {"row": np.arange(len(dataset.evaluation))}
                | {name: item.confidence for name, item in result.datasets.items()}
            )
            .to_csv(index=False)
            .encode()
        ),
        "lore-lens-recalibrated.csv",
        "text/csv",
        icon=":material/download:",
        on_click="ignore",
    )
next_step("pages/fairness/page.py", "does it help everyone? Fairness")
