"""Files as other tools write them open without a mapping; tables in memory do as files do.

``written/`` was written by datasets 5.2 (``save_to_disk``, ``to_parquet``) and inspect_ai 0.3.285.
"""

import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lore_core.data.validation import InputError
from lore_core.reading import inspect, read

WRITTEN = Path(__file__).parent / "written"


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    risk = rng.random(60).round(4)
    return pd.DataFrame(
        {
            "label": (rng.random(60) < risk).astype(int),
            "p_no": 1 - risk,
            "p_yes": risk,
            "f_0": rng.normal(size=60),
            "f_1": rng.normal(size=60),
            "note": [f"note {k}" for k in range(60)],
        }
    )


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
    content = bytearray((WRITTEN / "inspect.eval").read_bytes())
    content[2000] ^= 64
    (tmp_path / "log.eval").write_bytes(content)
    with pytest.raises(InputError, match=r"'log\.eval' is damaged or no Inspect log"):
        read(tmp_path / "log.eval")


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


def test_a_saved_dataset_that_is_not_whole(tmp_path):
    shutil.copytree(WRITTEN / "hf_dict", tmp_path / "runs")
    (tmp_path / "runs" / "validation" / "data-00001-of-00002.arrow").unlink()
    with pytest.raises(InputError, match=r"'data-00001-of-00002\.arrow' of 'runs_validation' is"):
        read(tmp_path / "runs")
    (tmp_path / "runs" / "dataset_dict.json").write_text('{"splits": ["train", "other"]}')
    with pytest.raises(InputError, match=r"splits train, other, of which one must be called"):
        read(tmp_path / "runs")
    (tmp_path / "runs" / "test" / "state.json").write_text(
        '{"_data_files": [{"filename": "../../secret.arrow"}]}'
    )
    with pytest.raises(InputError, match="names no data files"):
        read(tmp_path / "runs" / "test")


def test_workbooks(tmp_path, frame):
    frame.to_excel(tmp_path / "runs.xlsx", index=False)
    assert_is(read(tmp_path / "runs.xlsx", isolate=True), frame)
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        pd.DataFrame({"about": ["a cover"]}).to_excel(book, sheet_name="cover", index=False)
        frame.to_excel(book, sheet_name="answers", index=False)
    with pytest.raises(InputError, match=r"several sheets \(cover, answers\)\. Name one as table"):
        read(tmp_path / "two.xlsx")
    assert_is(read(tmp_path / "two.xlsx", mapping={"table": "answers"}), frame)
    with pytest.raises(InputError, match="has no sheet 'answer', which was named as table"):
        inspect(tmp_path / "two.xlsx", mapping={"table": "answer"})


def test_databases(tmp_path, frame):
    with sqlite3.connect(tmp_path / "runs.sqlite") as database:
        frame.to_sql('an "odd" name', database, index=False)
    database.close()
    before = (tmp_path / "runs.sqlite").read_bytes()
    assert_is(read(tmp_path / "runs.sqlite"), frame)
    with (tmp_path / "runs.sqlite").open("rb") as upload:
        assert_is(read(upload, isolate=True), frame)
    with sqlite3.connect(tmp_path / "runs.sqlite") as database:
        frame.to_sql("other", database, index=False)
    database.close()
    with pytest.raises(InputError, match=r"several tables \(an \"odd\" name, other\)"):
        read(tmp_path / "runs.sqlite")
    assert_is(read(tmp_path / "runs.sqlite", mapping={"table": "other"}, isolate=True), frame)
    (tmp_path / "runs.sqlite").write_bytes(before[:3000])
    with pytest.raises(InputError, match=r"'runs\.sqlite' is damaged or no SQLite database"):
        read(tmp_path / "runs.sqlite")


@pytest.mark.parametrize("orient", ["split", "records"])
def test_tables_that_trackers_export(tmp_path, frame, orient):
    """MLflow's eval_results_table.json and tables of Weights & Biases: columns and data."""
    frame.to_json(tmp_path / "eval_results_table.json", orient=orient, index=False)
    if orient == "split":
        whole = json.loads((tmp_path / "eval_results_table.json").read_text())
        assert {"columns", "data"} <= set(whole)
    assert_is(read(tmp_path / "eval_results_table.json"), frame)


def test_tables_in_memory(frame):
    halves = [frame[:30], pa.Table.from_pandas(frame[30:], preserve_index=False)]
    assert_is(read(frame), frame)
    both = read(halves, name="halves", isolate=True)
    assert_is(both, frame)
    assert len(both.dataset.calibration) == 30
    duckdb = pytest.importorskip("duckdb")
    assert_is(read(duckdb.sql("SELECT * FROM frame")), frame)
    with pytest.raises(InputError, match="a source must be a path, an open file or a data frame"):
        read(3)


def test_the_right_answer_is_no_class_where_answers_are_marked(tmp_path):
    """A log with ``target``, ``confidence`` and ``correct`` is one of answers."""
    rows = pd.DataFrame({"target": list("abcd"), "correct": [1, 0, 1, 1], "confidence": 0.7})
    rows.to_csv(tmp_path / "log.csv", index=False)
    assert read(tmp_path / "log.csv").dataset.class_names == ("wrong", "right")
    rows["prediction"] = list("abca")
    rows.to_csv(tmp_path / "log.csv", index=False)
    assert read(tmp_path / "log.csv").dataset.class_names == ("a", "b", "c", "d")


def test_a_name_that_is_a_list(tmp_path):
    """What is nested can be no key: it is kept as it is written."""
    rows = [{"id": [k, {"a": None}], "correct": k % 2, "confidence": 0.7} for k in range(4)]
    (tmp_path / "log.json").write_text(json.dumps(rows))
    data = read(tmp_path / "log.json").dataset
    assert data.metadata["id"][1] == "[1, {'a': None}]"
    assert len(data.digest) == 64
