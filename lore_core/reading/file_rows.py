"""The rows of one file by its mapping: checked, its labels not yet numbered."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.dataset import CALIBRATION, EVALUATION
from lore_core.data.probabilities import softmax, undo_rounding
from lore_core.data.validation import LARGEST, RANGE_TOLERANCE, SUM_TOLERANCE, InputError
from lore_core.reading.column_values import (
    check_cells,
    matrix_of,
    parse_verbal_confidence,
    right_of,
    weights_in_words,
    weights_of,
)
from lore_core.reading.columns import Columns, counted, listed, short
from lore_core.reading.mapping import WRONG_OR_RIGHT, ColumnMapping, class_suffixes
from lore_core.reading.roles import SPLIT_WORDS, check_unused_columns
from lore_core.reading.text_tables import MISSING

#: Name of the group of rows that name none.
MISSING_GROUP = "(missing)"
#: Sums of probabilities further from 1 than this are worth a note.
_ROUNDING = 1e-5


@dataclass(frozen=True, eq=False)
class FileRows:
    """The kept rows of one file.

    ``label`` is the column of true classes, ``rows`` are the 0-based positions in the file.
    ``probabilities`` are vectors (n, K), or the confidences (n,) where only these are known.
    """

    columns: Columns
    mapping: ColumnMapping
    label: str
    rows: Ints
    labels: pd.Series[Any]
    predictions: pd.Series[Any] | None
    probabilities: Floats
    features: NDArray[Any] | None
    split: NDArray[np.str_] | None
    groups: pd.DataFrame
    metadata: pd.DataFrame
    images: NDArray[np.uint8] | None
    class_names: tuple[str, ...] | None
    names_from_columns: bool
    dropped: tuple[str, ...]
    notes: tuple[str, ...]
    feature_names: tuple[str, ...] | None = None
    weights: Floats | None = None

    @property
    def rows_of_file(self) -> int:
        """How many rows the file has, kept or not."""
        return self.columns.shapes[self.label][0]

    @property
    def n_classes(self) -> int | None:
        """K, or None where only confidences are known."""
        return None if self.probabilities.ndim == 1 else int(self.probabilities.shape[1])

    def with_groups(self, names: tuple[str, ...]) -> FileRows:
        """Return the same rows with other columns as their groups."""
        groups = _frame(self.columns, names, self.rows, groups=True)
        mapping = dataclasses.replace(self.mapping, groups=names)
        return dataclasses.replace(self, mapping=mapping, groups=groups)

    def at(self, role: str, position: int) -> tuple[str, str]:
        """Return the words for the column of a role and for one of the kept rows."""
        name = getattr(self.mapping, role)
        return self.columns.called(name), self.columns.where(int(self.rows[position]))


def read_rows(columns: Columns, mapping: ColumnMapping) -> FileRows:
    """Read and check what the mapping names."""
    label = _check_roles(columns, mapping)
    n = _check_lengths(columns, mapping, label)
    labels = columns.series(label)
    missing = labels.isna().to_numpy() | (labels == "").to_numpy()
    split, training = splits_in(columns, mapping, n)
    weights = weights_of(columns, mapping)
    nothing = np.zeros(n, dtype=bool) if weights is None else weights == 0
    unlabelled = ""
    if missing.any():
        row = columns.where(int(np.flatnonzero(missing)[0]))
        _check_missing(columns, mapping, int(missing.sum()), row)
        unlabelled = f" without a label (first: {row})"
    keep, dropped = np.ones(n, dtype=bool), []
    for unusable, thing, why in (
        (missing, "row", unlabelled),
        (training, "training row", ""),
        (nothing, "row", " of weight 0"),
    ):
        if (unusable & keep).any():
            count = counted(int((unusable & keep).sum()), thing)
            dropped.append(f"{count} of '{columns.file}'{why}")
        keep &= ~unusable
    if not keep.any():
        why = listed(dropped) if dropped else "it is empty"
        raise InputError(f"'{columns.file}' has no row left to read: {why}. Check label and split.")
    rows = np.flatnonzero(keep)
    taken: slice | Ints = slice(None) if keep.all() else rows

    notes = [*columns.notes, *check_unused_columns(columns, mapping)]
    probabilities = _probabilities(columns, mapping, rows, taken, notes)
    predictions = None
    if mapping.prediction:
        predictions = columns.series(mapping.prediction).iloc[taken].reset_index(drop=True)
        bad = predictions.isna().to_numpy()
        if bad.any():
            row = columns.where(int(rows[np.flatnonzero(bad)[0]]))
            raise InputError(
                f"{columns.called(mapping.prediction)} must name a class in every row; it is "
                f"missing at {row} ({counted(int(bad.sum()), 'such row')}). Drop or fill these."
            )
    labels = labels.iloc[taken].reset_index(drop=True)
    if mapping.probability_kind == "correct":
        labels = right_of(columns, label, labels, rows)
        predictions = pd.Series(np.ones(len(rows), dtype=np.int64))
        mapping = dataclasses.replace(mapping, class_names=WRONG_OR_RIGHT)
    given = mapping.class_names or columns.class_names
    from_columns = not given and len(mapping.probabilities or ()) > 1
    images = None
    if mapping.images and not _names_files(columns, mapping):
        images = pictures(columns, mapping.images)[taken]
    if weights is not None:
        weights = weights[taken]
        notes.append(weights_in_words(columns, mapping, weights))
    notes += _ignored(columns, mapping, n)
    return FileRows(
        columns,
        mapping,
        label,
        rows,
        labels,
        predictions,
        probabilities,
        _features(columns, mapping, rows, taken),
        None if split is None else split[taken],
        _frame(columns, mapping.groups or (), taken, groups=True),
        _frame(columns, _metadata_names(columns, mapping), taken),
        images,
        class_suffixes(mapping.probabilities or ()) if from_columns else (given or None),
        from_columns,
        tuple(dropped),
        tuple(notes),
        _feature_names(columns, mapping),
        weights,
    )


def _check_missing(columns: Columns, mapping: ColumnMapping, missing: int, row: str) -> None:
    """Refuse rows without a label where a class is called as a missing value is."""
    names = (
        mapping.class_names or columns.class_names or class_suffixes(mapping.probabilities or ())
    )
    called = [name for name in names if name in MISSING]
    if called:
        raise InputError(
            f"{columns.called(str(mapping.label))} has {counted(missing, 'row')} that read as "
            f"missing (first: {row}), and a class is called '{called[0]}': the two cannot be told "
            "apart. Call the class otherwise, in its labels and its probability column."
        )


def pictures(columns: Columns, name: str) -> NDArray[np.uint8]:
    """Return thumbnails as uint8 of shape (n, h, w) or (n, h, w, 3)."""
    array = columns.load(name)
    if isinstance(array, pd.Series) or array.ndim not in (3, 4):
        raise InputError(
            f"{columns.called(name)} must hold images of shape (n, h, w) or (n, h, w, 3); "
            f"got {columns.shapes[name]}."
        )
    if array.dtype != np.uint8:
        raise InputError(
            f"{columns.called(name)} must hold images as uint8 in 0 to 255; got {array.dtype}. "
            "Save (255 * images).astype('uint8') for values in [0, 1]."
        )
    if array.ndim == 4 and array.shape[3] == 1:
        array = array[..., 0]
    if array.ndim == 4 and array.shape[3] != 3:
        raise InputError(
            f"{columns.called(name)} must hold grey or RGB images, (n, h, w) or (n, h, w, 3); "
            f"got {array.shape}."
        )
    return np.asarray(array)


def _check_roles(columns: Columns, mapping: ColumnMapping) -> str:
    """Return the column of true classes, once every role that is needed is filled."""
    has = f"It has: {listed(columns.names)}."
    if not mapping.label:
        raise InputError(
            f"'{columns.file}' has no {columns.unit} of true classes: none is called label, y, "
            f"y_true or target. {has} Rename one, or map it as label."
        )
    if not mapping.probabilities:
        raise InputError(
            f"'{columns.file}' has no probabilities: neither p_<class> nor probs, logits, or "
            f"confidence with prediction. {has} Rename them, or map them as probabilities."
        )
    if mapping.probability_kind == "confidence" and not mapping.prediction:
        raise InputError(
            f"'{columns.file}' has confidences ('{mapping.probabilities[0]}') but no predicted "
            f"classes, which confidences need. {has} Add or map a prediction {columns.unit}."
        )
    if (
        mapping.probability_kind in ("confidence", "positive", "correct")
        and len(mapping.probabilities) > 1
    ):
        raise InputError(
            f"a {mapping.probability_kind} is one {columns.unit}; "
            f"{len(mapping.probabilities)} were named for '{columns.file}'. Name one."
        )
    return mapping.label


def _check_lengths(columns: Columns, mapping: ColumnMapping, label: str) -> int:
    shape = columns.shapes[label]
    n = shape[0] if shape else 0
    if not shape or (len(shape) > 1 and shape != (n, 1)):
        raise InputError(
            f"{columns.called(label)} must hold one class a row; got shape {shape}. "
            "Take the argmax of one-hot labels."
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


def splits_in(
    columns: Columns, mapping: ColumnMapping, n: int
) -> tuple[NDArray[np.str_] | None, Mask]:
    """Return the split of every row (``""`` for training rows) and which are training rows."""
    if not mapping.split:
        return None, np.zeros(n, dtype=bool)
    codes, values = pd.factorize(columns.series(mapping.split).astype(object))
    words = [SPLIT_WORDS.get(str(value).strip().lower(), "") for value in values]
    known = np.array([*words, ""])  # the last one is for missing values, code −1
    columns.check(
        mapping.split,
        known[codes] == "",
        "hold calibration or evaluation (or cal, val, dev, test, train)",
        lambda row: "nothing" if codes[row] < 0 else short(repr(values[codes[row]])),
        "Correct it, or map no split.",
    )
    split = known[codes].astype("<U11")
    assert set(words) <= {CALIBRATION, EVALUATION, "train"}
    return split, np.asarray(split == "train")


def _probabilities(
    columns: Columns, mapping: ColumnMapping, rows: Ints, taken: Any, notes: list[str]
) -> Floats:
    names, kind = mapping.probabilities or (), mapping.probability_kind
    if kind in ("confidence", "correct") and columns.kinds[names[0]] == "text":
        matrix = parse_verbal_confidence(columns, names[0], rows, notes)[:, None]
    else:
        matrix = matrix_of(columns, names, taken, dtype=np.float64)
    place = (columns, names, rows)
    check_cells(~np.isfinite(matrix), matrix, "be finite", "Drop or fill these rows.", *place)
    called = columns.called(names[0])
    if kind == "logits":
        if _sum_to_one(matrix):
            raise InputError(
                f"{called} was to hold logits, but all rows lie in [0, 1] and sum to 1 as "
                "probabilities do. Map them as probabilities, by probability_kind; or, if they are "
                "logits all the same, save their softmax."
            )
        return _softmax_of(matrix, columns, notes)
    percent = " Divide percentages by 100." if 1 < matrix.max() <= 100 and matrix.min() >= 0 else ""
    outside = (matrix < -RANGE_TOLERANCE) | (matrix > 1 + RANGE_TOLERANCE)
    fix = f"If these are scores, map them as logits.{percent}"
    check_cells(outside, matrix, "lie in [0, 1]", fix, *place)
    matrix = np.clip(matrix, 0.0, 1.0)
    if kind == "confidence":
        return np.asarray(matrix[:, 0])
    if kind in ("positive", "correct"):
        if matrix.shape[1] > 1:
            raise InputError(
                f"{called} must be a single column for P(y = 1); got {matrix.shape[1]} columns. "
                "Map them as probabilities."
            )
        return np.column_stack([1.0 - matrix[:, 0], matrix[:, 0]])
    if matrix.shape[1] == 1:
        raise InputError(
            f"{called} must hold at least two classes; got one column. Map it as positive if it "
            "is P(y = 1), or as confidence with a prediction."
        )
    return _rescaled(matrix, columns, names, rows, notes)


def _rescaled(
    matrix: Floats, columns: Columns, names: Sequence[str], rows: Ints, notes: list[str]
) -> Floats:
    """Return rows of probabilities with sums of exactly 1; refuse those that are far from it."""
    total = matrix.sum(axis=1)
    away = np.abs(total - 1.0)
    bad = away > SUM_TOLERANCE
    if bad.any():
        matrix, explained = undo_rounding(matrix)
        bad &= ~explained
    if bad.any():
        position = int(np.flatnonzero(bad)[0])
        several = f"the columns {listed(names, 6)} of '{columns.file}'"
        what = f"each row of {columns.called(names[0])}" if len(names) == 1 else several
        raise InputError(
            f"{what} must sum to 1; {columns.where(int(rows[position]))} sums to "
            f"{total[position]:.6g} ({counted(int(bad.sum()), 'such row')}). Give one probability "
            "for every class, or map scores as logits."
        )
    if away.max() > _ROUNDING:
        notes.append(
            f"{counted(int((away > _ROUNDING).sum()), 'row')} of '{columns.file}' did not sum to 1 "
            f"exactly (furthest: {total[away.argmax()]:.5g}) and were rescaled."
        )
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def _sum_to_one(matrix: Floats) -> bool:
    """Whether rows of several columns are probabilities already, perhaps rounded ones."""
    if matrix.shape[1] < 2 or matrix.min() < -RANGE_TOLERANCE:
        return False
    bad = np.abs(matrix.sum(axis=1) - 1.0) > SUM_TOLERANCE
    return not bad.any() or bool((undo_rounding(matrix)[1] | ~bad).all())


def _softmax_of(logits: Floats, columns: Columns, notes: list[str]) -> Floats:
    if logits.shape[1] == 1:
        notes.append(f"The logits of '{columns.file}' became P(y = 1) by the logistic function.")
        logits = np.column_stack([np.zeros(len(logits)), logits[:, 0]])
    else:
        notes.append(f"The logits of '{columns.file}' became probabilities by softmax.")
    with np.errstate(over="ignore"):
        return softmax(logits)


def _features(
    columns: Columns, mapping: ColumnMapping, rows: Ints, taken: Any
) -> NDArray[Any] | None:
    names = mapping.features or ()
    if not names or not sum(int(np.prod(columns.shapes[name][1:])) for name in names):
        return None
    matrix, place = matrix_of(columns, names, taken), (columns, names, rows)
    # A sum is finite only if all parts are (or they overflow, which the second look sorts out).
    with np.errstate(all="ignore"):
        finite = bool(np.isfinite(matrix.sum(dtype=np.float64)))
    if not finite:
        fix = "Drop or fill these rows, or leave the column out of the features."
        check_cells(~np.isfinite(matrix), matrix, "be finite", fix, *place)
    if matrix.dtype == np.float64 and max(matrix.max(), -matrix.min()) > LARGEST:
        rule = f"lie within ±{LARGEST:g}, or their distances are not finite"
        fix = "Divide these values, or take logarithms."
        check_cells(np.abs(matrix) > LARGEST, matrix, rule, fix, *place)
    return matrix


def _feature_names(columns: Columns, mapping: ColumnMapping) -> tuple[str, ...] | None:
    """Return the columns' own names, or the names that come with one array of features."""
    names = mapping.features or ()
    if names and all(len(columns.shapes[name]) == 1 for name in names):
        return tuple(names)
    return columns.feature_names if names == ("features",) else None


def _names_files(columns: Columns, mapping: ColumnMapping) -> bool:
    """Whether images are named by a column of texts, and are to be found when all is read."""
    return bool(mapping.images) and columns.kinds[str(mapping.images)] == "text"


def _metadata_names(columns: Columns, mapping: ColumnMapping) -> tuple[str, ...]:
    images = mapping.images if _names_files(columns, mapping) else None
    names = (mapping.row_id, *(mapping.metadata or ()), mapping.text, images)
    return tuple(dict.fromkeys(name for name in names if name))


def _frame(
    columns: Columns, names: Sequence[str], taken: Any, *, groups: bool = False
) -> pd.DataFrame:
    series: dict[str, pd.Series[Any]] = {}
    for name in names:
        values = columns.series(name)
        if not (isinstance(taken, slice) and isinstance(values.index, pd.RangeIndex)):
            values = values.iloc[taken].reset_index(drop=True)
        if columns.kinds[name] == "other":
            # Lists and objects are shown as they are written: nothing can be counted by them.
            values = values.map(str, na_action="ignore")
        if groups:
            texts = [
                MISSING_GROUP if gone else str(value)
                for value, gone in zip(values.tolist(), values.isna().tolist(), strict=True)
            ]
            values = pd.Series(texts, dtype=object).infer_objects()
        series[name] = values
    return pd.DataFrame(series)


def _ignored(columns: Columns, mapping: ColumnMapping, n: int) -> list[str]:
    """Say which arrays nobody uses, and why."""
    used = {name for names in mapping.columns().values() for name in names}
    notes = []
    for name in columns.names:
        if name in used or columns.parents.get(name) in used:
            continue
        shape = columns.shapes[name]
        if name in ("logits", "logit") or name.lower().startswith(("logit_", "logits_")):
            if mapping.probability_kind != "logits":
                notes.append("The logits were not used: probabilities are there.")
            continue
        readable = columns.kinds[name] != "other"
        if columns.parents.get(name) or (readable and shape == (n,)):
            continue  # left out by the mapping
        if shape[:1] != (n,):
            why = "it has another number of rows"
        else:
            why = f"it has shape {shape}" if readable else "it holds no plain values"
        notes.append(f"'{name}' of '{columns.file}' is not used: {why}.")
    return notes
