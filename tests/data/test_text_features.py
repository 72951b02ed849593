from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from benchmarks._answer_logs import answer_log, as_dataset
from lore_core.data.dataset import Dataset
from lore_core.data.texts import TextFeatures, with_text_features
from lore_core.data.validation import InputError

_TEXTS = [
    "the red cat sleeps",
    "the red dog sleeps",
    "a blue bird sings",
    "a blue bird flies",
    "the cat and the dog",
    "nothing else",
]


def test_by_definition():
    """TF-IDF of words and pairs that occur in two texts, its best rank-3 part, rows of length 1."""
    tokens = [[word for word in text.split() if len(word) > 1] for text in _TEXTS]
    terms = [[*words, *map(" ".join, pairwise(words))] for words in tokens]
    known = sorted({term for row in terms for term in row})
    counts = np.array([[row.count(term) for term in known] for row in terms], dtype=float)
    rows_with = (counts > 0).sum(axis=0)
    counts, rows_with = counts[:, rows_with >= 2], rows_with[rows_with >= 2]
    weights = np.log((1 + len(_TEXTS)) / (1 + rows_with)) + 1
    damped = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0)
    weighted = damped * weights
    length = np.linalg.norm(weighted, axis=1, keepdims=True)
    weighted = np.divide(weighted, length, out=np.zeros_like(weighted), where=length > 0)
    left, size, _ = np.linalg.svd(weighted, full_matrices=False)
    places = left[:, :3] * size[:3]
    norm = np.linalg.norm(places, axis=1, keepdims=True)
    places = np.divide(places, norm, out=np.zeros_like(places), where=norm > 1e-9)
    made = TextFeatures(3).fit(_TEXTS).transform(_TEXTS)
    np.testing.assert_allclose(made @ made.T, places @ places.T, atol=1e-5)
    np.testing.assert_array_equal(made[-1], 0)  # no word of it is known


def test_learnt_from_calibration_rows_alone():
    data = as_dataset(answer_log(600)).with_split(0.5)
    table = data.metadata.copy()
    table.loc[data.in_split("evaluation"), "question"] = "what is entirely new here"
    other = Dataset(
        data.probabilities, data.labels, metadata=table, split=data.split, predictions=[1] * 600
    )
    one, two = (with_text_features(item, "question") for item in (data, other))
    assert one.features.shape == (600, 50)
    np.testing.assert_array_equal(one.calibration.features, two.calibration.features)
    assert (one.evaluation.features != two.evaluation.features).any()


@pytest.mark.parametrize("parts", ["words", "characters"])
def test_a_file_gives_the_same_features(tmp_path, parts):
    texts = answer_log(400).table["question"].tolist()
    made = TextFeatures(8, parts=parts).fit(texts)
    made.save(tmp_path / "words.features")
    known = TextFeatures.load(tmp_path / "words.features")
    new = ["can a visa affect the oven", None]
    np.testing.assert_array_equal(known.transform(new), made.transform(new))
    content = (tmp_path / "words.features").read_bytes()
    (tmp_path / "words.features").write_bytes(content[:-100] + bytes(100))
    with pytest.raises(InputError, match=r"words\.features"):
        TextFeatures.load(tmp_path / "words.features")


def test_refusals():
    data = Dataset([[0.2, 0.8]] * 2, [0, 1], metadata=pd.DataFrame({"age": [1, 2]}))
    with pytest.raises(InputError, match="must have a text column 'question'; it has none"):
        with_text_features(data, "question")
    with pytest.raises(InputError, match="'age' must hold texts; it holds int64"):
        with_text_features(data, "age")
    with pytest.raises(InputError, match="hardly two share a word"):
        TextFeatures().fit(["one", "other"])
    with pytest.raises(InputError, match="Call fit first"):
        TextFeatures().transform(["one"])
