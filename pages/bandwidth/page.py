"""Bandwidth: which γ?"""

from __future__ import annotations

import numpy as np
import streamlit as st

from lore_core.figures import bandwidth_figure, suggestion_figure
from pages.shared import compute
from pages.shared.charts import next_step, show_chart
from pages.shared.controls import GAMMAS, curve_metric, theme_mode, view_controls
from pages.shared.header import question
from pages.shared.maps import MAPS, available_maps, find_map
from pages.shared.store import store


def _use(gamma: float) -> None:
    st.session_state["gamma"] = gamma


question(
    "Which bandwidth?",
    "MLCE and ALCE of the evaluation rows as γ grows, for one feature map or several.",
)
view = view_controls()
if view.embedding is None:
    next_step("pages/data/page.py", "load features on the Data page")
    st.stop()

names = available_maps(view.dataset)
ready = [
    name
    for name in names
    if MAPS[name].instant or store().embedding(view.dataset, name) is not None
]
left, right = st.columns([2, 1.3], vertical_alignment="bottom")
default = [view.features]
if "PCA 20-D" in ready and view.features != "PCA 20-D" and len(view.dataset.evaluation) <= 5000:
    default.append("PCA 20-D")
compared = left.multiselect(
    "Feature maps",
    ready,
    default=default,
    key="curves",
    persist_state="session",
    help="t-SNE and UMAP appear here once they have been made (Data page, or “Similar by”).",
    max_selections=6,
)
metric = curve_metric(right)
mode = theme_mode()
about = f"{view.rows}, {view.n_bins} {view.binning} bins"
if not compared:
    st.info("Choose at least one feature map to draw its curve.", icon=":material/show_chart:")
else:
    curves = {}
    for name in compared:
        embedding = find_map(view.dataset, name)
        if embedding is not None:
            curves[name] = compute.curve(
                view.dataset, embedding, view.target, view.n_bins, view.binning
            )
    show_chart(
        bandwidth_figure(curves, metric=metric, rows=about, gamma=view.gamma, mode=mode),
        "curve",
    )

st.subheader("A γ suggested by the data", anchor=False)
best = compute.suggestion(view.dataset, view.embedding, view.target, view.n_bins, view.binning)
if best is None:
    st.info(
        "A suggestion is made on calibration rows, and these data have none, or no confidence bin "
        "with two of them. Split the rows on the Data page, add a calibration file, or use fewer "
        "bins.",
        icon=":material/info:",
    )
else:
    nearest = GAMMAS[int(np.argmin(np.abs(np.log(GAMMAS) - np.log(best.gamma))))]
    chart_side, text_side = st.columns([2, 1], gap="medium")
    with chart_side:
        show_chart(
            suggestion_figure(
                best, rows=f"{best.n_rows:,} calibration rows, {view.features}", mode=mode
            ),
            "suggestion",
        )
    with text_side:
        if best.at_edge:
            st.markdown(
                f"The likelihood is best at γ = {best.gamma:.2g}, the end of the range: on "
                f"{view.features} the calibration rows hold no local pattern that predicts better "
                "than the bin itself."
            )
        else:
            st.markdown(
                f"On {view.features} the calibration rows are predicted best from neighbours at "
                f"**γ = {best.gamma:.2g}**. The evaluation rows were not looked at."
            )
            st.button(f"Use γ = {nearest:g}", type="primary", on_click=_use, args=(nearest,))
        n_eff = float(
            np.median(compute.errors(view.dataset, view.embedding, *view.settings).effective_size)
        )
        st.caption(
            f"At the γ in use, {view.gamma:g}, half of the evaluation rows rest on {n_eff:,.0f} "
            "effective neighbours or more."
        )
next_step("pages/recalibrate/page.py", "does recalibration help? Recalibrate")
