"""Columns of texts, and features of their words where there are no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.dataset import CALIBRATION, Dataset
from lore_core.data.validation import InputError, check_integer

#: A word: two or more letters and digits, one a letter; an apostrophe may be inside.
WORD = r"(?u)\b(?=\w*[^\W\d_])\w[\w'’]*\w\b"
#: Texts with fewer words (median) are names, with fewer distinct ones categories.
_FEWEST_WORDS, _FEWEST_DISTINCT = 4, 0.3
_LOOKED_AT = 2000
#: Of single words and of pairs.
_WORDS = {"sublinear_tf": True, "ngram_range": (1, 2)}
#: Most texts that are fitted on, and most frequent words or n-grams that are used.
_LEARNT_FROM, _MOST_TERMS = 100_000, 50_000
_CHUNK = 20_000


class TextFeatures:
    """Features of texts: TF-IDF of their words, reduced to its first singular vectors (LSA).

    Texts are close that share words, or words of the same texts. A language model's embedding knows
    more; this needs none, and is the same on every machine.

    Parameters
    ----------
    n_features : int
        Numbers a text, at least 2; fewer where the texts hold fewer words.

    Notes
    -----
    Weights are (1 + log count) · (1 + log((1 + n) / (1 + rows with the word))). Rows of the result
    have length 1, so that distances follow the cosine, or 0 where no word is known.
    """

    def __init__(self, n_features: int = 50) -> None:
        self.n_features = check_integer(n_features, "n_features", minimum=2)
        self._terms: list[str] = []
        self._weights: NDArray[np.float64] = np.empty(0)
        self._vectors: NDArray[np.float64] = np.empty((0, 0))

    def fit(self, texts: Sequence[str]) -> TextFeatures:
        """Learn words, their weights and the singular vectors.

        A text may be None. Raises InputError if fewer than three words occur twice.
        """
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        known = _clean(texts)
        some = known[:: max(len(known) // _LEARNT_FROM, 1)]
        made = TfidfVectorizer(min_df=2, max_features=_MOST_TERMS, **_WORDS)
        try:
            weighted = made.fit_transform(some)
        except ValueError:
            weighted = None
        if weighted is None or weighted.shape[1] < 3:
            raise InputError(
                f"hardly two of the {len(known):,} texts share a word. Name another column."
            )
        count = min(self.n_features, weighted.shape[1] - 1)
        svd = TruncatedSVD(count, random_state=0).fit(weighted)
        self._terms = made.get_feature_names_out().tolist()
        self._weights = np.asarray(made.idf_, dtype=np.float64)
        self._vectors = np.asarray(svd.components_, dtype=np.float64)
        return self

    def transform(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return features, shape (n, d), of these or of other texts.

        Raises InputError before :meth:`fit`.
        """
        from sklearn.feature_extraction.text import TfidfVectorizer

        if not self._terms:
            raise InputError("'transform' needs texts to have been learnt from. Call fit first.")
        made = TfidfVectorizer(vocabulary=self._terms, **_WORDS)
        made.idf_ = self._weights
        known = _clean(texts)
        features = np.empty((len(known), len(self._vectors)), dtype=np.float32)
        for start in range(0, len(known), _CHUNK):
            part = slice(start, start + _CHUNK)
            places = made.transform(known[part]) @ self._vectors.T
            length = np.linalg.norm(places, axis=1, keepdims=True)
            features[part] = places / np.where(length > 0, length, 1.0)
        return features


def with_text_features(
    dataset: Dataset, column: str, features: TextFeatures | None = None
) -> Dataset:
    """Give a dataset features made of one of its text columns.

    Parameters
    ----------
    dataset : Dataset
        Rows with that column among their metadata.
    column : str
        Its name.
    features : TextFeatures, optional
        Fitted on other texts; by default fitted on the calibration rows, or all without a split.

    Raises
    ------
    InputError
        If there is no such column of texts.
    """
    if dataset.metadata is None or column not in dataset.metadata:
        raise InputError(f"'{dataset.name}' must have a text column {column!r}; it has none.")
    values = dataset.metadata[column]
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_datetime64_any_dtype(values):
        raise InputError(f"column {column!r} must hold texts; it holds {values.dtype}.")
    texts = pd.Series(values.to_numpy(dtype=object))
    if features is None:
        learnt = dataset.in_split(CALIBRATION)
        features = TextFeatures().fit((texts[learnt] if learnt.any() else texts).tolist())
    return replace(dataset, features=features.transform(texts.tolist()), feature_names=None)


def _clean(texts: Sequence[str]) -> list[str]:
    return ["" if pd.isna(text) else str(text) for text in texts]


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
