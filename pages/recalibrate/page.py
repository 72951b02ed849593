"""Recalibrate: does it help?"""

from collections.abc import Hashable

import pandas as pd
import streamlit as st

from lore_core import Comparison, Embedding, InputError, Recalibrator
from lore_core.comparison import Conclusion, conclude_recalibration, confidence_difference
from lore_core.data.arrays import Mask
from lore_core.data.dataset import TOP_LABEL
from lore_core.data.number_text import rows_words
from lore_core.figures import bandwidth_figure
from lore_core.recalibration import LoRe, SmoothLoRe
from lore_core.shipping import FileContents, describe
from lore_core.view import View
from lore_core.view.methods import drawn_first
from pages.recalibrate import results
from pages.shared import compute
from pages.shared.charts import csv_button, next_step, show_chart
from pages.shared.controls import curve_metric, in_session, metric_map, show_tabs, view_controls
from pages.shared.header import conclude, plain, question
from pages.shared.maps import planar_maps
from pages.shared.methods import compared, grouping, grouping_control
from pages.shared.subgroups import is_searched
from pages.shared.tasks import await_result, is_ready

#: Pixels of a row of the table, for which room is left until it is there.
_ROW_PIXELS = 35
_AS_MEASURED = "It does to new rows what was measured here."


@st.cache_resource(max_entries=6, show_spinner="Packing the recalibrator …")
def _packed(
    key: Hashable,  # noqa: ARG001 -- what the cache goes by
    confidential: bool,
    _view: View,
    _method: Recalibrator,
    _measured_on: Embedding | None,
) -> tuple[bytes, FileContents, str]:
    """Return a file, what it holds, and what leaving the calibration rows out changes."""
    content, text = _method.to_bytes(rows=not confidential), _AS_MEASURED
    if confidential:
        points = None if _measured_on is None else _view.points(on=_measured_on)
        text = confidence_difference(
            _method, _method.without_rows(), _view.evaluation, points, **_view.local
        ).sentence()
    return content, describe(content), text


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
        "No single rows",
        key="ship_without_rows",
        help="For confidential data: of the calibration rows the file then holds only means over "
        "ten or more. How far its confidences are from those measured is said below.",
    )
    method = result.recalibrators[chosen]
    key = view.key(), chosen, measured_on and measured_on.digest
    try:
        content, contents, text = _packed(key, confidential, view, method, measured_on)
    except InputError as error:  # the rest of the page has nothing to do with it
        st.info(plain(str(error)), icon=":material/info:")
        return
    st.download_button(
        f"Download ({max(len(content) / 1e6, 0.01):,.2f} MB)",
        lambda: content,  # (given itself, each browser would fetch it with the page)
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


def _fits(view: View, result: Comparison, measured_on: str) -> None:
    """Say what LoRe was fitted on and where it changed nothing, and how LoRe smooth weighed."""
    for name, method in result.recalibrators.items():
        if isinstance(method, SmoothLoRe):
            maps = " and ".join(used["name"] for used in method.maps_)
            st.caption(
                f"{plain(name)}: an average of settings on {maps}, weighted by how well each "
                "predicts calibration rows from the others; the evaluation rows were not used."
            )
        elif isinstance(method, LoRe) and name == "LoRe":
            n_kept = int(method.without_neighbours(view.evaluation).sum())
            st.caption(
                f"Fitted on {method.n_rows_:,} calibration rows. LoRe uses {view.kernel_in_words} "
                f"({view.embedding.description}); local errors on {measured_on}. "
                f"{rows_words(n_kept)} without a calibration row in their bin stay as they were."
            )


def _curves(view: View, result: Comparison, on: Embedding | None, measured_on: str) -> None:
    """Draw local errors over γ after each method."""
    if on is None:
        return
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
with short:
    listed, ship = st.columns([3.2, 1], gap="medium")
    table, waiting = listed.empty(), listed.empty()
answer = top.empty()


def _show_measured(measured: Comparison | None, others: list[str]) -> None:
    conclude(answer, Conclusion("The answer appears here once all methods are measured."))
    if measured is None:
        table.container(height=_ROW_PIXELS * (len(others) + 3), border=False)
    else:
        with table.container():
            results.short_table(measured, others)


result = compared(view, measure_map, row, _show_measured)
methods = list(result.datasets)
search = compute.subgroups(view) if view.target == TOP_LABEL and is_searched(view) else None
conclude(answer, conclude_recalibration(result, search))
request = compute.intervals(view, result, measure_map)
simulated = None
if request is not None and is_ready(request):
    simulated = await_result(request, waiting)
    result = result if simulated is None else result.with_simulated(simulated)
with table.container():
    results.short_table(result)
with ship:
    _ship(view, result, measure_map)
pair, bin_name = (methods[0], result.ranking[0]), ""
rows: Mask | None = None
if measure_map is not None and len(methods) > 1 and planar_maps(dataset):
    pair, rows, bin_name = results.compare_maps(view, result, measured_on)


def _all_metrics() -> None:
    pending = request is not None and simulated is None
    results.metrics_table(result, grouping(dataset), measured_on, pending=pending)
    confidences = {name: item.confidence for name, item in result.datasets.items()}
    with st.container(horizontal=True):
        csv_button("Metrics as CSV", result.frame, "metrics")
        csv_button(
            "Recalibrated confidences as CSV",
            lambda: pd.DataFrame(confidences).rename_axis("row").reset_index(),
            "recalibrated",
        )


show_tabs(
    "recalibrate_tab",
    {
        "Reliability": lambda: results.compare_reliability(view, result, pair),
        "Subgroups": lambda: results.subgroups_table(result, search.subgroups if search else []),
        "LCE distribution": lambda: results.compare_distributions(
            view, result, pair, rows, bin_name, measured_on
        ),
        "Bandwidths": lambda: _curves(view, result, measure_map, measured_on),
        "All metrics": _all_metrics,
        "Fit": lambda: _fits(view, result, measured_on),
    },
)
next_step("pages/fairness/page.py", "does it help every group? Fairness")
if request is not None and simulated is None and await_result(request, waiting) is not None:
    st.rerun()
