import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

from lore_core.data.dataset import Dataset
from lore_core.data.validation import InputError
from lore_core.reading import inspect, load, npz as npz_module, read


@pytest.mark.parametrize(
    ("column", "row", "value", "rule"),
    [
        ("p_1", 2, np.nan, "be finite; got a missing.*"),
        ("p_1", 2, np.inf, "be finite; got inf"),
        ("p_2", 5, 1.5, r"lie in \[0, 1\]; got 1.5"),
        ("p_2", 0, -0.1, r"lie in \[0, 1\]; got -0.1"),
        ("f_1", 3, np.nan, "be finite; got a missing.*"),
        ("f_0", 4, -np.inf, "be finite; got -inf"),
    ],
)
def test_bad_cells_of_a_csv(csv, table, column, row, value, rule):
    table.loc[row, column] = value
    place = rf"at row {row} \(line {row + 2}\) \(1 such row\)"
    refused(csv(**{column: table[column]}), f"column '{column}' of 'runs.csv' must {rule} {place}")


def test_sums_that_are_not_1(csv, npz, arrays):
    probs = arrays["probs"].copy()
    probs[4, 2] = 0.5
    message = r"columns p_0, p_1, p_2 of 'runs.csv' must sum to 1; row 4 \(line 6\) sums to 1.25"
    refused(csv(p_2=probs[:, 2]), message)
    refused(npz(probs=probs), r"each row of array 'probs' of 'runs.npz' must sum to 1; row 4 sums")


@pytest.mark.parametrize(
    ("name", "cell", "value", "rule"),
    [
        ("probs", (4, 2), np.nan, "be finite.*row 4, column 2"),
        ("probs", (4, 2), 2.0, r"lie in \[0, 1\]; got 2 at row 4"),
        ("features", (1, 0), np.nan, "be finite.*row 1, column 0"),
    ],
)
def test_bad_cells_of_an_npz(npz, arrays, name, cell, value, rule):
    values = arrays[name].copy()
    values[cell] = value
    refused(npz(**{name: values}), f"array '{name}' of 'runs.npz' must {rule}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"p_1": [0.25, 0.5, 0.125, "n/a?", 0.25, 0.25]},
            r"'p_1' of 'runs.csv' must hold numbers only; got 'n/a\?' at row 3 \(line 5\) \(1 such",
        ),
        (
            {"f_0": [1e308, -1e308, 0.0, 1.0, 2.0, 3.0]},
            r"'f_0' of 'runs.csv' must lie within ±1e\+150.*got 1e\+308 at row 0 \(line 2\)",
        ),
        ({"f_0": [0, 1, 2, "n/a?", 4, 5]}, r"'f_0'.*numbers only; got 'n/a\?' at row 3"),
        (
            {"p_0": [50, 25, 12, 75, 50, 0], "p_1": [25, 50, 13, 12, 25, 25], "p_2": [25] * 6},
            "got 50 at row 0.*Divide percentages by 100",
        ),
        ({"p_0": [-2.5, -2.75, -2.875, -2.25, -2.5, -3]}, "If these are scores, map them as logi"),
        ({"prediction": [0, 1, None, 0, 1, 2]}, "'prediction'.*every row; got nothing at row 2"),
        ({"split": ["cal", None, "test"] * 2}, r"'split'.*got nothing at row 1 \(line 3\)"),
    ],
)
def test_bad_columns_of_a_csv(csv, changes, message):
    refused(csv(**changes), message)


NAMES = ("probs", "labels", "features", "region", "age")
TWO = np.full((6, 2), "a")  #: Two columns of groups


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": np.zeros(5, int)}, "'probs' of 'runs.npz'.*rows as 'labels'; got 6 and 5"),
        ({"features": np.zeros((7, 2))}, "'features'.*as many rows as 'labels'; got 7 and 6"),
        ({"images": np.zeros((5, 2, 2), np.uint8)}, "'images'.*as many rows as 'labels'; got 5"),
        ({"split": np.full(3, "cal")}, "'split'.*as many rows as 'labels'; got 3"),
        ({"row_id": np.arange(3)}, "'row_id'.*as many rows as 'labels'; got 3"),
        ({"groups": np.full((5, 1), "a")}, "'groups'.*as many rows as 'labels'; got 5"),
        ({"groups": TWO, "group_names": ["one"]}, "'group_names'.*must name.*got 1 names.*for 2"),
        ({"groups": TWO, "group_names": ["one", "one"]}, "two columns 'one'"),
        ({"class_names": ["a", "b"]}, "one class name a class; got 2 names"),
        ({"class_names": ["a", "b", "a"]}, "two classes 'a'"),
        (
            {"features": np.array([[0, np.inf, 0, -np.inf, 0, 0], [0] * 6]).T},
            r"'features'.*got inf at row 1, column 0 \(2 such rows\)",
        ),
        (dict.fromkeys(NAMES) | {"class_names": ["a"]}, "'runs.npz' holds no column"),
        ({"features": np.full((6, 2), "x")}, "'features' of 'runs.npz' must hold numbers only"),
        ({"probs": np.full((6, 3), "x")}, "'probs' of 'runs.npz' must hold numbers only"),
        ({"labels": np.eye(3)[[0, 1, 2, 0, 1, 2]]}, r"one class a row; got shape \(6, 3\).*argmax"),
        ({"probs": np.zeros((0, 3)), "labels": np.zeros(0, int)}, "'runs.npz' has no rows"),
        ({"labels": None}, "'runs.npz' has no array of true classes.*It has: probs, features, reg"),
        ({"probs": None}, "'runs.npz' has no probabilities.*It has: labels, features, region"),
        ({"probs": None, "confidence": np.ones(6)}, "no predicted|no probabilities"),
        ({"images": np.zeros((6, 2, 2))}, "'images' of 'runs.npz' must.*as uint8.*float64"),
        ({"images": np.zeros((6, 2, 2, 4), np.uint8)}, "grey or RGB"),
        ({"split": ["cal", "test", "oops"] * 2}, "'split' of 'runs.npz'.*got 'oops' at row 2"),
        ({"split": np.full(6, "train")}, "no row left to read: 6 training rows"),
        ({"labels": np.full(6, np.nan)}, "no row left to read: 6 rows of 'runs.npz' without a lab"),
    ],
)
def test_parts_that_do_not_fit(npz, changes, message):
    refused(npz(**changes), message)


def test_one_probability_column_of_one_class(npz):
    path = npz(probs=np.ones((6, 1)), labels=np.zeros(6, int))
    assert load(path).n_classes == 2  # a single column is P(y = 1)
    refused(path, "at least two classes", mapping={"probability_kind": "probabilities"})


def test_duplicate_columns(tmp_path):
    table = pa.table(
        [pa.array([0, 1]), pa.array([0.5, 0.5]), pa.array([0.5, 0.5])],
        names=["label", "p_1", "p_1"],
    )
    pq.write_table(table, tmp_path / "runs.parquet")
    refused(tmp_path / "runs.parquet", r"'runs.parquet' has two columns named 'p_1'")


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet", "feather"])
def test_empty_file(tmp_path, suffix):
    path = tmp_path / f"runs.{suffix}"
    path.write_bytes(b"")
    refused(path, rf"'runs.{suffix}' is empty \(0 bytes\)")


def test_header_without_rows(tmp_path, table):
    table.iloc[:0].to_parquet(tmp_path / "runs.parquet")
    refused(tmp_path / "runs.parquet", "'runs.parquet' has column names but no rows")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0,0.5,0.5\n1,0.5,0.5\n", "no column names: its first line holds numbers only"),
        ("label,p_0,p_1\n0,.5,.5,9\n1,.5,.5\n", "4 values in its first data row but 3 column"),
        ("label,p_0,p_1\n0,.5,.5\n1,.5,.5,9\n", r"line 3 of 'runs.csv' has 4 values.*names 3"),
        ('label,p_0,p_1\n0,.5,.5\n1,.5,"\n', r"'runs.csv' cannot be read as a table"),
        ("label,p_0,p_1\n0,.5\n1,.5,.5\n", r"'p_1'.*a missing value \(NaN\) at row 0 \(line 2\)"),
        ("a,b\n1,2\n", r"no column of true classes.*It has: a, b"),
        ("label,b\n1,2\n", r"no probabilities: neither p_<class>.*It has: label, b"),
        (f"{'x' * 5000},b\n1,2\n", "It has: x+…, b"),
        ("label,p_0,p_1\n", "'runs.csv' has column names but no rows"),
        ("\n\n", "nothing but blank lines"),
        ("label,p_0,p_1,p_1\n0,.5,.5,.5\n", "'runs.csv' has two columns named 'p_1'"),
        (
            'label,p_0,p_1,note\n\n0,.5,.5,"two\nlines"\n1,.5,.9,x\n',
            r"row 1 \(line 5\) sums to 1.4",
        ),
        ("label,confidence,prediction\ncat,.5,cat\ncat,.5,cat\n", r"one class only \('cat'\)"),
        (
            'label,p_0,p_1\n0,"0,5","0,5"\n1,.5,.5\n1,.5,.5\n1,.5,.5\n',
            r"'p_0'.*numbers only; got '0,5' at row 0.*Write decimals with a point",
        ),
        ("label,p,t\n0,0.5," + "x" * 200_000 + "\n", "a cell is longer than 131,072"),
        ("label,p\n" + '0,"' * 700_000, "first two lines, or a quote in them"),
        ("label,p\n" + "0," * 700_000, "first two lines, or a quote in them"),
        ('[{"label": "\\ud800", "p": 0.5}]', "half a character"),
        ("[{}, {}]", "holds no column"),
    ],
    ids=lambda text: text[:20],
)
def test_broken_text(text, content, message):
    refused(text(content, "runs.json" if content.startswith("[") else "runs.csv"), message)


def test_a_huge_table_is_refused_by_its_schema(tmp_path, table, monkeypatch):
    table.to_parquet(tmp_path / "runs.parquet")
    monkeypatch.setattr(npz_module, "MAX_BYTES", 100)
    refused(tmp_path / "runs.parquet", "'runs.parquet' declares more than")


def test_files_that_are_not_there(tmp_path):
    refused(tmp_path / "no.csv", "no.csv' does not exist")
    refused("a" * 5000, r"'a{80}…' cannot be used: File name too long\.")
    refused("~no-such-user/x", "'~no-such-user/x' cannot be used: no home directory")
    (tmp_path / "folder").mkdir()
    refused([tmp_path / "folder"], "is a directory where a file is expected")


def test_inspect_refuses_only_what_cannot_be_opened(tmp_path):
    upload = io.BytesIO(b"\0\0\0")
    upload.name = "runs.csv"
    with pytest.raises(InputError, match="is not text"):
        inspect(upload)


def test_object_columns_that_hold_numbers_are_fine(tmp_path):
    frame = pd.DataFrame({"label": ["0", "1"], "p_0": ["0.25", ".5"], "p_1": [".75", "5e-1"]})
    frame.to_parquet(tmp_path / "runs.parquet")
    assert load(tmp_path / "runs.parquet").probabilities.tolist() == [[0.25, 0.75], [0.5, 0.5]]


def test_arrays_that_are_no_plain_values_are_left_out_and_said(npz):
    waves = np.zeros(6, dtype=[("a", "f8"), ("b", "i8")])
    reading = read(npz(waves=waves, spectrum=np.zeros(6, dtype=complex)))
    assert list(reading.dataset.metadata.columns) == ["region", "age"]
    assert any("'waves' of 'runs.npz' is not used" in note for note in reading.report.notes)
    assert any("'spectrum' of 'runs.npz' is not used" in note for note in reading.report.notes)


def test_very_many_columns_are_refused_at_once(text, npz):
    names = ",".join(["same"] * 100_000)
    refused(text(f"{names}\n{names}\n"), "100,000 columns, more than the 10,000 that are read")
    refused(npz(groups=np.zeros((6, 20_000), np.int8)), "more than the 10,000 that are read")
    records = "{" + ",".join(f'"c{k}":0' for k in range(20_000)) + "}"
    refused(text(f"[{records}]", "wide.json"), "more than the 10,000 that are read")


def test_features_too_large_for_distances_are_one_sentence():
    with pytest.raises(InputError, match="'features' must lie within"):
        Dataset([[0.5, 0.5]], [0], [[-1e308]])
