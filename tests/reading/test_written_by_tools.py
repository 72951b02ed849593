"""Files as other tools write them open without a mapping; tables in memory do as files do.

``written/`` was written by datasets 5.2 (``save_to_disk``, ``to_parquet``) and inspect_ai 0.3.285.
"""

import io
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import lore_core as lore
from lore_core.data.validation import InputError
from lore_core.reading import SeveralTablesError, inspect, read
from tests.refusals import refused

WRITTEN = Path(__file__).parent / "written"


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    risk = rng.random(60).round(4)
    label, features = (rng.random(60) < risk).astype(int), rng.normal(size=(2, 60))
    rows = {"label": label, "p_no": 1 - risk, "p_yes": risk, "f_0": features[0], "f_1": features[1]}
    return pd.DataFrame(rows | {"note": [f"note {k}" for k in range(60)]})


def assert_is(found, frame):
    data = found.dataset
    np.testing.assert_allclose(data.probabilities, frame[["p_no", "p_yes"]], atol=1e-12)
    np.testing.assert_array_equal(data.labels, frame["label"])
    np.testing.assert_allclose(data.features, frame[["f_0", "f_1"]])
    assert data.class_names == ("no", "yes")
    assert list(data.metadata) == ["note"]


@pytest.mark.parametrize("isolate", [False, True])
def test_a_log_of_inspect(isolate):
    whole = [read(WRITTEN / name, isolate=isolate) for name in ("inspect.eval", "inspect.json")]
    for found in whole:
        data = found.dataset
        np.testing.assert_allclose(data.confidence, 0.5 + 0.05 * np.arange(8))
        np.testing.assert_array_equal(data.labels, [0, 1, 1, 1, 0, 1, 1, 1])
        assert data.metadata["input"][3] == "What is 3 plus one, in a word?"
        assert data.metadata["topic"].tolist() == ["words", "sums"] * 4
        assert "'correct' is 1 where 'sure' says C" in found.report.notes[0]


def test_a_log_without_scores_or_damaged(tmp_path):
    log = json.loads((WRITTEN / "inspect.json").read_text())
    for sample in log["samples"]:
        sample["scores"] = {}
    (tmp_path / "log.json").write_text(json.dumps(log))
    with pytest.raises(InputError, match=r"'log\.json' has no score.*inspect score"):
        read(tmp_path / "log.json")
    shutil.copytree(WRITTEN / "hf_dict", tmp_path / "runs")
    (tmp_path / "runs" / "dataset_dict.json").write_text('{"splits": ["train", "other"]}')
    with pytest.raises(InputError, match=r"must hold one split called .* it holds train, other"):
        read(tmp_path / "runs")
    (tmp_path / "runs" / "test" / "state.json").write_text(
        '{"_data_files": [{"filename": "../../secret.arrow"}]}'
    )
    with pytest.raises(InputError, match="names no data files"):
        read(tmp_path / "runs" / "test")


@pytest.mark.parametrize("isolate", [False, True])
def test_saved_datasets_of_hugging_face(isolate):
    data = read(WRITTEN / "hf_dict", isolate=isolate).dataset
    assert (data.name, data.class_names) == ("hf_dict", ("neg", "pos"))
    assert data.features.shape == (22, 2)
    assert (len(data.calibration), len(data.evaluation)) == (12, 10)  # two shards, and one
    one = read(WRITTEN / "hf_dict" / "test", isolate=isolate).dataset
    np.testing.assert_array_equal(one.labels, data.evaluation.labels)
    shades = one.images.reshape(10, -1)
    assert one.images.shape == (10, 32, 32, 3)
    np.testing.assert_array_equal(shades.min(axis=1), 10 * np.arange(10))
    np.testing.assert_array_equal(shades.max(axis=1), 10 * np.arange(10))
    parquet = read(WRITTEN / "hf.parquet", isolate=isolate).dataset
    assert (parquet.images.shape, parquet.class_names) == ((10, 32, 32, 3), ("neg", "pos"))


def test_arff(tmp_path, frame):
    kinds = ["{0, 1}", *["numeric"] * 4, "string"]
    head = "% by Weka\n@relation 'a b'\n\n" + "".join(
        f"@{word} '{name}' {kind}\n"
        for word, name, kind in zip(["attribute", "ATTRIBUTE"] * 3, frame, kinds, strict=True)
    )
    notes = [r"'it\'s, one'", "?", *(f"'{note}'" for note in frame["note"][2:])]
    rows = zip(*(frame[name].map(repr) for name in list(frame)[:5]), notes, strict=True)
    (tmp_path / "a.arff").write_text(f"{head}\n@data \n" + "\n".join(map(",".join, rows)))
    found = read(tmp_path / "a.arff")
    assert_is(found, frame)
    assert found.dataset.metadata["note"].tolist()[::59] == ["it's, one", "note 59"]
    (tmp_path / "a.arff").write_text(f"{head}\n@data\n{{0 1, 2 0.5}}\n")
    with pytest.raises(InputError, match=r"'a\.arff' is an ARFF file with sparse rows\. Save it"):
        read(tmp_path / "a.arff")


def test_workbooks_and_other_tables(tmp_path, frame):
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as database:
        frame.to_sql('an "odd" name', database, index=False)
    assert_is(read(tmp_path / "runs.sqlite"), frame)
    frame.to_stata(tmp_path / "runs.dta", write_index=False)
    assert_is(read(tmp_path / "runs.dta", isolate=True), frame)
    frame.to_excel(tmp_path / "runs.xlsx", index=False)
    assert_is(read(tmp_path / "runs.xlsx", isolate=True), frame)
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        pd.DataFrame({"about": ["a cover"]}).to_excel(book, sheet_name="cover", index=False)
        frame.to_excel(book, sheet_name="answers", index=False)
    with pytest.raises(InputError, match=r"several sheets \(cover, answers\)\. Name one: mapping"):
        read(tmp_path / "two.xlsx")
    assert_is(read(tmp_path / "two.xlsx", mapping={"table": "answers"}), frame)
    with pytest.raises(InputError, match="has no sheet 'answer', which was named as table"):
        inspect(tmp_path / "two.xlsx", mapping={"table": "answer"})
    # A log with ``target``, ``confidence`` and ``correct`` is one of answers.
    rows = pd.DataFrame({"target": list("abcd"), "correct": [1, 0, 1, 1], "confidence": 0.7})
    rows.to_csv(tmp_path / "log.csv", index=False)
    assert read(tmp_path / "log.csv").dataset.class_names == ("wrong", "right")
    rows["prediction"] = list("abca")
    rows.to_csv(tmp_path / "log.csv", index=False)
    assert read(tmp_path / "log.csv").dataset.class_names == ("a", "b", "c", "d")
    # What is nested can be no key: it is kept as it is written.
    rows = [{"id": [k, {"a": None}], "correct": k % 2, "confidence": 0.7} for k in range(4)]
    (tmp_path / "log.json").write_text(json.dumps(rows))
    data = read(tmp_path / "log.json").dataset
    assert data.metadata["id"][1] == "[1, {'a': None}]"
    assert len(data.digest) == 64


def test_tables_in_memory(frame):
    halves = [frame[:30], pa.Table.from_pandas(frame[30:], preserve_index=False)]
    assert_is(read(frame), frame)
    both = read(halves, name="halves", isolate=True)
    assert_is(both, frame)
    assert len(both.dataset.calibration) == 30
    duckdb = pytest.importorskip("duckdb")
    assert_is(read(duckdb.sql("SELECT * FROM frame")), frame)
    assert_is(read(SimpleNamespace(collect=lambda: frame)), frame)
    assert_is(read(pytest.importorskip("dask.dataframe").from_pandas(frame, 3)), frame)


def answers(n=40):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=n)
    return pd.DataFrame({"id": np.arange(n), "label": (rng.random(n) < p).astype(int), "p": p})


@pytest.fixture(params=["sqlite", "duckdb"])
def database(request, tmp_path):
    frame, path = answers(), tmp_path / f"runs.{request.param}"
    library = sqlite3 if request.param == "sqlite" else pytest.importorskip("duckdb")
    with closing(library.connect(str(path))) as opened:
        if request.param == "sqlite":
            frame.to_sql("answers", opened, index=False)
        else:
            opened.execute("CREATE TABLE answers AS SELECT * FROM frame")
        opened.execute("CREATE TABLE sites AS SELECT id, id % 3 AS site FROM answers")
    return path


JOINED = "SELECT label, p, 's' || site AS site FROM answers JOIN sites USING (id) WHERE site < 2"


@pytest.mark.parametrize("isolate", [False, True])
def test_a_table_or_a_query(database, isolate):
    frame, before = answers(), database.read_bytes()
    with pytest.raises(SeveralTablesError) as caught:
        read(database, isolate=isolate)
    assert caught.value.tables == ("answers", "sites")
    whole = lore.load(database, mapping={"table": "answers"}, isolate=isolate)
    np.testing.assert_array_equal(whole.probabilities[:, 1], frame["p"])
    found = lore.load(database, mapping={"query": JOINED}, isolate=isolate)
    saved = frame[frame["id"] % 3 < 2]
    np.testing.assert_array_equal(np.sort(found.probabilities[:, 1]), np.sort(saved["p"]))
    assert sorted(found.groups["site"].unique()) == ["s0", "s1"]
    for name in (database.name, "runs.db"):  # (A name that those of both kinds have.)
        upload = io.BytesIO(before)
        upload.name = name
        again = lore.load(upload, mapping={"query": JOINED}, isolate=isolate)
        assert len(again) == len(found) == len(saved)
    assert database.read_bytes() == before
    assert [item.name for item in database.parent.iterdir()] == [database.name]


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize(
    "query",
    [
        "SELEC label FROM answers",
        "DELETE FROM answers",
        "ATTACH 'other.db' AS other",
        "PRAGMA query_only = OFF",
        "SELECT * FROM frame",  # DuckDB would take a variable of the program
        "SELECT * FROM read_csv('/etc/passwd')",
    ],
)
def test_a_query_reaches_nothing_else(database, query, isolate, monkeypatch):
    monkeypatch.chdir(database.parent)
    before = database.read_bytes()
    if query.startswith("PRAGMA") and database.suffix == ".duckdb":
        query = "SET enable_external_access = true"
    refused(database, "the query on 'runs", mapping={"query": query}, isolate=isolate)
    assert database.read_bytes() == before
    assert [item.name for item in database.parent.iterdir()] == [database.name]


def test_lists_are_features_and_damage_is_said(tmp_path):
    path = tmp_path / "runs.db"  # (A name that SQLite's have too.)
    with pytest.importorskip("duckdb").connect(str(path)) as opened:
        opened.execute(
            "CREATE TABLE t AS SELECT (i % 2)::INT AS label, 0.5 + 0.01 * i AS p, "
            "[i::DOUBLE, 2.0 * i] AS embedding FROM range(40) AS r(i)"
        )
    np.testing.assert_array_equal(lore.load(path).features, np.arange(40)[:, None] * [1, 2])
    path.write_bytes(path.read_bytes()[:5000])
    for isolate in (False, True):
        refused(path, "'runs.db' is damaged or no DuckDB database", isolate=isolate)
    table = tmp_path / "a.csv"
    answers().to_csv(table, index=False)
    refused(table, "'a.csv' is no database to query", mapping={"query": "SELECT 1"})
