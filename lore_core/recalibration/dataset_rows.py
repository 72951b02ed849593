"""A dataset's rows as a recalibrator sees them, with their places on a map and their groups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats
from lore_core.data.rows import Rows
from lore_core.data.validation import (
    InputError,
    OnMaps,
    as_coordinates,
    as_group_labels,
    check_lengths,
)
from lore_core.embedding.result import chosen_map

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset


def rows_of(dataset: Dataset, embedding: OnMaps, method: str) -> Rows:
    """Return a dataset's rows; coordinates and group names are looked up when they are asked for.

    Labels are not looked at. ``method``: how errors call the recalibrator.
    """

    @cache
    def place(name: str | None, dimensions: int) -> Floats:
        points = coordinates_of(dataset, embedding, name, method)
        if points.shape[1] != dimensions:
            raise InputError(
                f"'embedding' must have the dimensions {method} was fitted on; got "
                f"{points.shape[1]}, fitted on {dimensions}."
            )
        return points

    return Rows(
        dataset.probabilities,
        dataset.predictions,
        place,
        lambda columns: group_names(dataset, columns),
        dataset.features,
        dataset.name,
    )


def coordinates_of(dataset: Dataset, embedding: OnMaps, name: str | None, method: str) -> Floats:
    """Return where a dataset's rows lie on a map, shape (n, d).

    ``name``: which of several maps; None: the first. ``method``: how errors call the recalibrator.
    Raises InputError if there is no such map, or it has other rows.
    """
    if embedding is None:
        raise InputError(
            f"{method} must be given an embedding of the rows; got None. Pass "
            "lore.embed(features) of calibration and evaluation rows together."
        )
    points = as_coordinates(chosen_map(embedding, name))
    check_lengths(embedding=points, dataset=dataset)
    return points


def group_names(dataset: Dataset, columns: Sequence[str] | None) -> NDArray[np.object_]:
    """Return the group of every row; of several columns the intersection.

    ``columns``: group columns; None: the dataset's only one. Raises InputError if the dataset has
    no such groups.
    """
    frame = dataset.groups
    if frame is None:
        raise InputError(f"GroupWise needs the group of every row; '{dataset.name}' has no groups.")
    known = [str(name) for name in frame.columns]
    if columns is None and len(known) > 1:
        raise InputError(f"'column' must name one of the group columns {known}; got None.")
    wanted = known if columns is None else list(columns)
    missing = [name for name in wanted if name not in known]
    if missing or not wanted:
        raise InputError(f"'column' must name group columns of {known}; got {missing or wanted!r}.")
    return as_group_labels(frame[wanted].to_numpy())
