import io
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pandas.testing import assert_frame_equal

from benchmarks.attack.seeds import seeds
from lore_core.data.errors import EXTRA_OF
from lore_core.data.validation import InputError
from lore_core.reading import load, read
from lore_core.reading.formats import FORMATS


def assert_same(one, two):
    assert_frame_equal(one.metadata, two.metadata)
    assert one.content_digest == two.content_digest


def test_npz_by_hand(npz):
    data = load(npz())
    assert data.probabilities[2].tolist() == [0.125, 0.125, 0.75]
    assert data.labels.tolist() == [0, 1, 2, 0, 1, 2]
    assert data.features.tolist()[1] == [1.0, -1.5]
    assert data.accuracy == 5 / 6
    assert list(data.metadata.columns) == ["region", "age"]
    assert data.groups["region"].tolist() == ["north", "south"] * 3
    assert data.class_names == ("0", "1", "2")
    assert data.name == "runs"
    assert data.split is None
    with pytest.raises(InputError, match=r"an open file or a data frame .*; got int"):
        load(3)
    with pytest.raises(InputError, match="list of sources is empty"):
        load([])


@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt", "parquet", "pq", "feather", "arrow"])
def test_every_format_gives_the_same_dataset(tmp_path, npz, table, suffix):
    path = tmp_path / f"runs.{suffix}"
    if suffix in ("csv", "txt"):
        table.to_csv(path, index=False)
    elif suffix == "tsv":
        table.to_csv(path, index=False, sep="\t")
    elif suffix in ("parquet", "pq"):
        table.to_parquet(path)
    else:
        table.to_feather(path)
    data = load(path)
    assert_same(data, load(npz()))
    assert data.digest == load(npz()).digest


def test_streams_lists_and_a_wrong_suffix(tmp_path, npz, table):
    path = tmp_path / "runs.arrow"
    content = pa.Table.from_pandas(table, preserve_index=False)
    with pa.ipc.new_stream(path, content.schema) as stream:
        stream.write_table(content)
    assert_same(load(path), load(npz()))
    table.to_parquet(tmp_path / "runs.csv")
    assert_same(load(tmp_path / "runs.csv"), load(npz()))
    frame = pd.DataFrame({"label": table["label"]})
    frame["probs"] = table[["p_0", "p_1", "p_2"]].to_numpy().tolist()
    frame["features"] = table[["f_0", "f_1"]].to_numpy().tolist()
    frame[["region", "age"]] = table[["region", "age"]]
    frame.to_parquet(tmp_path / "lists.parquet")
    assert_same(load(tmp_path / "lists.parquet"), load(npz()))


def test_delimiter_is_found_and_a_decimal_comma_said(text, csv, npz, tmp_path, table):
    for sep in ",;\t|":
        assert_same(load(csv(sep=sep)), load(npz()))
    reading = read(csv(sep=";", decimal=","))
    assert_same(reading.dataset, load(npz()))
    assert any("decimals with a comma" in note for note in reading.report.notes)
    with csv().open() as stream:
        assert_same(load(stream), load(npz()))
    table.to_parquet(tmp_path / "runs.parquet")
    table.to_feather(tmp_path / "runs.feather")
    for path in (npz(), csv(), tmp_path / "runs.parquet", tmp_path / "runs.feather"):
        assert_same(load(io.BytesIO(path.read_bytes())), load(npz()))
    assert_same(load(text(csv().read_text(), encoding="utf-8-sig")), load(npz()))


def test_text_of_many_kinds(text, tmp_path):
    path = text("label,p_0,p_1,place\n0,.5,.5,Zürich\n1,.2,.8,Köln\n", encoding="cp1252")
    reading = read(path)
    assert reading.dataset.metadata["place"].tolist() == ["Zürich", "Köln"]
    assert any("Windows-1252" in note for note in reading.report.notes)
    path = tmp_path / "runs.csv"
    path.write_bytes(b"label,p_0,p_1,note\n0,.5,.5,a\x81\n1,.2,.8,b\n")
    assert load(path).metadata["note"].tolist() == ["a\ufffd", "b"]
    data = load(text("label, p_0, p_1\n\n0, .75, .25\n1, .5, .5\n\n"))
    assert data.probabilities.tolist() == [[0.75, 0.25], [0.5, 0.5]]
    data = load(text('label,p_0,p_1,note\n0,.75,.25,"a, b"\n1,.5,.5,"two\nlines"\n'))
    assert data.metadata["note"].tolist() == ["a, b", "two\nlines"]


class Upload(io.BytesIO):
    def __init__(self, content, name):
        super().__init__(content)
        self.name = name


@pytest.mark.parametrize("name", ["runs.npz", "runs", "C:/fake/runs.npz"])
def test_upload(npz, name):
    upload = Upload(npz().read_bytes(), name)
    upload.read()  # somebody looked at it before
    assert_same(load(upload), load(npz()))
    assert load(upload).name == "runs"


def test_float32_features_stay_float32(npz, arrays, tmp_path, table):
    assert load(npz(features=arrays["features"].astype(np.float32))).features.dtype == np.float32
    assert load(npz(features=arrays["features"].astype(np.float16))).features.dtype == np.float32
    small = table.astype({"f_0": "float32", "f_1": "float32"})
    small.to_parquet(tmp_path / "small.parquet")
    assert load(tmp_path / "small.parquet").features.dtype == np.float32
    assert load(npz(features=np.zeros((6, 2, 3, 4)))).features.shape == (6, 24)


def test_categories_nullable_numbers_and_dates_of_parquet(tmp_path, table):
    table["region"] = table["region"].astype("category")
    table["visits"] = pd.array([1, 2, None, 4, 5, 6], dtype="Int64")
    table["when"] = pd.date_range("2024-01-01", periods=6)
    table.to_parquet(tmp_path / "types.parquet")
    data = load(tmp_path / "types.parquet")
    assert data.groups["region"].tolist() == ["north", "south"] * 3
    assert data.metadata["visits"].isna().tolist() == [False, False, True, False, False, False]
    assert data.metadata["when"].iloc[0] == pd.Timestamp("2024-01-01")
    assert len(data.digest) == 64
    table["tags"] = [["a"], [], ["b", "c"], ["a"], [], []]
    table.to_parquet(tmp_path / "lists.parquet")
    reading = read(tmp_path / "lists.parquet")
    assert "tags" not in reading.dataset.metadata
    assert any("'tags'" in note for note in reading.report.notes)


def test_categories_as_polars_writes_them():
    names = pa.array(["cat", "dog"]).cast(pa.string_view())
    label = pa.DictionaryArray.from_arrays([0, 1] * 10, names)
    found = load(pa.table({"label": label, "p_cat": [0.9, 0.2] * 10, "p_dog": [0.1, 0.8] * 10}))
    assert found.class_names == ("cat", "dog")
    assert found.labels.tolist() == [0, 1] * 10


@pytest.mark.parametrize("name", ["runs.ods", "runs.pkl"])
def test_unknown_suffix_lists_what_can_be_read(tmp_path, name):
    (tmp_path / name).write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match=rf"'{name}' is of no readable kind.*\.npz, \.csv"):
        load(tmp_path / name)


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_a_registered_format_is_documented_attacked_and_can_be_installed(kind):
    page = (Path(__file__).parents[2] / "docs/data.md").read_text(encoding="utf-8")
    assert f"`{kind.suffixes[0]}`" in page
    assert kind.suffixes[0] in load.__doc__
    assert any(name.endswith(kind.suffixes) for name in seeds())
    assert not kind.package or f"lore-lens[{EXTRA_OF[kind.package]}]" in page
