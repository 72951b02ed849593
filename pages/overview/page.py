"""Overview: is there a problem?"""

import numpy as np
import streamlit as st

from lore_core import describe_maximum
from lore_core.comparison import local_bin_table
from lore_core.comparison.tables import metric_table
from lore_core.data.dataset import TOP_LABEL
from lore_core.data.number_text import POINTS, interval_words, share_words, signed_points, unbroken
from lore_core.inference import describe_bias
from lore_core.inference.intervals import ABOUT_INTERVALS
from lore_core.metrics.catalogue import TILES
from lore_core.regions.subgroups.find import SubgroupSearch
from lore_core.regions.subgroups.verdict import name_of_subgroup
from lore_core.view import View
from pages.shared import compute
from pages.shared.cells import count_column, in_hundredths, points_column, show_tile
from pages.shared.charts import csv_button, diagram_choice, end_page, next_step, show_reliability
from pages.shared.controls import asks_for_vector, view_controls
from pages.shared.header import headline, plain, question
from pages.shared.live import hear
from pages.shared.maps import planar_maps
from pages.shared.session import current
from pages.shared.subgroups import SEEN, is_searched, small_map
from pages.shared.vector import show_vector_overview
from pages.shared.whole import whole_metrics

_MAP = "overview_map"
#: Subgroups listed; the Landscape lists all.
_LISTED = 5


def _see(number: int) -> None:
    st.switch_page(
        "pages/landscape/page.py",
        query_params={**st.query_params.to_dict(), SEEN: str(int(number) + 1)},
    )


def _list_subgroups(view: View, search: SubgroupSearch) -> None:
    came = "got" if view.target == TOP_LABEL else "came"
    on_map = view.is_local and bool(planar_maps(view.dataset))
    for number, subgroup in enumerate(search.subgroups[:_LISTED]):
        test = subgroup.held
        part = "" if subgroup.within is None else f"in {subgroup.within + 1}: "
        name = f"{number + 1} · {part}{plain(name_of_subgroup(subgroup))}"
        with st.container(gap=None):
            if on_map:
                # (A button that switches pages may not carry the settings in the link along.)
                st.page_link(
                    "pages/landscape/page.py",
                    label=f"**{name}**",
                    query_params={SEEN: str(number + 1)},
                    help="See it on the map",
                )
            else:
                st.markdown(f"**{name}**")
            gap = f"{signed_points(test.gap, 0)} ({interval_words(test.gap_low, test.gap_high)})"
            st.caption(
                f"{subgroup.n_rows:,} rows · promised {share_words(subgroup.confidence)}, {came} "
                f"{share_words(subgroup.accuracy)} · held-out gap {gap} points"
            )
    hidden = len(search.subgroups) - _LISTED
    st.caption(
        f"Held-out gap: promised less {came}, on those of the rows that were not used to find the "
        + unbroken("place, with its 95 % interval; + is too sure.")
        + (
            f" {hidden} more {'is' if hidden == 1 else 'are'} listed on the Landscape."
            * (hidden > 0)
        )
    )


question(
    "Is there a problem?",
    "The usual global metrics beside the local ones, all on the evaluation rows.",
)
hear(_MAP)
whole = asks_for_vector(current().dataset)
view = view_controls(shows_vector=True)
if whole:
    show_vector_overview(view)
    end_page("pages/landscape/page.py", "where is it wrong? The landscape")
found = compute.summary(view)
searched = is_searched(view)
verdict = compute.verdict(view, searched)
headline(verdict)
search = compute.subgroups(view) if searched else None
left, right = st.columns([1, 1.1], gap="medium") if view.is_local else (st.container(), None)
with left:
    if verdict.evidence:
        st.markdown(plain(verdict.evidence))
    if search is not None and search.subgroups:
        _list_subgroups(view, search)
if right is not None:
    with right:
        small_map(view, search, _MAP, _see)

# A row of scores and one of calibration errors: each fills its row, at 900 pixels too.
for kind in (False, True):
    tiles = [metric for metric in TILES if (metric.unit is POINTS) is kind]
    with st.grid(len(tiles), min_column_width=140, gap="xsmall"):
        for metric in tiles:
            show_tile(found, metric)
simulated = [metric for metric in TILES if metric.chance and metric.name in found.values.dropna()]
without = [metric.title for metric in simulated if metric.name not in found.intervals.index]
too_long = (
    f" Without one: {', '.join(without)}; simulating {found.n_rows:,} rows would take too long to "
    "wait for."
    if without
    else ""
)
about = (
    f"n = {found.n_rows:,} evaluation rows, 95 % intervals: for the calibration errors the true "
    f"errors that would show such values in simulations. {ABOUT_INTERVALS}{too_long} MCE and MLCE "
    "are the paper's maxima over all bins and all rows, however little they rest on: read them "
    "after the others."
)
st.caption(unbroken(about))

whole_metrics(view)

chance = compute.chance_errors(view) if found.local is not None else None
csv_button(
    "Metrics as CSV",
    lambda: metric_table(found, chance),
    "metrics",
    type="tertiary",
    help="Every metric with its unit, 95 % interval, p-value by chance and number of rows.",
)
if found.local is not None:
    st.caption(unbroken(describe_maximum(found.local, chance)))
st.caption(unbroken(describe_bias(found.reliability, chance)))

left, right = st.columns([1.15, 1])
with left:
    show_reliability(
        diagram_choice(),
        found.reliability,
        lambda: compute.isotonic(view),
        "reliability",
        rows=view.rows,
        bins=f"{found.reliability.bins.n_bins} {view.binning} bins",
    )
with right:
    st.subheader("What the bins hide", anchor=False)
    if found.local is None:
        st.caption("Needs features: without them no row has neighbours.")
    else:
        table = local_bin_table(found.reliability, found.local)
        table["bin"] = [found.reliability.bins.name(b) for b in table["bin"]]
        st.dataframe(
            in_hundredths(
                table[["bin", "rows", "gap", "mean_lce", "max_lce"]], "gap", "mean_lce", "max_lce"
            ),
            hide_index=True,
            height="content" if len(table) <= 15 else 420,
            column_config={
                "bin": "confidence",
                "rows": count_column("rows"),
                "gap": points_column("gap", signed=True, help="Mean confidence − accuracy."),
                "mean_lce": points_column("mean LCE"),
                "max_lce": points_column("max LCE"),
            },
        )
        st.caption(
            "Gap and LCE (local calibration error) in points. Where the mean LCE is far above the "
            "gap, over- and underconfident places cancel inside the bin."
        )
        median = float(np.median(found.local.effective_size))
        st.caption(
            f"At {view.kernel_in_words} half of the rows rest on {median:,.0f} "
            "effective neighbours or more."
        )
next_step("pages/landscape/page.py", "where is it wrong? The landscape")
