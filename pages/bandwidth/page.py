"""Bandwidth: which γ?"""

from typing import Any

import numpy as np
import streamlit as st

from lore_core.comparison import conclude_bandwidths
from lore_core.data.defaults import TRIED_BINS
from lore_core.data.errors import counted
from lore_core.data.number_text import decimal
from lore_core.figures import bandwidth_figure, suggestion_figure
from lore_core.metrics import BandwidthSuggestion
from lore_core.metrics.catalogue import ALCE, MLCE_SUPPORTED
from lore_core.metrics.global_metrics import NORMAL_95
from lore_core.metrics.metric import CurveKey
from lore_core.view import View
from pages.shared import compute, controls
from pages.shared.charts import end_page, next_step, show_chart
from pages.shared.controls import GAMMAS, curve_metric, in_session, view_controls
from pages.shared.header import plain, question
from pages.shared.maps import available_maps, find_map, is_ready as is_map_ready
from pages.shared.subgroups import small_charts
from pages.shared.tasks import await_result, is_ready
from pages.shared.whole import whole_curve

#: Steps of the slider between the small maps.
_STEPS = 6


def _recommend(best: BandwidthSuggestion | None, view: View) -> str:
    """Say which γ to use and why, in one sentence."""
    if best is None:
        return (
            "No bandwidth can be recommended: that takes calibration rows, two of them in a "
            "confidence bin."
        )
    bins = counted(best.n_bins, "bin")
    half = NORMAL_95 * best.gain_error
    gain = f"{decimal(best.gain, 4)} ± {decimal(half, 4)} nats a row"
    rows = "the calibration rows"
    if best.n_rows < len(view.calibration or ()):
        rows = f"{best.n_rows:,} calibration rows, drawn at random,"
    if best.at_edge or best.gain <= half:
        return (
            f"No bandwidth is significantly better than whole confidence bins on {view.map_name}: "
            f"the best, γ = {best.gamma:g} with {bins}, lowers the NLL by {gain}."
        )
    return (
        f"Use γ = {best.gamma:g} with {bins} on {view.map_name}: there neighbours predict {rows} "
        f"best (NLL lower by {gain} than with whole bins)."
    )


def _curves(view: View, chance: Any) -> CurveKey:
    """Draw local errors over γ on one map or several."""
    picture = st.container()
    left, right = st.columns([1.3, 1], vertical_alignment="bottom")
    names = available_maps(view.dataset)
    compared = left.multiselect(
        "Feature maps",
        [name for name in names if is_map_ready(view.dataset, name)],
        default=[view.map_name],
        **in_session("curves"),
        help="t-SNE and UMAP appear here once they have been made (Data page, or Settings).",
        max_selections=6,
    )
    metric = curve_metric(right)
    if not compared:
        st.info("Choose at least one feature map to draw its curve.", icon=":material/show_chart:")
        return metric
    curves = {}
    for name in compared:
        embedding = find_map(view.dataset, name)
        if embedding is not None:
            curves[name] = compute.curve(view.with_(maps={name: embedding}))
    null = None if chance is None or view.map_name not in curves else (view.map_name, chance)
    rows = f"{view.rows}, {view.bins_in_words}"
    chart = bandwidth_figure(curves, metric=metric, rows=rows, gamma=view.gamma, null=null)
    with picture:
        show_chart(chart, "curve")
    return metric


settings = question(
    "Which bandwidth?",
    "Local errors of the evaluation rows as γ grows, for one feature map or several.",
)
view = view_controls(settings)
if not view.is_local:
    end_page("pages/data/page.py", "load features on the Data page")

# The curve comes at once, what is concluded from it with what chance shows.
request = compute.chance_request(view)
is_simulated = request is None or is_ready(request)
top = st.container(key="main_answer")
place, curve = top.empty(), compute.curve(view)
chance = await_result(request, place) if request is not None and is_simulated else None
best = compute.suggestion(view, tuple(sorted({*TRIED_BINS, view.n_bins})))
with top:
    text, button = st.columns([4, 1], vertical_alignment="center")
    text.info(plain(_recommend(best, view)), icon=":material/tune:")
    if best is not None:
        button.button(
            f"Use γ = {best.gamma:g}, {counted(best.n_bins, 'bin')}",
            type="primary",
            width="stretch",
            on_click=st.session_state.update,
            kwargs={"gamma": best.gamma, "bins": best.n_bins},
            disabled=best.gamma == view.gamma and best.n_bins == view.n_bins,
        )
    if is_simulated:
        st.markdown(plain(conclude_bandwidths(curve, chance, on=view.map_name).sentence))
    else:
        st.caption("Simulating what a calibrated model would show …")
with st.container(key="main_picture"):
    metric = _curves(view, chance)
if request is None:
    other = "Choose a 2-D map, or ask" if view.embedding.n_components > 2 else "Ask"
    st.caption(
        f"What a calibrated model would show is not drawn: simulating it on {view.rows} of "
        f"{view.map_name} at every γ would take too long. {other} for one γ on the Overview."
    )
# Bandwidths of the slider below, at and above the best.
shown = view.gamma if best is None else best.gamma
at = int(np.abs(np.log(np.array(GAMMAS) / shown)).argmin())
ends = {max(at - _STEPS, 0), at, min(at + _STEPS, len(GAMMAS) - 1)}
# (What takes longest to send and draw is drawn when it is asked for.)
with st.expander("Maps at three γ", icon=":material/map:", **controls.linked("three_maps")) as maps:
    if maps.open:
        small_charts(view, [GAMMAS[k] for k in sorted(ends)], 300)
if best is not None:
    with st.expander(
        "How this is recommended", icon=":material/help:", **controls.linked("why")
    ) as why:
        if why.open:
            rows, in_use = f"{best.n_rows:,} calibration rows", (view.gamma, view.n_bins)
            chart = suggestion_figure(best, rows=f"{rows}, {view.map_name}", in_use=in_use)
            show_chart(chart, "suggestion")
            errors = compute.errors(view)
            st.caption(
                f"At γ = {view.gamma:g} and {view.n_bins} bins, half of the evaluation rows have "
                f"{np.median(errors.effective_size):,.0f} effective neighbours or more; the "
                f"supported MLCE is {MLCE_SUPPORTED.text(errors.supported_maximum())} points, the "
                f"ALCE {ALCE.text(errors.average)}."
            )
whole_curve(view, metric)
next_step("pages/recalibrate/page.py", "does recalibration help? Recalibrate")
if request is not None and not is_simulated:
    await_result(request, place)
    st.rerun()
