import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from benchmarks._answer_logs import answer_log
from lore_core import reading
from lore_core.data.validation import InputError
from lore_core.reading import read

N = 400
RNG = np.random.default_rng(7)
P = RNG.beta(0.5, 0.5, N)
Y = (RNG.random(N) < P).astype(int)
PREDICTED = (P > 0.5).astype(int)
TOP = np.maximum(P, 1 - P)
NAMES = np.array(["ham", "spam"])
P3 = RNG.dirichlet([0.5, 0.5, 0.5], N)
Y3 = np.array([RNG.choice(3, p=row) for row in P3])


def table(**columns):
    return pd.DataFrame(columns)


def logits(matrix, labels=Y3):
    return pd.DataFrame(matrix, columns=[f"logit_{k}" for k in range(3)]).assign(label=labels)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (table(label=Y, prediction=PREDICTED, confidence=P), r"as P\(1\).*map it as positive"),
        (table(label=Y, pred=PREDICTED, conf=1 - P), r"as P\(0\).*after taking it from 1"),
        (table(label=NAMES[Y], prediction=NAMES[PREDICTED], score=P), r"as P\(spam\)"),
        (table(label=Y, prediction=(P > 0.1).astype(int), confidence=P), r"as P\(1\)"),
        (table(is_correct=PREDICTED == Y, confidence=P), r"below 50 %.*max\(p, 1 - p\)"),
        (table(correct=np.ones(N), confidence=np.where(Y, 0.97, 0.02)), "100.0 % are right"),
        (table(logit=P, label=Y), "all logits lie in"),
    ],
)
def test_numbers_of_one_class(frame, message):
    with pytest.raises(lore.InputError, match=message) as found:
        lore.load(frame)
    assert found.value.check == "confidence"
    assert len(lore.load(frame, mapping={"accept": "confidence"})) == N


def test_a_short_table_with_the_probability_of_one_class(tmp_path):
    frame = table(label=[0, 1, 0, 1], prediction=[0, 1, 0, 1], confidence=[0.1, 0.8, 0.3, 0.9])
    with pytest.raises(lore.InputError, match=r"as P\(1\)"):
        lore.load(frame)
    path = tmp_path / "short.csv"
    path.write_text("p_cat,p_dog,p_name,label\n.7,.3,anna,dog\n.4,.6,bob,cat\n")
    assert lore.load(path).class_names == ("cat", "dog")


LLM = RNG.uniform(0, 1, N)
RIGHT = RNG.random(N) < LLM
UNDER = RNG.choice([0.1, 0.2, 0.3, 0.4], N)
HALF = RNG.uniform(0, 1, N)


@pytest.mark.parametrize(
    "frame",
    [
        table(label=Y, prediction=PREDICTED, confidence=TOP),
        table(label=Y, prediction=(P > 0.1).astype(int), confidence=np.where(P > 0.1, P, 1 - P)),
        table(correct=PREDICTED == Y, confidence=TOP),
        table(correct=RIGHT, confidence=LLM),
        table(correct=RNG.random(N) < 0.5 + UNDER, confidence=UNDER),
        table(correct=RNG.random(N) < 0.8, confidence=HALF),
        table(label=RIGHT == PREDICTED, prediction=PREDICTED, confidence=LLM),
        table(label=(RNG.random(N) < 1 / (1 + np.exp(-HALF))).astype(int), logit=HALF),
        table(label=Y, logit=np.log(P / (1 - P))),
        logits(np.log(P3)),
        logits(RNG.random((N, 3))),
    ],
)
def test_what_is_meant_so_is_read(frame):
    assert len(lore.load(frame)) == N


@pytest.mark.parametrize("matrix", [P3, P3.astype(np.float16), P3.round(2), P3[:2]])
def test_logits_that_are_probabilities(matrix, tmp_path):
    np.savez(tmp_path / "a.npz", logits=matrix, labels=Y3[: len(matrix)])
    for source in (tmp_path / "a.npz", logits(matrix, Y3[: len(matrix)])):
        with pytest.raises(lore.InputError, match="sum to 1 as probabilities do.*probability_kind"):
            lore.load(source)
    mapping = {"probabilities": "logit_*", "probability_kind": "probabilities"}
    read = reading.read(logits(matrix, Y3[: len(matrix)]), mapping=mapping).dataset
    np.testing.assert_allclose(read.probabilities, P3[: len(read)], atol=0.01)


_SAID = ["85%", "85 percent", "0.85", "Very likely", "almost certain.", "unlikely", "1", "12.5 %"]
_MEANT = [0.85, 0.85, 0.85, 0.875, 0.97, 0.325, 1.0, 0.125]


def _log(tmp_path, said):
    path = tmp_path / "answers.csv"
    frame = pd.DataFrame({"confidence": said, "correct": [1, 0] * (len(said) // 2)})
    frame.to_csv(path, index=False)
    return path


def test_words_and_percentages(tmp_path):
    found = read(_log(tmp_path, _SAID))
    np.testing.assert_allclose(found.dataset.confidence, _MEANT)
    percentages, words = found.report.notes
    assert "“85%” as 0.85" in percentages
    assert "“very likely” as 0.875" in words
    assert "Directive 203" in words
    (note,) = read(_log(tmp_path, ["85%", "15%"])).report.notes
    assert "Directive" not in note


@pytest.mark.parametrize("word", ["high", "85", "120%", "", "nan"])
def test_what_has_no_agreed_size_is_refused(tmp_path, word):
    text = [*_SAID[:3], "very likely", "likely", word]
    with pytest.raises(InputError, match=r"column 'confidence' of 'answers.csv' must .*line 7"):
        read(_log(tmp_path, text))


def test_features_of_a_text_column(tmp_path):
    path = tmp_path / "answers.jsonl"
    answer_log(400).table.to_json(path, orient="records", lines=True)
    assert read(path).dataset.features is None
    for isolate in (False, True):
        found = read(path, mapping={"text": "question"}, isolate=isolate)
        assert found.dataset.features.shape == (400, 50)
        assert "question" in found.dataset.metadata
        assert "50 numbers made of the words of 'question'" in found.report.notes[-1]
    with pytest.raises(InputError, match="has no column 'questions'.*Did you mean 'question'"):
        read(path, mapping={"text": "questions"})
