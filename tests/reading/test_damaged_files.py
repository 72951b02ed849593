import struct
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest
from refusals import refused

from lore_core.reading import npz as npz_module


@pytest.mark.parametrize("name", ["probs", "labels", "note"])
def test_pickled_arrays_are_never_loaded(npz, name):
    path = npz(**{name: np.array([{"a": 1}] * 6, dtype=object)})
    refused(path, rf"array '{name}' of 'runs.npz' is pickled.*astype\(str\)")


def test_truncated_and_corrupt_archives(npz, tmp_path):
    content = npz().read_bytes()
    path = tmp_path / "cut.npz"
    path.write_bytes(content[: len(content) // 2])
    refused(path, r"'cut.npz' is damaged.*Save it again")
    flipped = bytearray(content)
    position = content.index(b"\x93NUMPY") + 140
    flipped[position : position + 8] = b"\xff" * 8
    path.write_bytes(bytes(flipped))
    refused(path, r"'cut.npz' is damaged")
    with np.load(npz()) as archive:
        np.savez_compressed(tmp_path / "small.npz", **archive)
    squeezed = bytearray((tmp_path / "small.npz").read_bytes())
    squeezed[60:90] = b"\xff" * 30
    path.write_bytes(bytes(squeezed))
    refused(path, r"'cut.npz' is damaged")


def test_not_a_zip_an_empty_zip_and_a_lone_array(tmp_path):
    path = tmp_path / "runs.npz"
    path.write_text("label,p_0\n")
    refused(path, r"'runs.npz' is not a zip archive")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    refused(path, r"'runs.npz' holds no arrays")
    with path.open("wb") as stream:
        np.save(stream, np.zeros(3))
    refused(path, r"single array.*numpy.savez")


def forged(path, shape, data=b""):
    """Write an archive whose one header declares what its data does not hold."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("probs.npy", content)
    return path


def test_zip_bombs_are_refused_by_their_headers(tmp_path, npz, monkeypatch):
    huge = forged(tmp_path / "huge.npz", (10**12, 10**6))
    refused(huge, r"'huge.npz' declares more than 8 GiB")
    refused(forged(tmp_path / "lie.npz", (1000, 3)), r"'probs' of 'lie.npz' is damaged")
    refused(forged(tmp_path / "minus.npz", (-4, 3)), r"'probs' of 'minus.npz' is damaged")
    monkeypatch.setattr(npz_module, "MAX_BYTES", 100)
    refused(npz(), r"declares more than.*Save fewer rows")


def test_an_array_twice(tmp_path, npz):
    path = npz()
    with zipfile.ZipFile(path) as archive:
        content = archive.read("probs.npy")
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("probs.npy", content)
    refused(path, r"'runs.npz' holds the array 'probs' twice")


def test_binary_in_a_csv(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_bytes(b"label,p\0_0\n0,1\n")
    refused(path, "is not text: it holds zero bytes")


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_damaged_tables(tmp_path, table, suffix):
    path = tmp_path / f"runs.{suffix}"
    getattr(table, f"to_{suffix}")(path)
    path.write_bytes(path.read_bytes()[:-40])
    refused(path, rf"'runs.{suffix}' is damaged or no {suffix.title()} file")
    path.write_bytes(b"hello, this is text")
    refused(path, rf"'runs.{suffix}' is not a {suffix.title()} file")


def test_damaged_values_inside_a_sound_file(tmp_path, table):
    path = tmp_path / "runs.feather"
    table.to_feather(path, compression="uncompressed")
    content = path.read_bytes()
    assert b"northsouth" in content
    path.write_bytes(content.replace(b"northsouth", b"\xff" * 10))
    refused(path, "'runs.feather' is damaged")


def test_broken_utf16(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_bytes("label,p_0,p_1\n0,.5,.5\n".encode("utf-16")[:-1])
    refused(path, "'runs.csv' is damaged: it begins as UTF-16")


def test_what_does_not_fit_into_memory(npz, monkeypatch):
    def full(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr(np.lib.format, "read_array", full)
    refused(npz(), "'runs.npz' does not fit into memory")


def inside(path, name, replaced):
    """Write an archive again with one member's bytes replaced, its checksum right."""
    with zipfile.ZipFile(path) as archive:
        members = {item: archive.read(item) for item in archive.namelist()}
    members[name] = replaced(members[name])
    with zipfile.ZipFile(path, "w") as archive:
        for item, content in members.items():
            archive.writestr(item, content)
    return path


def test_damaged_headers_of_arrays_are_one_sentence(npz):
    for old, new in ((b"(6,)", b"'''6"), (b"<i8", b"<q9"), (b"(6,)", b"(9e9")):
        path = inside(npz(), "labels.npy", lambda content, o=old, n=new: content.replace(o, n))
        refused(path, "'runs.npz' is damaged")
    text = inside(npz(), "region.npy", lambda content: content[:-4] + b"\xff\xff\xff\x7f")
    refused(text, "text with characters that do not exist")


def test_dates_without_a_unit_are_one_sentence(npz):
    refused(npz(day=np.zeros(6, "M8")), "array 'day' of 'runs.npz' is damaged.*without a unit")


def test_feather_of_version_1_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "old.feather"
    path.write_bytes(b"FEA1" + b"\0" * 60 + b"FEA1")
    refused(path, "'old.feather' is Feather of version 1")


def test_dates_that_no_calendar_has_are_one_sentence(tmp_path, table):
    days = pa.array([2 * 10**7] + [0] * 5, pa.int32()).cast(pa.date32())
    columns = pa.Table.from_pandas(table).append_column("day", days)
    path = tmp_path / "runs.feather"
    pa.feather.write_feather(columns, path)
    refused(path, "'runs.feather' is damaged")
