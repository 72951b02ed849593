"""Columns of texts, and features of their words where there are no others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from lore_core.data.dataset import CALIBRATION, Dataset
from lore_core.data.validation import InputError, check_integer

#: A word: two or more letters and digits, one a letter; an apostrophe may be inside.
WORD = r"(?u)\b(?=\w*[^\W\d_])\w[\w'’]*\w\b"
#: Texts with fewer words (median) are names, with fewer distinct ones categories.
_FEWEST_WORDS, _FEWEST_DISTINCT = 4, 0.3
_LOOKED_AT = 2000
#: Most texts that are fitted on, and most frequent words or n-grams that are used.
_LEARNT_FROM, _MOST_TERMS = 100_000, 50_000


def with_text_features(dataset: Dataset, column: str, n_features: int = 50) -> Dataset:
    """Give a dataset features made of the words of one of its text columns.

    TF-IDF of words and pairs of them, reduced to its first singular vectors (LSA). Texts are close
    that share words, or words of the same texts. A language model's embedding knows more; this
    needs none, and is the same on every machine. ``column``: of the metadata; a text may be
    missing. ``n_features``: numbers a text, at least 2; fewer where the texts hold fewer words.
    Raises InputError if there is no such column of texts, or fewer than three words occur twice.

    Words, weights and vectors are learnt from the calibration rows, or all without a split. Weights
    are (1 + log count) · (1 + log((1 + n) / (1 + rows with the word))). Rows of the result have
    length 1, so that distances follow the cosine, or 0 where no word is known.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    if dataset.metadata is None or column not in dataset.metadata:
        raise InputError(f"'{dataset.name}' must have a text column {column!r}; it has none.")
    values = dataset.metadata[column]
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_datetime64_any_dtype(values):
        raise InputError(f"column {column!r} must hold texts; it holds {values.dtype}.")
    n_features = check_integer(n_features, "n_features", minimum=2)
    texts = ["" if pd.isna(text) else str(text) for text in values]
    learnt = dataset.in_split(CALIBRATION)
    known = [text for text, one in zip(texts, learnt, strict=True) if one] or texts
    some = known[:: max(len(known) // _LEARNT_FROM, 1)]
    words = TfidfVectorizer(
        min_df=2, max_features=_MOST_TERMS, sublinear_tf=True, ngram_range=(1, 2)
    )
    try:
        weighted = words.fit_transform(some)
    except ValueError:
        weighted = None
    if weighted is None or weighted.shape[1] < 3:
        raise InputError(
            f"hardly two of the {len(known):,} texts share a word. Name another column."
        )
    svd = TruncatedSVD(min(n_features, weighted.shape[1] - 1), random_state=0).fit(weighted)
    places = svd.transform(words.transform(texts))
    length = np.linalg.norm(places, axis=1, keepdims=True)
    features = (places / np.where(length > 0, length, 1.0)).astype(np.float32)
    return replace(dataset, features=features, feature_names=None)


def is_prose(series: pd.Series[Any]) -> bool:
    """Return whether a column holds texts, not names or categories."""
    if not (pd.api.types.is_object_dtype(series) or pd.api.types.is_string_dtype(series)):
        return False
    some = series.iloc[:: max(len(series) // _LOOKED_AT, 1)].dropna()
    if some.empty or not some.map(lambda value: isinstance(value, str)).all():
        return False
    words = some.str.count(WORD)
    return bool(words.median() >= _FEWEST_WORDS and some.nunique() >= _FEWEST_DISTINCT * len(some))


def text_columns(dataset: Dataset) -> list[str]:
    """Return the names of a dataset's columns of texts."""
    if dataset.metadata is None:
        return []
    return [str(name) for name, values in dataset.metadata.items() if is_prose(values)]


def texts_of(dataset: Dataset, column: str) -> list[str]:
    """Return the texts of a column; missing ones are empty."""
    assert dataset.metadata is not None
    return dataset.metadata[column].fillna("").astype(str).tolist()
