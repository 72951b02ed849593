"""Small files that grow when they are read, or are slow to read."""

import io
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from benchmarks.attack import packed_bombs
from lore_core import InputError, reading
from lore_core.reading.raw_file import RawFile


def _parquet(columns: dict[str, pa.Array], **how: object) -> bytes:
    made = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), made, **how)
    return made.getvalue()


def _dictionary() -> bytes:
    """One long text, said five million times."""
    codes = pa.array(np.zeros(5_000_000, np.int32))
    text = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 1000]))
    return _parquet({"label": codes, "p": text}, compression="zstd")


def _lists() -> bytes:
    flat = pa.array(np.zeros(60_000_000, np.float64))
    rows = pa.FixedSizeListArray.from_arrays(flat, 600)
    return _parquet({"label": pa.array(np.zeros(100_000, np.int8)), "probs": rows})


def _npz(members: dict[str, bytes], how: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", how) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()


def _array(array: np.ndarray) -> bytes:
    made = io.BytesIO()
    np.lib.format.write_array(made, array, allow_pickle=False)
    return made.getvalue()


def _zeros(rows: int, how: int) -> bytes:
    labels = np.zeros(rows, np.int8)
    return _npz(
        {"labels.npy": _array(labels), "probs.npy": _array(np.zeros((rows, 16), np.uint8))}, how
    )


def _deep_zip() -> bytes:
    """A member whose size is not the one its directory declares."""
    content = bytearray(_zeros(4_000_000, zipfile.ZIP_DEFLATED))
    at = content.rindex(b"PK\x01\x02")
    content[at + 24 : at + 28] = (1000).to_bytes(4, "little")
    return bytes(content)


def _wide_csv() -> bytes:
    names = ",".join(f"c{k}" for k in range(100_000))
    row = ",".join("0" for _ in range(100_000))
    return f"{names}\n{row}\n{row}\n".encode()


def _same_names() -> bytes:
    return (",".join("aaaaaaaaa" for _ in range(200_000)) + "\n" + "1," * 199_999 + "1\n").encode()


def _wide_parquet() -> bytes:
    return _parquet({f"c{k}": pa.array([0, 1]) for k in range(20_000)})


def _columns_json() -> bytes:
    return ("[{" + ",".join(f'"c{k}":0' for k in range(100_000)) + "}]").encode()


def _members() -> bytes:
    one = _array(np.zeros(3))
    return _npz({f"a{k}.npy": one for k in range(60_000)}, zipfile.ZIP_STORED)


def _group_names() -> bytes:
    groups = np.zeros((4, 200_000), np.int8)
    return _npz(
        {
            "labels.npy": _array(np.zeros(4, np.int8)),
            "probs.npy": _array(np.full((4, 2), 0.5)),
            "groups.npy": _array(groups),
        },
        zipfile.ZIP_DEFLATED,
    )


def _sparse_json() -> bytes:
    """Every row has a column of its own."""
    return ("[" + ",".join(f'{{"c{k}":1}}' for k in range(20_000)) + "]").encode()


#: Name to what makes the file.
_BOMBS: dict[str, Callable[[], bytes]] = {
    "dictionary.parquet": _dictionary,
    "lists.parquet": _lists,
    "wide.parquet": _wide_parquet,
    "zeros.npz": lambda: _zeros(40_000_000, zipfile.ZIP_DEFLATED),
    "lzma.npz": lambda: _zeros(40_000_000, zipfile.ZIP_LZMA),
    "bzip2.npz": lambda: _zeros(40_000_000, zipfile.ZIP_BZIP2),
    "deep.npz": _deep_zip,
    "members.npz": _members,
    "groups.npz": _group_names,
    "wide.csv": _wide_csv,
    "same.csv": _same_names,
    "quote.csv": lambda: b'label,p\n"' + b"x,y\n" * 500_000,
    "quotes.csv": lambda: b"label,p\n" + b'0,"' * 700_000,
    "lines.csv": lambda: b"label,p\n" + b"\n" * 2_000_000 + b"0,0.5\n",
    "cell.csv": lambda: b"label,p,t\n0,0.5," + b"x" * 200_000 + b"\n1,0.5,y\n",
    "zip.csv": lambda: b"PK\x03\x04" + b"\0" * 1_000_000,
    "wide.json": _columns_json,
    "sparse.json": _sparse_json,
    "deep.json": lambda: b"[" * 2_000_000,
    "digits.json": lambda: b'[{"label":' + b"9" * 2_000_000 + b"}]",
    "commas.tsv": lambda: b"label\tp\n" + b"\t" * 2_000_000,
    "brackets.jsonl": lambda: b'{"label":0,"p":0.5}\n' * 10 + b"{" * 2_000_000,
}


@dataclass(frozen=True)
class Exploded:
    """What came of a bomb."""

    name: str
    size: int  #: Bytes
    said: str
    seconds: float  #: Until the reader was told


def attack() -> list[Exploded]:
    """Give every bomb to the reader that works in a process of its own."""
    found = []
    for name, make in {**_BOMBS, **packed_bombs.BOMBS}.items():
        content = make()
        began = time.monotonic()
        try:
            said = f"read: {len(reading.load(RawFile(name, content), isolate=True)):,} rows"
        except InputError as error:
            said = str(error).partition(". ")[0].partition(": ")[0]
            said = said if len(said) < 120 else f"{said[:119]}…"
        found.append(Exploded(name, len(content), said, time.monotonic() - began))
    return found
