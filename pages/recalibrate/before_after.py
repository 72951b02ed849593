"""Two methods on the same rows: landscapes on one colour scale, reliability, distributions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lore_core import Comparison, region_report
from lore_core.data.arrays import Mask
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
from pages.shared.maps import plane_of
from pages.shared.methods import pair_controls, pair_of_maps

_SIDES = ("before", "after")
#: Each method in its own map, or both in one.
_BESIDE, _SWIPED = "two", "one"


@dataclass(frozen=True, eq=False)
class Pair:
    """Two methods that are compared, and the rows they are compared on."""

    before: str
    after: str
    rows: Mask  #: Evaluation rows shown
    bin_name: str  #: Of which confidence bin before

    @property
    def names(self) -> tuple[str, str]:
        """Both methods."""
        return self.before, self.after


def compare_maps(view: View, result: Comparison, measured_on: str) -> Pair:
    """Show two methods' landscapes at one scale; the reader chooses the methods and the rows."""
    pictures = st.container()
    head = st.columns([2, 2, 1.5, 1.7, 1.8], vertical_alignment="bottom")
    before, after = pair_controls(result, head[0], head[1])
    first = result.summaries[before].local
    assert first is not None
    rows, bin_name = _rows(head[2], result, before, first)
    pair = Pair(before, after, rows, bin_name)
    on_name, on_map = on = map_control(view, head[3])
    if on_map.n_components != 2:
        on_name, on_map = on = plane_of(view) or on
    points = view.points(on=on_map)
    if points.shape[1] != 2:
        pictures.info(
            f"Landscapes before and after are drawn on a 2-D map; {on_name} is not one. Choose "
            "another under “Draw on”.",
            icon=":material/map:",
        )
        return pair
    about = f"confidence {bin_name}, γ = {view.gamma:g} on {measured_on}"
    key = (measured_on, bin_name, before)
    labels = class_positions(view.evaluation, points, rows)
    fields, charts = pair_of_maps(
        view, result, pair.names, on, rows, key, about, pair.names, labels=labels, height=380
    )
    shown = one_of(
        "Maps",
        [_BESIDE, _SWIPED],
        **linked("maps"),
        help="two: side by side. one: a handle divides before from after.",
        into=head[4],
    )
    with pictures:
        if shown == _SWIPED:
            live = LiveLandscape(
                picture=charts[0],
                field=fields[0],
                against=SecondField(pair.names, fields[1]),
                n_shown=int(rows.sum()),
                map_key=map_key(view.dataset, on_map),
                gamma=view.gamma,
            )
            live_landscape(live, "swipe")
            st.caption(f"Before is left of the handle, after right of it. {charts[0].how_to_read}")
        for column, side, name, chart in zip(
            st.columns(2, gap="medium"), _SIDES, pair.names, charts, strict=True
        ):
            dataset = result.datasets[name]
            sentence = region_report(
                dataset.confidence, dataset.outcome, rows, weights=dataset.weights
            ).sentence
            with column:
                if shown == _SWIPED:
                    chart_line(chart, f"landscape_{side}", caption=f"{plain(name)}: {sentence}")
                else:
                    show_chart(chart, f"landscape_{side}", caption=sentence)
    return pair


def compare_reliability(view: View, result: Comparison, pair: Pair) -> None:
    """Show reliability before and after."""
    diagram = diagram_choice()
    for column, side, name in zip(st.columns(2), _SIDES, pair.names, strict=True):
        with column:
            show_reliability(
                diagram,
                result.summaries[name].reliability,
                partial(compute.isotonic, view, result.datasets[name]),
                f"reliability_{side}",
                rows=f"{len(pair.rows):,} evaluation rows",
                bins=view.bins_in_words,
                height=360,
                of=name,
            )


def compare_distributions(view: View, result: Comparison, pair: Pair, measured_on: str) -> None:
    """Show the local errors of the rows before and after."""
    local = {name: result.summaries[name].local for name in pair.names}
    show_chart(
        cdf_figure(
            {name: item.absolute[pair.rows] for name, item in local.items() if item is not None},
            rows=f"confidence {pair.bin_name}, γ = {view.gamma:g} on {measured_on}, "
            f"{int(pair.rows.sum()):,} evaluation rows",
        ),
        "cdf_compare",
    )


def _rows(
    container: DeltaGenerator, result: Comparison, before: str, local: LocalErrors
) -> tuple[Mask, str]:
    table = result.summaries[before].reliability
    about = f"The rows of this bin before (by “{before}”); the same rows are shown after."
    index = bin_control(container, table, "Confidence bin", ["all", "worst"], "compare_bin", about)
    if index is None:
        return np.ones(len(local.signed), dtype=bool), "all"
    return local.bin_index == index, table.bins.name(index)
