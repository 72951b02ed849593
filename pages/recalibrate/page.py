"""Recalibrate: does it help?"""

from collections.abc import Hashable

import numpy as np
import pandas as pd
import streamlit as st

from lore_core import Comparison, Embedding, InputError, Recalibrator
from lore_core.comparison import ConfidenceDifference, conclude_recalibration, confidence_difference
from lore_core.data.dataset import TOP_LABEL
from lore_core.figures import bandwidth_figure
from lore_core.metrics.glossary import GLOSSARY
from lore_core.recalibration import LoRe, SmoothLoRe
from lore_core.shipping import FileContents, describe
from lore_core.view import View
from pages.recalibrate.before_after import (
    Pair,
    compare_distributions,
    compare_maps,
    compare_reliability,
)
from pages.recalibrate.table import metrics_table, short_table, subgroups_table
from pages.shared import compute
from pages.shared.cells import in_hundredths, share_column
from pages.shared.charts import csv_button, next_step, show_chart
from pages.shared.controls import curve_metric, in_session, linked, metric_map, view_controls
from pages.shared.header import conclude, plain, question
from pages.shared.maps import planar_maps
from pages.shared.methods import compared, drawn_first, grouping, grouping_control
from pages.shared.subgroups import is_searched
from pages.shared.tasks import await_result, is_ready

#: Seconds that the table waits for its intervals before it is shown without them.
_WAIT_SECONDS = 0.3
_AS_MEASURED = "It does to new rows what was measured here."


def _show_candidates(table: pd.DataFrame) -> None:
    """List settings with what each is; one without an end is said in words."""
    endless = {
        "gamma": "∞: whole bins",
        "prior_strength": "∞: that alone",
        "strength": "∞: that alone",
    }
    shown = in_hundredths(table, "weight").drop(columns="feature_map")
    for name, words in endless.items():
        if name in table:
            shown[name] = [words if np.isinf(x) else f"{x:.3g}" for x in table[name]]
    column = st.column_config
    st.dataframe(
        shown,
        hide_index=True,
        column_config={
            "gamma": column.TextColumn("γ", help=GLOSSARY["γ, bandwidth"]),
            "n_bins": column.NumberColumn("bins", help=GLOSSARY["confidence bin"]),
            "within": column.TextColumn("among", help="Whose outcomes count for a row."),
            "base": column.TextColumn("falls back on", help="What is told where rows are few."),
            "strength": column.TextColumn("strength", help=GLOSSARY["prior strength"]),
            "prior_strength": column.TextColumn("prior strength", help=GLOSSARY["prior strength"]),
            "leave_one_out_nll": column.NumberColumn(
                "leave-one-out NLL, nats", format="%.4f", help=GLOSSARY["leave-one-out"]
            ),
            "weight": share_column("weight", help="Its share in the average."),
        },
    )


@st.cache_resource(max_entries=6, show_spinner="Packing the recalibrator …")
def _packed(
    key: Hashable,  # noqa: ARG001 -- what the cache goes by
    _method: Recalibrator,
    rows: bool,
) -> tuple[bytes, FileContents]:
    content = _method.to_bytes(rows=rows)
    return content, describe(content)


@st.cache_resource(max_entries=6, show_spinner="Measuring what leaving the rows out changes …")
def _changed(
    key: Hashable,  # noqa: ARG001 -- what the cache goes by
    _view: View,
    _method: Recalibrator,
    _measured_on: Embedding | None,
) -> ConfidenceDifference:
    """Measure on the evaluation rows what leaving the calibration rows out changes."""
    points = None if _measured_on is None else _view.points(on=_measured_on)
    return confidence_difference(
        _method, _method.without_rows(), _view.evaluation, points, **_view.local
    )


def _ship(view: View, result: Comparison, measured_on: Embedding | None) -> None:
    """Offer a fitted recalibrator as a file: the best one first."""
    names = [name for name in result.ranking if name in result.recalibrators]
    st.markdown("**Take the recalibrator**")
    chosen = st.selectbox(
        "Fitted recalibrator",
        names,
        **in_session("ship"),
        label_visibility="collapsed",
        help="One file without pickle: lore_core.load_recalibrator reads it, "
        "lore_core.shipping.Predictor applies it with numpy alone, and so does the command "
        "lore recalibrate --model.",
    )
    confidential = st.toggle(
        "Without single rows",
        key="ship_without_rows",
        help="For confidential data: of the calibration rows the file then holds only means over "
        "ten or more. How far its confidences are from those measured is said below.",
    )
    method = result.recalibrators[chosen]
    key = (view.key(), chosen)
    try:
        content, contents = _packed(key, method, not confidential)
        text = _AS_MEASURED
        if confidential:
            where = "" if measured_on is None else measured_on.digest
            text = _changed((*key, where), view, method, measured_on).sentence()
    except InputError as error:  # the rest of the page has nothing to do with it
        st.info(plain(str(error)), icon=":material/info:")
        return
    st.download_button(
        f"Download ({max(len(content) / 1e3, 0.1):,.1f} kB)",
        content,
        f"{''.join(c if c.isalnum() else '-' for c in chosen.lower())}.lore",
        "application/octet-stream",
        icon=":material/download:",
        type="primary",
        width="stretch",
        on_click="ignore",
        key="ship_file",
    )
    with st.popover("What the file holds", type="tertiary"):
        st.caption(plain(f"{contents.sentence} {text}"))
        widths = {"holds": st.column_config.TextColumn(width="large")}
        st.dataframe(contents.table(), hide_index=True, column_config=widths)


def _reliability(view: View, result: Comparison) -> None:
    """Show reliability under the first and the best method, where there is no map."""
    rows = np.ones(len(view.evaluation), dtype=bool)
    compare_reliability(
        view, result, Pair(next(iter(result.datasets)), result.ranking[0], rows, "all")
    )


def _settings_chosen(result: Comparison) -> None:
    """List what LoRe smooth chose from."""
    for name, method in result.recalibrators.items():
        if isinstance(method, SmoothLoRe) and len(method.candidates_):
            st.caption(
                f"{plain(name)}: {len(method.candidates_):,} settings, weighted by how well each "
                "predicts calibration rows from the others (leave-one-out); the evaluation rows "
                "were not used. Best first:"
            )
            _show_candidates(method.candidates_.head(20))


def _fitted_on(view: View, result: Comparison, measured_on: str) -> None:
    """Say what LoRe was fitted on, and where it changed nothing."""
    lore = result.recalibrators.get("LoRe")
    if not isinstance(lore, LoRe):
        return
    n_kept = int(lore.without_neighbours(view.evaluation).sum())
    st.caption(
        f"Fitted on {lore.n_rows_:,} calibration rows. LoRe uses {view.kernel_in_words} "
        f"({view.embedding.description}); the local errors are measured on {measured_on}. "
        + (
            f"{n_kept:,} evaluation row{'s' * (n_kept > 1)} kept the old confidence: no "
            "calibration row is in the same bin."
            if n_kept
            else "Every evaluation row shares its bin with calibration rows."
        )
    )


def _curves(view: View, result: Comparison, on: Embedding, measured_on: str) -> None:
    """Draw local errors over γ after each method."""
    methods = list(result.datasets)
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    metric = curve_metric(left.container())
    drawn = right.multiselect(
        "Curves of",
        methods,
        default=drawn_first(result),
        # Other methods are another choice.
        key=f"curves of {', '.join(methods)}",
    )
    names = [name for name in methods if name in drawn]
    curves = compute.method_curve_requests(view, result, names, on)
    if names:
        show_chart(
            bandwidth_figure(
                dict(zip(names, map(await_result, curves), strict=True)),
                metric=metric,
                rows=f"{len(view.evaluation):,} evaluation rows, measured on {measured_on}",
                gamma=view.gamma,
            ),
            "method_curves",
        )


settings = question(
    "Does recalibration help?",
    "Each method is fitted on the calibration rows and measured on the evaluation rows; rows are "
    "binned anew by their new confidence.",
)
view = view_controls(settings)
dataset = view.dataset
top = st.container(key="main_answer")
short = st.container(key="main_picture")
row = st.container(horizontal=True, vertical_alignment="bottom")
measured_on, measure_map = metric_map(view, row) if view.is_local else ("", None)
grouping_control(dataset, row)
result = compared(view, measure_map, row)
methods = list(result.datasets)
search = compute.subgroups(view) if view.target == TOP_LABEL and is_searched(view) else None
conclude(top, conclude_recalibration(result, search))
request = compute.intervals(view, result, measure_map)
with short:
    listed, ship = st.columns([3.2, 1], gap="medium")
    table, waiting = listed.empty(), listed.empty()
simulated = None
if request is not None and is_ready(request, _WAIT_SECONDS):
    simulated = await_result(request)
    result = result if simulated is None else result.with_simulated(simulated)
with table.container():
    short_table(result)
with ship:
    _ship(view, result, measure_map)
pair = None
if measure_map is not None and len(methods) > 1 and planar_maps(dataset):
    pair = compare_maps(view, result, measured_on)
names = ["Reliability", "Subgroups", "LCE distribution", "Bandwidths", "All metrics", "Fit"]
tabs = st.tabs(names, **linked("recalibrate_tab"))
if tabs[0].open:
    with tabs[0]:
        if pair is not None:
            compare_reliability(view, result, pair)
        else:
            _reliability(view, result)
if tabs[1].open:
    with tabs[1]:
        subgroups_table(result, [] if search is None else search.subgroups)
if tabs[2].open and pair is not None:
    with tabs[2]:
        compare_distributions(view, result, pair, measured_on)
if tabs[3].open and measure_map is not None:
    with tabs[3]:
        _curves(view, result, measure_map, measured_on)
if tabs[4].open:
    with tabs[4]:
        pending = request is not None and simulated is None
        metrics_table(result, grouping(dataset), measured_on, pending=pending)
        with st.container(horizontal=True):
            csv_button("Metrics as CSV", result.frame, "metrics")
            csv_button(
                "Recalibrated confidences as CSV",
                lambda: pd.DataFrame(
                    {"row": np.arange(len(dataset.evaluation))}
                    | {name: item.confidence for name, item in result.datasets.items()}
                ),
                "recalibrated",
            )
if tabs[5].open:
    with tabs[5]:
        _fitted_on(view, result, measured_on)
        _settings_chosen(result)
next_step("pages/fairness/page.py", "does it help every group? Fairness")
if request is not None and simulated is None and await_result(request, waiting) is not None:
    st.rerun()
