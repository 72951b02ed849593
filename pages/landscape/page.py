"""Landscape: where is the confidence wrong?"""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from lore_core import Region, describe_rows, drawn_rows, region_report, row_table, worst_rows
from lore_core.figures import (
    cdf_figure,
    landscape_3d_figure,
    landscape_figure,
    reliability_figure,
    shared_limit,
    surface_figure,
)
from lore_core.figures.landscape import CAMERAS
from pages.shared import compute
from pages.shared.charts import next_step, show_chart
from pages.shared.controls import (
    MIN_EFFECTIVE_SIZE,
    evaluation_points,
    map_control,
    theme_mode,
    view_controls,
)
from pages.shared.header import question
from pages.shared.maps import planar_maps
from pages.shared.rows import show_row, show_rows

#: A bin with fewer rows is not offered as "best" or "worst".
MIN_BIN_ROWS = 30
#: Points drawn over the raster, and without it.
DRAWN = 1500
DRAWN_ALONE = 4000
N_WORST = 30


def _choose_bin(names: dict[int, str], key: str) -> None:
    """Take a click on the reliability diagram as the new bin."""
    points = st.session_state[key].selection.points
    if points:
        picked = points[0].get("customdata")
        index = int(picked[0] if isinstance(picked, (list, tuple)) else picked)
        if index in names:
            st.session_state["bin"] = names[index]


def _take_selection(key: str, on: str) -> None:
    """Keep what was drawn or clicked on the map: its geometry, never the points in it."""
    event: Any = st.session_state[key].selection
    region = None
    if event.lasso:
        corners = event.lasso[0]
        region = Region(tuple(map(float, corners["x"])), tuple(map(float, corners["y"])))
    elif event.box:
        region = Region.box(event.box[0]["x"], event.box[0]["y"])
    if region is not None:
        st.session_state["_region"] = (on, region)
    elif len(event.points) == 1:
        picked = event.points[0].get("customdata")
        if picked is not None:
            st.session_state["_row"] = int(
                picked[0] if isinstance(picked, (list, tuple)) else picked
            )


def _clear_region() -> None:
    st.session_state.pop("_region", None)


question(
    "Where is the confidence wrong?",
    "The signed local calibration error of the evaluation rows on a map of their features.",
)
view = view_controls()
if view.embedding is None:
    next_step("pages/data/page.py", "load features on the Data page")
    st.stop()
if not planar_maps(view.dataset):
    st.info(
        "A map needs at least two features; these data have one. The Overview and Bandwidth "
        "pages work on it all the same.",
        icon=":material/info:",
    )
    next_step("pages/bandwidth/page.py", "MLCE against bandwidth")
    st.stop()

mode = theme_mode()
evaluation = view.dataset.evaluation
target = evaluation.target(view.target)
table = compute.reliability(view.dataset, view.target, view.n_bins, view.binning)
found = compute.errors(view.dataset, view.embedding, *view.settings)
names = {int(b): table.bins.name(b) for b in np.flatnonzero(table.count)}

row = st.columns([1.5, 1.6, 2.3, 1.4], vertical_alignment="bottom")
wanted_bin = row[0].selectbox(
    "Confidence bin",
    ["worst", "best", "all", *names.values()],
    key="bin",
    bind="query-params",
    help=f"worst, best: largest and smallest |gap| of the bins with {MIN_BIN_ROWS} rows or more.",
)
value = row[1].segmented_control(
    "Error",
    ["signed", "absolute"],
    default="signed",
    required=True,
    key="error",
    bind="query-params",
    help="signed: red promises too much, blue too little. absolute: the LCE.",
)
layer = row[2].segmented_control(
    "Picture",
    ["field", "points", "both", "height"],
    default="field",
    required=True,
    key="picture",
    bind="query-params",
    help="field: the error at every place. points: the rows. height: LCE as a 3-D sheet. On a 3-D "
    "map the rows are always drawn as points.",
)
map_name, on_map = map_control(view, row[3])

chosen: int | None = None
if wanted_bin == "all":
    rows, bin_name = np.ones(len(evaluation), dtype=bool), "All confidences"
else:
    if wanted_bin == "worst":
        chosen = table.worst_bin(MIN_BIN_ROWS)
    elif wanted_bin == "best":
        chosen = table.best_bin(MIN_BIN_ROWS)
    else:
        chosen = next(b for b, name in names.items() if name == wanted_bin)
    rows = found.bin_index == chosen
    bin_name = f"Confidence {names[chosen]}"
st.markdown(
    f"**{describe_rows(bin_name, evaluation, found, rows, target=view.target, min_effective_size=MIN_EFFECTIVE_SIZE)}**"
)

points = evaluation_points(view, on_map)
worst = worst_rows(found, within=rows, n_rows=N_WORST, min_effective_size=MIN_EFFECTIVE_SIZE)
about = f"{bin_name.lower()}, γ = {view.gamma:g} on {view.features}, {view.rows}"
big, side = st.columns([2.1, 1], gap="medium")
with big:
    limit = shared_limit(found.signed[rows & (found.effective_size >= MIN_EFFECTIVE_SIZE)])
    if points.shape[1] == 3:
        camera = st.segmented_control(
            "Camera", list(CAMERAS), default="corner", required=True, key="camera"
        )
        drawn = drawn_rows(rows, worst, DRAWN_ALONE)
        chart = landscape_3d_figure(
            row_table(evaluation, drawn, found, extra=5),
            points,
            n_total=int(rows.sum()),
            value=value,
            limit=limit,
            rows=about,
            axes=map_name,
            camera=camera,
            mode=mode,
        )
        show_chart(chart, "landscape_3d")
    else:
        if chosen is not None and map_name == view.features:
            field = compute.exact_field(
                view.dataset, on_map, *view.settings, chosen, MIN_EFFECTIVE_SIZE
            )
        else:
            field = compute.row_field(
                view.dataset,
                on_map,
                (view.embedding.digest, *view.settings, wanted_bin),
                found,
                rows,
                MIN_EFFECTIVE_SIZE,
            )
        if layer == "height":
            camera = st.segmented_control(
                "Camera", list(CAMERAS), default="corner", required=True, key="camera"
            )
            chart = surface_figure(
                field,
                value=value,
                limit=limit,
                rows=about,
                axes=map_name,
                camera=camera,
                mode=mode,
            )
            show_chart(chart, "landscape_height")
        else:
            kept = st.session_state.get("_region")
            region = kept[1] if kept is not None and kept[0] == map_name else None
            drawn_table = None
            if layer != "field":
                drawn = drawn_rows(rows, worst, DRAWN if layer == "both" else DRAWN_ALONE)
                drawn_table = row_table(evaluation, drawn, found, extra=5)
            chart = landscape_figure(
                None if layer == "points" else field,
                points,
                points=drawn_table,
                worst=row_table(evaluation, worst, found, extra=5),
                n_total=int(rows.sum()),
                value=value,
                limit=limit,
                rows=about,
                axes=map_name,
                region=region,
                mode=mode,
            )
            show_chart(
                chart,
                "landscape",
                on_select=lambda: _take_selection("landscape", map_name),
                selection_mode=("points", "box", "lasso"),
            )
            if region is not None:
                inside = region.contains(points) & rows
                report = region_report(target.confidence, target.outcome, inside)
                with st.container(border=True):
                    head, button = st.columns([5, 1], vertical_alignment="center")
                    head.markdown(f"**Selected region** · {report.sentence}")
                    button.button("Clear", on_click=_clear_region, width="stretch")
                    if report.n_rows:
                        listed = worst_rows(found, within=inside, n_rows=200)
                        picked = show_rows(evaluation, listed, found, "region_rows")
                        if picked is not None:
                            st.session_state["_row"] = picked
                        st.caption(
                            f"{len(listed):,} of {report.n_rows:,} rows of the region in this bin, "
                            "largest local error first."
                        )
                        st.download_button(
                            "All rows of the region as CSV",
                            lambda: row_table(evaluation, np.flatnonzero(inside), found)
                            .to_csv(index=False)
                            .encode(),
                            "lore-lens-region.csv",
                            "text/csv",
                            on_click="ignore",
                            icon=":material/download:",
                        )
            else:
                st.caption("Draw a lasso or a box on the map to report on the rows inside it.")

with side:
    show_chart(
        reliability_figure(
            table,
            rows="click a bar to choose its bin",
            chosen=chosen,
            mode=mode,
            height=330,
            title="Confidence bins",
        ),
        "chooser",
        on_select=lambda: _choose_bin(names, "chooser"),
        selection_mode="points",
    )
    show_chart(
        cdf_figure(
            {"LCE": found.absolute[rows]},
            rows=f"{bin_name.lower()}, {int(rows.sum()):,} rows",
            global_error=None if chosen is None else float(abs(table.gap[chosen])),
            mode=mode,
            height=300,
            title="LCE over rows",
        ),
        "cdf",
    )

st.subheader("Worst rows", anchor=False)
if len(worst) == 0:
    st.caption(
        f"No row of this bin has {MIN_EFFECTIVE_SIZE:g} effective neighbours at γ = {view.gamma:g}."
    )
else:
    listing, detail = st.columns([3, 1], gap="medium")
    with listing:
        picked = show_rows(evaluation, worst, found, "worst_rows")
        st.caption(
            f"The {len(worst)} rows of this bin with the largest local error among those with "
            f"{MIN_EFFECTIVE_SIZE:g} effective neighbours or more; ringed on the map."
        )
    with detail:
        shown = picked if picked is not None else st.session_state.get("_row", int(worst[0]))
        if 0 <= shown < len(evaluation):
            show_row(evaluation, shown, found)
next_step("pages/recalibrate/page.py", "does recalibration fix it? Recalibrate")
