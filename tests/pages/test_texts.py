"""Logs as they come: features are made of their words, and of several tables one is chosen."""

from __future__ import annotations

import pandas as pd

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


def test_a_table_of_a_workbook_is_chosen(open_page, tmp_path):
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        pd.DataFrame({"about": ["a cover"]}).to_excel(book, sheet_name="cover", index=False)
        answer_log(200).table.to_excel(book, sheet_name="answers", index=False)
    page = open_page("data")
    page.app.segmented_control[0].set_value("Path").run()
    page.app.text_input[0].set_value(str(tmp_path / "two.xlsx")).run()
    next(one for one in page.app.button if one.label == "Read").click().run()
    assert "holds several sheets" in page.text
    next(one for one in page.app.selectbox if one.label == "The sheet to read").set_value("answers")
    page.run()
    next(one for one in page.app.button if one.label == "Read this sheet").click()
    page.run()
    assert page.errors == []
    assert "200 rows" in page.text
