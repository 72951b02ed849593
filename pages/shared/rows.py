"""Rows in a table with thumbnails, and one row in full."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from lore_core import Dataset
from lore_core.data.number_text import gap_words, neighbours_words, percent
from lore_core.metrics import LocalErrors
from lore_core.metrics.glossary import GLOSSARY
from lore_core.regions import row_table
from pages.shared.cells import in_hundredths, points_column, share_column
from pages.shared.picks import pick, pick_table, picked
from pages.shared.thumbnails import picture, thumbnail_urls

_ROW = "row"
_COLUMNS: dict[str, Any] = {
    "row": st.column_config.NumberColumn("row", help="Row number among the evaluation rows."),
    "confidence": share_column("confidence"),
    "right": st.column_config.CheckboxColumn("right"),
    "signed_error": points_column(
        "local error, points", signed=True, help="Confidence − accuracy around this row."
    ),
    "n_eff": st.column_config.NumberColumn(
        "effective neighbours", format="%.0f", help=GLOSSARY["effective neighbours, n_eff"]
    ),
}


def pick_row(row: int) -> None:
    """Pick an evaluation row, to be looked at on every picture and list."""
    pick(_ROW, row)


def picked_row(dataset: Dataset) -> int | None:
    """Return the row picked last; None where these data have no such row."""
    row: int | None = picked(_ROW)
    return row if row is not None and row < len(dataset) else None


def show_rows(
    dataset: Dataset,
    rows: np.ndarray,
    errors: LocalErrors,
    key: str,
    marked: tuple[str, np.ndarray] | None = None,
) -> None:
    """List rows, of which one can be picked.

    ``marked``: a name and a mask (n,) of all rows; a column says which of those listed are.
    """
    table = row_table(dataset, rows, errors).drop(columns="lce")
    if marked is not None and marked[0] not in table:
        table.insert(1, marked[0], marked[1][rows])
    table = in_hundredths(table, "confidence", "signed_error")
    name = "image"
    if dataset.images is not None:
        # The user's own column may be called "image", too.
        name = name if name not in table else f" {name}"
        table.insert(0, name, thumbnail_urls(dataset.images, rows))
    pick_table(
        table,
        rows.tolist(),
        _ROW,
        key,
        height="content" if len(table) <= 9 else 390,
        column_config=_COLUMNS
        | (
            {name: st.column_config.ImageColumn("image", width="small")}
            if dataset.images is not None
            else {}
        ),
    )


def show_row(dataset: Dataset, row: int, errors: LocalErrors) -> None:
    """Show one row: its picture, what was promised, what came, what is known besides."""
    record = row_table(dataset, np.array([row]), errors).iloc[0]
    with st.container(border=True):
        st.markdown(f"**Row {row}**")
        if dataset.images is not None:
            st.image(
                picture(dataset.images[row]), width=150, caption=f"row {row}", alt=f"row {row}"
            )
        lines = [
            f"predicted {record['predicted']}, true {record['true']}",
            f"confidence {percent(record['confidence'])}, "
            f"{'right' if record['right'] else 'wrong'}",
            f"local error {gap_words(record['signed_error'])} on "
            f"{neighbours_words(record['n_eff'])}",
        ]
        known = record.drop(
            ["row", "predicted", "true", "confidence", "right", "signed_error", "lce", "n_eff"]
        )
        lines += [f"{name}: {value}" for name, value in known.items()]
        st.text("\n".join(lines))
