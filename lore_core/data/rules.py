"""Rules for the parts of a file: types, ranges, shapes, and how they fit together.

A checksum shows that a file is unchanged, not that it makes sense.
"""

from __future__ import annotations

import dataclasses
import math
import types
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np

from lore_core.data.errors import InputError, short

#: Names of lengths, such as ``n``, to their values in one file.
Sizes = dict[str, int]

_WHOLE = 2**63


class Rule(ABC):
    """What a value must be."""

    @abstractmethod
    def check(self, value: Any, name: str, sizes: Sizes, /) -> None:
        """Raise InputError, naming ``name``, if a value breaks the rule; adds to ``sizes``."""


def refuse(name: str, rule: str, value: object) -> InputError:
    """Return the error for a part ``name`` that breaks a rule."""
    return InputError(
        f"the file must hold {rule} as '{name}'; got {short(value, 60)}. It was changed after it "
        "was written; save it again."
    )


@dataclass(frozen=True)
class Flag(Rule):
    """True or false."""

    def check(self, value: Any, name: str, _sizes: Sizes) -> None:
        """See :class:`Rule`."""
        if not isinstance(value, bool):
            raise refuse(name, "true or false", value)


@dataclass(frozen=True)
class Text(Rule):
    """A text, perhaps one of some."""

    options: tuple[str, ...] = ()

    def check(self, value: Any, name: str, _sizes: Sizes) -> None:
        """See :class:`Rule`."""
        if not isinstance(value, str) or (self.options and value not in self.options):
            raise refuse(name, " or ".join(self.options) or "a text", value)


@dataclass(frozen=True)
class Number(Rule):
    """A number from ``low`` (exclusive if ``above``) to ``high``."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    whole: bool = False
    infinite: bool = False  #: Whether it may be

    def check(self, value: Any, name: str, _sizes: Sizes) -> None:
        """See :class:`Rule`."""
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
class Values(Rule):
    """An array of numbers of a shape: lengths, or their names, such as ``"n"`` or ``"b+1"``."""

    shape: tuple[str | int, ...]
    low: float = -math.inf
    high: float = math.inf
    whole: bool = False
    rising: bool = False  #: Whether it must not fall
    missing: bool = False  #: Whether NaN is allowed
    below: str = ""  #: Name of a length that exceeds all

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        """See :class:`Rule`."""
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


@dataclass(frozen=True)
class Maybe(Rule):
    """None, or what another rule says."""

    rule: Rule

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        """See :class:`Rule`."""
        if value is not None:
            self.rule.check(value, name, sizes)


@dataclass(frozen=True)
class Each(Rule):
    """A list; lengths first met in an item hold for that item only."""

    rule: Rule
    fewest: int = 0

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        """See :class:`Rule`."""
        if not isinstance(value, (list, tuple)) or len(value) < self.fewest:
            raise refuse(name, "a list", value)
        for item in value:
            self.rule.check(item, name, dict(sizes))


@dataclass(frozen=True)
class InOrder(Rule):
    """A list with one rule for each item."""

    rules: tuple[Rule, ...]

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        """See :class:`Rule`."""
        if not isinstance(value, (list, tuple)) or len(value) != len(self.rules):
            raise refuse(name, f"{len(self.rules)} values", value)
        for rule, item in zip(self.rules, value, strict=True):
            rule.check(item, name, sizes)


@dataclass(frozen=True)
class Items(Rule):
    """Values by any names."""

    rule: Rule

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        """See :class:`Rule`."""
        if not (isinstance(value, Mapping) and all(isinstance(key, str) for key in value)):
            raise refuse(name, "values by name", value)
        for key, item in value.items():
            self.rule.check(item, f"{name}: {key}" if name else key, dict(sizes))


@dataclass(frozen=True, eq=False)
class Parts(Rule):
    """Values by name, exactly these, and perhaps some others."""

    rules: Mapping[str, Rule]
    others: Mapping[str, Rule] = field(default_factory=dict)

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        """See :class:`Rule`."""
        if not isinstance(value, Mapping) or set(value) - set(self.others) != set(self.rules):
            got = list(value) if isinstance(value, Mapping) else value
            raise refuse(name, f"the parts {', '.join(self.rules) or 'none'}", got)
        for part, rule in {**self.rules, **self.others}.items():
            if part in value:
                rule.check(value[part], f"{name}: {part}" if name else part, sizes)


@dataclass(frozen=True)
class Instance(Rule):
    """An object of one of some classes, checked when it was made."""

    kinds: tuple[type, ...]

    def check(self, value: Any, name: str, _sizes: Sizes) -> None:
        """See :class:`Rule`."""
        if not isinstance(value, self.kinds):
            raise refuse(name, " or ".join(kind.__name__ for kind in self.kinds), value)


POSITIVE, STRENGTH = Number(0.0, above=True), Number(0.0, infinite=True)
EDGES = Values(("b+1",), 0.0, 1.0, rising=True)
_SCALARS: Mapping[Any, Rule] = {
    bool: Flag(),
    int: Number(whole=True),
    float: Number(),
    str: Text(),
    Any: Instance((object,)),
}


@cache
def rule_of(hint: Any) -> Rule:
    """Return the rule in an annotation's metadata (``Annotated[T, rule]``), else its type's."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        given = [item for item in parts[1:] if isinstance(item, Rule)]
        if not given:
            return rule_of(parts[0])
        return Maybe(given[0]) if type(None) in get_args(parts[0]) else given[0]
    if origin in (Union, types.UnionType):
        (kind,) = (part for part in parts if part is not type(None))
        return Maybe(rule_of(kind))
    if origin is Literal:
        return Text(parts)
    if origin is tuple and Ellipsis not in parts:
        return InOrder(tuple(map(rule_of, parts)))
    if origin in (list, tuple):
        return Each(rule_of(parts[0]))
    if origin in (dict, Mapping):
        return Items(rule_of(parts[1]))
    if hint in _SCALARS:
        return _SCALARS[hint]
    return rule_of_fields(hint) if is_typeddict(hint) else Instance((origin or hint,))


@cache
def rule_of_fields(kind: Any) -> Parts:
    """Return the rule of a TypedDict's or dataclass's fields."""
    hints = get_type_hints(kind, include_extras=True)
    may = getattr(kind, "__optional_keys__", ())
    if dataclasses.is_dataclass(kind):
        hints = {item.name: hints[item.name] for item in dataclasses.fields(kind)}
    rules = {name: rule_of(hint) for name, hint in hints.items()}
    return Parts(
        {name: rule for name, rule in rules.items() if name not in may},
        {name: rule for name, rule in rules.items() if name in may},
    )


@cache
def words_of(kind: Any) -> dict[str, str]:
    """Return field descriptions of a TypedDict, nested ones too, from annotations' metadata."""
    if not is_typeddict(kind):
        return {}
    words: dict[str, str] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        for part in get_args(hint):
            words |= words_of(part) if is_typeddict(part) else {}
            if isinstance(part, str) and get_origin(hint) is Annotated:
                words[name] = part
    return words
