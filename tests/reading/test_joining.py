"""Files beside predictions: joined by id or row by row, and never to the wrong row."""

import numpy as np
import pandas as pd
import pytest

from lore_core import InputError, load
from lore_core.reading import ColumnMapping, inspect, parse_options, read


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.5, 1, 60).round(3)
    right = (rng.random(60) < sure).astype(int)
    ids = rng.permutation(60) + 100
    table = pd.DataFrame({"id": ids, "confidence": sure, "correct": right})
    table.to_csv(tmp_path / "answers.csv", index=False)

    def write(frame, name="beside.csv"):
        frame.to_csv(tmp_path / name, index=False)
        return [tmp_path / "answers.csv", tmp_path / name]

    return table, write


def test_an_id_column_finds_the_row_whatever_the_order(files):
    table, write = files
    beside = pd.DataFrame({"id": np.sort(table["id"])})
    beside["note"] = "of " + beside["id"].astype(str)
    beside["height"] = beside["id"] / 2
    for given in (write(beside), write(beside)[::-1]):
        metadata = load(given).metadata
        assert (metadata["note"] == "of " + table["id"].astype(str)).all()
        assert (metadata["height"] == table["id"] / 2).all()
    some = write(beside.iloc[5:])
    found = read(some)
    gone = ~table["id"].isin(beside["id"][5:])
    assert (found.dataset.metadata["note"].isna() == gone).all()
    assert any(
        "joined to 'answers.csv' by 'id'; 5 rows without one" in n for n in found.report.notes
    )


def test_without_an_id_rows_are_in_the_same_order(files):
    table, write = files
    note = load(write(pd.DataFrame({"note": table["id"]}))).metadata["note"]
    assert (note == table["id"]).all()
    with pytest.raises(InputError, match="exactly one file of as many rows, or share an id column"):
        load(write(pd.DataFrame({"note": table["id"][1:]})))


def test_ids_that_do_not_name_one_row_are_refused(files):
    table, write = files
    twice = pd.DataFrame({"id": [*table["id"], table["id"][0]], "note": "x"})
    with pytest.raises(InputError, match="must name each row once"):
        load(write(twice))
    with pytest.raises(InputError, match="must name rows of"):
        load(write(pd.DataFrame({"id": table["id"] + 1000, "note": "x"})))


@pytest.mark.parametrize("mapping", [None, {"row_id": "case"}])
def test_another_column_is_the_id_where_it_names_each_row_or_is_mapped_so(files, mapping):
    table, write = files
    first, second = write(pd.DataFrame({"id": table["id"][::-1], "note": table["id"][::-1]}))
    for path in (first, second):
        pd.read_csv(path).rename(columns={"id": "case"}).to_csv(path, index=False)
    data = load([first, second], mapping=mapping)
    assert (data.metadata["note"] == data.metadata["case"]).all()
    texts = pd.read_csv(second).astype({"case": str})
    texts.assign(case="of " + texts["case"]).to_csv(second, index=False)
    pd.read_csv(first).assign(case=[f"no {k}" for k in range(60)]).to_csv(first, index=False)
    with pytest.raises(InputError, match="'case' of 'answers.csv' must name rows of 'beside.csv'"):
        load([first, second], mapping=mapping)


WAYS = {
    "logits": ({"label": [0, 1, 1, 0], "p_0": [3.0, -1, 2, 0], "p_1": [-2.0, 1, 3, 1]}, "logits"),
    "split": (
        {"label": [0, 1, 1, 0], "p": [0.2, 0.9, 0.7, 0.4], "split": list("abab")},
        "without 'split'",
    ),
    "label": (
        {"label": [0.5, 1.5, 0.5, 2.5], "really": [0, 1, 1, 0], "p": [0.2, 0.9, 0.7, 0.4]},
        "really as the true class",
    ),
    "confidence": (
        {"label": list("abba"), "prediction": list("abaa"), "sureness": [0.7, 0.9, 0.6, 0.8]},
        "sureness as the confidence",
    ),
    "feature": (
        {"label": [0, 1, 1, 0], "p": [0.2, 0.9, 0.7, 0.4], "f_0": [1, 2, None, 3], "f_1": range(4)},
        "without 'f_0' as feature",
    ),
}


@pytest.mark.parametrize("name", WAYS)
def test_what_a_mapping_can_mend_is_suggested_and_reads(tmp_path, name):
    columns, words = WAYS[name]
    path = tmp_path / "file.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    with pytest.raises(InputError):
        load(path)
    overview = inspect(path, isolate=True)
    assert any(words in item.words for item in overview.suggestions), overview.suggestions
    assert overview.question
    for item in overview.suggestions:
        assert len(load(path, mapping=item.mapping)) == 4


def test_options_say_the_same_mapping():
    named = ColumnMapping(label="y", probabilities="p", probability_kind="positive")
    for mapping in (named, ColumnMapping(features=("f_1", "f_2"), split="", groups=())):
        both = mapping, parse_options(mapping.options())
        one, again = ({**vars(of), "groups": of.groups or ()} for of in both)
        assert again == one
    assert parse_options(ColumnMapping().options()) == ColumnMapping()
