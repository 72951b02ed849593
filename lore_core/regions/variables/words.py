"""Words of texts as columns: single words, and groups of words found in the same texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Ints
from lore_core.data.dataset import Dataset
from lore_core.data.texts import WORD, text_columns, texts_of
from lore_core.regions.variables.cutting import Attribute

if TYPE_CHECKING:
    from scipy import sparse

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


def word_attributes(dataset: Dataset) -> list[Attribute]:
    """Code each word of the texts of a dataset, and each group of words, as held or not.

    The 300 most frequent words in at least 20 rows, 0.5 % and at most half of them; and groups of
    words found in the same texts, held where one of them is, or where two are. Outcomes have no
    part in it. Empty without texts, and above 200,000 rows.

    Notes
    -----
    The 400 most frequent words in at least 6 rows are placed by the singular vectors of their
    positive pointwise mutual information, log(n n_ab / (n_a n_b)), over pairs met in two texts or
    more, and joined by average linkage of the cosines. Every branch of 6 to 24 words is a group;
    words of grammar are in none.
    """
    if len(dataset) > MAX_ROWS:
        return []
    found: list[Attribute] = []
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
) -> Attribute:
    text = quoted(words)
    if len(words) > _SAID + 1:
        text = f"{quoted(words[:_SAID])} and {len(words) - _SAID} more words"
    if len(words) > 1:
        text = f"{'any' if least == 1 else 'two or more'} of {text}"
    codes = np.asarray(stands_in.sum(axis=1)).ravel() >= least
    values = (f"without {text}", text)
    return Attribute(column, "text", codes.astype(np.int64), values, words=words, least=least)


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
