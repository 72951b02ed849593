"""Columns of a dataset and words of its texts, coded; predicates that choose the same rows."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.dataset import TOP_LABEL, Dataset
from lore_core.data.texts import WORD, text_columns, texts_of
from lore_core.data.validation import InputError, check_integer
from lore_core.regions.variables import cutting

if TYPE_CHECKING:
    from scipy import sparse

PREDICTED, TRUE, PAIR = "predicted class", "true class", "true and predicted class"
BRIGHTNESS = "image brightness"
#: Value of :data:`PAIR` where both classes are one.
RIGHT = "right"
#: More feature columns without names than this are an embedding, whose axes mean nothing.
MAX_UNNAMED_FEATURES = 20
#: More feature columns than this are passed over even with names.
MAX_FEATURES = 200
#: Names like these (f_0, x12, 7) do not tell what a feature is.
_NUMBERED = re.compile(r"[a-z]*[_\- ]?\d+", re.IGNORECASE)
#: Names of columns that tell rows apart.
_IDENTIFIER = re.compile(r"(^|[_\W])(id|ids|uuid|index|idx|row|key)($|[_\W])", re.IGNORECASE)
#: Whole numbers that never repeat and span fewer than so many times the rows are identifiers.
_IDENTIFIERS_SPREAD = 20
#: In fewer rows rising whole numbers may well be more than row numbers.
_MIN_COUNTED = 20
#: Columns whose ranks correlate like this say the same, seen on so many rows; as many are looked at
#: first for whether one column follows from another.
_SAME_ORDER, _COMPARED = 0.98, 4000


def attributes(dataset: Dataset, *, n_parts: int = 4) -> list[cutting.Attribute]:
    """Code every column of a dataset, numbers cut at quantiles into ``n_parts`` of equal size.

    Predicted class, true class, both where they differ, groups, metadata, image brightness and
    features, unless over 20 without names of their own, or over 200. Constant columns are left out,
    and those that say the same as an earlier one or order the rows alike (rank correlation ≥ 0.98).
    """
    n_parts = check_integer(n_parts, "n_parts", minimum=2, maximum=1000)
    coded: list[cutting.Attribute] = []
    divisions: set[bytes] = set()
    orders: dict[bytes, list[Floats]] = {}

    def add(attribute: cutting.Attribute, values: pd.Series[Any] | None = None) -> None:
        if np.all(attribute.codes == attribute.codes[0]):
            return
        # Two columns that divide or order the rows alike are one piece of news, told by the first:
        # what the reader calls it, not what was made of an image.
        division = division_of(attribute.codes)
        if division in divisions:
            return
        order = None if values is None else _order(values)
        if values is not None and order is not None:
            missing = values.isna().to_numpy().tobytes()
            alike = orders.setdefault(missing, [])
            if alike and np.abs(np.array(alike) @ order).max() >= _SAME_ORDER:
                return
            alike.append(order)
        divisions.add(division)
        coded.append(attribute)

    for item in _classes(dataset):
        add(item)
    for name, origin, values in columns(dataset):
        add(cutting.cut(name, values, origin=origin, n_parts=n_parts), values)
    return coded


def _order(series: pd.Series[Any]) -> Floats | None:
    """Return ranks whose products are Spearman's ρ; 0: missing, None: values have no order."""
    if not cutting.is_line(series):
        return None
    some = series.iloc[np.linspace(0, len(series) - 1, min(len(series), _COMPARED)).astype(int)]
    rank = some.rank()
    ranks = (rank - rank.mean()).fillna(0.0).to_numpy(np.float64)
    length = float(np.linalg.norm(ranks))
    return np.asarray(ranks / length) if length else None


def attribute(dataset: Dataset, name: str, *, n_parts: int = 4) -> cutting.Attribute:
    """Code one column, by its name in :func:`attributes`; InputError if there is no such column."""
    n_parts = check_integer(n_parts, "n_parts", minimum=2, maximum=1000)
    for item in _classes(dataset) if name in (PREDICTED, TRUE, PAIR) else []:
        if item.name == name:
            return item
    for known, origin, values in columns(dataset):
        if known == name:
            return cutting.cut(name, values, origin=origin, n_parts=n_parts)
    raise InputError(f"'name' must be a column of the dataset; got {name!r}.")


def telling_attributes(
    dataset: Dataset, *, target: str | int = TOP_LABEL, n_parts: int = 4
) -> list[cutting.Attribute]:
    """Code the columns along which a finding would be one: known before the truth is.

    Without the true class, columns that follow from it or that it follows from, columns that say
    which rows are right, and those with a name for every row.
    """
    outcome = dataset.target(target).outcome
    found = []
    for item in attributes(dataset, n_parts=n_parts):
        if item.name in (TRUE, PAIR) or _follows(dataset.labels, item.codes):
            continue
        # (The predicted class of a classifier that is always right follows from the true one.)
        if item.name != PREDICTED and _follows(item.codes, dataset.labels):
            continue
        if _follows(outcome, item.codes) or len(item.values) > len(dataset) / 2:
            continue
        found.append(item)
    return found


def _follows(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether ``one`` is known wherever ``other`` is, and not by having one value only."""
    for end in (_COMPARED, len(one)):
        first, (second, values) = pd.factorize(one[:end])[0], pd.factorize(other[:end])
        pairs = first.astype(np.int64) * len(values) + second
        if len(pd.unique(pairs)) > len(values):
            return False
    return bool(np.any(one != one[0]))


def division_of(codes: NDArray[np.integer[Any]]) -> bytes:
    """Return bytes that two columns share exactly if they divide the rows alike."""
    order = pd.factorize(codes)[0]
    return hashlib.sha256(order.astype(np.int64).data).digest()


def columns(
    dataset: Dataset, *, identifiers: bool = False
) -> list[tuple[str, cutting.Origin, pd.Series[Any]]]:
    """List columns that say something about a row, classes apart: name, origin, values.

    ``identifiers``: also columns that only tell the rows apart.
    """
    listed: list[tuple[str, cutting.Origin, pd.Series[Any]]] = []
    taken = {PREDICTED, TRUE, PAIR}

    def put(name: object, origin: cutting.Origin, values: Any) -> None:
        series = pd.Series(np.asarray(values) if not isinstance(values, pd.Series) else values)
        if not identifiers and _is_identifier(str(name), series):
            return
        text = str(name)
        while text in taken:
            text = f"{text} ({origin})"
        taken.add(text)
        listed.append((text, origin, series.reset_index(drop=True)))

    groups, metadata = dataset.groups, dataset.metadata
    if groups is not None:
        for name, values in groups.items():
            put(name, "group", values)
    if metadata is not None:
        for name, values in metadata.items():
            # Reading puts a group column in both places.
            if groups is None or name not in groups.columns:
                put(name, "metadata", values)
    if dataset.images is not None:
        mean = dataset.images.reshape(len(dataset), -1).mean(axis=1, dtype=np.float64) / 255
        there = True if dataset.has_image is None else dataset.has_image
        put(BRIGHTNESS, "image", np.where(there, mean, np.nan))
    for label, feature in _feature_columns(dataset):
        put(label, "feature", feature)
    return listed


def _is_identifier(name: str, series: pd.Series[Any]) -> bool:
    """Whether a column only tells the rows apart: whole numbers or texts that never repeat.

    Unlike a measure (incomes), identifiers rise, lie close together, or are called so.
    """
    is_whole = pd.api.types.is_integer_dtype(series)
    if not (is_whole or series.dtype == object or pd.api.types.is_string_dtype(series)):
        return False
    if len(series) < _MIN_COUNTED or series.isna().any() or not series.is_unique:
        return False
    if not is_whole:
        return True
    values = series.to_numpy(np.int64)
    close = int(values.max()) - int(values.min()) < _IDENTIFIERS_SPREAD * len(values)
    return close or bool((np.diff(values) > 0).all()) or bool(_IDENTIFIER.search(name))


def _classes(dataset: Dataset) -> list[cutting.Attribute]:
    names = tuple(dataset.class_name(k) for k in range(dataset.n_classes))
    pair = dataset.labels * dataset.n_classes + dataset.predictions
    pair = np.where(dataset.labels == dataset.predictions, -1, pair)
    used, code = np.unique(pair, return_inverse=True)
    pairs = tuple(
        f"true {names[k // dataset.n_classes]} predicted {names[k % dataset.n_classes]}"
        if k >= 0
        else RIGHT
        for k in used
    )
    return [
        cutting.Attribute(PREDICTED, "class", dataset.predictions, names),
        cutting.Attribute(TRUE, "class", dataset.labels, names),
        cutting.Attribute(PAIR, "class", code.astype(np.int64), pairs),
    ]


def _feature_columns(dataset: Dataset) -> list[tuple[str, NDArray[Any]]]:
    features = dataset.features
    if features is None:
        return []
    names = dataset.feature_labels
    numbered = all(_NUMBERED.fullmatch(name) for name in names)
    if features.shape[1] > (MAX_UNNAMED_FEATURES if numbered else MAX_FEATURES):
        return []
    return [(name, features[:, k]) for k, name in enumerate(names)]


@dataclass(frozen=True)
class Predicate:
    """A column holds one value, or a number within borders."""

    column: str  #: By the name :func:`~lore_core.regions.variables.attributes.columns` gives it
    value: str  #: In words: ``"north"``, ``"0.2 to 0.4"``, ``"missing"``
    #: Numbers from ``low`` up to, not with, ``high``; if ``low`` is above ``high`` both tails: from
    #: ``low`` on, and below ``high``. Dates in nanoseconds. None where it is the words that must
    #: hold.
    low: float | None = None
    high: float | None = None
    #: Words of which the column's text must hold ``least``.
    words: tuple[str, ...] = ()
    least: int = 1

    def __str__(self) -> str:
        return f"{self.value} in {self.column}" if self.words else f"{self.column} {self.value}"

    def holds(self, dataset: Dataset) -> NDArray[np.bool_]:
        """Return for which rows it is true, shape (n,); InputError if there is no such column."""
        if self.column == PREDICTED:
            names = np.array(dataset.class_names, dtype=object)
            return np.asarray(names[dataset.predictions] == self.value)
        known = {name: values for name, _, values in columns(dataset, identifiers=True)}
        if self.column not in known:
            raise InputError(f"'{dataset.name}' must have a column {self.column!r}; it has none.")
        series = known[self.column]
        if self.words:
            texts = series.fillna("").astype(str).tolist()
            return np.asarray(words_held(texts, self.words) >= self.least)
        if self.low is None or self.high is None:
            return np.asarray(cutting.names_of(series) == self.value)
        if not cutting.is_line(series):
            return np.zeros(len(series), dtype=bool)
        missing = series.isna().to_numpy()
        inside = np.zeros(len(series), dtype=bool)
        numbers = cutting.numbers_of(series[~missing])
        above, below = numbers >= self.low, (numbers < self.high) | (self.high == math.inf)
        inside[~missing] = above | below if self.low > self.high else above & below
        return inside


def rows_holding(conditions: Sequence[Predicate], dataset: Dataset) -> Mask:
    """Return for which rows all conditions are true, (n,); there must be one."""
    return np.asarray(np.logical_and.reduce([part.holds(dataset) for part in conditions]))


#: In more rows no words are looked for.
MAX_ROWS = 200_000
#: Words looked at: so many, the most frequent, each in at least so many rows.
_MOST_WORDS, _FEWEST_ROWS = 300, 20
#: Words and groups in so small or large a share of the rows name no place.
_SMALLEST, _LARGEST = 0.005, 0.5
#: Words that are grouped, the most frequent, each in at least so many rows; words of a group.
_GROUPED, _FEWEST_GROUPED, _OF_GROUP = 400, 6, (6, 24)
#: Words of a group that its name says.
_SAID = 3
#: Numbers that describe a word's company; words met together less often do not count.
_NUMBERS, _MET = 32, 2
#: Shorter than this share of the longest a word's numbers are rounding errors.
_SMALL = 1e-6


def words_held(texts: Sequence[str], words: Sequence[str]) -> NDArray[np.int64]:
    """Count how many of some words stand in each text, shape (n,); letters' case does not count."""
    from sklearn.feature_extraction.text import CountVectorizer

    made = CountVectorizer(vocabulary=list(words), binary=True, token_pattern=WORD)
    return np.asarray(made.transform(texts).sum(axis=1), dtype=np.int64).ravel()


def word_attributes(dataset: Dataset) -> list[cutting.Attribute]:
    """Code each word of the texts of a dataset, and each group of words, as held or not.

    The 300 most frequent words in at least 20 rows, 0.5 % and at most half of them; and groups of
    words found in the same texts, held where one of them is, or where two are. Outcomes have no
    part in it. Empty without texts, and above 200,000 rows. See docs/method.md ("Along columns").
    """
    if len(dataset) > MAX_ROWS:
        return []
    found: list[cutting.Attribute] = []
    for name in text_columns(dataset):
        try:
            stands_in, words = _vocabulary(texts_of(dataset, name))
        except ValueError:  # said by scikit-learn of texts without any frequent word
            continue
        rows = np.asarray(stands_in.sum(axis=0)).ravel()
        frequent = np.argsort(-rows, kind="stable")
        alone = rows >= max(_FEWEST_ROWS, _SMALLEST * len(dataset))
        found += [
            _attribute(name, (words[k],), 1, stands_in[:, [k]])
            for k in frequent[alone[frequent]][:_MOST_WORDS].tolist()
        ]
        for group in _groups(stands_in, words, frequent):
            for least in (1, 2):
                one = _attribute(name, tuple(words[group]), least, stands_in[:, group])
                if _SMALLEST <= one.codes.mean() <= _LARGEST:
                    found.append(one)
    return found


def quoted(words: Sequence[str]) -> str:
    """List words as they stand in texts."""
    return ", ".join(f"“{word}”" for word in words)


def _attribute(
    column: str, words: tuple[str, ...], least: int, stands_in: sparse.csr_matrix
) -> cutting.Attribute:
    text = quoted(words)
    if len(words) > _SAID + 1:
        text = f"{quoted(words[:_SAID])} and {len(words) - _SAID} more words"
    if len(words) > 1:
        text = f"{'any' if least == 1 else 'two or more'} of {text}"
    codes = np.asarray(stands_in.sum(axis=1)).ravel() >= least
    values = (f"without {text}", text)
    return cutting.Attribute(
        column, "text", codes.astype(np.int64), values, words=words, least=least
    )


def _vocabulary(texts: Sequence[str]) -> tuple[sparse.csr_matrix, NDArray[np.object_]]:
    """Return which words stand in which text, and the words; neither rare nor everywhere."""
    from sklearn.feature_extraction.text import CountVectorizer

    made = CountVectorizer(binary=True, token_pattern=WORD, min_df=_FEWEST_GROUPED, max_df=_LARGEST)
    return made.fit_transform(texts), made.get_feature_names_out()


def _groups(stands_in: sparse.csr_matrix, words: NDArray[np.object_], frequent: Ints) -> list[Ints]:
    """Return groups of words (by index) found in the same texts, each the most frequent first."""
    from scipy.cluster.hierarchy import linkage
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    about = np.array([k for k in frequent if words[k] not in ENGLISH_STOP_WORDS][:_GROUPED])
    fewest, most = _OF_GROUP
    if len(about) <= most:
        return []
    chosen = stands_in[:, about].astype(np.float64)
    rows = np.asarray(chosen.sum(axis=0)).ravel()
    met = (chosen.T @ chosen).toarray()
    np.fill_diagonal(met, 0.0)
    known = met >= _MET
    expected = np.outer(rows, rows) / chosen.shape[0]
    information = np.log(np.where(known, met / expected, 1.0)).clip(min=0.0)
    left, size, _ = np.linalg.svd(information)
    places = (left * size)[:, :_NUMBERS]
    length = np.linalg.norm(places, axis=1)
    # Words that meet nobody, or only strangers to all, have no position among the others.
    placed = length > _SMALL * length.max(initial=0.0)
    if placed.sum() <= most:
        return []
    about = about[placed]
    branches = [[k] for k in range(len(about))]
    for one, other, *_ in linkage(places[placed], "average", metric="cosine"):
        branches.append(sorted(branches[int(one)] + branches[int(other)]))
    return [about[branch] for branch in branches if fewest <= len(branch) <= most]
