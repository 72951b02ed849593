"""Databases, workbooks, logs and images that hold more than their size says."""

import bz2
import gzip
import io
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from PIL import Image

_ENDLESS = "WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n)"


def _view(query: str) -> bytes:
    """Return a database of SQLite whose only view never ends."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE VIEW rows AS {query}")
        return database.serialize()


def _duckdb_view() -> bytes:
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "rows.duckdb"
        with closing(duckdb.connect(str(place))) as database:
            database.execute(
                "CREATE VIEW rows AS SELECT range % 2 AS label, 0.5 AS p FROM range(1000000000000)"
            )
        return place.read_bytes()


def _with_member(whole: bytes, name: str, content: bytes) -> bytes:
    """Return an archive with one of its members replaced, or another one."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        if whole:
            with zipfile.ZipFile(io.BytesIO(whole)) as source:
                for part in source.namelist():
                    if part != name:
                        target.writestr(part, source.read(part))
        target.writestr(name, content)
    return made.getvalue()


def _workbook() -> bytes:
    """Return a workbook of three million rows, more than a sheet may have."""
    pd.DataFrame({"label": [0, 1], "p": [0.5, 0.5]}).to_excel(book := io.BytesIO(), index=False)
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    row = "<row><c><v>0</v></c><c><v>0.5</v></c></row>"
    sheet = f'<worksheet xmlns="{space}"><sheetData>{row * 3_000_000}</sheetData></worksheet>'
    return _with_member(book.getvalue(), "xl/worksheets/sheet1.xml", sheet.encode())


def _log() -> bytes:
    return _with_member(b"", "samples/1_epoch_1.json", b'{"id":"' + b" " * 900_000_000 + b'"}')


def _images() -> bytes:
    """Return rows of which each has an image of 64 million pixels, all of one colour."""
    Image.new("1", (8000, 8000)).save(picture := io.BytesIO(), "PNG")
    n = 2000
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    rows = {
        "label": pa.array([0, 1] * (n // 2)),
        "p": pa.array([0.5] * n),
        "image": pa.array([{"bytes": picture.getvalue(), "path": None}] * n, kind),
    }
    pa.parquet.write_table(pa.table(rows), made := io.BytesIO(), compression="zstd")
    return made.getvalue()


def _lines() -> bytes:
    """Return 360 MB of equal lines, which pack to a few thousand bytes."""
    return b"label,p\n" + b"0,0.5\n" * 60_000_000


#: Name to what makes the file.
BOMBS: dict[str, Callable[[], bytes]] = {
    "view.sqlite": lambda: _view(f"{_ENDLESS} SELECT k % 2 AS label, 0.5 AS p FROM n"),
    "count.sqlite": lambda: _view(f"{_ENDLESS} SELECT count(*) AS label, 0.5 AS p FROM n"),
    "rows.csv.gz": lambda: gzip.compress(_lines()),
    "rows.csv.bz2": lambda: bz2.compress(_lines()),
    "rows.csv.zst": lambda: pa.compress(_lines(), codec="zstd", asbytes=True),
    "samples.eval": _log,
    "images.parquet": _images,
    **({"view.duckdb": _duckdb_view} if find_spec("duckdb") else {}),
    **({"sheet.xlsx": _workbook} if find_spec("openpyxl") else {}),
}
