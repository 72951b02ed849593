"""What a recalibrator was fitted on: what a file must say so that new rows can be matched to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lore_core.embedding.result import Embedding

__all__ = ["FittedOn"]


@dataclass(frozen=True)
class FittedOn:
    """Names of what the calibration rows consisted of, and the maps that placed them.

    Attributes
    ----------
    class_names : tuple of str
        In the order of the probabilities.
    feature_names : tuple of str
        In the order of the features; empty where there were none.
    group_columns : tuple of str
        The dataset's group columns.
    feature_maps : dict of str (or None) to Embedding or None
        By the name ``fit`` got them under; None: one map without a name. Without coordinates.
        None as a value: plain coordinates, which cannot be computed from features.
    """

    class_names: tuple[str, ...]
    feature_names: tuple[str, ...] = ()
    group_columns: tuple[str, ...] = ()
    feature_maps: Mapping[str | None, Embedding | None] = field(default_factory=dict)

    @classmethod
    def of(cls, calibration: Any, embedding: Any) -> FittedOn:
        """Take down the names of a dataset and the maps of an embedding.

        Parameters
        ----------
        calibration : Dataset
        embedding : Embedding, array-like, or dict of those by name, or None
        """
        given = {None: embedding} if not isinstance(embedding, Mapping) else embedding
        groups = calibration.groups
        return cls(
            class_names=tuple(calibration.class_names),
            feature_names=calibration.feature_labels,
            group_columns=() if groups is None else tuple(map(str, groups.columns)),
            feature_maps={
                name: _without_rows(item) for name, item in given.items() if item is not None
            },
        )


def _without_rows(item: Any) -> Embedding | None:
    if not isinstance(item, Embedding):
        return None
    return dataclasses.replace(item, coordinates=np.empty((0, item.n_components)))
