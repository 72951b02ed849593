import io
import math
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks._answer_logs import answer_log, as_dataset
from lore_core.data import number_text as written
from lore_core.data.atomic_files import replaced_at_once, write_bytes
from lore_core.data.dataset import Dataset
from lore_core.data.export_text import FORMULAS_VARIABLE, csv_text
from lore_core.data.number_text import NATS, PERCENT, POINTS
from lore_core.data.texts import with_text_features
from lore_core.data.validation import InputError
from lore_core.figures.export import chart_csv

SIGNED = {0.0213: "+2.1", -0.5: "−50.0", 0.0: "0.0", -0.0001: "0.0", math.nan: "–"}
SHARES = {
    0.877: "88 %", 0.0: "0 %", 1.0: "100 %", 0.0004: "under 0.1 %", 0.0096: "1.0 %",
    0.9996: "over 99.9 %", 0.994: "99.4 %",
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        *((written.signed_points(share), text) for share, text in SIGNED.items()),
        *((written.share_words(share), text) for share, text in SHARES.items()),
        (written.with_points(0.0712), "7 points"),
        (written.with_points(0.01), "1 point"),
        (written.with_points(-0.004), "−0.4 points"),
        (written.points_words(0.0, 1), "0"),
        (written.interval_words(-0.001, 0.153), "0 to 15"),
        (written.gap_words(0.099, 0.0741, 0.1266), "+9.9 points (95 % CI +7.4 to +12.7)"),
        (written.gap_words(-0.02), "−2.0 points"),
        (written.p_words(0.00099), "< 0.001"),
        (written.p_words(0.0123), "0.012"),
        (written.p_words(math.nan), ""),
        (written.p_sentence(0.0123), "p = 0.012"),
        (written.p_sentence(0.0001), "p < 0.001"),
        (written.batches_words(1), "1 batch"),
        (written.batches_words(1200), "1,200 batches"),
    ],
)
def test_within_a_sentence(words, expected):
    assert words == expected


def test_units():
    assert POINTS.text(0.0213) + POINTS.word == "2.1 points"
    assert PERCENT.text(0.877) + PERCENT.word == "87.7 %"
    assert NATS.text(0.25) == "0.250"
    assert POINTS.estimate_text(0.02, 0.01, 0.03, signed=True) == "+2.0 (+1.0 to +3.0)"
    assert POINTS.estimate_text(0.02, math.nan, math.nan) == "2.0"
    assert POINTS.text(math.nan) == "–"
    assert POINTS.in_files == PERCENT.in_files == "share, 0 to 1"


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
    data = Dataset(
        [[0.2, 0.8]] * 6, [0, 1] * 3, metadata=pd.DataFrame({"text": [*_TEXTS[:5], None]})
    )
    made = with_text_features(data, "text", 3).features
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


def test_refusals():
    table = pd.DataFrame({"age": [1, 2], "text": ["one", "other"]})
    data = Dataset([[0.2, 0.8]] * 2, [0, 1], metadata=table)
    with pytest.raises(InputError, match="must have a text column 'question'; it has none"):
        with_text_features(data, "question")
    with pytest.raises(InputError, match="'age' must hold texts; it holds int64"):
        with_text_features(data, "age")
    with pytest.raises(InputError, match="hardly two of the 2 texts share a word"):
        with_text_features(data, "text")


def write_half(place):
    place.write_text("half")
    raise ZeroDivisionError


def test_files_are_replaced_at_once_or_not_at_all(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replaced_at_once(path) as place:
        write_half(place)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    (tmp_path / "plain").touch()
    write_bytes(tmp_path / "made", b"x")
    assert len({path.stat().st_mode for path in tmp_path.iterdir()}) == 1
    message = "must be writable; got No space left on device"
    with pytest.raises(InputError, match=message), replaced_at_once(tmp_path / "full"):
        raise OSError(28, "No space left on device")
    assert {item.name for item in tmp_path.iterdir()} == {"table.csv", "plain", "made"}


def test_texts_that_would_be_computed_are_not(monkeypatch):
    names = ["=1+1", "+A1", "-cmd|x", "@SUM(A1)", "\tx", "\rx", "-3", "+0.5", "plain", None]
    table = pd.DataFrame({"=name": names, "gap": [-0.5] * 10})
    read = pd.read_csv(io.StringIO(csv_text(table), newline=""), dtype=str)
    assert list(read.columns) == ["'=name", "gap"]
    assert read["'=name"].tolist()[:5] == ["'" + name for name in names[:5]]
    assert read["'=name"][5] == "'\nx"
    assert read["'=name"].tolist()[6:9] == ["-3", "+0.5", "plain"]
    assert set(read["gap"]) == {"-0.5"}
    assert table["=name"].tolist()[0] == "=1+1"
    grouped = table.astype({"=name": "category"})
    assert csv_text(grouped).splitlines()[1].startswith("'=1+1")
    chart = SimpleNamespace(table=pd.DataFrame({"group": ["=1+1"]}))
    assert chart_csv(chart) == b"group\n'=1+1\n"
    monkeypatch.setenv(FORMULAS_VARIABLE, "keep")
    assert csv_text(table).splitlines()[1] == "=1+1,-0.5"
