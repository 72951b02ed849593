"""Labels as written (names, 0- or 1-based, true/false, −1/+1) to class indices 0 … K−1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.errors import listed, short
from lore_core.data.validation import InputError, repeated

#: From here on adjacent whole numbers may be one float.
_LONGEST = 1e15
_OPPOSITES = (("yes", "no"), ("true", "false"), ("pos", "neg"), ("positive", "negative"))


#: Position of a value to words for its column and row.
Where = Callable[[int], tuple[str, str]]
#: Class indices, class names if known, K, and notes.
Decoded = tuple[Ints, tuple[str, ...] | None, int, list[str]]


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
    texts: pd.Categorical
    numbers: Floats | None  #: The texts as numbers, if all are
    where: Where

    @property
    def distinct(self) -> tuple[str, ...]:
        return tuple(self.texts.categories)

    def positions_in(self, names: tuple[str, ...]) -> Ints:
        return self._of_each([names.index(text) for text in self.distinct])

    def matched(self, names: tuple[str, ...]) -> Ints | None:
        """Return the index of the name each text means; None if one means none."""
        for form in (str.strip, str.casefold, _number):
            positions = {form(name): index for index, name in enumerate(names)}
            indices = [positions.get(form(text), -1) for text in self.distinct]
            if len(positions) == len(names) and -1 not in indices:
                return self._of_each(indices)
        return None

    def _of_each(self, indices: list[int]) -> Ints:
        of_code: Ints = np.array(indices, dtype=np.int64)
        return of_code[np.asarray(self.texts.codes)]


def decode(values: pd.Series[Any], classes: Classes, where: Where) -> Decoded:
    """Turn labels and predictions, none missing, into class indices."""
    return _indices(_Values(*_forms(values), where), classes)


def _forms(values: pd.Series[Any]) -> tuple[pd.Categorical, Floats | None]:
    """Return values as texts, and as numbers if all are numbers."""
    if pd.api.types.is_bool_dtype(values.dtype):
        flags = values.to_numpy(dtype=bool)
        return _texts(flags.astype(np.int64), ["False", "True"]), flags.astype(np.float64)
    if pd.api.types.is_numeric_dtype(values.dtype):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        codes, distinct = pd.factorize(numbers)
        return _texts(codes, [f"{value:.15g}" for value in distinct]), numbers
    codes, found = pd.factorize(values.astype(object))
    texts = _texts(codes, [_text(value) for value in found])
    if set(texts.categories) <= {"True", "False"}:
        return texts, np.asarray(texts == "True", dtype=np.float64)
    parsed = pd.to_numeric(pd.Series(texts.categories, dtype=object), errors="coerce")
    if parsed.isna().any():
        return texts, None
    return texts, np.asarray(parsed.to_numpy(dtype=np.float64)[texts.codes])


def _texts(codes: NDArray[np.integer[Any]], names: list[str]) -> pd.Categorical:
    """Return texts of codes; equal names are merged, unused ones dropped."""
    distinct = sorted({names[code] for code in np.unique(codes)})
    rank = {text: index for index, text in enumerate(distinct)}
    positions = np.array([rank.get(text, 0) for text in names], dtype=np.int64)
    return pd.Categorical.from_codes(positions[codes], pd.Index(distinct, dtype=object))


def _text(value: Any) -> str:
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").strip()
    return str(value).strip()


def _indices(values: _Values, classes: Classes) -> Decoded:
    names, count, numbers = classes.names, classes.count, values.numbers
    for twice in repeated(names or ()):
        raise InputError(f"two classes are named '{twice}'. Give every class a name of its own.")
    if names is not None and count is not None and len(names) != count:
        raise InputError(
            f"there must be one class name a class; got {len(names)} names "
            f"({listed(names, 6)}) for {count} classes."
        )
    if names is not None and count is None:
        count = len(names)
    yes = _yes(names) if classes.by_name and count == 2 else None
    if numbers is not None and yes is not None and set(np.unique(numbers)) <= {0.0, 1.0}:
        word = (names or ())[yes]
        indices = np.where(numbers == 1, yes, 1 - yes).astype(np.int64)
        return indices, names, 2, [f"The label 1 was read as '{word}'."]
    matched = None if names is None else values.matched(names)
    if numbers is not None:
        _check_whole(numbers, values.where)
        zero_based = count is not None and numbers.min() >= 0 and numbers.max() < count
        if zero_based and not (classes.by_name and matched is not None):
            return numbers.astype(np.int64), names, count or 0, []
    if matched is not None and names is not None:
        return matched, names, len(names), []
    if numbers is not None:
        return _from_numbers(values, numbers, names, count)
    return _from_texts(values, classes, count)


def _check_whole(numbers: Floats, where: Where) -> None:
    if (np.abs(numbers) >= _LONGEST).any():
        column, row = where(int(np.flatnonzero(np.abs(numbers) >= _LONGEST)[0]))
        raise InputError(
            f"{column} holds numbers of more than 15 digits (first at {row}), which are not told "
            "apart for sure. Write them as text, with a letter before them."
        )
    bad = ~np.isfinite(numbers) | (numbers != np.floor(numbers))
    if bad.any():
        position = int(np.flatnonzero(bad)[0])
        column, row = where(position)
        raise InputError(
            f"{column} must hold class indices or class names; got {numbers[position]:.6g} at "
            f"{row}. Map the column of true classes as label."
        )


def _number(text: str) -> str:
    """Return ``"1"`` for ``"01"`` and ``"1.0"``, else the text itself."""
    try:
        value = float(text)
    except ValueError:
        return text.strip()
    return f"{value:.17g}" if abs(value) < _LONGEST else text.strip()


def _yes(names: tuple[str, ...] | None) -> int | None:
    """Return which of two classes the words show as positive, or None."""
    words = [name.strip().casefold() for name in names or ()]
    for yes, no in _OPPOSITES:
        if sorted(words) == sorted((yes, no)):
            return words.index(yes)
    return None


def _from_numbers(
    values: _Values, numbers: Floats, names: tuple[str, ...] | None, count: int | None
) -> Decoded:
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
        note = (
            f"The {len(classes)} distinct labels were taken as the classes: {listed(classes, 10)}."
        )
        return np.searchsorted(distinct, numbers).astype(np.int64), classes, len(classes), [note]
    if distinct[0] >= 1 and distinct[-1] == count:
        return integers - 1, names, count, [_shifted(count)]
    bad = (numbers < 0) | (numbers >= count)
    if names is not None:
        bad &= ~values.texts.isin(names)
    indices = tuple(str(k) for k in range(count))
    named = "" if names in (None, indices) else f", or one of {listed(names or (), 10)}"
    rule = f"class indices 0 to {count - 1}{named}"
    raise _no_class(values, bad, rule, lambda position: f"{numbers[position]:.15g}")


def _no_class(values: _Values, bad: Mask, rule: str, got: Callable[[int], str]) -> InputError:
    position = int(bad.argmax())
    column, row = values.where(position)
    return InputError(
        f"{column} must hold {rule}; got {got(position)} at {row} ({int(bad.sum()):,} such). "
        "Correct the labels, or give one probability column for every class."
    )


def _shifted(count: int) -> str:
    return f"Labels run from 1 to {count}: they were shifted to start at 0."


def _from_texts(values: _Values, classes: Classes, count: int | None) -> Decoded:
    names, distinct = classes.names, values.distinct
    if classes.positive is not None and len(distinct) <= 2:
        chosen = [text for text in distinct if text.casefold() == classes.positive.casefold()]
        others = [text for text in distinct if text not in chosen]
        if chosen and len(others) == 1:
            both = (others[0], chosen[0])
            return values.positions_in(both), both, 2, []
    numbered = names is not None and all(name.isdecimal() for name in names)
    if names is not None and not (classes.by_name and numbered):
        rule = f"one of the classes {listed(names, 10)}"
        bad = ~values.texts.isin(names)
        raise _no_class(values, bad, rule, lambda position: short(repr(values.texts[position])))
    if count is not None and len(distinct) != count:
        raise InputError(
            f"{values.where(0)[0]} holds {len(distinct)} distinct names ({listed(distinct, 10)}), "
            f"but there are probabilities of {count} classes. Give class_names in the order of the "
            "probabilities."
        )
    if len(distinct) < 2:
        raise InputError(
            f"{values.where(0)[0]} holds one class only ({distinct[0]!r}), and nothing names the "
            "others. Give class_names."
        )
    note = (
        f"Class names were put in alphabetical order: {listed(distinct, 10)}. "
        "Give class_names if the probabilities have another order."
    )
    if count == 2:
        note = (
            f"'{distinct[1]}' was taken as class 1 and '{distinct[0]}' as class 0 (alphabetical). "
            "Give class_names if it is the other way round."
        )
    return values.positions_in(distinct), distinct, len(distinct), [note]
