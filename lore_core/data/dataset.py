"""The dataset that pages and functions work on: frozen, checked once."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lore_core.data.archive_files import fields_of
from lore_core.data.arrays import Floats, Ints, MapArray, Mask, Selection, as_block, take_rows
from lore_core.data.defaults import (
    ALL_CLASSES as ALL_CLASSES,
    CALIBRATION as CALIBRATION,
    EVALUATION as EVALUATION,
    TOP_LABEL as TOP_LABEL,
)
from lore_core.data.errors import check_choice
from lore_core.data.probabilities import with_confidence
from lore_core.data.shown import Shown
from lore_core.data.units import as_units, row_units
from lore_core.data.validation import (
    InputError,
    as_class_names,
    as_confidence,
    as_feature_names,
    as_features,
    as_labels,
    as_probabilities,
    check_lengths,
    check_rows,
    check_share,
    in_memory,
)
from lore_core.data.weights import as_weights


@dataclass(frozen=True)
class Target:
    """What is being calibrated: a confidence and whether it came true, row by row."""

    confidence: Floats
    outcome: Floats
    name: str = TOP_LABEL
    weights: Floats | None = None  #: None: all alike
    units: Ints | None = None  #: None: each row its own


@dataclass(frozen=True, eq=False, init=False)
class Dataset(Shown):
    """A classifier's predictions, the truth, and what is known about each row.

    ``probabilities``: of classes (n, K), or (n,) P(y = 1) of a binary problem. ``labels`` (n,):
    true classes, as indices 0 … K−1. ``features`` (n, p): what "similar rows" means: a hidden
    layer, or the input table. A DataFrame brings its column names. ``groups``: a DataFrame, columns
    by name or (n, g): columns that name a group of each row (for fairness). ``metadata``: a
    DataFrame or columns by name: other columns to show. ``images`` (n, h, w) or (n, h, w, 3): uint8
    thumbnails. ``split`` (n,): ``"calibration"`` or ``"evaluation"``. ``class_names``: one a class.
    ``predictions`` (n,): predicted classes, by default the most probable ones. They stay when
    recalibration lifts another class above the predicted one. ``name``: how pages and errors call
    these data. ``complete``: False where only the confidence was known and the rest of each vector
    was spread evenly; NLL and Brier of the vector are then not the classifier's. ``has_image``
    (n,): which rows have an image (the others' are black); None: all or no rows.
    ``feature_names``: one meaningful name a feature, as the input table's columns have. ``weights``
    (n,): what each row counts for, above 0 (:mod:`~lore_core.data.weights`); equal ones become
    None. ``units`` (n,): the unit of each row, such as its patient (:mod:`~lore_core.data.units`):
    numbered by their first rows, None if no two rows share one.

    Arrays are made read-only. ``digest`` is a sha256 over everything, computed once: caches use it.
    """

    probabilities: Floats
    labels: Ints
    features: NDArray[np.floating[Any]] | None
    groups: pd.DataFrame | None
    metadata: pd.DataFrame | None
    images: NDArray[np.uint8] | None
    split: NDArray[np.str_] | None
    class_names: tuple[str, ...]
    predictions: Ints
    name: str
    complete: bool
    has_image: Mask | None
    feature_names: tuple[str, ...] | None
    weights: Floats | None
    units: Ints | None

    def __init__(
        self,
        probabilities: ArrayLike,
        labels: ArrayLike,
        features: ArrayLike | pd.DataFrame | None = None,
        groups: ArrayLike | pd.DataFrame | None = None,
        metadata: pd.DataFrame | None = None,
        images: ArrayLike | None = None,
        split: ArrayLike | None = None,
        class_names: Sequence[str] | None = None,
        predictions: ArrayLike | None = None,
        name: str = "data",
        *,
        complete: bool = True,
        has_image: ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        weights: ArrayLike | None = None,
        units: ArrayLike | None = None,
    ) -> None:
        checked = as_probabilities(probabilities)
        n_classes = checked.shape[1]
        if predictions is None:
            predicted = checked.argmax(axis=1).astype(np.int64)
        else:
            predicted = as_labels(predictions, n_classes, "predictions")
        if feature_names is None and isinstance(features, pd.DataFrame):
            feature_names = [str(column) for column in features.columns]
        numbers = as_features(features)
        pictures, shown = _as_pictures(images, has_image)
        self._put(
            probabilities=checked,
            labels=as_labels(labels, n_classes),
            predictions=predicted,
            features=numbers,
            feature_names=as_feature_names(feature_names, numbers),
            groups=_as_frame(groups, "group"),
            metadata=_as_frame(metadata, "metadata"),
            images=pictures,
            has_image=shown,
            split=_as_split(split),
            class_names=as_class_names(class_names, n_classes),
            name=name,
            complete=complete,
            weights=as_weights(weights),
            units=as_units(units),
        )
        check_lengths(**{name: getattr(self, name) for name in _OF_ROWS})

    def _put(self, **checked: Any) -> None:
        for name, value in checked.items():
            part = _read_only(value) if isinstance(value, np.ndarray) else value
            object.__setattr__(self, name, part)

    def with_parts(self, **checked: Any) -> Dataset:
        """Return these data with other parts, already checked."""
        made = object.__new__(type(self))
        made._put(**(fields_of(self) | checked))
        return made

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        p = "none" if self.features is None else self.features.shape[1]
        return f"Dataset({self.name!r}, rows={len(self):,}, classes={self.n_classes}, features={p})"

    @property
    def n_classes(self) -> int:
        """K, the number of classes."""
        return int(self.probabilities.shape[1])

    @cached_property
    def confidence(self) -> Floats:
        """Top-label confidence: the probability of the predicted class, shape (n,); read-only."""
        return _read_only(self.probabilities[np.arange(len(self)), self.predictions])

    @cached_property
    def outcome(self) -> Floats:
        """1 where the predicted class is the true one, else 0, shape (n,); read-only."""
        return _read_only((self.predictions == self.labels).astype(np.float64))

    @property
    def n_units(self) -> int:
        """Number of units: of rows where each is its own."""
        return len(self) if self.units is None else int(self.units.max()) + 1

    @property
    def is_simple_sample(self) -> bool:
        """Whether rows count alike and alone: without weights and units."""
        return self.weights is None and self.units is None

    @property
    def accuracy(self) -> float:
        """Share of rows, by their weights, whose predicted class is the true one."""
        return float(np.average(self.outcome, weights=self.weights))

    def class_name(self, index: int) -> str:
        """Name of class ``index``."""
        return self.class_names[index]

    @property
    def feature_labels(self) -> tuple[str, ...]:
        """One name a feature: its own, else ``f_0, f_1, …``; empty without features."""
        if self.features is None:
            return ()
        if self.feature_names is not None:
            return self.feature_names
        return tuple(f"f_{k}" for k in range(self.features.shape[1]))

    def target(self, target: str | int = TOP_LABEL) -> Target:
        """Confidence and outcome of the top label, or of one class by its index."""
        if target == TOP_LABEL:
            return Target(self.confidence, self.outcome, weights=self.weights, units=self.units)
        k = int(check_choice(target, "target", (TOP_LABEL, *range(self.n_classes))))
        return Target(
            np.asarray(self.probabilities[:, k]),
            (self.labels == k).astype(np.float64),
            f"class {self.class_name(k)}",
            self.weights,
            self.units,
        )

    def rows(self, selection: Selection, *, map_array: MapArray | None = None) -> Dataset:
        """Return the chosen rows (mask, indices or slice) as a new dataset.

        ``map_array``: moves each copied array, as in :meth:`map_arrays`.
        """
        # (Contiguous rows stay views: a million are not held twice.)
        chosen = as_block(selection)

        def take(value: Any) -> Any:
            if value is None:
                return None
            if isinstance(value, pd.DataFrame):
                return value.iloc[chosen].reset_index(drop=True)
            part = take_rows(value, chosen)
            return part if map_array is None or isinstance(chosen, slice) else map_array(part)

        taken = {name: take(getattr(self, name)) for name in _OF_ROWS}
        if not len(taken["labels"]):
            raise InputError(f"a dataset needs at least one row; none of '{self.name}' was chosen.")
        images, shown = _as_pictures(taken["images"], taken["has_image"])
        counted = {"weights": as_weights(taken["weights"]), "units": as_units(taken["units"])}
        return self.with_parts(**taken | {"images": images, "has_image": shown} | counted)

    def predictions_only(self) -> Dataset:
        """Return what is predicted and what came true, without what else is known of the rows."""
        known = ("features", "feature_names", "groups", "metadata", "images", "has_image", "split")
        return self.with_parts(**dict.fromkeys(known))

    def map_arrays(self, map_array: MapArray) -> Dataset:
        """Return the same data, whose arrays ``map_array`` has moved.

        So are those of its two halves, which are made at once.
        """
        parts = fields_of(self).items()
        arrays = {name: map_array(part) for name, part in parts if isinstance(part, np.ndarray)}
        made = self.with_parts(**arrays)
        for half in (EVALUATION, CALIBRATION):
            mask = made.in_split(half)
            if mask.any():
                rows = vars(made)[half] = made.rows(mask, map_array=map_array)
                # (Every page looks at them.)
                seen = {name: map_array(getattr(rows, name)) for name in ("confidence", "outcome")}
                vars(rows).update(seen)
        if "digest" in vars(self):
            vars(made)["digest"] = self.digest
        return made

    def in_split(self, split: str) -> Mask:
        """Mask of the rows of one split. Without a split every row is an evaluation row."""
        return self._evaluated if split == EVALUATION else ~self._evaluated

    @cached_property
    def _evaluated(self) -> Mask:
        # Once: comparing a million words takes 0.1 s.
        mask = np.ones(len(self), bool) if self.split is None else self.split == EVALUATION
        return _read_only(mask)

    @cached_property
    def calibration(self) -> Dataset | None:
        """The rows recalibrators are fitted on, or None where there are none."""
        mask = self.in_split(CALIBRATION)
        return self.rows(mask) if mask.any() else None

    @cached_property
    def evaluation(self) -> Dataset:
        """The rows every metric and picture shows."""
        mask = self.in_split(EVALUATION)
        if not mask.any():
            raise InputError(
                f"'{self.name}' has no evaluation rows. Add a file of them, or split by fraction."
            )
        return self.rows(mask)

    def with_split(self, calibration_fraction: float = 0.5, *, random_state: int = 0) -> Dataset:
        """Split the rows, or their units, at random, alike in right and wrong predictions.

        ``calibration_fraction``: share of rows to fit recalibrators on, in (0, 1).
        """
        check_share(calibration_fraction, "calibration_fraction")
        if self.n_units < 2:
            raise InputError("a split needs at least 2 rows, or units of them; got 1.")
        rng = np.random.default_rng(random_state)
        split = np.full(len(self), EVALUATION, dtype="<U11")
        # Shuffle, then sort by outcome: every k-th row of each stratum goes to calibration.
        units = row_units(self.units, len(self))
        right = np.bincount(units, self.outcome) / np.bincount(units)
        order = rng.permutation(len(right))
        order = order[np.argsort(right[order], kind="stable")]
        position = np.arange(len(right))
        steps = np.floor((position + 1) * calibration_fraction)
        chosen = steps > np.floor(position * calibration_fraction)
        if not chosen.any():
            chosen[0] = True
        if chosen.all():
            chosen[-1] = False
        split[np.isin(units, order[chosen])] = CALIBRATION
        return self.with_parts(split=split)

    def with_confidence(self, confidence: ArrayLike) -> Dataset:
        """Replace the top-label confidence; the predicted class stays.

        The other classes are rescaled so that each vector sums to 1; if all are zero, evenly.
        """
        new = as_confidence(confidence)
        check_lengths(confidence=new, probabilities=self.probabilities)
        vectors = with_confidence(self.probabilities, self.predictions, new)
        return dataclasses.replace(self, probabilities=vectors, predictions=self.predictions)

    def with_probabilities(self, probabilities: ArrayLike) -> Dataset:
        """Replace the whole probability vectors; the predicted class stays."""
        return dataclasses.replace(
            self, probabilities=as_probabilities(probabilities), predictions=self.predictions
        )

    def with_checked(self, probabilities: Floats, confidence: Floats | None = None) -> Dataset:
        """Replace the whole probability vectors by checked ones, to the last bit.

        Other ways divide by the sums again, which can change that bit. ``confidence``: that of the
        predicted classes, if known already.
        """
        made = self.with_parts(probabilities=probabilities)
        vars(made)["outcome"] = self.outcome  # (predictions and labels are the same)
        if confidence is not None:
            vars(made)["confidence"] = confidence
        return made

    @cached_property
    def digest(self) -> str:
        """Sha256 over every array and name: two datasets share it only if they are the same."""
        return hashlib.sha256(f"{self.content_digest} {self.name}".encode()).hexdigest()

    @cached_property
    def content_digest(self) -> str:
        """The same whatever the data are called."""
        state = hashlib.sha256()
        for name, value in (fields_of(self) | {"name": None}).items():
            state.update(name.encode())
            if isinstance(value, np.ndarray):
                state.update(f"{value.dtype}{value.shape}".encode())
                state.update(np.ascontiguousarray(value).view(np.uint8).data)
            elif isinstance(value, pd.DataFrame):
                state.update(repr(list(value.columns)).encode())
                state.update(pd.util.hash_pandas_object(value, index=False).to_numpy().tobytes())
            else:
                state.update(repr(value).encode())
        return state.hexdigest()


#: Fields with one entry a row.
_OF_ROWS = tuple(
    item.name
    for item in dataclasses.fields(Dataset)
    if item.name not in ("class_names", "name", "complete", "feature_names")
)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _as_split(values: Any) -> NDArray[np.str_] | None:
    if values is None:
        return None
    array = np.asarray(values).astype("<U11", copy=False)
    bad = (array != CALIBRATION) & (array != EVALUATION)
    check_rows(bad, "split", "be 'calibration' or 'evaluation'", lambda row: array[row])
    return array


def _as_frame(values: Any, prefix: str) -> pd.DataFrame | None:
    """Return a table of columns by name, or None; unnamed columns are ``prefix`` and a number."""
    if values is None:
        return None
    if isinstance(values, (pd.DataFrame, Mapping)):
        frame = pd.DataFrame(values).reset_index(drop=True)
    else:
        array = np.asarray(in_memory(values))
        array = array[:, None] if array.ndim == 1 else array
        count = array.shape[1]
        names = [prefix] if count == 1 else [f"{prefix}_{index}" for index in range(count)]
        frame = pd.DataFrame(array, columns=names)
    return frame if frame.shape[1] else None


def _as_pictures(
    images: Any, has_image: ArrayLike | None
) -> tuple[NDArray[np.uint8] | None, Mask | None]:
    """Return images, and which rows have one (None: all or none)."""
    pictures = None if images is None else np.asarray(in_memory(images))
    if pictures is not None and pictures.dtype != np.uint8:
        raise InputError(
            f"'images' must be uint8; got {pictures.dtype}. Pass (255 * images).astype('uint8')."
        )
    if pictures is not None and pictures.shape[3:] == (1,):
        pictures = pictures[..., 0]
    if pictures is not None and (pictures.ndim, *pictures.shape[3:]) not in ((3,), (4, 3)):
        raise InputError(f"'images' must be (n, h, w) or (n, h, w, 3); got {pictures.shape}.")
    shown = None if has_image is None else np.asarray(has_image, dtype=bool)
    if pictures is None or shown is None or shown.all():
        return pictures, None
    return (pictures, shown) if shown.any() else (None, None)
