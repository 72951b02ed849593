"""Guesses of columns' roles by name, shape and, for groups, values."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from lore_core.data.dataset import CALIBRATION, EVALUATION
from lore_core.reading.columns import Columns, columns_of_frame, label_text
from lore_core.reading.mapping import ColumnMapping, class_suffixes, expand
from lore_core.reading.raw_file import RawFile

_SAMPLE_CELLS = 1000
#: Classes after which columns may be called.
MAX_NAMED_CLASSES = 1000
MAX_GROUP_VALUES = 20
#: Split word to split; training rows belong to neither.
SPLIT_WORDS = {
    word: split
    for split, words in {
        CALIBRATION: "calibration calib cal validation valid val dev development",
        EVALUATION: "evaluation eval test testing holdout held-out",
        "train": "train training fit",
    }.items()
    for word in words.split()
}


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_LABEL = _words(
    "y_true true_label true_labels true_class truelabel gold gold_label gold_labels gt gt_label "
    "ground_truth actual_label label labels target targets targs y true truth class_label y_test "
    "actual class label_id label_ids observed obs outcome references ground_truth_label label_value"
)
#: Columns that mark a class, as before or behind its name, and how the class they mark is called.
_MARKED_CLASS = re.compile(
    r"(?:({0})[_\-. ](.+)|(.+?)[_\-. ]({0}))".format(
        "|".join(sorted((name for name in _LABEL if "class" not in name), key=len, reverse=True))
    ),
    re.IGNORECASE,
)
_MARKED = "true class"
_NUMBERS = {"whole", "number", "bool"}
CORRECT_NAMES = ("correct", "is_correct", "iscorrect", "right", "is_right", "hit", "exact_match")
_SPLIT = ("split", "subset", "fold", "partition", "data_split")
_PREDICTION = _words(
    "prediction predictions predicted pred preds y_pred y_hat yhat predicted_label "
    "predicted_class prediction_label pred_label pred_class predict predicted_labels scored_labels "
    "predictions_label"
)
#: The last two: an index that pandas saved without a name.
_ROW_ID = _words("row_id rowid id sample_id example_id index __index_level_0__ unnamed:_0")
#: Not "weight" alone, which may be in kilograms: see `check_unused_columns`.
_WEIGHT = [
    f"{what}_weight{s}"
    for what in ("sample", "row", "case", "instance", "survey", "design", "importance")
    for s in ("", "s")
]
_UNIT = ("unit", "units", "unit_id")
_IMAGES = ("images", "image", "imgs", "thumbnails", "pictures")
_LOGITS = ("logits", "logit", "log_odds", "rawformulaval")
_CONFIDENCE = _words(
    "confidence confidences conf max_prob max_probability top_prob prediction_score pred_score "
    "predictions_confidence"
)
#: Names for P(y = 1) or the confidence of a prediction: the values tell.
_EITHER = _words(
    "p prob proba probability probs probabilities y_prob y_proba y_pred_proba y_pred_prob "
    "pred_prob pred_proba pred_probs predicted_probability predicted_prob scored_probabilities "
    "phat p_hat"
)
_PROBABILITIES = (*_EITHER, "probas", "y_probs", "y_probas", "pred_score", "pred_scores")
_POSITIVE = (
    _words("p_1 p1 prob_1 prob1 proba_1 p_pos p_positive prob_positive positive_probability")
    + _EITHER
)
_SCORE = ("score", "scores", "y_score", "prediction_scores")
_FEATURES = ("features", "feature", "embeddings", "embedding", "hidden", "activations", "x", "z")
_PROBABILITY_FAMILY = re.compile(
    r"(\.pred(?=_(?!class$))|(?:\w+\.)?(?:(?:y|pred|predicted|prediction|scored)[_\-. ]){0,2}"
    r"(?:p|prob|proba|probas|probs|probability|probabilities)|prediction_score)"
    r"(?:[_\-. ](?!val(?:ue)?$)(?:of )?(.+)|(\d+))",
    re.IGNORECASE,
)
_LOGIT_FAMILY = re.compile(
    r"(logit|logits|rawformulaval)(?:(?:[_\-. ]|:class=)(.+)|(\d+))", re.IGNORECASE
)
#: What was asked and answered: it tells rows apart, and repeats itself only by chance.
_ASKED_AND_ANSWERED = _words(
    "question questions prompt query instruction answer response completion output generation"
)
_FEATURE_FAMILY = re.compile(
    r"(?:f|feat|features?|emb|embeddings?)(?:_.+|\d+)|(?:embed|x|z|h|hidden|latent|pc|dim)_?\d+",
    re.IGNORECASE,
)


class FreeColumns:
    """Columns without a role yet, found by their names."""

    def __init__(self, columns: Columns, taken: Iterable[str]) -> None:
        self.columns = columns
        self.names = [name for name in columns.names if name not in columns.parents]
        self.take(taken)

    def take(self, names: Iterable[str]) -> None:
        """Leave out columns that got a role."""
        taken = set(names)
        self.names = [name for name in self.names if name not in taken]

    def named(
        self, words: Iterable[str], dimensions: tuple[int, ...] = (1,), *, nested: bool = False
    ) -> str | None:
        """Return the column that is called the first of some words; None if there is none."""
        keys = {_key(name): name for name in reversed(self.names)}
        for word in words:
            name = keys.get(word)
            if name is None or (self.columns.kinds[name] == "other" and not nested):
                continue
            if len(self.columns.shapes[name]) in dimensions:
                return name
        return None


def guess(columns: Columns, given: ColumnMapping) -> ColumnMapping:
    """Guess what ``given`` leaves open (``None``); roles no column fits stay ``None``."""
    mapping = given = expand(given, columns)
    # A column given only as a group can still have a role of its own.
    free = FreeColumns(columns, given.used("groups", "text"))

    def fill(role: str, value: str | tuple[str, ...] | None) -> None:
        nonlocal mapping
        if getattr(mapping, role) is None and value is not None:
            changed: dict[str, Any] = {role: value}
            mapping = dataclasses.replace(mapping, **changed)
            free.take([value] if isinstance(value, str) else value)

    # (BigQuery calls the prediction of ``species`` so: ``predicted_species``.)
    beside = (name for name in free.names if f"predicted_{name}" in free.names)
    fill("label", _label(free, given) or next(beside, None))
    split = free.named(_SPLIT)
    if split and _key(split) != "split":
        words = {str(word).strip().lower() for word in columns.series(split).dropna().unique()}
        split = split if words and SPLIT_WORDS.keys() >= words else None
    fill("split", split)
    called = f"predicted_{mapping.label}"
    prediction = free.named(_PREDICTION, (1, 2)) or (called if called in free.names else None)
    # (Pipelines of Hugging Face call the predicted class ``label``, beside its ``score``.)
    best, has_family = free.named(("label",)), bool(_family(free, _PROBABILITY_FAMILY))
    if best and mapping.label and not prediction and not has_family and columns.flat(mapping.label):
        right, given_class = columns.series(mapping.label), columns.series(best)
        is_class = given_class.isin(right).mean() > 0.5 and not given_class.equals(right)
        prediction = best if is_class and free.named((*_SCORE, *_CONFIDENCE)) else None
    if prediction and columns.flat(prediction) and not is_share(columns, prediction):
        fill("prediction", prediction)
    fill("row_id", free.named(_ROW_ID, nested=True))
    weight = free.named(_WEIGHT)
    if weight is not None and columns.kinds[weight] in ("whole", "number"):
        fill("weight", weight)
    unit = free.named(_UNIT)
    # (Not that of a measurement, the same in all rows.)
    if unit is not None and columns.kinds[unit] in ("whole", "text"):
        fill("unit", unit if columns.series(unit).nunique() > 1 else None)
    fill("images", _images(free))
    classes, kind = columns.class_names, given.probability_kind
    if given.probabilities:
        kind = _kind_of_given(columns, dataclasses.replace(given, label=mapping.label))
    else:
        names, kind = _probabilities(free, mapping)
        if named := _named_by_labels(free, mapping, names):
            (classes, names), kind = named, "probabilities"
        fill("probabilities", names or None)
    mapping = dataclasses.replace(
        mapping,
        probability_kind=given.probability_kind or kind,
        class_names=classes if given.class_names is None else given.class_names,
    )
    if given.features is None:
        fill("features", _features(free))
    rest = _rest(free, mapping)
    if given.groups is None:
        fill("groups", _groups(columns, rest))
    metadata = {*rest, *(mapping.groups or ())}
    fill("metadata", tuple(name for name in columns.names if name in metadata))
    return mapping


def _key(name: str) -> str:
    return re.sub(r"[\s\-.]+", "_", name.strip(". ").lower())


def with_true_class(columns: Columns) -> Columns:
    """Add the column 'true class' where columns or an array mark it by 1, and other classes by 0.

    The array is called as a label, the columns so before or behind the class: ``y_cat``.
    """
    for called, family in _marked_classes(columns).items():
        names = list(dict.fromkeys(family.values()))
        are_alike = len({columns.shapes[name] for name in names}) == 1 < len(family)
        if not are_alike or not {columns.kinds[name] for name in names} <= _NUMBERS:
            continue
        marks = columns.matrix(names)
        if np.isin(marks, (0, 1)).all() and (marks.sum(axis=1) == 1).all():
            classes = pd.Series(np.array([*family], object)[marks.argmax(axis=1)])
            added = columns_of_frame(RawFile("", b""), "", classes.to_frame(_MARKED))
            note = f"'{called}' of '{columns.file}' marks the true class by 1."
            return dataclasses.replace(
                columns.joined(added, [_MARKED]),
                parents={**columns.parents, **dict.fromkeys(names, _MARKED)},
                notes=(*columns.notes, note),
            )
    return columns


def _marked_classes(columns: Columns) -> dict[str, dict[str, str]]:
    """Return what may mark classes: its name to class and column or array."""
    free = FreeColumns(columns, ())
    label = free.named(_LABEL, (1, 2))
    if label is not None:
        return {label: {str(k): label for k in range(columns.width(label))}}
    found: dict[str, dict[str, str]] = {}
    for match in filter(None, map(_MARKED_CLASS.fullmatch, free.names)):
        before, last, first, behind = match.groups()
        found.setdefault(f"{before}_*" if before else f"*_{behind}", {})[last or first] = match[0]
    return found


def _images(free: FreeColumns) -> str | None:
    pictures = [
        name
        for name in free.names
        if len(free.columns.shapes[name]) in (3, 4)
        and free.columns.kinds[name] == "whole"
        and _key(name) not in _FEATURES
    ]
    return free.named(_IMAGES, (3, 4)) or (pictures[0] if len(pictures) == 1 else None)


def _label(free: FreeColumns, given: ColumnMapping) -> str | None:
    """Return the label column; ``target`` only beside probabilities of classes or predictions."""
    columns, correct = free.columns, free.named(CORRECT_NAMES)
    named = filter(None, (free.named((word,), (1, 2)) for word in _LABEL))
    # (Submissions to competitions call their probabilities so, too.)
    of_classes = _family(free, _PROBABILITY_FAMILY)
    hard = (n for n in named if of_classes or not columns.flat(n) or not is_share(columns, n))
    label = next(hard, None)
    if label is None or correct is None or not free.named(_CONFIDENCE):
        return label or correct
    prediction = given.prediction or free.named(_PREDICTION, (1, 2))
    classes = dataclasses.replace(given, label=label, prediction=prediction)
    return label if _probabilities(free, classes)[0] else correct


def _probabilities(free: FreeColumns, mapping: ColumnMapping) -> tuple[tuple[str, ...], str | None]:
    if mapping.label and _key(mapping.label) in CORRECT_NAMES:
        confidence = free.named(_CONFIDENCE) or free.named(_EITHER)
        return ((confidence,), "correct") if confidence else ((), None)
    matrix = free.named(_PROBABILITIES, (2,))
    if matrix is not None:
        return (matrix,), "positive" if free.columns.flat(matrix) else "probabilities"
    matrix = free.named(_PREDICTION, (2,))
    if matrix is not None and free.columns.width(matrix) > 1:  # as Hugging Face's Trainer returns
        values = free.columns.numbers(matrix)
        return (matrix,), "logits" if values.min() < 0 or values.max() > 1 else "probabilities"
    family = _family(free, _PROBABILITY_FAMILY)
    if len(family) > 1:
        return family, "probabilities"
    # A lone p_0 is not P(y = 1).
    one = free.named(_POSITIVE) or next((n for n in family if class_suffixes([n]) != ("0",)), None)
    if one is not None and not _may_be_confidence(free.columns, one, mapping):
        return (one,), "positive"
    logits = free.named(_LOGITS, (1, 2))
    if logits is not None:
        return (logits,), "logits"
    family = _family(free, _LOGIT_FAMILY)
    if family:
        return family, "logits"
    share = free.named((*_PREDICTION, *_LABEL), (1, 2))
    if share and not mapping.prediction and is_share(free.columns, share):
        return (share,), "positive"
    score = free.named(_SCORE, (1, 2))
    if score and not free.columns.flat(score):
        return (score,), "probabilities"
    if mapping.prediction:
        confidence = free.named(_CONFIDENCE, (1, 2)) or score
        kind = "confidence" if confidence and free.columns.flat(confidence) else "probabilities"
        return ((confidence,), kind) if confidence else ((), None)
    return ((score,), "positive") if score else ((), None)


def _family(free: FreeColumns, pattern: re.Pattern[str]) -> tuple[str, ...]:
    """Return the largest set of columns ``<prefix>_<class>``, in class order."""
    families: dict[str, dict[str, str]] = {}
    for name in free.names:
        match = pattern.fullmatch(name)
        if match and len(free.columns.shapes[name]) == 1 and _mostly_numbers(free.columns, name):
            families.setdefault(match[1].lower(), {})[match[2] or match[3]] = name
    if not families:
        return ()
    family = max(families.values(), key=len)
    numbered = {suffix: name for suffix, name in family.items() if suffix.isdecimal()}
    if len(numbered) > 1:
        return tuple(numbered[suffix] for suffix in sorted(numbered, key=int))
    return tuple(family.values())


def _named_by_labels(
    free: FreeColumns, mapping: ColumnMapping, found: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the labels and columns called so, ``score_cat``, if every row of them sums to 1.

    With classes that no row is of, if all columns called alike do. None where the probabilities
    ``found`` are as good.
    """
    columns, label = free.columns, mapping.label
    if not label or len(columns.shapes[label]) != 1 or label in columns.parents:
        return None
    values = columns.series(label)
    if not len(values) or label_text(values.iloc[0]) in class_suffixes(found):
        return None
    known = values.dropna().unique()
    classes = tuple(sorted({label_text(value) for value in known[: MAX_NAMED_CLASSES + 1]}))
    if not 2 <= len(classes) == len(known) or not classes[0]:
        return None
    are_numbers = all(map(str.isdecimal, classes))
    keys = {name.casefold(): name for name in free.names}
    folded = [name.casefold() for name in classes]
    for before, called, after in (p(folded[0]) for n in keys for p in (n.partition, n.rpartition)):
        names = tuple(keys.get(f"{before}{name}{after}", "") for name in folded)
        # (Numbers are in many names: with probabilities beside them they mean little.)
        is_weak = found and are_numbers and (before or after) and set(names) != set(found)
        if not called or "" in names or is_weak:
            continue
        if _are_shares(columns, names):
            return classes, names
        if (before or after) and not found and not are_numbers:
            rest = [n for n in keys if keys[n] not in names]
            fitting = [n for n in rest if n.startswith(before) and n.endswith(after)]
            unseen = {n[len(before) : len(n) - len(after)]: keys[n] for n in fitting}
            every = dict(sorted({**dict(zip(classes, names, strict=True)), **unseen}.items()))
            if _are_shares(columns, (*every.values(),)):
                return (*every,), (*every.values(),)
    return None


def _are_shares(columns: Columns, names: tuple[str, ...]) -> bool:
    """Return whether columns hold numbers from 0 that sum to 1 in each row."""
    if not all(columns.flat(name) and _mostly_numbers(columns, name) for name in names):
        return False
    shares = columns.matrix(names, np.float64)
    off = np.abs(shares.sum(axis=1) - 1.0).max()
    return bool(shares.min() >= 0 and (shares % 1).any() and off <= 0.02)


def is_share(columns: Columns, name: str) -> bool:
    """Return whether numbers lie between 0 and 1, as no class does."""
    if columns.kinds[name] != "number":
        return False
    values = columns.numbers(name)
    return bool(values.min() >= 0 and values.max() <= 1 and ((values > 0) & (values < 1)).any())


def _mostly_numbers(columns: Columns, name: str) -> bool:
    """Tell a number column with a wrong cell from a text column."""
    kind = columns.kinds[name]
    if kind != "text":
        return kind in _NUMBERS
    sample = columns.series(name).dropna().iloc[:_SAMPLE_CELLS]
    if sample.empty:
        return True
    bare = sample.astype(str).str.rstrip("% ").str.replace(r"[,' _]", "", regex=True)
    return bool(pd.to_numeric(bare, errors="coerce").notna().mean() > 0.5)


def _may_be_confidence(columns: Columns, name: str, mapping: ColumnMapping) -> bool:
    """Tell whether what is called as either is not shown to be P(y = 1) by the predictions."""
    label, prediction = mapping.label, mapping.prediction
    if not (prediction and label and may_be_either(name)) or len(columns.shapes[label]) > 1:
        return False
    if columns.shapes[name][:1] != columns.shapes[prediction][:1]:
        return False
    classes = sorted({label_text(value) for value in columns.series(label).dropna()})
    values = pd.to_numeric(columns.series(name), errors="coerce").to_numpy(dtype=np.float64)
    is_one = columns.series(prediction).map(label_text).isin(classes[-1:]).to_numpy()
    zeros, ones = values[~is_one], values[is_one]
    is_parted = np.nanmax(zeros, initial=0.0) <= np.nanmin(ones, initial=1.0)
    is_high = len(zeros) > 0 and np.nanmin(zeros, initial=1.0) >= 0.5
    return bool(len(classes) > 2 or is_high or not is_parted)


def may_be_either(name: str) -> bool:
    """Return whether a column may be P(y = 1) or the confidence, by its name."""
    return _key(name) in _EITHER


def _kind_of_given(columns: Columns, given: ColumnMapping) -> str:
    names = given.probabilities or ()
    if all(_key(name).startswith("logit") for name in names):
        return "logits"
    if len(names) > 1 or not columns.flat(names[0]):
        return "probabilities"
    if given.label and _key(given.label) in CORRECT_NAMES:
        return "correct"
    if given.prediction or _key(names[0]) in _CONFIDENCE:
        return "confidence"
    return "positive"


def _features(free: FreeColumns) -> tuple[str, ...]:
    array = free.named(_FEATURES, (2, 3, 4))
    if array is not None:
        return (array,)
    return tuple(
        name
        for name in free.names
        if len(free.columns.shapes[name]) == 1
        and _FEATURE_FAMILY.fullmatch(name)
        and _mostly_numbers(free.columns, name)
    )


def _rest(free: FreeColumns, mapping: ColumnMapping) -> list[str]:
    """Return the columns left for metadata: one value a row, as many rows as labels."""
    columns = free.columns
    # Unused probabilities in another form, and their names, tell nothing about a row.
    logits = {name for name in free.names if _LOGIT_FAMILY.fullmatch(name) or _key(name) in _LOGITS}
    used = logits | mapping.used("groups", "metadata", "text")
    key = mapping.label or next(iter(mapping.probabilities or columns.names))
    length = columns.shapes[key][:1]
    return [
        name
        for name in columns.names
        if name not in used
        and columns.kinds[name] != "other"
        and columns.parents.get(name) != _MARKED
        and (columns.shapes[name] == length or columns.parents.get(name) == "groups")
    ]


def _groups(columns: Columns, rest: list[str]) -> tuple[str, ...]:
    """Return arrays of groups, and text columns with few, repeated values."""

    def is_group(name: str) -> bool:
        if name in columns.parents:
            return columns.parents[name] == "groups"
        kind, is_called_so = columns.kinds[name], _key(name) in ("group", "groups")
        is_of_few = kind == "text" and _key(name) not in _ASKED_AND_ANSWERED
        if not is_of_few and not (is_called_so and kind in ("bool", "whole")):
            return False
        values = columns.series(name)
        return 1 < values.nunique() <= min(MAX_GROUP_VALUES, len(values) - 1)

    return tuple(filter(is_group, rest))


def check_unused_columns(columns: Columns, mapping: ColumnMapping) -> list[str]:
    """Return notes on what was taken for P(y = 1), and on columns that may be meant for a role."""
    used, shown = mapping.used("metadata", "groups"), mapping.used()
    rows = columns.shapes[str(mapping.label)]
    names, kind = mapping.probabilities or (), mapping.probability_kind
    notes = []
    if kind == "positive" and len(names) == 1 and names[0].lower() not in (*_EITHER, "p_1"):
        notes.append(f"'{names[0]}' of '{columns.file}' was taken as the probability of class 1.")
    for name in columns.names:
        if name in used:
            continue
        shape, called = columns.shapes[name], f"'{name}' of '{columns.file}'"
        if shape == rows and _key(name) in _LABEL:
            notes.append(f"{called} is metadata: the true class is '{mapping.label}'.")
        if shape == rows and name.lower() in ("weight", "weights", "w") and mapping.weight is None:
            notes.append(
                f"{called} is not used: every row counts once. If it weighs rows, map it as weight "
                f'(mapping={{"weight": "{name}"}}, --column weight={name}, or on the Data page).'
            )
        if name in shown or name in columns.parents:
            continue
        if name in _LOGITS or name.lower().startswith(("logit_", "logits_")):
            if kind != "logits":
                notes.append("The logits were not used: probabilities are there.")
        elif shape != rows[:1]:
            notes.append(f"{called} is not used: it has shape {shape}.")
        elif columns.kinds[name] == "other":
            notes.append(f"{called} is not used: it has no plain values.")
    return notes
