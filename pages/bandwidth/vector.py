"""The whole probability vector against the bandwidth."""

from __future__ import annotations

import streamlit as st

from lore_core.comparison import conclude_vector
from lore_core.data.number_text import rows_words
from lore_core.figures import vector_curve_figure
from lore_core.metrics.vector_bandwidth import VectorKey
from lore_core.view import View
from pages.shared import compute
from pages.shared.charts import show_chart
from pages.shared.controls import linked, theme_mode
from pages.shared.header import conclude
from pages.shared.tasks import is_ready

#: Seconds the curve waits for what chance shows.
_SOON = 0.3
_SUMMARIES: dict[str, VectorKey] = {"Average": "average", "Largest": "largest"}


def show_vector_curve(view: View) -> None:
    """Draw the whole vector's errors over γ, at once, and then what chance shows."""
    top = st.container()
    metric = _SUMMARIES[
        st.segmented_control(
            "Summary of the whole vector",
            list(_SUMMARIES),
            default="Average",
            required=True,
            **linked("vector"),
            help="Average: the root mean square of the local errors of rows with ten effective "
            "neighbours or more. Largest: the largest of them. Both less their noise.",
        )
    ]
    curve = compute.vector_curve(view)
    is_simulated = is_ready(compute.vector_band_request(view, curve), _SOON)
    band = compute.vector_band(view, curve) if is_simulated else None
    if band is not None:
        conclude(top, conclude_vector(curve, band, on=view.map_name))
    else:
        top.caption(
            "What a model whose every probability is right would show is being simulated; then it "
            "is concluded here."
        )
    n_rows = len(view.evaluation)
    sampled = curve.n_rows < n_rows
    rows = f"{curve.n_rows:,} of {n_rows:,} evaluation rows" if sampled else view.rows
    show_chart(
        vector_curve_figure(
            curve,
            band,
            metric=metric,
            rows=f"{rows}, {view.map_name}, {view.bins_in_words}",
            gamma=view.gamma,
            mode=theme_mode(),
        ),
        "vector_curve",
    )
    if sampled:
        st.caption(
            f"On {rows_words(curve.n_rows)} drawn at random: simulating all {n_rows:,} with "
            f"{view.dataset.n_classes:,} classes at every γ would take too long. Fewer rows have "
            "fewer neighbours, so that narrow bandwidths show less than all rows would."
        )
    if band is None:
        compute.vector_band(view, curve, st.container())
        st.rerun()
