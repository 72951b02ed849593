"""Overview of the whole probability vector: every class at once, and which to mend first."""

from __future__ import annotations

from typing import Any

import streamlit as st

from lore_core.chance import VectorChance, describe_classes
from lore_core.comparison import Conclusion
from lore_core.data.number_text import POINTS, p_sentence, rows_words, share_words, unbroken
from lore_core.figures import class_map_figure
from lore_core.metrics import VectorErrors, class_table
from lore_core.metrics.catalogue import ACCURACY, BRIER, NLL
from lore_core.view import View
from pages.shared import compute
from pages.shared.cells import show_tile
from pages.shared.charts import show_chart
from pages.shared.controls import theme_mode
from pages.shared.header import conclude, plain
from pages.shared.maps import available_maps, instant_map
from pages.shared.tasks import is_ready
from pages.shared.vector import list_classes

#: Seconds the numbers wait for what chance shows.
_SOON = 0.3
_PLANE = "PCA 2-D"


def show_vector_overview(view: View) -> None:
    """Show the whole vector's numbers at once, and then what chance shows of them."""
    top, tiles = st.container(), st.container()
    if not view.is_local:
        _say_rest(view)
        return
    errors = compute.vectors(view)
    chance = None
    if is_ready(compute.vector_chance_request(view, errors), _SOON):
        chance = compute.vectors_by_chance(view, errors)
    with tiles:
        _tiles(view, errors, chance)
    if chance is None:
        top.caption(
            "What a model whose every probability is right would show is being simulated; then "
            "it is concluded here."
        )
        waiting = st.container()
        list_classes(class_table(view.evaluation, errors, **view.bins))
        _say_rest(view)
        compute.vectors_by_chance(view, errors, waiting)
        st.rerun()
        return
    table = compute.classes(view, errors, chance)
    conclude(top, Conclusion(chance.sentence, chance.is_significant))
    st.subheader("Which class to mend first", anchor=False)
    st.markdown(plain(describe_classes(table)))
    list_classes(table)
    _map(view, errors, chance)
    _say_rest(view)


def _tiles(view: View, errors: VectorErrors, chance: VectorChance | None) -> None:
    """Show the vector's own numbers, and scores of all probabilities."""
    with st.grid(3, min_column_width=200, gap="xsmall"):
        st.metric(
            "Average local error",
            POINTS.text(errors.average()) + POINTS.word,
            delta=None if chance is None else _against(chance.chance_level, chance.p_value),
            **_PLAIN,
            help="Of the whole vector: root mean square over the rows with ten effective "
            "neighbours or more, less its noise.",
        )
        st.metric(
            "Largest local error",
            POINTS.text(errors.largest) + POINTS.word,
            delta=None
            if chance is None
            else _against(chance.largest_level, chance.largest_p_value),
            **_PLAIN,
            help="Of the whole vector, at a row with ten effective neighbours or more, less its "
            "noise.",
        )
        st.metric(
            "Rows beyond chance",
            "…" if chance is None else f"{int(chance.beyond.sum()):,}",
            delta=None
            if chance is None or not chance.n_supported
            else f"{share_words(chance.beyond.sum() / chance.n_supported)} of "
            f"{chance.n_supported:,}",
            **_PLAIN,
            help="Rows where the error of the whole vector is beyond chance by itself. Where "
            "every probability is right there is one in 5 % of data sets.",
        )
    found = compute.scores(view)
    with st.grid(3, min_column_width=200, gap="xsmall"):
        for metric in (ACCURACY, NLL, BRIER):
            show_tile(found, metric)
    st.caption(
        unbroken(
            f"{rows_words(int(errors.supported.sum()))} of {len(view.evaluation):,} evaluation "
            f"rows have ten effective neighbours or more at {view.kernel_in_words}. NLL and Brier "
            "are of all probabilities, the accuracy is of the predicted class."
        )
    )


#: How tiles show what chance does: without a colour that would judge it.
_PLAIN: dict[str, Any] = {"delta_color": "off", "delta_arrow": "off", "border": True}


def _against(level: float, p: float) -> str:
    return f"if right below {POINTS.text(level)}, {p_sentence(p)}"


def _map(view: View, errors: VectorErrors, chance: VectorChance) -> None:
    """Draw where which class is most wrong."""
    name, on = view.map_name, view.embedding
    if on.n_components != 2:
        if _PLANE not in available_maps(view.dataset):
            return
        name, on = _PLANE, instant_map(view.dataset, _PLANE)
    show_chart(
        class_map_figure(
            view.evaluation,
            view.points(on=on),
            errors,
            chance,
            rows=f"{len(view.evaluation):,} evaluation rows, {view.kernel_in_words}",
            axes=name,
            mode=theme_mode(),
            height=460,
        ),
        "class_map",
    )


def _say_rest(view: View) -> None:
    """Say what is not shown, and why."""
    text = (
        "ECE, MCE, the reliability diagram and places are of one confidence a row: choose the top "
        "label or a class as target to see them."
    )
    if not view.is_local:
        text = f"Local errors of the whole vector need features. {text}"
    st.caption(unbroken(text))
