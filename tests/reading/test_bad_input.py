import io
import struct
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest
from refusals import refused

from lore_core.data.dataset import Dataset
from lore_core.data.validation import InputError
from lore_core.reading import columns, inspect, load, read


@pytest.mark.parametrize(
    ("column", "row", "value", "rule"),
    [
        ("p_1", 2, np.nan, "be finite; got a missing.*"),
        ("p_2", 5, 1.5, r"lie in \[0, 1\]; got 1.5"),
        ("p_2", 0, -0.1, r"lie in \[0, 1\]; got -0.1"),
        ("f_1", 3, np.nan, "be finite, within.*got a missing.*"),
    ],
)
def test_bad_cells_of_a_csv(csv, table, column, row, value, rule):
    table.loc[row, column] = value
    place = rf"at row {row} \(line {row + 2}\) \(1 such row\)"
    refused(csv(**{column: table[column]}), f"column '{column}' of 'runs.csv' must {rule} {place}")


def test_sums_that_are_not_1(csv, npz, arrays):
    probs = arrays["probs"].copy()
    probs[4, 2] = 0.5
    message = r"columns p_0, p_1, p_2 of 'runs.csv' must sum to 1.*got 1.25 at row 4 \(line 6\)"
    refused(csv(p_2=probs[:, 2]), message)
    refused(npz(probs=probs), r"array 'probs' of 'runs.npz' must sum to 1.*at row 4")
    path = npz(probs=np.ones((6, 1)), labels=np.zeros(6, int))
    assert load(path).n_classes == 2  # a single column is P(y = 1)
    refused(path, "at least two classes", mapping={"probability_kind": "probabilities"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"p_1": [0.25, 0.5, 0.125, "n/a?", 0.25, 0.25]},
            r"'p_1' of 'runs.csv' must hold numbers only; got 'n/a\?' at row 3 \(line 5\) \(1 such",
        ),
        (
            {"f_0": [1e308, -1e308, 0.0, 1.0, 2.0, 3.0]},
            r"'f_0' of 'runs.csv' must be finite, within ±1e\+150.*got 1e\+308 at row 0 \(line 2\)",
        ),
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
CELL = np.arange(18).reshape(6, 3) == 14  #: Of row 4, column 2


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
        ({"groups": TWO, "group_names": ["one", "one"]}, "two columns named 'one'"),
        ({"class_names": ["a", "b"]}, "one class name a class is needed; got 2 names"),
        ({"class_names": ["a", "b", "a"]}, "two classes are named 'a'"),
        (
            {"features": np.array([[0, np.inf, 0, -np.inf, 0, 0], [0] * 6]).T},
            r"'features'.*got inf at row 1, column 0 \(2 such rows\)",
        ),
        (dict.fromkeys(NAMES) | {"class_names": ["a"]}, "'runs.npz' holds no column"),
        ({"features": np.full((6, 2), "x")}, "'features' of 'runs.npz' must hold numbers only"),
        ({"probs": np.full((6, 3), "x")}, "'probs' of 'runs.npz' must hold numbers only"),
        (
            {"labels": np.eye(3)[[0, 1, 2, 0, 1, 2]] * 2},
            r"one class a row; got shape \(6, 3\).*argmax",
        ),
        ({"probs": np.where(CELL, np.nan, 0.25)}, "array 'probs'.*be finite.*row 4, column 2"),
        ({"probs": np.where(CELL, 2, 0.25)}, r"lie in \[0, 1\]; got 2 at row 4"),
        ({"probs": np.zeros((0, 3)), "labels": np.zeros(0, int)}, "'runs.npz' has no rows"),
        ({"labels": None}, "found 'probs', but no array of true classes.*It has: probs, features"),
        ({"probs": None}, "found 'labels', but no array of prob.*It has: labels, features, region"),
        ({"probs": None, "confidence": np.ones(6)}, "no array of probabilities"),
        ({"images": np.zeros((6, 2, 2))}, "'images' must be uint8.*float64.*astype"),
        ({"images": np.zeros((6, 2, 2, 4), np.uint8)}, r"'images' must be .n, h, w."),
        ({"split": ["cal", "test", "oops"] * 2}, "'split' of 'runs.npz'.*got 'oops' at row 2"),
        ({"split": np.full(6, "train")}, "no row left to read: 6 training rows"),
        ({"labels": np.full(6, np.nan)}, "no row left to read: 6 rows of 'runs.npz' without a lab"),
    ],
)
def test_parts_that_do_not_fit(npz, changes, message):
    refused(npz(**changes), message)


def test_archives_of_an_array_twice_of_none_and_of_half(npz):
    path = npz()
    with zipfile.ZipFile(path) as archive:
        content = archive.read("probs.npy")
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("probs.npy", content)
    refused(path, r"'runs.npz' has two columns named 'probs'")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    refused(path, r"'runs.npz' is damaged.*save it again")
    path.write_text("label,p_0\n")
    refused(path, r"'runs.npz' is not a zip archive")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    refused(path, r"'runs.npz' holds no arrays")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0,0.5,0.5\n1,0.5,0.5\n", "no column names: its first line holds numbers only"),
        ("label,p_0,p_1\n0,.5,.5,9\n1,.5,.5\n", "4 values in row 0 for 3 names"),
        ("label,p_0,p_1\n0,.5,.5\n1,.5,.5,9\n", "Expected 3 fields in line 3, saw 4.*Quote cells"),
        ('label,p_0,p_1\n0,.5,.5\n1,.5,"\n', r"'runs.csv' cannot be read as a table"),
        ("label,p_0,p_1\n0,.5\n1,.5,.5\n", r"'p_1'.*a missing value \(NaN\) at row 0 \(line 2\)"),
        ("a,b\n1,2\n", r"no column of true classes.*It has: a, b"),
        ("label,b\n1,2\n", r"no column of probabilities .p_<class>.*It has: label, b"),
        (f"{'x' * 5000},b\n1,2\n", "It has: x+…, b"),
        ("label,p_0,p_1\n", "'runs.csv' has no rows"),
        ("\n\n", "nothing but blank lines"),
        ("label,p_0,p_1,p_1\n0,.5,.5,.5\n", "'runs.csv' has two columns named 'p_1'"),
        ('label,p_0,p_1,note\n\n0,.5,.5,"two\nlines"\n1,.5,.9,x\n', r"got 1.4 at row 1 \(line 5\)"),
        ("label,confidence,prediction\ncat,.5,cat\ncat,.5,cat\n", r"one class only \('cat'\)"),
        (
            'label,p_0,p_1\n0,"0,5","0,5"\n1,.5,.5\n1,.5,.5\n1,.5,.5\n',
            r"'p_0'.*numbers only; got '0,5' at row 0.*decimals with a point",
        ),
        ("label,p,t\n0,0.5," + "x" * 200_000 + "\n", "a cell is longer than 131,072"),
        ("label,p\n" + '0,"' * 700_000, "its first two lines than a megabyte"),
        ("label,p\n" + "0," * 700_000, "its first two lines than a megabyte"),
        ('[{"label": "\\ud800", "p": 0.5}]', "no text of whole characters"),
        ("[{}, {}]", "holds no column"),
    ],
    ids=lambda text: text[:20],
)
def test_broken_text(text, content, message):
    refused(text(content, "runs.json" if content.startswith("[") else "runs.csv"), message)


def test_files_that_are_not_there(tmp_path):
    refused(tmp_path / "no.csv", "no.csv' does not exist")
    refused("a" * 5000, r"'a{80}…' cannot be used: File name too long\.")
    refused("~no-such-user/x", "'~no-such-user/x' cannot be used: no home directory")
    (tmp_path / "folder").mkdir()
    refused([tmp_path / "folder"], "holds no readable file")
    upload = io.BytesIO(b"\0\0\0")
    upload.name = "runs.csv"
    with pytest.raises(InputError, match="is no UTF-8 text"):
        inspect(upload)
    with pytest.raises(InputError, match="'features' must be finite, within"):
        Dataset([[0.5, 0.5]], [0], [[-1e308]])


def test_object_columns_that_hold_numbers_are_fine(tmp_path, npz):
    frame = pd.DataFrame({"label": ["0", "1"], "p_0": ["0.25", ".5"], "p_1": [".75", "5e-1"]})
    frame.to_parquet(tmp_path / "runs.parquet")
    assert load(tmp_path / "runs.parquet").probabilities.tolist() == [[0.25, 0.75], [0.5, 0.5]]
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


@pytest.mark.parametrize("name", ["probs", "labels", "note"])
def test_pickled_arrays_are_never_loaded(npz, name):
    path = npz(**{name: np.array([{"a": 1}] * 6, dtype=object)})
    refused(path, rf"array '{name}' of 'runs.npz' is pickled.*astype\(str\)")


def forged(path, shape, data=b""):
    """Write an archive whose one header declares what its data does not hold."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("probs.npy", content)
    return path


def test_zip_bombs_are_refused_by_their_headers(tmp_path, npz, monkeypatch, table):
    huge = forged(tmp_path / "huge.npz", (10**12, 10**6))
    refused(huge, r"'huge.npz' declares more than the 8 GiB")
    refused(forged(tmp_path / "lie.npz", (1000, 3)), r"'lie.npz' is damaged.*array 'probs'")
    refused(forged(tmp_path / "minus.npz", (-4, 3)), r"'minus.npz' is damaged.*array 'probs'")
    monkeypatch.setattr(columns, "MAX_BYTES", 100)
    refused(npz(), r"declares more than.*Save fewer rows")
    table.to_parquet(tmp_path / "runs.parquet")
    monkeypatch.setattr(columns, "MAX_BYTES", 100)
    refused(tmp_path / "runs.parquet", "'runs.parquet' declares more than")


def test_binary_text(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_bytes(b"label,p\0_0\n0,1\n")
    refused(path, "is no UTF-8 text: it holds zero bytes")
    path.write_bytes("label,p_0,p_1\n0,.5,.5\n".encode("utf-16")[:-1])
    refused(path, "is damaged or no UTF-16 text")


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_damaged_tables(tmp_path, table, suffix):
    path = tmp_path / f"runs.{suffix}"
    getattr(table, f"to_{suffix}")(path)
    path.write_bytes(path.read_bytes()[:-40])
    refused(path, rf"'runs.{suffix}' is damaged or no {suffix.title()} file")
    path.write_bytes(b"hello, this is text")
    refused(path, rf"'runs.{suffix}' is not a {suffix.title()} file")
    path.write_bytes(b"")
    refused(path, rf"'runs.{suffix}' is empty \(0 bytes\)")


def test_damage_inside_a_sound_feather_file(tmp_path, table):
    path = tmp_path / "runs.feather"
    table.to_feather(path, compression="uncompressed")
    content = path.read_bytes()
    assert b"northsouth" in content
    path.write_bytes(content.replace(b"northsouth", b"\xff" * 10))
    refused(path, "'runs.feather' is damaged")
    path = tmp_path / "old.feather"
    path.write_bytes(b"FEA1" + b"\0" * 60 + b"FEA1")
    refused(path, "'old.feather' is Feather of version 1")
    days = pa.array([2 * 10**7] + [0] * 5, pa.int32()).cast(pa.date32())
    columns = pa.Table.from_pandas(table).append_column("day", days)
    path = tmp_path / "runs.feather"
    pa.feather.write_feather(columns, path)
    refused(path, "'runs.feather' is damaged")


def inside(path, name, replaced):
    """Write an archive again with one member's bytes replaced, its checksum right."""
    with zipfile.ZipFile(path) as archive:
        members = {item: archive.read(item) for item in archive.namelist()}
    members[name] = replaced(members[name])
    with zipfile.ZipFile(path, "w") as archive:
        for item, content in members.items():
            archive.writestr(item, content)
    return path


def test_damaged_arrays_are_one_sentence(npz, monkeypatch):
    for old, new in ((b"(6,)", b"'''6"), (b"<i8", b"<q9"), (b"(6,)", b"(9e9")):
        path = inside(npz(), "labels.npy", lambda content, o=old, n=new: content.replace(o, n))
        refused(path, "'runs.npz' is damaged")
    text = inside(npz(), "region.npy", lambda content: content[:-4] + b"\xff\xff\xff\x7f")
    refused(text, "text with characters that do not exist")
    refused(npz(day=np.zeros(6, "M8")), "damaged.*plain values as 'day'.*without a unit")

    def full(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr(np.lib.format, "read_array", full)
    refused(npz(), "'runs.npz' does not fit in memory")
