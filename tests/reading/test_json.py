import json

import numpy as np
import pytest

import lore_core as lore
from lore_core import reading

RNG = np.random.default_rng(0)
N = 300
TOPIC = RNG.choice(["law", "code"], N)
CONFIDENCE = RNG.uniform(0.4, 0.99, N).round(3)
RIGHT = RNG.random(N) < CONFIDENCE
ROWS = [
    {
        "question": f"What is {k}?",
        "confidence": float(c),
        "correct": bool(a),
        "topic": str(t),
        "usage": {"tokens": k},
        "embedding": [float(k), 1.5],
    }
    for k, (c, a, t) in enumerate(zip(CONFIDENCE, RIGHT, TOPIC, strict=True))
]


def lines(rows):
    return "\n".join(json.dumps(row) for row in rows) + "\n"


def columns(rows):
    return json.dumps({name: [row[name] for row in rows] for name in rows[0]})


@pytest.mark.parametrize("layout", [lines, json.dumps, columns])
def test_an_answer_log_opens_in_every_layout(layout, tmp_path):
    path = tmp_path / ("log.jsonl" if layout is lines else "log.json")
    path.write_text(layout(ROWS))
    read = reading.read(path)
    data = read.dataset
    np.testing.assert_allclose(data.confidence, CONFIDENCE)
    np.testing.assert_array_equal(data.outcome, RIGHT)
    np.testing.assert_allclose(data.features, [[k, 1.5] for k in range(N)])
    assert list(data.groups.columns) == ["topic"]
    assert list(data.metadata["question"]) == [row["question"] for row in ROWS]
    if layout in (lines, json.dumps):
        assert data.metadata["usage.tokens"].tolist() == list(range(N))
    said = " ".join(read.report.sentences)
    assert f"{RIGHT.sum():,} right, {(~RIGHT).sum():,} wrong" in said
    # Neither class of answers is predicted.
    assert "always answering" not in said
    assert "not the most probable" not in said


@pytest.mark.parametrize(
    "words", [("yes", "no"), ("1", "0"), ("True", "False"), ("correct", "incorrect")]
)
def test_right_and_wrong_in_words(words, tmp_path):
    text = "confidence,is_correct\n" + "".join(
        f"{c},{words[0] if a else words[1]}\n" for c, a in zip(CONFIDENCE, RIGHT, strict=True)
    )
    (tmp_path / "log.csv").write_text(text)
    data = lore.load(tmp_path / "log.csv")
    np.testing.assert_array_equal(data.outcome, RIGHT)


def test_classes_go_before_whether_they_are_right(tmp_path):
    row = '{"label": %d, "p_0": %.2f, "p_1": %.2f, "correct": %d, "confidence": 0.7}\n'
    (tmp_path / "a.jsonl").write_text("".join(row % (k % 2, 0.3, 0.7, k % 2) for k in range(40)))
    data = lore.load(tmp_path / "a.jsonl")
    assert data.class_names == ("0", "1")
    assert "correct" in data.metadata
    rows = [{**row, "note": "x"} if k == 2 else row for k, row in enumerate(ROWS)]
    (tmp_path / "a.jsonl").write_text(lines(rows))
    note = lore.load(tmp_path / "a.jsonl").metadata["note"]
    assert note.notna().sum() == 1
    assert note[2] == "x"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"label": 0}\n{"label": \n', "'a.jsonl' is damaged or no JSON in line 2"),
        ("[1, 2]", "record 0 of 'a.jsonl' must be an object"),
        ("[]", "has no rows"),
        ('"text"', "must hold a list of records"),
        ("[" * 100_000, "recursion depth"),
        ('{"confidence": [0.9, 0.8], "correct": [1]}', "true classes|answers"),
        (lines([*ROWS[:3], {**ROWS[3], "correct": "perhaps"}]), "'perhaps' at row 3"),
        (lines([*ROWS[:3], {**ROWS[3], "confidence": "high"}]), "'high' at row 3"),
        (lines([{**ROWS[0], "usage.tokens": 1}]), "two columns named 'usage.tokens'"),
    ],
)
def test_what_is_wrong_is_said(text, said, tmp_path):
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(lore.InputError, match=said):
        lore.load(tmp_path / "a.jsonl")


def choices(k, likelihoods, target, **more):
    """A line of a sample log as lm-evaluation-harness writes it."""
    return {
        "doc_id": k,
        "doc": {"question": f"What is {k}?", "choices": ["a", "b", "c"]},
        "target": str(target),
        "arguments": {"gen_args_0": {"arg_0": "prompt", "arg_1": " a"}},
        "resps": [[[str(v), "False"]] for v in likelihoods],
        "filtered_resps": [[str(v), "False"] for v in likelihoods],
        "doc_hash": "ab",
        "acc": float(np.argmax(likelihoods) == target),
        **more,
    }


def test_a_sample_log_of_the_harness(tmp_path):
    values = RNG.normal(-5, 2, (40, 3)).round(4)
    targets = RNG.integers(0, 3, 40)
    log = [choices(k, v, t) for k, (v, t) in enumerate(zip(values, targets, strict=True))]
    (tmp_path / "samples.jsonl").write_text(lines(log))
    read = reading.read(tmp_path / "samples.jsonl")
    expected = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(read.dataset.probabilities, expected, rtol=1e-9)
    np.testing.assert_array_equal(read.dataset.labels, targets)
    np.testing.assert_array_equal(read.dataset.outcome, [row["acc"] for row in log])
    assert list(read.dataset.metadata["doc.question"]) == [f"What is {k}?" for k in range(40)]
    assert "softmax" in " ".join(read.report.notes)
    assert not [name for name in read.dataset.metadata if "hash" in name or "arg" in name]
    log = [choices(0, [-1.0, -2.0], 0), choices(1, [-3.0, -1.0, -1.5], 2)] * 20
    (tmp_path / "samples.jsonl").write_text(lines(log))
    data = lore.load(tmp_path / "samples.jsonl")
    one, two = np.exp([-1.0, -2.0]), np.exp([-3.0, -1.0, -1.5])
    np.testing.assert_allclose(data.confidence[:2], [one[0] / one.sum(), two[1] / two.sum()])
    np.testing.assert_array_equal(data.outcome[:2], [1, 0])
