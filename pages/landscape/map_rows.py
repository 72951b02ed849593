"""What a map asks for by itself: its rows, what is known of one, images or words of some."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from lore_core import Dataset
from lore_core.figures.browser.landscape import EveryRow, every_row, packed_rows
from lore_core.figures.browser.packing import pack
from lore_core.figures.pictures.landscape import row_hovers
from lore_core.figures.pictures.picture import shortened
from lore_core.regions import telling_column
from lore_core.view.scene import Scene
from pages.landscape.gamma_fields import FieldParts
from pages.shared.requests import offer
from pages.shared.rows import thumbnail_urls
from pages.shared.scheduler import release_slot

#: Seconds the page waits for the map, then for fields of all γ, of so many rows: the hand may be
#: on the slider while the browser loads Plotly.
_PICTURE_SECONDS, _FIELDS_SECONDS, _MAX_AWAITED_ROWS = 2.0, 1.5, 20_000
#: Rows whose images or words are sent at once, pixels of an image's side, letters of words.
_MAX_GLIMPSES, _SIDE_PIXELS, _MAX_LETTERS = 64, 96, 60
_KEY = "_map_rows"


class MapRows:
    """Answers what one reader's map asks about its rows."""

    def __init__(self) -> None:
        self.address = offer(self)
        self.asked = threading.Event()  #: Set once a browser asks, as when it has drawn the map
        self.scene: Scene | None = None
        self.key = ""
        self.fields: FieldParts | None = None  #: Of the slider, as long as they are shown
        self.has_waited = False

    def answer(self, asked: Mapping[str, Any]) -> bytes | None:
        """Answer with all rows, or with what is known of some."""
        self.asked.set()
        if self.scene is None or asked.get("rows") != self.key:
            return None
        dataset = self.scene.view.evaluation
        match asked:
            case {"all": True}:
                return packed_rows(rows_of(self.scene), self.key)
            case {"row": int(row)} if 0 <= row < len(dataset):
                return _detail(self.scene, row)
            case {"glimpses": list(wanted)}:
                known = [r for r in wanted if isinstance(r, int) and 0 <= r < len(dataset)]
                found = glimpses(dataset, np.array(known[:_MAX_GLIMPSES], int))
                return pack({"rows": self.key, "glimpses": found}, {})
        return None


def map_rows(scene: Scene, key: str, fields: FieldParts | None) -> MapRows:
    """Return what answers for the rows of a scene; ``key`` names them."""
    answers: MapRows = st.session_state.setdefault(_KEY, MapRows())
    answers.scene, answers.key, answers.fields = scene, key, fields
    if fields is not None and st.context.headers:  # else no browser will ask
        fields.begin(scene.view.gamma)
    return answers


def wait_until_drawn() -> None:
    """Wait a moment, once a session, for map and fields: what comes next makes the browser busy."""
    answers: MapRows | None = st.session_state.get(_KEY)
    if answers is None or answers.scene is None or not st.context.headers:  # no browser is there
        return
    n_rows = len(answers.scene.view.evaluation)
    with release_slot():
        is_there = answers.asked.wait(_PICTURE_SECONDS)
        is_first, answers.has_waited = not answers.has_waited, is_there
        if is_there and is_first and answers.fields is not None and n_rows <= _MAX_AWAITED_ROWS:
            answers.fields.fields_sent.wait(_FIELDS_SECONDS)


def rows_of(scene: Scene) -> EveryRow:
    """Return all evaluation rows as a map takes them."""
    view = scene.view
    return every_row(view.evaluation, view.target_rows, view.target, scene.errors, scene.points)


def glimpse_of(dataset: Dataset) -> Literal["image", "words"] | None:
    """Say what of a row can stand on the map; None where nothing can."""
    if dataset.images is not None:
        return "image"
    return None if telling_column(dataset) is None else "words"


def glimpses(dataset: Dataset, rows: NDArray[np.int64]) -> list[dict[str, int | str]]:
    """Return the ``image`` or the ``words`` of some rows, by their number ``row``."""
    column = telling_column(dataset)
    if dataset.images is not None:
        name, shown = "image", thumbnail_urls(dataset.images, rows, side=_SIDE_PIXELS)
    elif column is not None:
        name, shown = "words", [shortened(text, _MAX_LETTERS) for text in column.iloc[rows]]
    else:
        return []
    return [{"row": int(row), name: what} for row, what in zip(rows, shown, strict=True)]


def _detail(scene: Scene, row: int) -> bytes:
    (hover,) = row_hovers(scene.table(np.array([row])))
    images = scene.view.evaluation.images
    return pack(
        {
            "row": row,
            "gamma": scene.view.gamma,
            "lines": hover.text.split("\n"),
            "image": None if images is None else thumbnail_urls(images, np.array([row]))[0],
        },
        {},
    )
