"""Checks of a file's parts by annotations: types, ranges, shapes, and how they fit together."""

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from lore_core.data.errors import InputError, short

#: Names of lengths, such as ``n``, to their values in one file.
Sizes = dict[str, int]

_WHOLE = 2**63


def refuse(name: str, rule: str, value: object) -> InputError:
    """Return the error for a part ``name`` that breaks a rule."""
    got = short(value, 60)
    return InputError(f"the file must hold {rule} as '{name}'; got {got}. Save it again.")


@dataclass(frozen=True)
class Number:
    """Rule of a number from ``low`` (exclusive if ``above``) to ``high``."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    whole: bool = False
    infinite: bool = False  #: Whether it may be

    def check(self, value: Any, name: str, _sizes: Sizes | None = None) -> None:
        """Raise InputError, naming ``name``, if a value breaks the rule."""
        kinds = (int,) if self.whole else (int, float)
        good = type(value) in kinds and self.low <= value <= self.high
        good = good and not (self.above and value == self.low)
        # (JSON has whole numbers of any size, numpy has not.)
        good = good and (isinstance(value, float) or -_WHOLE <= value < _WHOLE)
        if not good or not (self.infinite or math.isfinite(value)):
            kind = "a whole number" if self.whole else "a number"
            start = f" {'above' if self.above else 'from'} {self.low:g}"
            end = f" to {self.high:g}" if self.high < math.inf else ""
            raise refuse(name, f"{kind}{start if self.low > -math.inf else ''}{end}", value)


@dataclass(frozen=True)
class Values:
    """Rule of an array of a shape: lengths, or their names, such as ``"n"`` or ``"b+1"``."""

    shape: tuple[str | int, ...]
    low: float = -math.inf
    high: float = math.inf
    whole: bool = False
    rising: bool = False  #: Whether it must not fall
    missing: bool = False  #: Whether NaN is allowed
    below: str = ""  #: Name of a length that exceeds all

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        """Raise InputError, naming ``name``, if a value breaks the rule; adds to ``sizes``."""
        rule = f"an array of shape ({', '.join(map(str, self.shape))})"
        if not isinstance(value, np.ndarray) or value.ndim != len(self.shape):
            raise refuse(name, rule, getattr(value, "shape", value))
        if value.dtype.kind not in "iu" if self.whole else value.dtype != np.float64:
            raise refuse(name, "whole numbers" if self.whole else "float64", value.dtype)
        for length, wanted in zip(value.shape, self.shape, strict=True):
            symbol, _, more = str(wanted).partition("+")
            if symbol.isdigit():
                known = int(symbol)
            else:
                known = sizes.setdefault(symbol, length - int(more or 0)) + int(more or 0)
            if length != known or known < 0:
                raise refuse(name, rule, value.shape)
        high = min(self.high, sizes[self.below] - 1) if self.below else self.high
        with np.errstate(invalid="ignore"):
            good = (value >= self.low) & (value <= high) & np.isfinite(value)
        if self.missing:
            good |= np.isnan(value)
        if not good.all():
            wrong = value[~good].ravel()[0]
            raise refuse(name, f"finite numbers from {self.low:g} to {high:g}", wrong)
        if self.rising and (np.diff(value) < 0).any():
            raise refuse(name, "numbers that do not fall", "others")


POSITIVE, STRENGTH = Number(0.0, above=True), Number(0.0, infinite=True)
EDGES = Values(("b+1",), 0.0, 1.0, rising=True)


def check_value(hint: Any, value: Any, name: str, sizes: Sizes | None = None) -> None:
    """Raise InputError if a value breaks its annotation, or the rule in it; adds to ``sizes``."""
    sizes = {} if sizes is None else sizes
    rule: Any = None
    if get_origin(hint) is Annotated:
        hint, *others = get_args(hint)
        rule = next((item for item in others if not isinstance(item, str)), None)
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if value is None and type(None) in kinds:
        return
    if isinstance(rule, (Number, Values)):
        rule.check(value, name, sizes)
    elif rule is not None:
        check_fields(rule, value, name, sizes)
    else:
        _check_kind([kind for kind in kinds if kind is not type(None)], value, name, sizes)


def check_fields(kind: type, value: Any, name: str, sizes: Sizes | None = None) -> None:
    """Check values by name, which must be just those of a TypedDict or dataclass."""
    sizes = {} if sizes is None else sizes
    hints = _hints_of(kind)
    if not isinstance(value, Mapping) or set(value) != set(hints):
        got = list(value) if isinstance(value, Mapping) else value
        raise refuse(name, f"the parts {', '.join(hints) or 'none'}", got)
    for part, hint in hints.items():
        check_value(hint, value[part], f"{name}: {part}" if name else part, sizes)


@cache
def _hints_of(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    if dataclasses.is_dataclass(kind):
        return {item.name: hints[item.name] for item in dataclasses.fields(kind)}
    return hints


def _check_kind(kinds: list[Any], value: Any, name: str, sizes: Sizes) -> None:
    """Check a value's type, one of ``kinds`` if it is a class; lengths of an item are its own."""
    kind = kinds[0]
    origin, parts = get_origin(kind), get_args(kind)
    if kind in (int, float):
        Number(whole=kind is int).check(value, name)
    elif kind is bool:
        if not isinstance(value, bool):
            raise refuse(name, "true or false", value)
    elif kind is str or origin is Literal:
        if not isinstance(value, str) or (parts and value not in parts):
            raise refuse(name, " or ".join(parts) or "a text", value)
    elif origin in (list, tuple):
        is_list = origin is list or Ellipsis in parts
        if not isinstance(value, (list, tuple)) or not (is_list or len(value) == len(parts)):
            raise refuse(name, "a list" if is_list else f"{len(parts)} values", value)
        for number, item in enumerate(value):
            own = dict(sizes) if is_list else sizes
            check_value(parts[0 if is_list else number], item, name, own)
    elif origin in (dict, Mapping):
        if not (isinstance(value, Mapping) and all(isinstance(key, str) for key in value)):
            raise refuse(name, "values by name", value)
        for key, item in value.items():
            check_value(parts[1], item, f"{name}: {key}" if name else key, dict(sizes))
    elif typing.is_typeddict(kind):
        check_fields(kind, value, name, sizes)
    elif kind is not Any:
        classes = tuple(get_origin(item) or item for item in kinds)
        if not isinstance(value, classes):
            raise refuse(name, " or ".join(item.__name__ for item in classes), value)


@cache
def words_of(kind: Any) -> dict[str, str]:
    """Return field descriptions of a TypedDict, nested ones too, from annotations' metadata."""
    words: dict[str, str] = {}
    for name, hint in (_hints_of(kind) if typing.is_typeddict(kind) else {}).items():
        for part in get_args(hint):
            words |= words_of(part)
            if isinstance(part, str) and get_origin(hint) is Annotated:
                words[name] = part
    return words
