"""What pages that show the whole vector share: the list of its classes."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from lore_core.data.number_text import unbroken
from pages.shared.cells import in_hundredths, points_column, share_column
from pages.shared.charts import csv_button

#: Columns in their order, and those that hold no shares.
_COLUMNS = (
    "local",
    "chance_level",
    "p_value",
    "rows",
    "gap",
    "promised",
    "came",
    "ece",
    "alce",
    "mlce",
)
_NO_SHARES = ("p_value", "rows")
#: Classes that are listed; the file has all.
_LISTED = 20


def list_classes(table: pd.DataFrame) -> None:
    """List classes, the most wrong first, with what chance shows.

    ``table``: from :func:`~lore_core.inference.whole_vector.classes_by_chance`.
    """
    shown = table.head(_LISTED)
    columns = [name for name in _COLUMNS if name in shown]
    number = st.column_config.NumberColumn
    st.dataframe(
        in_hundredths(shown[columns], *(name for name in columns if name not in _NO_SHARES)),
        height="content",
        column_config={
            "local": points_column(
                "local error", help="Root mean square over rows, less its noise."
            ),
            "chance_level": points_column(
                "if right", help="The local error stays below in 95 % of models that are right."
            ),
            "p_value": number("p", format="%.3f", help="For all classes taken together."),
            "rows": number(
                "most wrong in",
                format="localized",
                help="Rows beyond chance where this class is the furthest off.",
            ),
            "gap": points_column("gap", signed=True, help="Promised less came, of all rows."),
            "promised": share_column("promised"),
            "came": share_column("came"),
            "ece": points_column("ECE", help="In bins of the class's own probability."),
            "alce": points_column("ALCE"),
            "mlce": points_column("MLCE"),
        },
    )
    more = len(table) - len(shown)
    st.caption(
        unbroken(
            "The most wrong first. Errors in points; local ones of rows with ten effective "
            "neighbours or more, ALCE and MLCE noise and all; neighbours are rows of one bin of "
            "the predicted class's confidence. Choose a class as target to see it by itself."
            + (f" {more:,} more {'is' if more == 1 else 'are'} in the file." if more > 0 else "")
        )
    )
    csv_button("Classes as CSV", table.reset_index, "classes", key="classes_csv")
