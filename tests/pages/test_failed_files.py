import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from page_names import PAGES

from lore_core.cli import main
from lore_core.data.number_text import percent
from pages.shared.store import store

DEMO = "handwritten digits"
NOTHING = "Nothing is loaded"


def log(folder: Path) -> Path:
    path = folder / "run.json"
    path.write_text('{"version": 2, "eval": {"task": "arc"}, "samples": [')
    return path


def table_of_logits(folder: Path) -> Path:
    rng = np.random.default_rng(3)
    path = folder / "scores.csv"
    rows = np.column_stack([rng.normal(size=(200, 3)).round(3), rng.normal(size=(200, 2)).round(3)])
    lines = [f"{rng.integers(3)},{','.join(map(str, row))}" for row in rows]
    path.write_text("\n".join(["label,p_0,p_1,p_2,f_0,f_1", *lines]))
    return path


def answers(folder: Path, n=300) -> Path:
    """Write answers of a language model whose confidence has no usual name, but two columns."""
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.5, 1, n)
    right = (rng.random(n) < sure).astype(int)
    words = np.where(sure > 0.75, "likely", "85%")
    path = folder / "answers.csv"
    lines = [f"{k},{right[k]},{sure[k]:.3f},{words[k]},{k % 17}" for k in range(n)]
    path.write_text("\n".join(["id,correct,token_prob,said,length", *lines, ""]))
    return path


def started_with(path: Path) -> list[str]:
    return ["app.py", "--data-root", "/", "--data", str(path)]


def link_of(page) -> str:
    named = page.app.query_params["data"]
    return named if isinstance(named, str) else named[0]


def shows_no_numbers(page):
    assert not page.app.metric
    assert not page.app.get("bidi_component")
    assert not page.app.dataframe
    assert DEMO not in page.text


@pytest.fixture
def every_page():
    def check(page):
        for name in PAGES:
            if name == "data":
                continue
            page.go(name)
            shows_no_numbers(page)
            assert NOTHING in page.text
            assert [True for item in page.app.get("page_link") if "Data" in item.proto.label]
            if name not in ("runs", "watch"):
                assert not page.app.subheader
        page.go("data")
        assert NOTHING not in page.text
        return page

    return check


@pytest.mark.parametrize("at_start", [True, False])
def test_a_file_that_cannot_be_read(open_page, tmp_path, every_page, at_start):
    page = open_page("data", arguments=started_with(log(tmp_path))) if at_start else None
    if page is None:  # while only the demo is shown
        page = open_page("data")
        assert DEMO in page.text
        page.read_path(log(tmp_path))
    (sentence,) = page.errors
    assert "run.json" in sentence.replace("\\", "")
    shows_no_numbers(page)
    if at_start:
        assert page.app.query_params.get("data") is None
        every_page(page)
        assert not [item for item in page.app.button if item.label.startswith("Open ")]
    page.press("Show the demo")
    assert page.errors == []
    assert DEMO in page.text
    assert page.go("overview").app.metric


def test_another_mapping_of_its_columns_loads_it(open_page, tmp_path):
    arguments = started_with(table_of_logits(tmp_path))
    page = open_page("data", arguments=arguments)
    (kind,) = [item for item in page.app.selectbox if "probability columns" in item.label]
    kind.set_value("logits")
    page.run().press("Read with these roles")
    assert page.errors == []
    link = link_of(page)
    assert "scores.csv" in page.text
    for other in (page, open_page("overview", arguments=arguments, data=link)):
        other.go("overview")
        assert other.app.metric
        assert "100 evaluation + 100 calibration rows" in other.text
    # Who opens the plain address gives roles of their own.
    assert open_page("data", arguments=arguments).errors


def test_a_link_to_data_that_are_gone(open_page, every_page):
    page = open_page("overview", data="../../etc/passwd")
    every_page(page)
    assert "no longer here" in page.errors[0]
    shows_no_numbers(page)
    page.press("Show the demo")
    assert DEMO in page.text


@pytest.mark.parametrize("name", ["synthetic", "digits"])
def test_a_link_to_a_demo_finds_it_on_any_server(open_page, name):
    store.clear()
    page = open_page("data", data=name)
    assert page.errors == []
    assert link_of(page) == name
    assert {"synthetic": "synthetic", "digits": DEMO}[name] in page.text


def test_what_fails_while_other_data_are_shown(open_page, made):
    before = made()
    page = open_page("data", before).upload(("bad*.npz", b"this is no archive"))
    said = f"bad\\*.npz could not be read (see Data): the pages still show **{before.name}**."
    for name in ("overview", "decisions", "data"):
        assert said in page.go(name).text
        assert DEMO not in page.text
    assert "archive" in page.errors[0]
    page.press("Dismiss")
    assert page.errors == []
    assert "could not be read" not in page.go("overview").text


def test_a_refused_file_asks_which_column_is_meant_and_one_click_reads_it(open_page, tmp_path):
    path = answers(tmp_path)
    page = open_page("data").upload((path.name, path.read_bytes()))
    assert "no column of probabilities" in page.errors[0]
    assert "Found 'correct'; which column is the confidence: 'token_prob' or 'said'?" in page.plain
    (counts,) = [table for table in page.tables if "class" in table]
    right = pd.read_csv(path)["correct"]
    assert dict(zip(counts["class"], counts["all"], strict=True)) == {
        str(k): n for k, n in right.value_counts().items()
    }
    preview = next(table for table in page.tables if isinstance(table.columns, pd.MultiIndex))
    assert ("row id", "id") in preview
    page.press("Read token\\_prob as the confidence")
    assert page.errors == []
    named = page.app.query_params["column"]
    assert named == ["label=correct", "probabilities=token_prob", "probability_kind=correct"]
    (command,) = page.app.get("code")
    typed = shlex.split(command.value.replace("\\\n", ""))
    assert main([str(path) if word == "FILE" else word for word in typed[1:]]) == 0
    assert f"{percent(right.mean())}" in page.text.replace("\N{NO-BREAK SPACE}", " ")


def test_a_link_with_a_mapping_reads_the_file_again(open_page, tmp_path):
    path = answers(tmp_path)
    mapping = ["label=correct", "probabilities=said", "probability_kind=correct"]
    page = open_page("data", arguments=started_with(path), column=mapping)
    assert page.errors == []
    assert page.app.query_params["column"] == mapping
    assert "150 evaluation + 150 calibration rows" in page.text
    assert open_page("data", arguments=started_with(path), column=["label"]).errors
