"""The whole probability vector on the map: which class is most wrong, and where."""

from __future__ import annotations

import streamlit as st

from lore_core import Embedding
from lore_core.data.number_text import unbroken
from lore_core.figures import class_map_figure
from lore_core.metrics import class_table
from lore_core.view import View
from pages.shared import compute
from pages.shared.cells import in_hundredths, points_column, share_column
from pages.shared.charts import csv_button, show_chart
from pages.shared.controls import theme_mode


def show_vector(view: View, on_map: Embedding, axes: str) -> None:
    """Draw rows by the class that is most wrong around them, and list every class."""
    dataset, errors = view.evaluation, compute.vectors(view)
    chance = compute.vectors_by_chance(view)
    st.markdown(f"**{unbroken(chance.sentence)}**")
    table = class_table(dataset, errors, chance.beyond)
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
        st.dataframe(
            in_hundredths(table, "promised", "came", "gap", "alce", "mlce"),
            height="content" if len(table) <= 15 else 560,
            column_config={
                "promised": share_column("promised"),
                "came": share_column("came"),
                "gap": points_column("gap", signed=True),
                "alce": points_column("ALCE"),
                "mlce": points_column("MLCE"),
                "rows": st.column_config.NumberColumn(
                    "most wrong in", format="localized", help="Rows beyond chance."
                ),
            },
        )
        st.caption(
            "Gaps and local errors in points, local ones of rows with ten effective neighbours or "
            "more, noise and all; neighbours are rows of one bin of the predicted class's "
            "confidence. Choose a class as target to see its own landscape."
        )
        csv_button("Classes as CSV", table.reset_index, "classes", key="classes_csv")
