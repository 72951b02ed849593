"""Values of columns as written: labels, weights, right or wrong answers, verbal confidences."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.errors import counted, listed, short
from lore_core.data.units import as_units
from lore_core.data.validation import InputError, repeated
from lore_core.data.weights import effective_rows
from lore_core.reading.columns import Columns, label_text
from lore_core.reading.mapping import ColumnMapping

#: Also C and I, of Inspect.
_RIGHT = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "right", "correct", "c"), 1),
    **dict.fromkeys(("0", "0.0", "false", "no", "wrong", "incorrect", "i"), 0),
}
#: Words of estimative probability: mid-points of Intelligence Community Directive 203 (2015).
VERBAL_CONFIDENCES = {
    **dict.fromkeys(("almost no chance", "remote"), 0.03),
    **dict.fromkeys(("very unlikely", "highly improbable"), 0.125),
    **dict.fromkeys(("unlikely", "improbable"), 0.325),
    **dict.fromkeys(("roughly even chance", "roughly even odds"), 0.5),
    **dict.fromkeys(("likely", "probable"), 0.675),
    **dict.fromkeys(("very likely", "highly probable"), 0.875),
    **dict.fromkeys(("almost certain", "nearly certain"), 0.97),
}
_PERCENT = r"^(\d+(?:\.\d+)?)\s*(?:%|percent|per cent)$"
_SHARE = r"[01](?:\.\d+)?|\.\d+"


def weights_of(columns: Columns, mapping: ColumnMapping) -> Floats | None:
    """Return the weight of each row of the file."""
    if not mapping.weight:
        return None
    values = np.asarray(columns.numbers(mapping.weight), dtype=np.float64).reshape(-1)
    bad, rule = ~(np.isfinite(values) & (values >= 0)), "count every row by a finite number from 0"
    columns.check(mapping.weight, bad, rule, "Correct it, or map no weight.")
    return values


def weights_in_words(columns: Columns, mapping: ColumnMapping, weights: Floats) -> str:
    """Return a sentence on the weights and the effective number of rows."""
    low, high = (f"{end:.4g}" for end in (weights.min(), weights.max()))
    worth = effective_rows(weights, len(weights))
    return (
        f"Rows of '{columns.file}' count by '{mapping.weight}' ({low} to {high}); "
        f"{len(weights):,} of them are worth {worth:,.0f} equal ones."
    )


def units_of(columns: Columns, mapping: ColumnMapping) -> NDArray[np.object_] | None:
    """Return the name of each row's unit, None where it is missing."""
    if not mapping.unit:
        return None
    codes, values = pd.factorize(columns.series(mapping.unit).astype(object))
    if len(values) < 2:
        raise InputError(
            f"{columns.called(mapping.unit)} must name two units or more; it names {len(values)}. "
            'Map another column, or none (mapping={"unit": ""}, --column unit=).'
        )
    return np.array([*map(label_text, values), None], dtype=object)[codes]


def units_in_words(columns: Columns, mapping: ColumnMapping, units: NDArray[np.object_]) -> str:
    """Return a sentence on the units of rows."""
    codes, n = as_units(units), len(units)
    if codes is None:
        return f"Each row of '{columns.file}' has a '{mapping.unit}' of its own: all count alone."
    size = np.bincount(codes)
    return (
        f"The {n:,} rows of '{columns.file}' are of {len(size):,} units by '{mapping.unit}' "
        f"({size.min():,} to {size.max():,} rows each), which splits, tests and intervals keep "
        "together."
    )


def right_of(columns: Columns, name: str) -> pd.Series[Any]:
    """Return 1 for right answers, else 0."""
    found = columns.series(name).map(lambda value: _RIGHT.get(str(value).strip().casefold()))
    rule = "say which answers are right, as 1 or 0, true or false, yes or no"
    fix = "Correct it, or map another column as label."
    columns.check(name, found.isna().to_numpy(), rule, fix)
    return found.astype(np.int64)


def parse_verbal_confidence(columns: Columns, name: str, notes: list[str]) -> Floats:
    """Parse confidences such as ``85%`` and ``very likely``; ``notes`` takes the rules."""
    texts = columns.series(name).map(str).str.split().str.join(" ")
    texts = texts.str.casefold().str.rstrip(".!")
    words = texts.map(VERBAL_CONFIDENCES)
    percents = texts.str.extract(_PERCENT)[0].astype(np.float64) / 100
    shares = texts.where(texts.str.fullmatch(_SHARE, na=False)).astype(np.float64)
    values = words.fillna(percents).fillna(shares).to_numpy(dtype=np.float64)
    rule = f"hold confidences in [0, 1], as percentages, or in words: {listed(VERBAL_CONFIDENCES)}"
    columns.check(name, ~(values <= 1.0), rule, "Write a number there.")
    if percents.notna().any():
        notes.append(f"Percentages in '{name}' were read as shares: “85%” as 0.85.")
    if words.notna().any():
        used = dict(zip(texts[words.notna()], words.dropna(), strict=True))
        listing = ", ".join(f"“{text}” as {value:.3g}" for text, value in used.items())
        notes.append(
            f"Words in '{name}' were read by the Intelligence Community Directive 203: {listing}."
        )
    return np.asarray(values)


#: From here on adjacent whole numbers may be one float.
_LONGEST = 1e15
_NO_CLASS = "Correct the labels, or give one probability column for every class."
_OPPOSITES = (("yes", "no"), ("true", "false"), ("pos", "neg"), ("positive", "negative"))


#: Position of a value to words for its column and row.
Where = Callable[[int], tuple[str, str]]
#: Class indices, class names if known, K, and notes.
Decoded = tuple[Ints, tuple[str, ...] | None, int, list[str]]
#: The same, the indices those of distinct values.
_OfDistinct = tuple[Ints | list[int], tuple[str, ...] | None, int, list[str]]


@dataclass(frozen=True)
class Classes:
    """What is known of the classes before labels are read."""

    names: tuple[str, ...] | None = None
    count: int | None = None  #: K; None where only a confidence is known
    #: Names stem from columns (``p_3``): label 3 is that class, not the fourth one.
    by_name: bool = False
    positive: str | None = None  #: Name of the one class whose probability is known


@dataclass(frozen=True, eq=False)
class _Values:
    """Distinct values as texts, in alphabetical order, and the place of each row's among them."""

    texts: tuple[str, ...]
    numbers: Floats | None  #: The texts as numbers, if all are
    codes: Ints
    where: Where

    def check(self, bad: Mask, rule: str, fix: str) -> None:
        """Raise InputError at the first row of a ``bad`` value, if there is one."""
        if bad.any():
            raise self.refusal(bad, rule, fix)

    def refusal(self, bad: Mask, rule: str, fix: str = _NO_CLASS) -> InputError:
        """Return the error for the first row of a ``bad`` value."""
        rows = bad[self.codes]
        position = int(rows.argmax())
        code, (column, row) = self.codes[position], self.where(position)
        known = self.numbers
        is_text = known is None or re.match("0[0-9]", self.texts[code])
        got = short(repr(self.texts[code])) if known is None or is_text else f"{known[code]:.15g}"
        such = counted(int(rows.sum()), "such row")
        return InputError(f"{column} must hold {rule}; got {got} at {row} ({such}). {fix}")

    def none_of(self, names: tuple[str, ...]) -> Mask:
        """Return which texts are none of the names."""
        known = set(names)
        return np.array([text not in known for text in self.texts])

    def matched(self, names: tuple[str, ...]) -> list[int] | None:
        """Return the index of the name each text means; None if one means none."""
        for form in (str.strip, str.casefold, _number):
            positions = {form(name): index for index, name in enumerate(names)}
            indices = [positions.get(form(text), -1) for text in self.texts]
            if len(positions) == len(names) and -1 not in indices:
                return indices
        return None


def decode(values: pd.Series[Any], classes: Classes, where: Where) -> Decoded:
    """Turn labels and predictions, none missing, into class indices."""
    codes, found = pd.factorize(values)
    ranks, texts = pd.factorize(np.array([label_text(value) for value in found], object), sort=True)
    series, are_marks = pd.Series(texts), set(texts) <= {"True", "False"}
    numbers = pd.to_numeric(series == "True" if are_marks else series, errors="coerce")
    as_numbers = None if numbers.isna().any() else numbers.to_numpy(dtype=np.float64)
    known = _Values(tuple(texts), as_numbers, ranks[codes], where)
    bare = series.str.replace(r"^0+(?=\d)", "", regex=True)
    twice = bare.duplicated(keep=False).to_numpy()
    if not set(texts) <= set(classes.names or ()):
        fix = "Write each class in one way, and name all in class_names or by their columns."
        known.check(twice, "classes that differ in more than zeros in front of them", fix)
    indices, names, count, notes = _indices(known, classes)
    return np.asarray(indices, dtype=np.int64)[known.codes], names, count, notes


def _indices(values: _Values, classes: Classes) -> _OfDistinct:
    names, count, numbers = classes.names, classes.count, values.numbers
    for twice in repeated(names or ()):
        raise InputError(f"two classes are named '{twice}'. Give every class a name of its own.")
    if names is not None and count is not None and len(names) != count:
        raise InputError(f"one class name a class is needed; got {len(names)} names for {count}.")
    if names is not None and count is None:
        count = len(names)
    words = [name.strip().casefold() for name in names or ()]
    pairs = (yes for yes, no in _OPPOSITES if sorted(words) == sorted((yes, no)))
    yes = next((words.index(word) for word in pairs if classes.by_name), None)
    if numbers is not None and yes is not None and set(numbers) <= {0.0, 1.0}:
        word = (names or ())[yes]
        indices = np.where(numbers == 1, yes, 1 - yes)
        return indices, names, 2, [f"The label 1 was read as '{word}'."]
    matched = None if names is None else values.matched(names)
    if numbers is not None:
        fix = "Write them as text, with a letter before them."
        values.check(np.abs(numbers) >= _LONGEST, "numbers of 15 digits or fewer", fix)
        fix = "Map the column of true classes as label."
        values.check(numbers != np.floor(numbers), "class indices or class names", fix)
        zero_based = count is not None and numbers.min() >= 0 and numbers.max() < count
        if zero_based and not (classes.by_name and matched is not None):
            return numbers.astype(np.int64), names, count or 0, []
    if matched is not None and names is not None:
        return matched, names, len(names), []
    if numbers is not None:
        return _from_numbers(values, numbers, names, count)
    return _from_texts(values, classes, count)


def _number(text: str) -> str:
    """Return ``"1"`` for ``"01"`` and ``"1.0"``, else the text itself."""
    try:
        value = float(text)
    except ValueError:
        return text.strip()
    return f"{value:.17g}" if abs(value) < _LONGEST else text.strip()


def _from_numbers(
    values: _Values, numbers: Floats, names: tuple[str, ...] | None, count: int | None
) -> _OfDistinct:
    distinct = np.unique(numbers)
    integers = numbers.astype(np.int64)
    if count in (None, 2) and np.array_equal(distinct, [-1, 1]):
        return (integers + 1) // 2, names, 2, ["Labels −1 and 1 were read as classes 0 and 1."]
    if count is None:
        if distinct[0] == 1 and np.array_equal(distinct, np.arange(1, len(distinct) + 1)):
            count = max(2, len(distinct))
            return integers - 1, None, count, [_shifted(count)]
        if distinct[0] >= 0 and distinct[-1] + 1 <= 2 * max(len(distinct), 2):
            return integers, None, max(2, int(distinct[-1]) + 1), []
        classes = tuple(f"{value:.15g}" for value in distinct)
        note = f"The {len(classes)} distinct labels were taken as classes: {listed(classes, 10)}."
        return np.searchsorted(distinct, numbers), classes, len(classes), [note]
    if distinct[0] >= 1 and distinct[-1] == count:
        return integers - 1, names, count, [_shifted(count)]
    bad = (numbers < 0) | (numbers >= count)
    if names is not None:
        bad &= values.none_of(names)
    indices = tuple(str(k) for k in range(count))
    named = "" if names in (None, indices) else f", or one of {listed(names or (), 10)}"
    raise values.refusal(bad, f"class indices 0 to {count - 1}{named}")


def _shifted(count: int) -> str:
    return f"Labels run from 1 to {count}: they were shifted to start at 0."


def _from_texts(values: _Values, classes: Classes, count: int | None) -> _OfDistinct:
    names, distinct = classes.names, values.texts
    if classes.positive is not None and len(distinct) <= 2:
        chosen = [text for text in distinct if text.casefold() == classes.positive.casefold()]
        others = [text for text in distinct if text not in chosen]
        if chosen and len(others) == 1:
            both = (others[0], chosen[0])
            return [both.index(text) for text in distinct], both, 2, []
    numbered = names is not None and all(name.isdecimal() for name in names)
    if names is not None and not (classes.by_name and numbered):
        raise values.refusal(values.none_of(names), f"one of the classes {listed(names, 10)}")
    if count is not None and len(distinct) != count:
        raise InputError(
            f"{values.where(0)[0]} holds {len(distinct)} distinct names ({listed(distinct, 10)}), "
            f"but there are probabilities of {count} classes. Give class_names in their order."
        )
    if len(distinct) < 2:
        raise InputError(
            f"{values.where(0)[0]} holds one class only ({distinct[0]!r}). Give class_names."
        )
    note = (
        f"Class names were put in alphabetical order ({listed(distinct, 10)}): '{distinct[1]}' was "
        "taken as class 1. Give class_names if the probabilities have another order."
    )
    return list(range(len(distinct))), distinct, len(distinct), [note]
