"""Checked rows of files by their mappings, and the Dataset they are put together into."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.dataset import Dataset
from lore_core.data.errors import counted, listed
from lore_core.data.probabilities import softmax, spread_confidence, undo_rounded_sums
from lore_core.data.validation import LARGEST, RANGE_TOLERANCE, SUM_TOLERANCE, InputError
from lore_core.reading.column_values import (
    Classes,
    decode,
    parse_verbal_confidence,
    right_of,
    units_in_words,
    units_of,
    weights_in_words,
    weights_of,
)
from lore_core.reading.columns import Columns
from lore_core.reading.mapping import WRONG_OR_RIGHT, ColumnMapping, class_suffixes
from lore_core.reading.roles import SPLIT_WORDS, check_unused_columns, may_be_either
from lore_core.reading.text_tables import MISSING

MISSING_GROUP = "(missing)"
#: Deviation of a row's sum from 1 that is worth a note.
_ROUNDING = 1e-5
#: Role that is needed, to what its columns hold and what they are usually called.
_NEEDED = {
    "label": ("true classes", "label, y, y_true, target"),
    "prediction": ("predicted classes", "prediction, y_pred, which a confidence needs"),
    "probabilities": ("probabilities", "p_<class>, probs, logits, or confidence with prediction"),
}


@dataclass(frozen=True, eq=False)
class FileRows:
    """The rows of one file that are read; labels are not numbered yet."""

    columns: Columns
    mapping: ColumnMapping
    is_read: Mask  #: Rows of the file that were taken
    labels: pd.Series[Any]
    predictions: pd.Series[Any] | None
    probabilities: Floats  #: (n, K), or (n,) where only confidences are known
    features: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    split: NDArray[np.str_] | None
    metadata: pd.DataFrame
    images: NDArray[np.uint8] | None
    class_names: tuple[str, ...] | None
    names_from_columns: bool
    weights: Floats | None
    units: NDArray[np.object_] | None
    dropped: tuple[str, ...]
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def role(self) -> str:
        """What its rows are for, if all for the same."""
        split: NDArray[Any] = np.empty(0) if self.split is None else self.split
        return f"{split[0]} rows" if split.size and (split == split[0]).all() else ""

    @property
    def n_classes(self) -> int | None:
        """K, or None where only confidences are known."""
        return None if self.probabilities.ndim == 1 else int(self.probabilities.shape[1])


class MissingRoleError(InputError):
    """A file lacks a column that is needed: what was found, what is missing, and the fix."""

    def __init__(self, columns: Columns, mapping: ColumnMapping, role: str) -> None:
        found = [n for of in _NEEDED for n in mapping.columns().get(of, ())]
        what, usual = _NEEDED[role]
        named = f"found {listed(map(repr, found), 4)}, but " if found else "found "
        lack = (
            f"no {columns.unit} of {what} ({usual}). It has: {listed(columns.names)}. Rename one, "
            f"or name it: --column {role}=NAME."
        )
        either = [n for n in filter(may_be_either, columns.names) if columns.kinds[n] == "number"]
        if either and role == "probabilities":
            lack = f"'{either[0]}' may be P(y = 1) or the confidence. Call it p_1 or confidence."
        super().__init__(f"'{columns.file}': {named}{lack}")


def read_rows(columns: Columns, mapping: ColumnMapping) -> FileRows:
    """Read and check what the mapping names."""
    label = _check_roles(columns, mapping)
    n = _check_lengths(columns, mapping, label)
    split, weights = splits_in(columns, mapping), weights_of(columns, mapping)
    training, weightless = np.asarray(split == "train"), np.asarray(weights == 0)
    is_read, dropped = _rows_to_read(columns, mapping, training, weightless)

    notes = [*columns.notes, *check_unused_columns(columns, mapping)]
    columns = columns if is_read.all() else columns.take(np.flatnonzero(is_read), n)
    probabilities = _probabilities(columns, mapping, notes)
    predictions = None
    if mapping.prediction:
        predictions = columns.series(mapping.prediction)
        missing, rule = predictions.isna().to_numpy(), "name a class in every row"
        columns.check(mapping.prediction, missing, rule, "Drop or fill these.")
    labels = columns.series(label)
    if mapping.probability_kind == "correct":
        labels = right_of(columns, label)
        predictions = pd.Series(np.ones(len(labels), dtype=np.int64))
        mapping = dataclasses.replace(mapping, class_names=WRONG_OR_RIGHT)
    given = mapping.class_names or columns.class_names
    from_columns = not given and len(mapping.probabilities or ()) > 1
    # Images may be named by a column of texts; those are found when all is read.
    images = mapping.images or ""
    names_files = bool(images) and columns.kinds[images] == "text"
    shown = (mapping.row_id, *(mapping.metadata or ()), mapping.text, images * names_files)
    metadata = {name: _values(columns, name) for name in shown if name}
    features, feature_names = _features(columns, mapping)
    if weights is not None:
        weights = weights[is_read]
        notes.append(weights_in_words(columns, mapping, weights))
    units = units_of(columns, mapping)
    if units is not None:
        notes.append(units_in_words(columns, mapping, units))
    return FileRows(
        columns,
        mapping,
        is_read,
        labels,
        predictions,
        probabilities,
        features,
        feature_names,
        None if split is None else split[is_read],
        pd.DataFrame(metadata, index=range(len(labels))),
        None if names_files or not images else columns.load(images),
        class_suffixes(mapping.probabilities or ()) if from_columns else (given or None),
        from_columns,
        weights,
        units,
        dropped,
        tuple(notes),
    )


def _rows_to_read(
    columns: Columns, mapping: ColumnMapping, training: Mask, weightless: Mask
) -> tuple[Mask, tuple[str, ...]]:
    labels = columns.series(str(mapping.label))
    missing = labels.isna().to_numpy() | (labels == "").to_numpy()
    unlabelled = ""
    if missing.any():
        row = columns.where(int(missing.argmax()))
        named = mapping.class_names or columns.class_names
        for name in named or class_suffixes(mapping.probabilities or ()):
            if name in MISSING:
                rows, label = counted(int(missing.sum()), "row"), columns.called(str(mapping.label))
                raise InputError(
                    f"{label} has {rows} that read as missing (first: {row}), and a class is "
                    f"called '{name}': the two cannot be told apart. Rename the class."
                )
        unlabelled = f" without a label (first: {row})"
    is_read, dropped = np.ones(len(labels), dtype=bool), []
    for unusable, thing, why in (
        (missing, "row", unlabelled),
        (training, "training row", ""),
        (weightless, "row", " of weight 0"),
    ):
        count = int((unusable & is_read).sum())
        if count:
            dropped.append(f"{counted(count, thing)} of '{columns.file}'{why}")
        is_read &= ~unusable
    if not is_read.any():
        why = listed(dropped) if dropped else "it is empty"
        raise InputError(f"'{columns.file}' has no row left to read: {why}. Check label and split.")
    return is_read, tuple(dropped)


def _check_roles(columns: Columns, mapping: ColumnMapping) -> str:
    """Return the label column; InputError if a needed role is open."""
    if not mapping.label:
        raise MissingRoleError(columns, mapping, "label")
    if not mapping.probabilities:
        raise MissingRoleError(columns, mapping, "probabilities")
    if mapping.probability_kind == "confidence" and not mapping.prediction:
        raise MissingRoleError(columns, mapping, "prediction")
    n_columns = sum(map(columns.width, mapping.probabilities))
    is_single = mapping.probability_kind in ("confidence", "positive", "correct")
    if mapping.probability_kind != "logits" and is_single != (n_columns == 1):
        rule = "one number a row" if is_single else "at least two classes"
        raise InputError(
            f"{columns.called(*mapping.probabilities)} must hold {rule}, to be mapped as "
            f"{mapping.probability_kind}; got {n_columns}. Map P(y = 1) as positive, others as "
            "probabilities."
        )
    return mapping.label


def _check_lengths(columns: Columns, mapping: ColumnMapping, label: str) -> int:
    shape = columns.shapes[label]
    n = shape[0] if shape else 0
    if not shape or (len(shape) > 1 and shape != (n, 1)):
        raise InputError(
            f"{columns.called(label)} must hold one class a row; got shape {shape}. Use the argmax."
        )
    if n == 0:
        raise InputError(f"'{columns.file}' has no rows: {columns.called(label)} is empty.")
    for role, names in mapping.columns().items():
        for name in names:
            other = columns.shapes[name]
            if role != "metadata" and (not other or other[0] != n):
                got = f"{other[0]:,} and {n:,}" if other else f"a single value and {n:,} rows"
                raise InputError(
                    f"{columns.called(name)} must have as many rows as '{label}'; "
                    f"got {got}. Save both from the same rows."
                )
    return n


def splits_in(columns: Columns, mapping: ColumnMapping) -> NDArray[np.str_] | None:
    """Return each row's split, ``"train"`` of training rows; None if none is mapped."""
    if not mapping.split:
        return None
    codes, values = pd.factorize(columns.series(mapping.split))
    words = [SPLIT_WORDS.get(str(value).strip().lower(), "") for value in values]
    known = np.array([*words, ""], dtype="<U11")  # "" is for missing values, code −1
    rule = "hold calibration or evaluation (or cal, val, dev, test, train)"
    columns.check(mapping.split, (known == "")[codes], rule, "Correct it, or map no split.")
    return known[codes]


def _probabilities(columns: Columns, mapping: ColumnMapping, notes: list[str]) -> Floats:
    names, kind = mapping.probabilities or (), mapping.probability_kind
    if kind in ("confidence", "correct") and columns.kinds[names[0]] == "text":
        matrix = parse_verbal_confidence(columns, names[0], notes)[:, None]
    else:
        matrix = columns.matrix(names, np.float64)
        if shares := [name for name in names if columns.kinds[name] == "text"]:
            notes.append(f"Percentages in {listed(map(repr, shares), 4)} were read as shares.")
    missing = ~np.isfinite(matrix)
    columns.check_cells(names, matrix, missing, "be finite", "Drop or fill these rows.")
    if kind == "logits":
        return _of_logits(matrix, columns, columns.called(names[0]), notes)
    least, most = matrix.min(), matrix.max()
    if least < -RANGE_TOLERANCE or most > 1 + RANGE_TOLERANCE:
        percent = " Divide percentages by 100." if 1 < most <= 100 and least >= 0 else ""
        outside = (matrix < -RANGE_TOLERANCE) | (matrix > 1 + RANGE_TOLERANCE)
        fix = f"If these are scores, map them as logits.{percent}"
        columns.check_cells(names, matrix, outside, "lie in [0, 1]", fix)
    matrix = np.clip(matrix, 0.0, 1.0)
    if kind == "confidence":
        return np.asarray(matrix[:, 0])
    if kind in ("positive", "correct"):
        return np.column_stack([1.0 - matrix[:, 0], matrix[:, 0]])
    return _rescaled(matrix, columns, names, notes)


def _rescaled(matrix: Floats, columns: Columns, names: Sequence[str], notes: list[str]) -> Floats:
    """Return probabilities with row sums of exactly 1; refuse rows that are far from it."""
    restored, total, bad = undo_rounded_sums(matrix, SUM_TOLERANCE)
    fix = "Give one probability for every class, or map scores as logits."
    columns.check(names, bad, "sum to 1 in each row", fix, lambda row: f"{total[row]:.6g}")
    away = np.abs(total - 1.0)
    if away.max() > _ROUNDING:
        notes.append(
            f"{counted(int((away > _ROUNDING).sum()), 'row')} of '{columns.file}' did not sum to 1 "
            f"exactly (furthest: {total[away.argmax()]:.5g}) and were rescaled."
        )
    return np.asarray(restored / (total if restored is matrix else restored.sum(axis=1))[:, None])


def _of_logits(logits: Floats, columns: Columns, called: str, notes: list[str]) -> Floats:
    """Return probabilities; refuse rows of several columns that are some already."""
    several = logits.shape[1] > 1
    may_be = several and -RANGE_TOLERANCE <= logits.min() <= logits.max() <= 1 + RANGE_TOLERANCE
    if may_be and not undo_rounded_sums(logits, SUM_TOLERANCE)[2].any():
        raise InputError(
            f"{called} was to hold logits, but all rows lie in [0, 1] and sum to 1 as "
            "probabilities do. Map them so, by probability_kind, or save their softmax."
        )
    made = "probabilities by softmax" if several else "P(y = 1) by the logistic function"
    notes.append(f"The logits of '{columns.file}' became {made}.")
    if not several:
        logits = np.column_stack([np.zeros(len(logits)), logits[:, 0]])
    with np.errstate(over="ignore"):
        return softmax(logits)


def _features(
    columns: Columns, mapping: ColumnMapping
) -> tuple[NDArray[Any] | None, tuple[str, ...] | None]:
    """Return features and their names, which columns have, or come with one array."""
    names = mapping.features or ()
    if not sum(map(columns.width, names)):
        return None, None
    matrix = columns.matrix(names)
    limit = min(LARGEST, float(np.finfo(matrix.dtype).max))
    # (NaN is neither above nor below.)
    if not (matrix.min() >= -limit and matrix.max() <= limit):
        rule = f"be finite, within ±{LARGEST:g}"
        fix = "Drop or fill these rows, divide the values, or leave the column out of the features."
        columns.check_cells(names, matrix, ~(np.abs(matrix) <= limit), rule, fix)
    if all(len(columns.shapes[name]) == 1 for name in names):
        return matrix, names
    return matrix, columns.feature_names if names == ("features",) else None


def _values(columns: Columns, name: str) -> pd.Series[Any]:
    values = columns.series(name)
    # Lists and objects become text: nothing can be counted by them.
    return values.map(str, na_action="ignore") if columns.kinds[name] == "other" else values


def assemble(parts: Sequence[FileRows], *, name: str) -> tuple[Dataset, tuple[str, ...]]:
    """Join the rows of one or two parts; also return notes on what was done."""
    notes: list[str] = [note for part in parts for note in part.notes]
    first, *others = parts
    others = [_with_its_classes(first, other, notes) for other in others]
    parts = [first, *(_with_its_features(first, other, notes) for other in others)]
    _check_in_all(parts, "weights", "weight")
    _check_in_all(parts, "units", "unit")
    labels, predictions, names, count = _decoded(parts, notes)
    if count < 2:
        raise InputError(f"'{first.columns.file}' must have two classes or more; got {count}.")
    probabilities = _joined([part.probabilities for part in parts])
    complete = True
    if probabilities.ndim == 1:
        assert predictions is not None  # a confidence comes with a prediction
        probabilities = spread_confidence(probabilities, predictions, count)
        complete = count == 2
    elif predictions is not None:
        differ = int((predictions != probabilities.argmax(axis=1)).sum())
        if differ and first.mapping.probability_kind != "correct":
            rows = f"In {differ:,} of {len(labels):,} rows"
            notes.append(f"{rows} the prediction is not the most probable class.")
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
        units=_joined([part.units for part in parts]),
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
            f"{files} must hold the same classes; got {words[0]} and {words[1]}. Save both alike."
        )
    if bool(one) != bool(two):
        named = (first if one else other).columns.file
        notes.append(f"Only '{named}' names the classes: the same order was taken for the other.")
    if not one or not two or one == two:
        return other
    if sorted(one) != sorted(two) or not other.names_from_columns:
        raise InputError(
            f"{files} must hold classes in the same order; got {listed(one)} and {listed(two)}."
        )
    order = [two.index(name) for name in one]
    return dataclasses.replace(other, probabilities=other.probabilities[:, order])


def _with_its_features(first: FileRows, other: FileRows, notes: list[str]) -> FileRows:
    """Return the rows with features in the first part's order."""
    files = f"'{first.columns.file}' and '{other.columns.file}'"
    widths = [0 if p.features is None else p.features.shape[1] for p in (first, other)]
    if widths[0] != widths[1]:
        raise InputError(f"{files} must have the same features; got {widths[0]} and {widths[1]}.")
    one, two = first.feature_names or (), other.feature_names or ()
    if one != two and sorted(one) == sorted(two) and other.features is not None:
        notes.append(f"The features of {files} were put in one order, by their names.")
        order = [two.index(name) for name in one]
        return dataclasses.replace(other, features=other.features[:, order])
    if len(one) > 1 and len(two) > 1 and one != two:
        here = next(name for name in one if name not in two)
        raise InputError(
            f"{files} must have the same features; '{here}' is in the first only. Name them alike."
        )
    return other


def _groups(parts: Sequence[FileRows]) -> pd.DataFrame | None:
    """Return the group columns that every part has, as names of groups."""
    names = dict.fromkeys(name for part in parts for name in part.mapping.groups or ())
    shared = [name for name in names if all(name in part.columns.shapes for part in parts)]
    groups = {}
    for name in shared:
        of_parts = [_values(part.columns, name).astype(object) for part in parts]
        values = pd.concat(of_parts, ignore_index=True)
        texts = values.where(values.notna(), MISSING_GROUP).map(str)
        groups[name] = texts.astype(object).infer_objects()
    return pd.DataFrame(groups) if shared else None


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


def _check_in_all(parts: Sequence[FileRows], what: str, role: str) -> None:
    """Refuse ``what`` of rows (weights, units) that some files only have."""
    known = [part for part in parts if getattr(part, what) is not None]
    without = [part for part in parts if getattr(part, what) is None]
    if known and without:
        raise InputError(
            f"'{without[0].columns.file}' must have {what} of its rows, as "
            f"'{getattr(known[0].mapping, role)}' of '{known[0].columns.file}'. Add them, or map "
            f'none (mapping={{"{role}": ""}}, --column {role}=).'
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
