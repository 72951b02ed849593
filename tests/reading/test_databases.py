import io
import sqlite3

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.cli import main
from lore_core.reading import SeveralTablesError, read
from tests.refusals import refused

duckdb = pytest.importorskip("duckdb")


def rows(n=40):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=n)
    return pd.DataFrame({"id": np.arange(n), "label": (rng.random(n) < p).astype(int), "p": p})


@pytest.fixture(params=["sqlite", "duckdb"])
def database(request, tmp_path):
    frame, path = rows(), tmp_path / f"runs.{request.param}"
    if request.param == "sqlite":
        with sqlite3.connect(path) as opened:
            frame.to_sql("answers", opened, index=False)
            opened.execute("CREATE TABLE sites AS SELECT id, id % 3 AS site FROM answers")
        opened.close()
    else:
        with duckdb.connect(str(path)) as opened:
            opened.execute("CREATE TABLE answers AS SELECT * FROM frame")
            opened.execute("CREATE TABLE sites AS SELECT id, id % 3 AS site FROM answers")
    return path


JOINED = "SELECT label, p, 's' || site AS site FROM answers JOIN sites USING (id) WHERE site < 2"


@pytest.mark.parametrize("isolate", [False, True])
def test_a_table_or_a_query(database, isolate):
    frame, before = rows(), database.read_bytes()
    with pytest.raises(SeveralTablesError) as caught:
        read(database, isolate=isolate)
    assert caught.value.tables == ("answers", "sites")
    whole = lore.load(database, mapping={"table": "answers"}, isolate=isolate)
    np.testing.assert_array_equal(whole.probabilities[:, 1], frame["p"])
    found = lore.load(database, mapping={"query": JOINED}, isolate=isolate)
    kept = frame[frame["id"] % 3 < 2]
    np.testing.assert_array_equal(np.sort(found.probabilities[:, 1]), np.sort(kept["p"]))
    assert sorted(found.groups["site"].unique()) == ["s0", "s1"]
    for name in (database.name, "runs.db"):  # (A name that those of both kinds have.)
        upload = io.BytesIO(before)
        upload.name = name
        again = lore.load(upload, mapping={"query": JOINED}, isolate=isolate)
        assert len(again) == len(found) == len(kept)
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
    with duckdb.connect(str(path)) as opened:
        opened.execute(
            "CREATE TABLE t AS SELECT (i % 2)::INT AS label, 0.5 + 0.01 * i AS p, "
            "[i::DOUBLE, 2.0 * i] AS embedding FROM range(40) AS r(i)"
        )
    data = lore.load(path)
    np.testing.assert_array_equal(
        data.features, np.column_stack([np.arange(40), 2 * np.arange(40)])
    )
    content = path.read_bytes()
    path.write_bytes(content[:5000])
    for isolate in (False, True):
        refused(path, "'runs.db' is damaged or no DuckDB database", isolate=isolate)
    table = tmp_path / "a.csv"
    rows().to_csv(table, index=False)
    refused(table, "'a.csv' is no database to query", mapping={"query": "SELECT 1"})


def test_the_command_takes_a_query(database, capsys):
    assert main(["metrics", str(database), "--query", JOINED, "--draws", "0", "--json"]) == 0
    assert '"evaluation_rows"' in capsys.readouterr().out
