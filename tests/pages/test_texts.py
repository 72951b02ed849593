import sqlite3
from contextlib import closing

import pandas as pd

from benchmarks._answer_logs import answer_log, as_dataset


def test_words_become_features(open_page):
    page = open_page("data", as_dataset(answer_log(random_state=5)).with_split(0.5))
    page.press("Make features of “question”")
    assert not [one for one in page.app.button if one.label.startswith("Make features of")]
    assert "No features were loaded" not in page.text
    page.go("overview")
    assert page.errors == []
    assert "more words in question" in page.text


def test_a_table_of_a_workbook_is_chosen(open_page, tmp_path):
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        pd.DataFrame({"about": ["a cover"]}).to_excel(book, sheet_name="cover", index=False)
        answer_log(200).table.to_excel(book, sheet_name="answers", index=False)
    page = open_page("data").read_path(tmp_path / "two.xlsx")
    assert "holds several sheets" in page.text
    next(one for one in page.app.selectbox if one.label == "The sheet to read").set_value("answers")
    page.run().press("Read this sheet")
    assert page.errors == []
    assert "200 rows" in page.text


def test_a_database_is_queried(open_page, tmp_path):
    path = tmp_path / "runs.sqlite"
    with closing(sqlite3.connect(path)) as opened:
        answer_log(300).table.to_sql("answers", opened, index=False)
        opened.execute("CREATE TABLE sites (site)")
    before = path.read_bytes()
    page = open_page("data", data_tab="Columns and roles")
    page.app.segmented_control[0].set_value("Path").run()
    assert not page.app.text_area
    page.app.text_input[0].set_value(str(path)).run()

    def ask(text):
        page.app.text_area(key="query").set_value(text).run()
        return page.press("Read this query")

    ask("DELETE FROM answers")
    (said,) = page.errors
    assert said.startswith("The query on ")
    assert "Write a SELECT" in said
    ask("SELECT confidence, correct, question FROM answers WHERE confidence > 0.8")
    assert page.errors == []
    count = int((answer_log(300).table["confidence"] > 0.8).sum())
    assert f"{count} rows" in page.text
    assert f"(SQLite, {count} rows)" in page.text
    assert f"{count} rows" in page.press("Read with these roles").text
    assert path.read_bytes() == before
    kept = page.app.query_params["data"]
    again = open_page("data", data=kept[0] if isinstance(kept, list) else kept)
    assert f"{count} rows" in again.text
