"""What recalibrators see of a dataset: its rows and their places, and the maps of a fit."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, TypedDict

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints
from lore_core.data.rows import Rows
from lore_core.data.rules import Number
from lore_core.data.units import row_units
from lore_core.data.validation import InputError, OnMaps, as_coordinates, check_lengths
from lore_core.embedding.result import MAPS, Embedding, chosen_map, maps_by_name
from lore_core.recalibration.cells import means_of, sizes_of

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset
    from lore_core.recalibration.base import Recalibrator

#: Folds of cross-fitting.
N_FOLDS = 5


class FittedMap(TypedDict):
    """A feature map that a recalibrator was fitted on."""

    name: str | None  #: None: a single unnamed one
    #: Without coordinates. None: plain coordinates, which cannot be computed from features.
    map: Embedding | None


@dataclass(frozen=True)
class FittedOn:
    """Names of the calibration rows' classes and features, and their feature maps."""

    class_names: tuple[str, ...]  #: In the order of the probabilities
    feature_names: tuple[str, ...]  #: In the order of the features; empty where there were none
    feature_maps: tuple[FittedMap, ...]
    #: Rows (or cells) that learned maps place new ones between.
    known_rows: Annotated[int, Number(0, whole=True)]

    @classmethod
    def of(cls, calibration: Dataset, embedding: OnMaps) -> FittedOn:
        """Collect the names of a dataset and the maps of an embedding."""
        return cls(
            class_names=calibration.class_names,
            feature_names=calibration.feature_labels,
            feature_maps=tuple(
                {
                    "name": name,
                    "map": item.without_coordinates() if isinstance(item, Embedding) else None,
                }
                for name, item in maps_by_name(embedding).items()
                if item is not None
            ),
            known_rows=len(calibration),
        )

    def in_cells(self, cell: NDArray[np.int64]) -> FittedOn:
        """Return the same with maps of cell means; ``cell`` (known_rows,): −1 for none."""

        def known(map_: Embedding | None) -> Embedding | None:
            return None if map_ is None else map_.known_by(lambda values: means_of(values, cell))

        maps = tuple(
            FittedMap(name=one["name"], map=known(one["map"])) for one in self.feature_maps
        )
        return dataclasses.replace(self, feature_maps=maps, known_rows=len(sizes_of(cell)))

    def used_maps(self, used: Sequence[str | None]) -> dict[str | None, Embedding | None]:
        """Return the maps a method uses (None: the first), in the order ``fit`` got them."""
        given = {item["name"]: item["map"] for item in self.feature_maps}
        first = next(iter(given), None)
        meant = {name if name is not None and name in given else first for name in used}
        return {name: item for name, item in given.items() if name in meant}

    def stored_maps(self, used: Sequence[str | None], maps: bool) -> list[FittedMap]:
        """Return ``name`` and ``map`` of the maps a method uses; without ``maps`` names only."""
        found = {name: item if maps else None for name, item in self.used_maps(used).items()}
        kinds = [type(item.projection) for item in found.values() if item is not None]
        other = [kind.__name__ for kind in kinds if not issubclass(kind, MAPS)]
        if other:
            raise InputError(
                f"a map of type {other[0]} cannot be applied to new rows from a file. Fit on PCA, "
                "t-SNE, UMAP or identity features; or save with maps=False and pass "
                "coordinates=embedding.transform(features) when you predict."
            )
        return [{"name": name, "map": item} for name, item in found.items()]


def rows_of(dataset: Dataset, embedding: OnMaps, method: str) -> Rows:
    """Return rows without labels; coordinates are looked up lazily."""

    @cache
    def coordinates(name: str | None, dimensions: int) -> Floats:
        points = coordinates_of(dataset, embedding, name, method)
        if points.shape[1] != dimensions:
            raise InputError(
                f"'embedding' must have the dimensions {method} was fitted on; got "
                f"{points.shape[1]}, fitted on {dimensions}."
            )
        return points

    return Rows(
        dataset.probabilities, dataset.predictions, coordinates, dataset.features, dataset.name
    )


def sample(rows: Dataset, most: int = 50_000) -> Dataset:
    """Draw ``most`` rows at random, or return all where there are no more."""
    if len(rows) <= most:
        return rows
    return rows.rows(np.random.default_rng(0).permutation(len(rows))[:most])


def cross_fitted(method: Recalibrator, rows: Dataset, fold: Ints) -> Dataset:
    """Recalibrate each fold by the method as fitted on the other folds; ``fold`` (n,)."""
    vectors = np.empty_like(rows.probabilities)
    for number in np.unique(fold):
        here = fold == number
        fitted = method.clone().fit(sample(rows.rows(~here)))
        vectors[here] = fitted.recalibrate(rows.rows(here)).probabilities
    return rows.with_checked(vectors)


def parts(calibration: Dataset) -> Ints:
    """Return the part of each row, or unit, cut at random, alike in right and wrong rows."""
    unit = row_units(calibration.units, len(calibration))
    right = np.bincount(unit, calibration.outcome) / np.bincount(unit)
    n = len(right)
    order = np.random.default_rng(0).permutation(n)
    order = order[np.argsort(right[order], kind="stable")]
    part = np.empty(n, dtype=np.int64)
    part[order] = np.arange(n) % min(N_FOLDS, n)
    return part[unit]


def gains_beyond_noise(gain: Floats, units: Ints | None) -> bool:
    """Return whether gains of rows (n,) sum to more than a standard error, by rows or units."""
    if units is not None:
        gain = np.bincount(units, gain).astype(np.float64)
    return bool(gain.sum() > gain.std() * np.sqrt(len(gain)))


def coordinates_of(dataset: Dataset, embedding: OnMaps, name: str | None, method: str) -> Floats:
    """Return a dataset's coordinates on a map, by default the first, shape (n, d)."""
    if embedding is None:
        raise InputError(
            f"{method} must be given an embedding of the rows; got None. Pass "
            "lore.embed(features) of calibration and evaluation rows together."
        )
    points = as_coordinates(chosen_map(embedding, name))
    check_lengths(embedding=points, dataset=dataset)
    return points
