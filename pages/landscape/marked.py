"""Rows that are marked in every picture of the page: of a place, a selection, a class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from lore_core import Dataset
from lore_core.data.arrays import Floats, Mask
from lore_core.data.dataset import CALIBRATION
from lore_core.regions import Selection
from lore_core.regions.places.find import PlaceSearch
from lore_core.view.methods import group_columns, group_names, needs_calibration
from lore_core.view.scene import Scene
from pages.landscape.region import drawn_region
from pages.shared import compute
from pages.shared.rows import picked

#: The tab that divides rows, and its control.
DIVIDED_TAB, BY = "By class or group", "by"
PREDICTED, TRUE = "predicted class", "true class"
#: A value of a division, as the reader picks it: by what, and which.
VALUE = "value"
#: Rows of which it is asked at a time whether they lie inside: of a million, 70 MB would be taken.
_AT_ONCE = 2**17


@dataclass(frozen=True, eq=False)
class Marked:
    """Some evaluation rows and what they are called."""

    rows: Mask  #: (n,); mask
    name: str  #: In few words
    is_drawn: bool = False  #: Whether they are what was drawn on the map, which marks them itself

    @property
    def told(self) -> Mask | None:
        """The rows that the map must be told to mark."""
        return None if self.is_drawn else self.rows


def marked_rows(
    scene: Scene, search: PlaceSearch | None, chosen: int | None, words: str
) -> Marked | None:
    """Return what is looked at: a place, else what was drawn, asked for in words or picked.

    ``chosen``: number of the chosen place of the ``search``. ``words``: what rows are asked for.
    """
    if search is not None and chosen is not None:
        return Marked(search.mask(chosen) & scene.rows, f"place {chosen + 1}")
    region = drawn_region(scene.axes, scene.on)
    if region:
        return Marked(rows_inside(scene, region), "selected rows", is_drawn=True)
    dataset = scene.view.evaluation
    if words:
        return Marked(compute.found(dataset, words) & scene.rows, f"“{words}”")
    by, value = picked(VALUE) or ("", "")
    if st.session_state.get("below") != DIVIDED_TAB or by not in divisions(dataset):
        return None
    return Marked((divided(dataset, by).astype(str) == value) & scene.rows, f"{by} {value}")


def divisions(dataset: Dataset) -> list[str]:
    """Return what rows can be divided by."""
    return [PREDICTED, TRUE, *group_columns(dataset)]


def divided(dataset: Dataset, by: str) -> NDArray[np.object_]:
    """Name the part in which each row is, shape (n,)."""
    if by not in (PREDICTED, TRUE):
        return group_names(dataset, [by])
    names = np.array(dataset.class_names, dtype=object)
    return names[dataset.predictions if by == PREDICTED else dataset.labels]


def rows_inside(scene: Scene, region: Selection) -> Mask:
    """Return which evaluation rows of the picture a selection holds, shape (n_eval,)."""
    return _contains(region, scene.points) & scene.rows


def calibration_inside(scene: Scene, region: Selection) -> Mask:
    """Return which calibration rows it holds, of the same bin where one is chosen."""
    view = scene.view
    if view.calibration is None:
        return np.zeros(0, dtype=bool)
    return _contains(region, view.points(CALIBRATION, on=scene.on)) & _calibration_of_bin(scene)


def calibration_found(scene: Scene, words: str) -> Mask:
    """Return which calibration rows fit words, of the same bin where one is chosen."""
    calibration = scene.view.calibration
    if calibration is None:
        return np.zeros(0, dtype=bool)
    return compute.found(calibration, words) & _calibration_of_bin(scene)


def _calibration_of_bin(scene: Scene) -> Mask:
    view, chosen = scene.view, scene.bin_index
    rows = needs_calibration(view.dataset)
    if chosen is None:
        return np.ones(len(rows), dtype=bool)
    return np.asarray(scene.errors.bins.assign(rows.target(view.target).confidence) == chosen)


def _contains(region: Selection, points: Floats) -> Mask:
    """Return which rows are selected, as the browser counts them: it has the map in 32 bits."""
    parts = [points[first : first + _AT_ONCE] for first in range(0, len(points), _AT_ONCE)]
    return np.concatenate([region.contains(part.astype(np.float32)) for part in parts])
