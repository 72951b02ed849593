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
from pages.recalibrate.before_after import before_after
from pages.recalibrate.table import metrics_table, worst_parts_table
from pages.shared import compute
from pages.shared.cells import in_hundredths, share_column
from pages.shared.charts import csv_button, next_step, show_chart
from pages.shared.controls import curve_metric, in_session, metric_map, view_controls
from pages.shared.header import conclude, plain, question
from pages.shared.maps import planar_maps
from pages.shared.methods import compared, grouping, grouping_control, preselected
from pages.shared.subgroups import is_searched
from pages.shared.tasks import await_result, is_ready

#: Seconds that the table waits for its intervals before it is shown without them.
_SOON = 0.3
_AS_MEASURED = "It does to new rows what was measured above."
#: Of more rows than this the curves of three methods are drawn unasked.
_ALL_DRAWN = 200_000


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


def _drawn_first(result: Comparison) -> list[str]:
    """Return the methods whose curves are drawn unasked: of very many rows a few, for the time."""
    methods = list(result.datasets)
    if next(iter(result.summaries.values())).n_rows <= _ALL_DRAWN:
        return methods
    best = str(result.table["NLL"].idxmin())
    return [name for name in methods if name in (methods[0], "LoRe", best)]


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
    names = list(result.recalibrators)
    best = [name for name in ("LoRe smooth", "LoRe") if name in preselected(names)]
    row = st.container(horizontal=True, vertical_alignment="bottom")
    chosen = row.selectbox(
        "Fitted recalibrator",
        names,
        index=names.index(best[0]) if best else len(names) - 1,
        **in_session("ship"),
        width=300,
        help="One file without pickle: lore_core.load_recalibrator reads it, "
        "lore_core.shipping.Predictor applies it with numpy alone, and so does the command "
        "lore recalibrate --model.",
    )
    confidential = row.toggle(
        "Without single rows",
        key="ship_without_rows",
        help="For confidential data: of the calibration rows the file then holds only means over "
        "ten or more. How far its confidences are from those measured above is said below.",
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
    st.caption(plain(f"{contents.sentence} {text}"))
    with st.expander("What the file holds", icon=":material/inventory_2:"):
        widths = {"holds": st.column_config.TextColumn(width="large")}
        st.dataframe(contents.table(), hide_index=True, column_config=widths)
    row.download_button(
        f"Download the fitted recalibrator ({max(len(content) / 1e3, 0.1):,.1f} kB)",
        content,
        f"{''.join(c if c.isalnum() else '-' for c in chosen.lower())}.lore",
        "application/octet-stream",
        icon=":material/download:",
        on_click="ignore",
        key="ship_file",
    )


question(
    "Does recalibration help?",
    "Each method is fitted on the calibration rows and measured on the evaluation rows; rows are "
    "binned anew by their new confidence.",
)
view = view_controls()
dataset = view.dataset
top = st.container()
row = st.container(horizontal=True)
measured_on, measure_map = metric_map(view, row) if view.is_local else ("", None)
grouping_control(dataset, row)
result = compared(view, measure_map)
methods = list(result.datasets)
if measure_map is not None and len(methods) > 1:
    for curve in compute.method_curve_requests(view, result, _drawn_first(result), measure_map):
        is_ready(curve, 0.0)  # begun, while the page is made
search = compute.subgroups(view) if view.target == TOP_LABEL and is_searched(view) else None
conclude(top, conclude_recalibration(result, search))
table, waiting = st.empty(), st.empty()
request = compute.intervals(view, result, measure_map)
if request is not None and not is_ready(request, _SOON):
    with table.container():
        metrics_table(result, grouping(dataset), measured_on, pending=True)
worst_parts_table(result)
lore = result.recalibrators.get("LoRe")
if isinstance(lore, LoRe):
    n_kept = int(lore.without_neighbours(dataset.evaluation).sum())
    st.caption(
        f"Fitted on {lore.n_rows_:,} calibration rows. LoRe uses {view.kernel_in_words} "
        f"({view.embedding.description}); the local errors are measured on "
        f"{measured_on}. "
        + (
            f"{n_kept:,} evaluation row{'s' * (n_kept > 1)} kept the old confidence: no "
            "calibration row lies in the same bin."
            if n_kept
            else "Every evaluation row shares its bin with calibration rows."
        )
    )
for name, method in result.recalibrators.items():
    if not isinstance(method, SmoothLoRe) or not len(method.candidates_):
        continue
    with st.expander(f"What “{name}” chose from", icon=":material/manage_search:"):
        st.caption(
            f"{len(method.candidates_):,} settings, weighed by how well each predicts calibration "
            "rows from the others (leave-one-out); those of some weight are averaged. The "
            "evaluation rows were not looked at. Best first:"
        )
        _show_candidates(method.candidates_.head(20))
if measure_map is not None and len(methods) > 1:
    st.subheader("Before and after, place by place", anchor=False)
    if planar_maps(dataset):
        before_after(view, result, measured_on)
    st.subheader("At every bandwidth", anchor=False)
    metric = curve_metric(st.container())
    drawn = st.multiselect(
        "Curves of",
        methods,
        default=_drawn_first(result),
        # Other methods are another choice.
        key=f"curves of {', '.join(methods)}",
    )
    names = [name for name in methods if name in drawn]
    curves = compute.method_curve_requests(view, result, names, measure_map)
    if names:
        show_chart(
            bandwidth_figure(
                dict(zip(names, map(await_result, curves), strict=True)),
                metric=metric,
                rows=f"{len(dataset.evaluation):,} evaluation rows, measured on {measured_on}",
                gamma=view.gamma,
            ),
            "method_curves",
        )
# What takes long comes last, though it stands above.
simulated = None if request is None else await_result(request, waiting)
if simulated is not None:
    result = result.with_simulated(simulated)
with table.container():
    metrics_table(result, grouping(dataset), measured_on)
st.subheader("Take it away", anchor=False)
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
_ship(view, result, measure_map)
next_step("pages/fairness/page.py", "does it help everyone? Fairness")
