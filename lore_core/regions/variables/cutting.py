"""Cutting of one column into few named values: a number by its quantiles, all else by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints, Mask

Origin = Literal["class", "group", "metadata", "image", "feature", "text"]

MISSING, EMPTY = "missing", "(empty)"
#: A numeric column with at most so many distinct values is taken value by value.
_FEW_VALUES = 6
#: Share of the rows that may change their part so that an edge needs fewer digits.
_MOVED = 0.005


@dataclass(frozen=True, eq=False)
class Attribute:
    """One column, each row coded by one of a few named values."""

    name: str  #: The column
    origin: Origin  #: Where it is from
    codes: NDArray[np.integer[Any]]  #: (n,); index into ``values`` of each row
    #: Names; of a number its parts in order, ``"< 0.21"``, ``"0.21 to 0.4"``, ``"≥ 0.4"``; or
    #: ``"missing"``.
    values: tuple[str, ...]
    #: Of a number, what lies between its parts, in words; empty otherwise.
    borders: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()  #: The same as numbers; dates in nanoseconds
    #: Of numbers, the one that each value stands for; NaN where that is several, or none.
    only: tuple[float, ...] = ()
    #: Words of which texts of the second value hold ``least``, and those of the first do not.
    words: tuple[str, ...] = ()
    least: int = 1

    def __post_init__(self) -> None:
        # One byte a cell is enough for most: a hundred columns of a million rows are coded at once.
        small = self.codes.astype(np.min_scalar_type(len(self.values)))
        object.__setattr__(self, "codes", small)

    def rows(self, chosen: Ints) -> Attribute:
        """Return the same column of some of the rows."""
        return replace(self, codes=self.codes[chosen])

    @property
    def numeric(self) -> bool:
        """Whether ``values`` are parts of a number line, perhaps with ``"missing"`` at the end."""
        return bool(self.borders)


def cut(name: str, values: Any, *, origin: Origin = "metadata", n_parts: int = 4) -> Attribute:
    """Code one column: a number by its quantiles, anything else by its values.

    ``values`` (n,): numbers, dates, texts or anything that can be shown; None and NaN are
    "missing". Ties stay together, so there may be fewer than ``n_parts``. Edges are rounded to the
    fewest digits that move at most 0.5 % of the rows: the names say exactly what they hold.
    """
    series = values if isinstance(values, pd.Series) else pd.Series(np.asarray(values))
    missing = series.isna().to_numpy()
    if is_line(series):
        dates = _is_date(series)
        numbers = numbers_of(series[~missing])
        infinite = ~np.isfinite(numbers)
        if infinite.any():
            finite = numbers[~infinite] if not infinite.all() else np.zeros(1)
            numbers = np.clip(numbers, finite.min(), finite.max())
        distinct, count = np.unique(numbers, return_counts=True)
        if len(distinct) > _FEW_VALUES:
            edges = _edges(distinct, count, n_parts, rounded=not dates)
            write = _date if dates else _number_text
            return _cut_numbers(name, origin, numbers, missing, distinct, edges, write)
    return _cut_names(name, origin, series, missing)


def is_line(series: pd.Series[Any]) -> bool:
    """Whether values lie on a line: numbers and dates."""
    if _is_date(series) or not pd.api.types.is_numeric_dtype(series):
        return _is_date(series)
    return not (pd.api.types.is_bool_dtype(series) or pd.api.types.is_complex_dtype(series))


def numbers_of(series: pd.Series[Any]) -> Floats:
    """Return numbers as they are, and dates in nanoseconds; none may be missing."""
    if _is_date(series):
        return np.asarray(pd.DatetimeIndex(series).as_unit("ns").asi8, dtype=np.float64)
    return series.to_numpy(np.float64)


def names_of(series: pd.Series[Any]) -> NDArray[np.object_]:
    """Return every value as text."""
    texts = np.array([_text(value) for value in series.astype(object)], dtype=object)
    texts[series.isna().to_numpy()] = MISSING
    return texts


def _is_date(series: pd.Series[Any]) -> bool:
    return bool(pd.api.types.is_datetime64_any_dtype(series))


def _cut_names(name: str, origin: Origin, series: pd.Series[Any], missing: Mask) -> Attribute:
    texts = names_of(series)
    if pd.api.types.is_float_dtype(series):
        texts[~missing] = _few_numbers(series.to_numpy(np.float64)[~missing])
    codes, unique = pd.factorize(texts, sort=False)
    order = _natural_order(unique)
    place = np.argsort(order)
    first = np.unique(codes, return_index=True)[1][order]
    only = tuple(
        math.nan if missing[k] else float(numbers_of(series.iloc[[k]])[0])
        for k in (first if is_line(series) else ())
    )
    return Attribute(name, origin, place[codes], tuple(str(unique[k]) for k in order), only=only)


def range_words(low: str, high: str) -> str:
    """Write a range by its two ends; an open one is ""."""
    if low and high:
        return f"{low} to {high}"
    return f"≥ {low}" if low else f"< {high}"


def _few_numbers(numbers: Floats) -> list[str]:
    """Write few different numbers, as short as keeps them apart."""
    values, place = np.unique(numbers, return_inverse=True)
    if (values == np.floor(values)).all():
        return [_number_text(values[k]) for k in place]
    for digits in range(3, 18):
        short = [f"{value:.{digits}g}".replace("-", "−") for value in values]
        if len(set(short)) == len(values):
            break
    return [short[k] for k in place]


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    text = " ".join(str(value).split())
    return text or EMPTY


def _natural_order(texts: Any) -> Ints:
    """Return the order: numbers by size, words by the alphabet, then what is missing."""

    def key(k: int) -> tuple[int, float, str]:
        text = str(texts[k])
        if text == MISSING:
            return (2, 0.0, "")
        try:
            return (0, float(text.replace("−", "-").replace(",", "")), "")
        except ValueError:
            return (1, 0.0, text)

    return np.array(sorted(range(len(texts)), key=key), dtype=np.int64)


def _edges(distinct: Floats, count: Ints, n_parts: int, *, rounded: bool) -> Floats:
    """Choose where to cut: quantiles, and both sides of a value that fills a part by itself."""
    n, upto = int(count.sum()), np.cumsum(count)
    place = np.ceil(np.arange(1, n_parts) * (n - 1) / n_parts)
    wanted = distinct[np.searchsorted(upto, place, side="right")]
    heavy = np.flatnonzero(count * n_parts >= n)
    after = distinct[heavy[heavy + 1 < len(distinct)] + 1]
    edges = np.unique(np.concatenate([wanted, distinct[heavy], after]))
    edges = edges[edges > distinct[0]]
    return _short_edges(edges, distinct, upto) if rounded else edges


def _short_edges(edges: Floats, distinct: Floats, upto: Ints) -> Floats:
    """Write each edge with the fewest digits that move hardly any row to another part."""
    below = np.concatenate([[0], upto])
    short = edges.copy()
    for k, edge in enumerate(edges):
        exact = below[np.searchsorted(distinct, edge)]
        for digits in range(2, 16):
            size = 10.0 ** (np.floor(np.log10(abs(edge) or 1.0)) - digits + 1)
            candidates = (round(edge / size), np.floor(edge / size))
            fits = [
                value
                for value in (float(f"{multiple * size:.{digits}g}") for multiple in candidates)
                if abs(below[np.searchsorted(distinct, value)] - exact) <= _MOVED * upto[-1]
            ]
            if fits:
                short[k] = fits[0]
                break
    return short if (np.diff(short) > 0).all() else edges


def _cut_numbers(
    name: str,
    origin: Origin,
    numbers: Floats,
    missing: Mask,
    distinct: Floats,
    edges: Floats,
    write: Callable[[float], str],
) -> Attribute:
    texts = [write(float(edge)) for edge in edges]
    start = np.concatenate([[0], np.searchsorted(distinct, edges)])
    end = np.append(start[1:], len(distinct))
    used = np.flatnonzero(end > start)
    names, only = [], []
    for k in used:
        single = distinct[start[k] : end[k]] if end[k] - start[k] == 1 else None
        only.append(math.nan if single is None else float(single[0]))
        if single is not None:
            text = _few_numbers(single)[0] if write is _number_text else write(float(single[0]))
            names.append(f"= {text}")
        else:
            names.append(range_words(*["", *texts, ""][k : k + 2]))
    place = np.zeros(len(edges) + 1, dtype=np.int64)
    place[used] = np.arange(len(used))
    codes = np.full(len(missing), len(names), dtype=np.int64)
    codes[~missing] = place[np.searchsorted(edges, numbers, side="right")]
    if missing.any():
        names.append(MISSING)
        only.append(math.nan)
    borders = tuple(texts[k - 1] for k in used[1:])
    between = tuple(float(edges[k - 1]) for k in used[1:])
    return Attribute(name, origin, codes, tuple(names), borders, between, tuple(only))


def _number_text(value: float) -> str:
    """Write a number with as many digits as it has, at most fifteen, and thousands apart."""
    text = f"{value + 0.0:.15g}"  # no −0
    if "e" in text:
        return text
    return (f"{value:,.15g}" if abs(value) >= 10_000 else text).replace("-", "−")


def _date(nanoseconds: float) -> str:
    stamp = pd.Timestamp(int(nanoseconds))
    return str(stamp.date()) if stamp == stamp.normalize() else f"{stamp:%Y-%m-%d %H:%M}"
