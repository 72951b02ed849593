"""Two methods on the same rows: landscapes on one colour scale, reliability, distributions."""

from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lore_core import Comparison, region_report
from lore_core.figures import cdf_figure
from lore_core.figures.browser.landscape import LiveLandscape, SecondField
from lore_core.metrics import LocalErrors
from lore_core.regions import class_positions
from lore_core.view import View
from pages.shared import compute
from pages.shared.charts import chart_line, diagram_choice, show_chart, show_reliability
from pages.shared.controls import bin_control, linked, map_control, one_of
from pages.shared.header import plain
from pages.shared.live import live_landscape, map_key
from pages.shared.methods import pair_controls, pair_of_maps

_PLACES = ("before", "after")
#: Both methods in one map, or each in its own.
_SWIPED, _BESIDE = "one", "two"


def before_after(view: View, result: Comparison, measured_on: str) -> None:
    """Let the reader choose two methods and a bin, and show the same rows under both."""
    head = st.columns([2.2, 2.2, 2.2, 2.2, 2], vertical_alignment="bottom")
    before, after = pair = pair_controls(result, head[2], head[3])
    first, second = (result.summaries[name].local for name in pair)
    assert first is not None
    assert second is not None
    rows, bin_name = _rows(head[0], result, before, first)
    on_name, on_map = on = map_control(view, head[1])
    points = view.points(on=on_map)
    about = f"confidence {bin_name}, γ = {view.gamma:g} on {measured_on}"
    if points.shape[1] == 2:
        key = (measured_on, bin_name, before)
        labels = class_positions(view.evaluation, points, rows)
        fields, charts = pair_of_maps(
            view, result, pair, on, rows, key, about, pair, labels=labels, height=430
        )
        shown = one_of(
            "Maps",
            [_SWIPED, _BESIDE],
            **linked("maps"),
            help="one: a handle parts before from after. two: side by side.",
            into=head[4],
        )
        if shown == _SWIPED:
            live = LiveLandscape(
                picture=charts[0],
                field=fields[0],
                against=SecondField(pair, fields[1]),
                n_shown=int(rows.sum()),
                map_key=map_key(view.dataset, on_map),
                gamma=view.gamma,
            )
            live_landscape(live, "swipe")
            st.caption(f"Before is left of the handle, after right of it. {charts[0].how_to_read}")
        for column, place, name, chart in zip(st.columns(2), _PLACES, pair, charts, strict=True):
            dataset = result.datasets[name]
            sentence = region_report(
                dataset.confidence, dataset.outcome, rows, weights=dataset.weights
            ).sentence
            with column:
                if shown == _SWIPED:
                    chart_line(chart, f"landscape_{place}", caption=f"{plain(name)}: {sentence}")
                else:
                    show_chart(chart, f"landscape_{place}")
                    st.caption(sentence)
    else:
        st.info(
            f"Landscapes before and after are drawn on a 2-D map; {on_name} is not one. Choose "
            "another under “Draw on”.",
            icon=":material/map:",
        )
    diagram = diagram_choice()
    for column, place, name in zip(st.columns(2), _PLACES, pair, strict=True):
        with column:
            show_reliability(
                diagram,
                result.summaries[name].reliability,
                partial(compute.isotonic, view, result.datasets[name]),
                f"reliability_{place}",
                rows=f"{len(rows):,} evaluation rows",
                bins=view.bins_in_words,
                height=360,
                of=name,
            )
    show_chart(
        cdf_figure(
            {before: first.absolute[rows], after: second.absolute[rows]},
            rows=f"{about}, {int(rows.sum()):,} evaluation rows",
        ),
        "cdf_compare",
    )


def _rows(
    container: DeltaGenerator, result: Comparison, before: str, local: LocalErrors
) -> tuple[np.ndarray, str]:
    table = result.summaries[before].reliability
    about = f"The rows of this bin before (by “{before}”); the same rows are shown after."
    index = bin_control(
        container, table, "Rows of confidence bin", ["all", "worst"], "compare_bin", about
    )
    if index is None:
        return np.ones(len(local.signed), dtype=bool), "all"
    return local.bin_index == index, table.bins.name(index)
