"""Rows that are texts: features are made of their words, and the first sentence names a topic."""

from __future__ import annotations

from benchmarks._answer_logs import answer_log, as_dataset


def test_words_become_features(open_page):
    page = open_page("data", as_dataset(answer_log(random_state=5)).with_split(0.5))
    (button,) = [one for one in page.app.button if one.label.startswith("Make features of")]
    assert button.label == "Make features of “question”"
    button.click()
    page.run()
    assert not [one for one in page.app.button if one.label.startswith("Make features of")]
    assert "No features were loaded" not in page.text
    page.go("overview")
    assert page.errors == []
    assert "more words in question" in page.text
