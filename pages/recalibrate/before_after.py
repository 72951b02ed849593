"""Two methods on the same rows: landscapes on one colour scale, reliability, distributions."""

from __future__ import annotations

import numpy as np
import streamlit as st

from lore_core import Comparison, region_report
from lore_core.figures import cdf_figure, landscape_figure, reliability_figure, shared_limit
from lore_core.metrics import LocalErrors
from lore_core.metrics.catalogue import MIN_BIN_ROWS
from lore_core.view import View
from pages.shared import compute
from pages.shared.charts import show_chart
from pages.shared.controls import linked, map_control, theme_mode
from pages.shared.methods import pair_controls

_PLACES = ("before", "after")


def before_after(view: View, result: Comparison, measured_on: str) -> None:
    """Let the reader choose two methods and a bin, and show the same rows under both."""
    head = st.columns(4, vertical_alignment="bottom")
    before, after = pair = pair_controls(result, head[2], head[3])
    first, second = (result.summaries[name].local for name in pair)
    assert first is not None
    assert second is not None
    rows, bin_name = _rows(head[0], result, before, first)
    on_name, on_map = map_control(view, head[1])
    points = view.points(on=on_map)
    about = f"confidence {bin_name}, γ = {view.gamma:g} on {measured_on}"
    if points.shape[1] == 2:
        known = [rows & local.supported() for local in (first, second)]
        limit = shared_limit(first.signed[known[0]], second.signed[known[1]])
        for column, place, name, local in zip(
            st.columns(2), _PLACES, pair, (first, second), strict=True
        ):
            key = (measured_on, bin_name, before, name)
            field = compute.row_field(view, key, on_map, local, rows)
            dataset = result.datasets[name]
            with column:
                show_chart(
                    landscape_figure(
                        field,
                        points,
                        n_total=int(rows.sum()),
                        limit=limit,
                        rows=about,
                        axes=on_name,
                        mode=theme_mode(),
                        height=430,
                        title=name,
                    ),
                    f"landscape_{place}",
                )
                st.caption(region_report(dataset.confidence, dataset.outcome, rows).sentence)
    else:
        st.info(
            f"Landscapes before and after are drawn on a 2-D map; {on_name} is not one. Choose "
            "another under “Draw on”.",
            icon=":material/map:",
        )
    for column, place, name in zip(st.columns(2), _PLACES, pair, strict=True):
        with column:
            show_chart(
                reliability_figure(
                    result.summaries[name].reliability,
                    rows=f"{len(rows):,} evaluation rows, {view.bins_in_words}",
                    mode=theme_mode(),
                    height=360,
                    title=f"Reliability: {name}",
                ),
                f"reliability_{place}",
            )
    show_chart(
        cdf_figure(
            {before: first.absolute[rows], after: second.absolute[rows]},
            rows=f"{about}, {int(rows.sum()):,} evaluation rows",
            mode=theme_mode(),
        ),
        "cdf_compare",
    )


def _rows(
    container: st.delta_generator.DeltaGenerator,
    result: Comparison,
    before: str,
    local: LocalErrors,
) -> tuple[np.ndarray, str]:
    """Let the reader choose rows by their confidence bin before."""
    table = result.summaries[before].reliability
    names = {b: table.bins.name(b) for b in np.flatnonzero(table.count).tolist()}
    chosen = container.selectbox(
        "Rows of confidence bin",
        ["all", "worst", *names.values()],
        **linked("compare_bin"),
        help=f"The rows of this bin before (by “{before}”); the same rows are shown after.",
    )
    if chosen == "all":
        return np.ones(len(local.signed), dtype=bool), "all"
    index = (
        table.worst_bin(MIN_BIN_ROWS)
        if chosen == "worst"
        else next(b for b, name in names.items() if name == chosen)
    )
    return local.bin_index == index, names[index]
