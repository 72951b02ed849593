"""Rows in a table with their images, the one that is picked, and one in full."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray
from PIL import Image, ImageOps

from lore_core import Dataset
from lore_core.data.arrays import Floats
from lore_core.data.number_text import gap_words, neighbours_words, percent
from lore_core.figures.drawing import png_url
from lore_core.figures.pictures.picture import truncate
from lore_core.metrics import LocalErrors
from lore_core.metrics.glossary import GLOSSARY
from lore_core.regions import row_table
from pages.shared import compute
from pages.shared.cells import in_hundredths, points_column, share_column
from pages.shared.header import plain

#: Pixels of an enlarged image.
_SIZE = 160
_PICKED = "_picked_row"
#: Pixels of an example; texts quoted as examples, and letters of each.
_EXAMPLE_SIZE, _QUOTED, _MAX_LETTERS = 44, 2, 90
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


def thumbnail_urls(
    images: NDArray[np.uint8], rows: NDArray[np.int64], *, side: int | None = None
) -> list[str]:
    """PNG data URLs of rows; ``side``: pixels of the longer side at most."""
    urls = []
    for row in rows:
        shown = Image.fromarray(images[row])
        if side is not None:
            shown.thumbnail((side, side))
        urls.append(png_url(np.asarray(shown)))
    return urls


def pick_row(row: int | None, where: str = "") -> None:
    """Pick an evaluation row on every picture and list, in the table with the key ``where``."""
    st.session_state[_PICKED] = row
    _picks()[where] += 1


def picked_row(dataset: Dataset) -> int | None:
    """Return the row picked last; None where these data have no such row."""
    row: int | None = st.session_state.get(_PICKED)
    return row if row is not None and row < len(dataset) else None


def _picks() -> Counter[str]:
    counts: Counter[str] = st.session_state.setdefault("_picks", Counter())
    return counts


def show_rows(
    dataset: Dataset,
    rows: np.ndarray,
    errors: LocalErrors,
    key: str,
    marked: tuple[str, np.ndarray] | None = None,
) -> None:
    """List rows, of which one can be picked; ``marked``: a name and a mask of all rows."""
    table = row_table(dataset, rows, errors).drop(columns="lce")
    if marked is not None and marked[0] not in table:
        table.insert(1, marked[0], marked[1][rows])
    table = in_hundredths(table, "confidence", "signed_error")
    # A table keeps the number of its chosen row: where it holds other rows, or one was picked
    # elsewhere, it must be another table.
    listed = rows.tolist()
    name = f"{key}_{_picks().total() - _picks()[key]}_{hash(tuple(listed))}"

    def take() -> None:
        at = st.session_state[name].selection.rows
        pick_row(listed[at[0]] if at else None, key)

    st.dataframe(
        table,
        hide_index=True,
        on_select=take,
        selection_mode="single-row",
        selection_default={
            "selection": {"rows": [k for k, row in enumerate(listed) if row == picked_row(dataset)]}
        },
        key=name,
        height="content" if len(table) <= 9 else 390,
        column_config=_COLUMNS | add_images(table, dataset, rows),
    )


def add_images(table: pd.DataFrame, dataset: Dataset, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Put the images of rows before a table, where there are any; return how they are shown."""
    if dataset.images is None:
        return {}
    name = "image" if "image" not in table else " image"  # the user's own column may be called so
    table.insert(0, name, thumbnail_urls(dataset.images, rows))
    return {name: st.column_config.ImageColumn("image", width="small")}


def show_examples(dataset: Dataset, rows: NDArray[np.int64], confidence: Floats) -> None:
    """Show what some rows are: images with predicted → true, or the words of a text column."""
    names = [
        f"{dataset.class_name(int(dataset.predictions[row]))} → "
        f"{dataset.class_name(int(dataset.labels[row]))}"
        for row in rows
    ]
    if dataset.images is not None:
        with st.container(horizontal=True, gap="small"):
            urls = thumbnail_urls(dataset.images, rows)
            for row, url, name in zip(rows, urls, names, strict=True):
                st.image(url, width=_EXAMPLE_SIZE, caption=plain(name), alt=f"row {row}: {name}")
        return
    column = compute.telling_column(dataset)
    if column is not None:
        for row, name in zip(rows[:_QUOTED], names, strict=False):
            text = truncate(str(column.iloc[row]), _MAX_LETTERS)
            st.caption(plain(f"“{text}” {name}, confidence {percent(confidence[row], 0)}"))


def show_row(dataset: Dataset, row: int, errors: LocalErrors) -> None:
    """Show one row: its picture, confidence and outcome, what is known besides."""
    record = row_table(dataset, np.array([row]), errors).iloc[0]
    with st.container(border=True):
        st.markdown(f"**Row {row}**")
        if dataset.images is not None:
            image = Image.fromarray(dataset.images[row])
            factor = max(1, _SIZE // max(image.size))  # without smoothing: pixels stay as they are
            image = ImageOps.scale(image, factor, Image.Resampling.NEAREST)
            st.image(image, width=150, caption=f"row {row}", alt=f"row {row}")
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
