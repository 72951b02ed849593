"""The guess which column plays which role, by its name, its shape and, for groups, its values."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from lore_core.data.dataset import CALIBRATION, EVALUATION
from lore_core.reading.columns import Columns
from lore_core.reading.mapping import ColumnMapping, class_suffixes, expand

#: A column of more distinct values than this is no group.
MAX_GROUP_VALUES = 20
#: Split word to split; training rows belong to neither.
SPLIT_WORDS = {
    **dict.fromkeys(
        ("calibration", "calib", "cal", "validation", "valid", "val", "dev", "development"),
        CALIBRATION,
    ),
    **dict.fromkeys(("evaluation", "eval", "test", "testing", "holdout", "held-out"), EVALUATION),
    **dict.fromkeys(("train", "training", "fit"), "train"),
}

_LABEL = [
    "label",
    "labels",
    "y_true",
    "true_label",
    "true_labels",
    "target",
    "targets",
    "y",
    "true",
    "truth",
    "ground_truth",
    "gt",
    "true_class",
    "class_label",
    "y_test",
    "actual",
    "class",
]
_CORRECT = ("correct", "is_correct", "iscorrect", "right", "is_right", "hit", "exact_match")
_SPLIT = ("split", "subset", "fold", "partition", "data_split")
_PREDICTION = [
    "prediction",
    "predictions",
    "predicted",
    "pred",
    "preds",
    "y_pred",
    "y_hat",
    "yhat",
    "predicted_label",
    "predicted_class",
    "prediction_label",
    "pred_label",
    "pred_class",
]
_ROW_ID = ("row_id", "rowid", "id", "sample_id", "example_id", "index", "__index_level_0__")
#: Not "weight" alone, which may be one in kilograms: `unused_columns` speaks of that.
_WEIGHT = tuple(
    f"{what}_{word}"
    for what in ("sample", "row", "case", "instance", "survey", "design", "importance")
    for word in ("weight", "weights")
)
_IMAGES = ("images", "image", "imgs", "thumbnails", "pictures")
_PROBABILITIES = ("probs", "probabilities", "p", "proba", "probas", "prob", "y_proba", "y_prob")
_LOGITS = ("logits", "logit")
_CONFIDENCE = ("confidence", "confidences", "conf", "max_prob", "max_probability", "top_prob")
_POSITIVE = [
    "p_1",
    "p1",
    "prob_1",
    "prob1",
    "proba_1",
    "p_pos",
    "p_positive",
    "prob_positive",
    "p",
    "prob",
    "proba",
    "probability",
    "y_prob",
    "y_proba",
    "probs",
    "probabilities",
    "positive_probability",
]
#: Names that may be P(y = 1) or the confidence of a prediction: the values tell.
_EITHER = ("p", "prob", "proba", "probability", "probs", "probabilities")
_SCORE = ("score", "scores", "y_score")
_FEATURES = ("features", "feature", "embeddings", "embedding", "hidden", "activations", "x", "z")
_PROBABILITY_FAMILY = re.compile(
    r"(p|prob|proba|probas|probs|probability)(?:[_\-. ](?!val(?:ue)?$)(.+)|(\d+))",
    re.IGNORECASE,
)
_LOGIT_FAMILY = re.compile(r"(logit|logits)(?:[_\-. ](.+)|(\d+))", re.IGNORECASE)
_NUMBERED_FEATURE = re.compile(
    r"(?:f|feat|feature|features|emb|embed|embedding|embeddings|x|z|h|hidden|latent|pc|dim)_?\d+",
    re.IGNORECASE,
)
_NAMED_FEATURE = re.compile(r"(?:f|feat|feature|emb|embedding)_.+", re.IGNORECASE)


class _Guess:
    """The columns that are still free, and how to take one of them."""

    def __init__(self, columns: Columns, taken: Iterable[str]) -> None:
        self.columns = columns
        self.free = {name: None for name in columns.names if name not in columns.parents}
        for name in taken:
            self.free.pop(name, None)

    def take(self, names: Iterable[str]) -> None:
        for name in names:
            self.free.pop(name, None)

    def named(self, words: Iterable[str], dimensions: tuple[int, ...] = (1,)) -> str | None:
        keys = {_key(name): name for name in reversed(self.free)}
        for word in words:
            name = keys.get(word)
            if name is not None and len(self.columns.shapes[name]) in dimensions:
                return name
        return None


def guess(columns: Columns, given: ColumnMapping) -> ColumnMapping:
    """Fill what ``given`` leaves open (``None``) by guesses; roles nobody fits stay ``None``.

    What the user said is checked against the file and never overruled. Features, groups and
    metadata are tuples (perhaps empty) in the result.
    """
    given = expand(given, columns)
    # A column given only as a group can still have a role of its own.
    taken = [
        name
        for role, names in given.columns().items()
        if role not in ("groups", "text")
        for name in names
    ]
    state = _Guess(columns, taken)
    roles: dict[str, Any] = {}

    def fill(role: str, name: str | None) -> None:
        if getattr(given, role) is None and name is not None:
            roles[role] = name
            state.take([name])

    fill("label", _label(state, given))
    split = state.named(_SPLIT)
    if split is not None and (_key(split) == "split" or _is_split(columns, split)):
        fill("split", split)
    fill("prediction", state.named(_PREDICTION, (1, 2)))
    fill("row_id", state.named(_ROW_ID) or ("Unnamed: 0" if "Unnamed: 0" in state.free else None))
    weight = state.named(_WEIGHT)
    if weight is not None and columns.kinds[weight] in ("whole", "number"):
        fill("weight", weight)
    fill("images", _images(state))
    mapping = dataclasses.replace(given, **roles)

    if given.probabilities is None:
        names, kind = _probabilities(state, mapping)
        if names:
            kind = given.probability_kind or kind
            mapping = dataclasses.replace(mapping, probabilities=names, probability_kind=kind)
            state.take(names)
    elif given.probability_kind is None and given.probabilities:
        kind = _kind_of_given(columns, given)
        mapping = dataclasses.replace(mapping, probability_kind=kind)
    if mapping.class_names is None and columns.class_names is not None:
        mapping = dataclasses.replace(mapping, class_names=columns.class_names)
    if given.features is None:
        names = _features(state)
        mapping = dataclasses.replace(mapping, features=names)
        state.take(names)
    rest = _rest(state, mapping)
    if given.groups is None:
        mapping = dataclasses.replace(mapping, groups=_groups(columns, rest))
    if given.metadata is None:
        metadata = {*rest, *(mapping.groups or ())}
        kept = tuple(name for name in columns.names if name in metadata)
        mapping = dataclasses.replace(mapping, metadata=kept)
    return mapping


def class_column(name: str) -> tuple[str, str] | None:
    """Return the family and the class of a column of probabilities or logits: ``p``, ``cat``."""
    match = _PROBABILITY_FAMILY.fullmatch(name) or _LOGIT_FAMILY.fullmatch(name)
    return (match[1].lower(), match[2] or match[3]) if match else None


def is_called_label(name: str) -> bool:
    """Tell whether a column is called as true classes are."""
    return _key(name) in _LABEL


def looks_like_feature(name: str) -> bool:
    """Tell whether a column is called as features are: ``f_0``, ``emb12``, ``feature_age``."""
    return bool(_NUMBERED_FEATURE.fullmatch(name) or _NAMED_FEATURE.fullmatch(name))


def can_be_group(columns: Columns, name: str, values: pd.Series[Any] | None = None) -> bool:
    """Tell whether a column's few distinct values can name groups."""
    if len(columns.shapes[name]) != 1 or columns.kinds[name] not in ("text", "bool", "whole"):
        return False
    values = columns.series(name) if values is None else values
    try:
        return int(values.nunique()) <= MAX_GROUP_VALUES
    except TypeError:
        return False


def _key(name: str) -> str:
    return re.sub(r"[\s\-.]+", "_", name.strip().lower())


def _is_split(columns: Columns, name: str) -> bool:
    if columns.kinds[name] != "text":
        return False
    words = columns.series(name).dropna().astype(str).str.strip().str.lower().unique()
    return len(words) > 0 and set(words) <= set(SPLIT_WORDS)


def _images(state: _Guess) -> str | None:
    named = state.named(_IMAGES, (3, 4))
    if named is not None:
        return named
    pictures = [
        name
        for name in state.free
        if len(state.columns.shapes[name]) in (3, 4)
        and state.columns.kinds[name] == "whole"
        and _key(name) not in _FEATURES
    ]
    return pictures[0] if len(pictures) == 1 else None


def _label(state: _Guess, given: ColumnMapping) -> str | None:
    """Return the column of true classes; of answers the one that says which are right.

    A log of answers may hold the right answer (``target``) as well: that is a class only where
    probabilities of classes, or predictions, go with it.
    """
    label = state.named(_LABEL, (1, 2))
    correct = state.named(_CORRECT) if state.named(_CONFIDENCE) else None
    if label is None or correct is None:
        return label or correct
    prediction = given.prediction or state.named(_PREDICTION, (1, 2))
    classes = dataclasses.replace(given, label=label, prediction=prediction)
    return label if _probabilities(state, classes)[0] else correct


def _probabilities(state: _Guess, mapping: ColumnMapping) -> tuple[tuple[str, ...], str | None]:
    if mapping.label and _key(mapping.label) in _CORRECT:
        confidence = state.named(_CONFIDENCE) or state.named(_EITHER)
        return ((confidence,), "correct") if confidence else ((), None)
    matrix = state.named(_PROBABILITIES, (2,))
    if matrix is not None:
        return (matrix,), "positive" if state.columns.flat(matrix) else "probabilities"
    family = _family(state, _PROBABILITY_FAMILY)
    if len(family) > 1:
        return family, "probabilities"
    # A lone p_0 is not P(y = 1).
    single = state.named(_POSITIVE) or next(
        (n for n in family if class_suffixes([n]) != ("0",)), None
    )
    if single is not None and not _is_confidence(state.columns, single, mapping):
        return (single,), "positive"
    logits = state.named(_LOGITS, (1, 2))
    if logits is not None:
        return (logits,), "logits"
    family = _family(state, _LOGIT_FAMILY)
    if family:
        return family, "logits"
    if mapping.prediction:
        confidence = state.named(_CONFIDENCE, (1, 2)) or single or state.named(_SCORE, (1, 2))
        return ((confidence,), "confidence") if confidence else ((), None)
    score = state.named(_SCORE, (1, 2))
    return ((score,), "positive") if score else ((), None)


def _family(state: _Guess, pattern: re.Pattern[str]) -> tuple[str, ...]:
    """Return the largest set of columns ``<prefix>_<class>``, in class order."""
    families: dict[str, dict[str, str]] = {}
    for name in state.free:
        match = pattern.fullmatch(name)
        if match and len(state.columns.shapes[name]) == 1 and _mostly_numbers(state.columns, name):
            families.setdefault(match[1].lower(), {})[match[2] or match[3]] = name
    if not families:
        return ()
    family = max(families.values(), key=len)
    numbered = {suffix: name for suffix, name in family.items() if suffix.isdecimal()}
    if len(numbered) > 1:
        return tuple(numbered[suffix] for suffix in sorted(numbered, key=int))
    return tuple(family.values())


def _mostly_numbers(columns: Columns, name: str) -> bool:
    """Tell a number column with a wrong cell from a text column."""
    kind = columns.kinds[name]
    if kind != "text":
        return kind in ("whole", "number", "bool")
    sample = columns.series(name).dropna().iloc[:1000]
    if sample.empty:
        return True
    return bool(pd.to_numeric(sample.astype(object), errors="coerce").notna().mean() > 0.5)


def _is_confidence(columns: Columns, name: str, mapping: ColumnMapping) -> bool:
    """Tell the confidence of a prediction from P(y = 1), where a name may mean either."""
    if not mapping.prediction or not mapping.label or _key(name) not in _EITHER:
        return False
    if len(columns.shapes[mapping.label]) != 1:
        return False
    if columns.series(mapping.label).nunique() > 2:
        return True
    values = pd.to_numeric(columns.series(name), errors="coerce")
    return bool(np.nanmin(values.to_numpy(dtype=np.float64), initial=1.0) >= 0.5)


def _kind_of_given(columns: Columns, given: ColumnMapping) -> str:
    names = given.probabilities or ()
    if all(_key(name).startswith("logit") for name in names):
        return "logits"
    if len(names) > 1 or not columns.flat(names[0]):
        return "probabilities"
    if given.label and _key(given.label) in _CORRECT:
        return "correct"
    if given.prediction or _key(names[0]) in _CONFIDENCE:
        return "confidence"
    return "positive"


def _features(state: _Guess) -> tuple[str, ...]:
    whole = state.named(_FEATURES, (2, 3, 4))
    if whole is not None:
        return (whole,)
    return tuple(
        name
        for name in state.free
        if len(state.columns.shapes[name]) == 1
        and (
            (_NUMBERED_FEATURE.fullmatch(name) and _mostly_numbers(state.columns, name))
            or (_NAMED_FEATURE.fullmatch(name) and state.columns.kinds[name] in ("whole", "number"))
        )
    )


def _rest(state: _Guess, mapping: ColumnMapping) -> list[str]:
    """Return the columns left for metadata: one value a row, and as many rows as the labels."""
    columns = state.columns
    used = {name for names in mapping.columns().values() for name in names}
    used -= {*(mapping.groups or ()), *(mapping.metadata or ()), mapping.text or ""}
    # Unused probabilities in another form, and their names, are no news about a row.
    unused_family = {
        name for name in state.free if _LOGIT_FAMILY.fullmatch(name) or _key(name) in _LOGITS
    }
    key = mapping.label or next(iter(mapping.probabilities or columns.names))
    length = columns.shapes[key][:1]
    return [
        name
        for name in columns.names
        if name not in used
        and name not in unused_family
        and columns.kinds[name] != "other"
        and (columns.shapes[name] == length or columns.parents.get(name) == "groups")
    ]


def _groups(columns: Columns, rest: list[str]) -> tuple[str, ...]:
    """Return the arrays' own groups, and text columns with few values that repeat."""
    chosen = []
    for name in rest:
        parent = columns.parents.get(name)
        if parent is not None:
            if parent == "groups":
                chosen.append(name)
            continue
        if columns.kinds[name] != "text" and _key(name) not in ("group", "groups"):
            continue
        values = columns.series(name)
        if can_be_group(columns, name, values) and 1 < values.nunique() < len(values):
            chosen.append(name)
    return tuple(chosen)
