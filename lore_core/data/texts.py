"""Texts of rows: which columns hold any, and what a word is."""

from __future__ import annotations

from typing import Any

import pandas as pd

from lore_core.data.dataset import Dataset

#: A word: letters and digits, two at least, one of them a letter; an apostrophe stands within.
WORD = r"(?u)\b(?=\w*[^\W\d_])\w[\w'’]*\w\b"
#: Texts whose median has fewer words are names; those that repeat more often are categories.
_FEWEST_WORDS, _FEWEST_DISTINCT = 4, 0.3
#: So many texts tell whether a column holds texts.
_LOOKED_AT = 2000


def is_prose(series: pd.Series[Any]) -> bool:
    """Whether a column holds texts of some words, and not names or categories."""
    if not (pd.api.types.is_object_dtype(series) or pd.api.types.is_string_dtype(series)):
        return False
    some = series.iloc[:: max(len(series) // _LOOKED_AT, 1)].dropna()
    if some.empty or not some.map(lambda value: isinstance(value, str)).all():
        return False
    words = some.str.count(WORD)
    return bool(words.median() >= _FEWEST_WORDS and some.nunique() >= _FEWEST_DISTINCT * len(some))


def text_columns(dataset: Dataset) -> list[str]:
    """Name the columns of a dataset that hold texts."""
    if dataset.metadata is None:
        return []
    return [str(name) for name, values in dataset.metadata.items() if is_prose(values)]


def texts_of(dataset: Dataset, column: str) -> list[str]:
    """Return the texts of one of its columns; a missing one is empty."""
    assert dataset.metadata is not None
    return dataset.metadata[column].fillna("").astype(str).tolist()
