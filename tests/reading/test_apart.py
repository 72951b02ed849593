"""Files read in a process of their own: the same is read, and its end is nobody else's."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lore_core import InputError, load_runs, reading
from lore_core.reading import apart
from lore_core.reading.handover import dataset_from, dataset_told, message_from, message_of
from lore_core.reading.raw_file import RawFile

pytestmark = pytest.mark.skipif(not apart.IS_POSSIBLE, reason="files are read apart on Linux only")


@pytest.fixture
def strange(tmp_path, table):
    """Every kind of column that can stand beside a row."""
    n = len(table)
    table["day"] = pd.date_range("2024-01-01", periods=n)
    table["moment"] = pd.date_range("2024-01-01", periods=n, tz="Europe/Berlin")
    table["birthday"] = table["day"].dt.date
    table["seen"] = pd.array([True, None, False] * (n // 3), dtype="boolean")
    table["count"] = pd.array([1, None, 3] * (n // 3), dtype="Int64")
    table["note"] = ["é \U0001f600", "", None, "=1+1", "a\nb", "nan"][:n]
    table["kind"] = pd.Categorical(["x", "y"] * (n // 2))
    path = tmp_path / "strange.parquet"
    table.to_parquet(path)
    return path


def test_the_same_is_read_as_here(strange, npz):
    rng = np.random.default_rng(0)
    images = npz("images.npz", images=rng.integers(0, 255, (6, 2, 2), dtype=np.uint8))
    for source in (strange, images, RawFile("up.npz", images.read_bytes())):
        here, there = reading.read(source), reading.read(source, apart=True)
        assert there.dataset.digest == here.dataset.digest
        assert there.report == here.report
        assert there.mapping == here.mapping
        assert reading.inspect(source, apart=True) == reading.inspect(source)
        for name in ("groups", "metadata"):
            one, other = (getattr(item.dataset, name) for item in (here, there))
            if one is not None:
                pd.testing.assert_frame_equal(one, other)


def test_what_is_wrong_is_said_as_here(csv, npz):
    for path in (csv(p_1=[2.0] * 6), Path("/no/such.csv"), npz(labels=None)):
        with pytest.raises(InputError) as here:
            reading.load(path)
        with pytest.raises(InputError) as there:
            reading.load(path, apart=True)
        assert str(there.value) == str(here.value)
    flipped = np.tile([0.99, 0.01], (60, 1))
    doubtful = npz(probs=flipped, labels=np.ones(60, int), features=None, region=None, age=None)
    with pytest.raises(reading.DoubtfulDataError) as doubt:
        reading.read(doubtful, apart=True)
    assert doubt.value.check == "scale"
    assert reading.read(doubtful, mapping={"accept": "scale"}, apart=True).report.checks


def test_a_file_that_takes_too_much_is_one_sentence(npz, monkeypatch):
    probs = np.zeros((2_000_000, 2), np.uint8)
    probs[:, 0] = 1
    made = io.BytesIO()
    np.savez_compressed(made, probs=probs, labels=np.zeros(len(probs), np.uint8))
    bomb = RawFile("bomb.npz", made.getvalue())
    monkeypatch.setenv(apart.MEMORY_VARIABLE, "0.02")
    with pytest.raises(InputError, match=r"'bomb.npz' needs more than the 0.0 GiB of memory"):
        reading.read(bomb, apart=True)
    monkeypatch.delenv(apart.MEMORY_VARIABLE)
    assert len(reading.load(bomb, apart=True)) == len(probs)


def test_what_grows_as_it_is_read_is_bounded(monkeypatch):
    with zipfile.ZipFile(made := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/1.json", b'{"id":"' + b" " * 200_000_000 + b'"}')
    monkeypatch.setenv(apart.MEMORY_VARIABLE, "0.1")
    with pytest.raises(InputError, match=r"'log.eval' needs more than the 0.1 GiB of memory"):
        reading.read(RawFile("log.eval", made.getvalue()), apart=True)


def test_a_folder_may_take_what_its_files_may(monkeypatch):
    folder = Path(__file__).parent / "written" / "hf_dict" / "test"
    sizes = []
    limits_of = apart.Limits.of
    monkeypatch.setattr(apart.Limits, "of", lambda size: sizes.append(size) or limits_of(size))
    reading.load(folder, apart=True)
    assert sizes == [sum(path.stat().st_size for path in folder.iterdir())]


def test_a_file_that_ends_its_process_is_nobody_elses_matter(tmp_path, csv):
    """A pipe nobody writes to keeps its reader waiting, so that it can be ended from outside."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    said: list[Exception] = []

    def read() -> None:
        with pytest.raises(InputError) as refused:
            reading.read(pipe, apart=True)
        said.append(refused.value)

    reader = threading.Thread(target=read)
    reader.start()
    assert len(reading.load(csv(), apart=True)) == 6  # beside it
    parent = apart._SERVER._process.pid
    children = Path(f"/proc/{parent}/task/{parent}/children")
    for _ in range(500):
        if waiting := children.read_text().split():
            break
        time.sleep(0.01)
    os.kill(int(waiting[0]), signal.SIGSEGV)
    reader.join(20)
    assert "'pipe.csv' is damaged, or holds much more than its size says: reading it" in str(
        said[0]
    )
    assert not children.read_text().split()
    # Nor does it matter if the one they are forked from ends.
    os.kill(parent, signal.SIGKILL)
    assert len(reading.load(csv(), apart=True)) == 6


def test_runs_are_read_apart(tmp_path, npz):
    for name in ("a_cal.npz", "a_test.npz"):
        npz(name)
    (run,) = load_runs(tmp_path, apart=True)
    assert (run.name, len(run)) == ("a", 12)


@pytest.mark.parametrize("change", ["probabilities", "codes", "size", "type"])
def test_what_is_handed_over_is_checked_again(npz, change):
    told, arrays = dataset_told(reading.load(npz()))
    arrays = {name: array.copy() for name, array in arrays.items()}
    if change == "probabilities":
        arrays["probabilities"] *= 3
    if change == "codes":
        arrays["metadata.0"][0] = 99
    if change == "type":
        told["complete"] = "yes"
    stream = io.BytesIO(b"".join(message_of(told, arrays)))
    most = 100 if change == "size" else 10**6
    with pytest.raises(ValueError, match=r"lie in|codes|more|is no"):
        dataset_from(*message_from(lambda n: bytearray(stream.read(n)), most))
