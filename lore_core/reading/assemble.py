"""Assembly of file parts into one Dataset."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.arrays import Ints
from lore_core.data.dataset import Dataset
from lore_core.data.errors import InputError, listed
from lore_core.data.probabilities import spread_confidence
from lore_core.reading.column_values import Classes, decode
from lore_core.reading.file_rows import FileRows, group_columns
from lore_core.reading.mapping import class_suffixes


def assemble(parts: Sequence[FileRows], *, name: str) -> tuple[Dataset, tuple[str, ...]]:
    """Join the rows of one or two parts; also return notes on what was done."""
    notes: list[str] = [note for part in parts for note in part.notes]
    first, *others = parts
    others = [_with_its_classes(first, other, notes) for other in others]
    parts = [first, *(_with_its_features(first, other, notes) for other in others)]
    _check_weights(parts)
    labels, predictions, names, count = _decoded(parts, notes)
    if count < 2:
        raise InputError(
            f"'{first.columns.file}' must have at least two classes; got {count}. Calibration "
            "needs an alternative to the predicted class."
        )
    probabilities = np.concatenate([part.probabilities for part in parts])
    complete = True
    if probabilities.ndim == 1:
        assert predictions is not None  # a confidence comes with a prediction
        probabilities = spread_confidence(probabilities, predictions, count)
        complete = count == 2
    elif predictions is not None:
        differ = int((predictions != probabilities.argmax(axis=1)).sum())
        if differ and first.mapping.probability_kind != "correct":
            notes.append(
                f"In {differ:,} of {len(labels):,} rows the prediction is not the most probable "
                "class; the predictions were kept as given."
            )
    dataset = Dataset(
        probabilities,
        labels,
        features=_joined([part.features for part in parts]),
        groups=_groups(parts),
        metadata=_metadata(parts, notes),
        images=_images(parts),
        split=_joined([part.split for part in parts]),
        class_names=names,
        predictions=predictions,
        name=name,
        complete=complete,
        has_image=np.concatenate([np.full(len(p), p.images is not None) for p in parts]),
        feature_names=first.feature_names,
        weights=_joined([part.weights for part in parts]),
    )
    return dataset, tuple(dict.fromkeys(notes))


def _decoded(
    parts: Sequence[FileRows], notes: list[str]
) -> tuple[Ints, Ints | None, tuple[str, ...] | None, int]:
    """Return labels and predictions as class indices, class names, and K."""
    first = parts[0]
    n_rows = sum(map(len, parts))
    predictions = [part.predictions for part in parts if part.predictions is not None]
    has_predictions = len(predictions) == len(parts)
    series = [part.labels for part in parts] + predictions * has_predictions

    def where(position: int) -> tuple[str, str]:
        role = "label" if position < n_rows else "prediction"
        row = position % n_rows
        for part in parts:
            if row < len(part):
                break
            row -= len(part)
        return part.columns.called(getattr(part.mapping, role)), part.columns.where(row)

    columns = first.mapping.probabilities or ()
    of_columns = class_suffixes(columns)
    is_one = first.mapping.probability_kind == "positive" and len(columns) == 1
    classes = Classes(
        names=next((part.class_names for part in parts if part.class_names), None),
        count=first.n_classes,
        by_name=first.names_from_columns,
        positive=of_columns[0] if is_one and of_columns != columns else None,
    )
    indices, names, count, found = decode(pd.concat(series, ignore_index=True), classes, where)
    notes += found
    return indices[:n_rows], indices[n_rows:] if has_predictions else None, names, count


def _with_its_classes(first: FileRows, other: FileRows, notes: list[str]) -> FileRows:
    """Return the rows with probabilities in the first part's order."""
    files = f"'{first.columns.file}' and '{other.columns.file}'"
    one, two = first.class_names, other.class_names
    if first.n_classes != other.n_classes:
        words = [
            "confidences only" if k is None else f"{k} classes"
            for k in (first.n_classes, other.n_classes)
        ]
        raise InputError(
            f"{files} must hold the same classes; got {words[0]} and {words[1]}. "
            "Save both from the same classifier."
        )
    if bool(one) != bool(two):
        named = (first if one else other).columns.file
        notes.append(
            f"Only '{named}' names the classes: the same order was taken for the other file."
        )
    if not one or not two or one == two:
        return other
    if sorted(one) != sorted(two) or not other.names_from_columns:
        raise InputError(
            f"{files} must hold the same classes in the same order; got "
            f"{listed(one, 8)} and {listed(two, 8)}."
        )
    order = [two.index(name) for name in one]
    return dataclasses.replace(other, probabilities=other.probabilities[:, order])


def _with_its_features(first: FileRows, other: FileRows, notes: list[str]) -> FileRows:
    """Return the rows with features in the first part's order."""
    files = f"'{first.columns.file}' and '{other.columns.file}'"
    widths = [0 if p.features is None else p.features.shape[1] for p in (first, other)]
    if widths[0] != widths[1]:
        raise InputError(
            f"{files} must have the same features; got {widths[0]} and {widths[1]} feature "
            "columns. Save both from the same layer."
        )
    one, two = first.feature_names or (), other.feature_names or ()
    if one != two and sorted(one) == sorted(two) and other.features is not None:
        notes.append(
            f"The feature columns of '{other.columns.file}' were put in the order of "
            f"'{first.columns.file}', by their names."
        )
        order = [two.index(name) for name in one]
        return dataclasses.replace(other, features=other.features[:, order])
    if len(one) > 1 and len(two) > 1 and one != two:
        here = next(name for name in one if name not in two)
        raise InputError(
            f"{files} must have the same features; '{here}' is in the first only. Name the "
            "columns alike, or leave out those that differ."
        )
    return other


def _groups(parts: Sequence[FileRows]) -> pd.DataFrame | None:
    """Return the group columns that every part has."""
    names = dict.fromkeys(name for part in parts for name in part.mapping.groups or ())
    shared = [name for name in names if all(name in part.columns.shapes for part in parts)]
    if not shared:
        return None
    return pd.concat([group_columns(part.columns, shared) for part in parts], ignore_index=True)


def _metadata(parts: Sequence[FileRows], notes: list[str]) -> pd.DataFrame:
    frames = [part.metadata for part in parts]
    if len(frames) == 1:
        return frames[0]
    names = dict.fromkeys(name for frame in frames for name in frame)
    partial = [name for name in names if not all(name in frame for frame in frames)]
    if partial:
        notes.append(f"In one of the files only, so missing elsewhere: {listed(partial)}.")
    # As objects true or false, numbers, text and gaps meet without a guess at a common type.
    mixed = [n for n in names if len({frame[n].dtype for frame in frames if n in frame}) > 1]
    frames = [frame.astype({n: object for n in mixed if n in frame}) for frame in frames]
    return pd.concat(frames, ignore_index=True).infer_objects()


def _joined(arrays: Sequence[NDArray[Any] | None]) -> Any:
    known = [array for array in arrays if array is not None]
    if len(known) < len(arrays):
        return None
    return known[0] if len(known) == 1 else np.concatenate(known)


def _check_weights(parts: Sequence[FileRows]) -> None:
    weighed = [part for part in parts if part.weights is not None]
    without = [part for part in parts if part.weights is None]
    if weighed and without:
        raise InputError(
            f"'{without[0].columns.file}' must have weights of its rows as "
            f"'{weighed[0].columns.file}' has ('{weighed[0].mapping.weight}'); it has none. Add "
            'them, or map no weight (mapping={"weight": ""}, --column weight=).'
        )


def _images(parts: Sequence[FileRows]) -> NDArray[np.uint8] | None:
    """Return one image a row, black where there is none."""
    shapes = {part.images.shape[1:]: None for part in parts if part.images is not None}
    if len(shapes) > 1:
        raise InputError(
            f"the images of {' and '.join(repr(p.columns.file) for p in parts)} must have one "
            f"size; got {' and '.join(map(str, shapes))}."
        )
    if not shapes:
        return None
    (shape,) = shapes
    return np.concatenate(
        [np.zeros((len(p), *shape), np.uint8) if p.images is None else p.images for p in parts]
    )
