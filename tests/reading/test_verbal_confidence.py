import numpy as np
import pandas as pd
import pytest

from benchmarks._answer_logs import answer_log
from lore_core.data.validation import InputError
from lore_core.reading import read

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


def test_percentages_alone_need_no_rule_for_words(tmp_path):
    (note,) = read(_log(tmp_path, ["85%", "15%"])).report.notes
    assert "Directive" not in note


@pytest.mark.parametrize("word", ["high", "85", "120%", "", "nan"])
def test_what_has_no_agreed_size_is_refused(tmp_path, word):
    said = [*_SAID[:3], "very likely", "likely", word]
    with pytest.raises(InputError, match=r"column 'confidence' of 'answers.csv' must .*line 7"):
        read(_log(tmp_path, said))


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
