"""Bandwidth: which γ?"""

import numpy as np
import streamlit as st

from lore_core.comparison import conclude_bandwidths
from lore_core.data.defaults import TRIED_BINS
from lore_core.data.number_text import decimal, rows_words
from lore_core.figures import bandwidth_figure, suggestion_figure
from lore_core.metrics.catalogue import ALCE, ECE, MLCE_SUPPORTED
from lore_core.metrics.global_metrics import NORMAL_95
from pages.shared import compute
from pages.shared.charts import end_page, next_step, show_chart
from pages.shared.controls import asks_for_vector, curve_metric, in_session, view_controls
from pages.shared.header import conclude, question
from pages.shared.maps import available_maps, find_map, is_ready as is_map_ready
from pages.shared.session import current
from pages.shared.tasks import is_ready
from pages.shared.whole import whole_curve

#: Seconds the curve waits for what chance shows.
_SOON = 0.3


def _use(gamma: float, n_bins: int) -> None:
    st.session_state["gamma"] = gamma
    st.session_state["bins"] = n_bins


question(
    "Which bandwidth?",
    "Local errors of the evaluation rows as γ grows, for one feature map or several.",
)
of_all = asks_for_vector(current().dataset)
view = view_controls(shows_vector=True)
if not view.is_local:
    end_page("pages/data/page.py", "load features on the Data page")

# The curve comes at once, what is concluded from it with what chance shows.
request = compute.chance_request(view)
is_simulated = request is None or is_ready(request, _SOON)
chance = compute.chance_band(view) if is_simulated else None
top, curve = st.container(), compute.curve(view)
if is_simulated:
    conclude(top, conclude_bandwidths(curve, chance, on=view.map_name))
else:
    top.caption("What a calibrated model would show is being simulated; then it is concluded here.")
left, right = st.columns([1.3, 1], vertical_alignment="bottom")
compared = [view.map_name]
if not of_all:
    names = available_maps(view.dataset)
    ready = [name for name in names if is_map_ready(view.dataset, name)]
    if "PCA 20-D" in ready and view.map_name != "PCA 20-D" and len(view.evaluation) <= 5000:
        compared.append("PCA 20-D")
    compared = left.multiselect(
        "Feature maps",
        ready,
        default=compared,
        **in_session("curves"),
        help="t-SNE and UMAP appear here once they have been made (Data page, or “Similar by”).",
        max_selections=6,
    )
metric = curve_metric(right, view.target)
n_rows = curve.n_rows if of_all else len(view.evaluation)
rows = view.rows if n_rows == len(view.evaluation) else f"{n_rows:,} of {view.rows}"
about = f"{rows}, {view.bins_in_words}"
if not compared:
    st.info("Choose at least one feature map to draw its curve.", icon=":material/show_chart:")
else:
    curves = {}
    for name in compared:
        embedding = find_map(view.dataset, name)
        if embedding is not None:
            curves[name] = compute.curve(view.with_(maps={name: embedding}))
    show_chart(
        bandwidth_figure(
            curves,
            metric=metric,
            rows=about,
            gamma=view.gamma,
            null=None if chance is None or view.map_name not in curves else (view.map_name, chance),
        ),
        "curve",
    )
    if request is None:
        other = "Choose a 2-D map, or ask" if view.embedding.n_components > 2 else "Ask"
        st.caption(
            f"What a calibrated model would show is not drawn: simulating it on {view.rows} of "
            f"{view.map_name} at every γ would take too long. {other} for one γ on the Overview."
        )

if of_all:
    if n_rows < len(view.evaluation):
        st.caption(
            f"On {rows_words(n_rows)} drawn at random: simulating all {len(view.evaluation):,} "
            f"with {view.dataset.n_classes:,} classes at every γ would take too long. Fewer rows "
            "have fewer neighbours, so that narrow bandwidths show less than all rows would."
        )
    if not is_simulated:
        compute.chance_band(view, st.container())
        st.rerun()
    st.caption(
        "Settings are suggested by the likelihood of the top label or of one class: choose it as "
        "target."
    )
    end_page("pages/recalibrate/page.py", "does recalibration help? Recalibrate")

whole_curve(view, metric)
simulating = st.container()

st.subheader("Settings suggested by the data", anchor=False)
tried = tuple(sorted({*TRIED_BINS, view.n_bins}))
best = compute.suggestion(view, tried)
if best is None:
    st.info(
        "A suggestion is made on calibration rows, and these data have none, or no confidence bin "
        "with two of them. Split the rows on the Data page, add a calibration file, or use fewer "
        "bins.",
        icon=":material/info:",
    )
else:
    chart_side, text_side = st.columns([2, 1], gap="medium")
    with chart_side:
        show_chart(
            suggestion_figure(
                best,
                rows=f"{best.n_rows:,} calibration rows, {view.map_name}",
                in_use=(view.gamma, view.n_bins),
            ),
            "suggestion",
        )
    bins = "one bin" if best.n_bins == 1 else f"{best.n_bins} confidence bins"
    half = NORMAL_95 * best.gain_error
    gain = f"{decimal(best.gain, 4)} ± {decimal(half, 4)}"
    with text_side:
        if best.at_edge or best.gain <= half:
            st.markdown(
                f"The likelihood is best at γ = {best.gamma:g} with {bins}, but that is not "
                f"clearly better than the bin alone (NLL lower by {gain} a row): on "
                f"{view.map_name} the calibration rows hold no local pattern that predicts."
            )
        else:
            st.markdown(
                f"On {view.map_name} the calibration rows are predicted best from neighbours at "
                f"**γ = {best.gamma:g}** within **{bins}**: NLL lower by {gain} a row than "
                "with the bin alone. The evaluation rows were not looked at."
            )
        st.button(
            f"Use γ = {best.gamma:g} and {bins}",
            type="primary",
            on_click=_use,
            args=(best.gamma, best.n_bins),
            disabled=best.gamma == view.gamma and best.n_bins == view.n_bins,
        )
        errors = compute.errors(view)
        table = compute.reliability(view)
        st.caption(
            f"At the settings in use, γ = {view.gamma:g} and {view.n_bins} bins, half of the "
            f"evaluation rows rest on {np.median(errors.effective_size):,.0f} effective neighbours "
            f"or more. The supported MLCE there is "
            f"{MLCE_SUPPORTED.text(errors.supported_maximum())} points, the ALCE "
            f"{ALCE.text(errors.average)}; as γ → ∞ the ALCE becomes the ECE, "
            f"{ECE.text(table.expected_calibration_error)} points."
        )
next_step("pages/recalibrate/page.py", "does recalibration help? Recalibrate")
if not is_simulated:
    compute.chance_band(view, simulating)
    st.rerun()
