"""The whole probability vector on the map: which class is most wrong, and where."""

from __future__ import annotations

import streamlit as st

from lore_core import Embedding
from lore_core.data.number_text import unbroken
from lore_core.figures import class_map_figure
from lore_core.inference import describe_classes
from lore_core.view import View
from pages.shared import compute
from pages.shared.charts import show_chart
from pages.shared.controls import theme_mode
from pages.shared.header import plain
from pages.shared.vector import list_classes


def show_vector(view: View, on_map: Embedding, axes: str) -> None:
    """Draw rows by the class that is most wrong around them, and list every class."""
    dataset, errors = view.evaluation, compute.vectors(view)
    chance = compute.vectors_by_chance(view, errors)
    table = compute.classes(view, errors, chance)
    st.markdown(f"**{unbroken(chance.sentence)}** {plain(describe_classes(table))}")
    big, side = st.columns([1.5, 1], gap="medium")
    with big:
        if on_map.n_components == 2:
            show_chart(
                class_map_figure(
                    dataset,
                    view.points(on=on_map),
                    errors,
                    chance,
                    rows=f"{len(dataset):,} evaluation rows, {view.kernel_in_words}",
                    axes=axes,
                    mode=theme_mode(),
                ),
                "class_map",
            )
        else:
            st.info("Draw on a map of two dimensions to see where.", icon=":material/info:")
    with side:
        st.markdown("**Each class**")
        list_classes(table)
