"""Overview: is there a problem?"""

from __future__ import annotations

import numpy as np
import streamlit as st

from lore_core import describe_composition, describe_maximum, verdict
from lore_core.chance import describe_bias
from lore_core.comparison import Summary, local_bin_table
from lore_core.figures import reliability_figure
from lore_core.metrics.catalogue import MLCE, MLCE_SUPPORTED, TILES
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE
from lore_core.metrics.metric import Metric
from pages.shared import compute
from pages.shared.charts import next_step, show_chart
from pages.shared.controls import theme_mode, view_controls
from pages.shared.header import plain, question

#: How regions are searched for, as on the Landscape by default.
_Q, _EDGE = 0.05, 0.5


def _tile(found: Summary, metric: Metric) -> None:
    name = metric.name
    if name not in found.values:
        st.metric(
            metric.title, "—", border=True, help=f"{metric.explanation} Not known for these data."
        )
        return
    interval = None
    if found.intervals is not None and name in found.intervals.index:
        low, high = (float(found.intervals[side][name]) for side in ("low", "high"))
        interval = f"95 %: {metric.interval_text(low, high, sign=metric.unit.sign)}"
    st.metric(
        metric.title,
        metric.text_alone(float(found.values[name])),
        delta=interval,
        delta_color="off",
        delta_arrow="off",
        border=True,
        help=metric.explanation,
    )


question(
    "Is there a problem?",
    "The usual global metrics beside the local ones, all on the evaluation rows.",
)
view = view_controls()
found = compute.summary(view)
said = verdict(found.reliability, found.local, min_effective_size=MIN_EFFECTIVE_SIZE)
show = {"good": st.success, "local": st.warning, "global": st.error}[said.level]
icons = {"good": "check_circle", "local": "location_searching", "global": "error"}
show(said.sentence, icon=f":material/{icons[said.level]}:")

if view.is_local and len(view.evaluation) <= compute.REGIONS_AT_ONCE:
    search = compute.regions(view, q=_Q, edge=_EDGE)
    top = next((region for region in search.regions if region.sign > 0 or region.confirmed), None)
    if top is None:
        st.markdown(f"**Worst place**: none is beyond chance at γ = {view.gamma:g}.")
    else:
        inside = search.label == search.regions.index(top)
        key = (view.key(), _Q, _EDGE)
        made_of = compute.made_of(view.dataset, key, inside, np.ones_like(inside))
        st.markdown(
            f"**Worst place**: {top.sentence}; {plain(describe_composition(made_of))}. The "
            "Landscape shows it and all others."
        )

elif view.is_local:
    st.caption("Among so many rows the worst places are looked for on the Landscape, on demand.")

with st.grid(4, min_column_width=150, gap="small"):
    for metric in TILES:
        _tile(found, metric)
if found.draws is None:
    st.caption(
        f"n = {found.n_rows:,} evaluation rows. No intervals: resampling so many rows would take "
        "too long to wait for."
    )
else:
    assert found.intervals is not None  # as there are draws
    without = (
        ""
        if found.local is None or MLCE.name in found.intervals.index
        else (
            f" ALCE and MLCE have none: simulating the neighbours of {found.n_rows:,} rows on "
            f"{view.map_name} would take too long to wait for."
        )
    )
    st.caption(
        f"n = {found.n_rows:,} evaluation rows, 95 % intervals: {len(found.draws.values)} "
        "bootstrap resamples; for the calibration errors, which chance enlarges, the true errors "
        "that would show such values in simulations. A value above its interval is mostly chance."
        f"{without}"
    )

chance = None
if found.local is not None:
    chance = compute.chance_errors(view)
    worst = int(np.nanargmax(found.local.absolute))
    supported = float(found.details[MLCE_SUPPORTED.name])
    largest = (
        f"the largest error is {MLCE_SUPPORTED.text(supported)} points"
        if np.isfinite(supported)
        else "it is unknown: there is none"
    )
    st.caption(
        f"The MLCE is set by row {worst}, which rests on {found.local.effective_size[worst]:.0f} "
        f"effective neighbours. Among rows with {MIN_EFFECTIVE_SIZE:g} or more {largest}. "
        + ("" if chance is None else describe_maximum(found.local, chance))
    )
st.caption(describe_bias(found.reliability, chance))

left, right = st.columns([1.15, 1])
with left:
    show_chart(
        reliability_figure(
            found.reliability,
            rows=f"{view.rows}, {found.reliability.bins.n_bins} {view.binning} bins",
            mode=theme_mode(),
        ),
        "reliability",
    )
with right:
    st.subheader("What the bins hide", anchor=False)
    if found.local is None:
        st.caption("Needs features: without them no row has neighbours.")
    else:
        table = local_bin_table(found.reliability, found.local)
        table["bin"] = [found.reliability.bins.name(b) for b in table["bin"]]
        points = st.column_config.NumberColumn
        st.dataframe(
            table[["bin", "rows", "gap", "mean_lce", "max_lce"]].assign(
                **{c: table[c] * 100 for c in ("gap", "mean_lce", "max_lce")}
            ),
            hide_index=True,
            height="content" if len(table) <= 15 else 420,
            column_config={
                "bin": "confidence",
                "rows": points("rows", format="localized"),
                "gap": points("gap", format="%+.1f", help="Mean confidence − accuracy."),
                "mean_lce": points("mean LCE", format="%.1f"),
                "max_lce": points("max LCE", format="%.1f"),
            },
        )
        st.caption(
            "Points of confidence. Where the mean LCE is far above the gap, over- and "
            "underconfident places cancel inside the bin."
        )
        median = float(np.median(found.local.effective_size))
        st.caption(
            f"At {view.kernel_in_words} half of the rows rest on {median:,.0f} "
            "effective neighbours or more."
        )
next_step("pages/landscape/page.py", "where is it wrong? The landscape")
