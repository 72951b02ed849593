import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import refused

from lore_core import InputError, load_runs, reading
from lore_core.data import dataset_files
from lore_core.data.archive_files import Kind
from lore_core.reading import isolation
from lore_core.reading.raw_file import RawFile

pytestmark = pytest.mark.skipif(not isolation.IS_POSSIBLE, reason="limits are set on Linux only")


@pytest.fixture
def strange(tmp_path, table):
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
        here, there = reading.read(source), reading.read(source, isolate=True)
        assert there.dataset.digest == here.dataset.digest
        assert there.report == here.report
        assert there.mapping == here.mapping
        overview = reading.inspect(source)
        assert reading.inspect(source, isolate=True) == overview
        assert reading.read(source, isolate=True, overview=True).overview == overview
        for name in ("groups", "metadata"):
            one, other = (getattr(item.dataset, name) for item in (here, there))
            if one is not None:
                pd.testing.assert_frame_equal(one, other)


def test_what_is_wrong_is_said_as_here(csv, npz):
    for path in (csv(p_1=[2.0] * 6), Path("/no/such.csv"), npz(labels=None)):
        with pytest.raises(InputError) as here:
            reading.load(path)
        with pytest.raises(InputError) as there:
            reading.load(path, isolate=True)
        assert str(there.value) == str(here.value)
    flipped = np.tile([0.99, 0.01], (60, 1))
    doubtful = npz(probs=flipped, labels=np.ones(60, int), features=None, region=None, age=None)
    with pytest.raises(reading.DoubtfulDataError) as doubt:
        reading.read(doubtful, isolate=True)
    assert doubt.value.check == "scale"
    assert reading.read(doubtful, mapping={"accept": "scale"}, isolate=True).report.checks


def test_a_file_that_takes_too_much_is_one_sentence(npz, monkeypatch):
    probs = np.zeros((2_000_000, 2), np.uint8)
    probs[:, 0] = 1
    made = io.BytesIO()
    np.savez_compressed(made, probs=probs, labels=np.zeros(len(probs), np.uint8))
    bomb = RawFile("bomb.npz", made.getvalue())
    monkeypatch.setenv(isolation.MEMORY_VARIABLE, "0.02")
    with pytest.raises(InputError, match=r"'bomb.npz' needs more than the 0.0 GiB of memory"):
        reading.read(bomb, isolate=True)
    monkeypatch.delenv(isolation.MEMORY_VARIABLE)
    assert len(reading.load(bomb, isolate=True)) == len(probs)


def test_a_folder_may_take_what_its_files_may(monkeypatch, tmp_path, npz):
    folder = Path(__file__).parent / "written" / "hf_dict" / "test"
    sizes = []
    limits_of = isolation.Limits.of
    monkeypatch.setattr(isolation.Limits, "of", lambda size: sizes.append(size) or limits_of(size))
    reading.load(folder, isolate=True)
    assert sizes == [sum(path.stat().st_size for path in folder.iterdir())]
    for name in ("a_cal.npz", "a_test.npz"):
        npz(name)
    (run,) = load_runs(tmp_path, isolate=True)
    assert (run.name, len(run)) == ("a", 12)


def end_child(raws, by):
    os.kill(os.getpid(), by)


@pytest.mark.parametrize(
    ("by", "sentence"),
    [
        (signal.SIGSEGV, "is damaged, or holds much more than its size says: reading it ended"),
        (signal.SIGKILL, "needs more than the"),
        (signal.SIGXCPU, r"took more than the \d+ s of work"),
        (signal.SIGALRM, r"took more than the \d+ s of work"),
    ],
)
def test_a_file_that_ends_its_process_is_nobody_elses_matter(csv, by, sentence):
    raw = RawFile("fatal.csv", b"label")
    with pytest.raises(InputError, match=f"'fatal.csv' {sentence}"):
        isolation.parse(int, end_child, [raw], by, isolate=True)
    assert len(reading.load(csv(), isolate=True)) == 6


def test_two_are_read_at_a_time_and_none_for_ever(tmp_path, csv, monkeypatch):
    """A pipe that nobody writes to keeps its reader waiting."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: refused(pipe, "is empty", isolate=True))
    reader.start()
    assert len(reading.load(csv(), isolate=True)) == 6
    pipe.open("wb").close()
    reader.join(20)
    assert not reader.is_alive()
    limits = isolation.Limits(memory=2**30, seconds=0.1)
    monkeypatch.setattr(isolation.Limits, "of", lambda size: limits)
    refused(pipe, "'pipe.csv' took more than the 0 s of work", isolate=True)


def test_a_script_is_not_run_again(csv):
    """Neither is one without a guard of its own, as multiprocessing asks of every script."""
    script = csv().with_name("script.py")
    script.write_text(
        f"import lore_core as lore\nprint(len(lore.load({str(csv())!r}, isolate=True)))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "6\n"


ANSWERS = Kind("lore-test", "what was read", "a test", dataset_files.FORMS)


@pytest.mark.parametrize("change", ["probabilities", "codes", "type", "words"])
def test_what_is_handed_over_is_checked_again(npz, change):
    told, arrays = ANSWERS.encode({"result": reading.load(npz())})
    parts = told["result"]["Dataset"]
    column = parts["metadata"][0]["tuple"][1]["object"]
    if change == "probabilities":
        arrays[parts["probabilities"]["array"]] = 3 * arrays[parts["probabilities"]["array"]]
    if change == "type":
        parts["complete"] = "yes"
    if change == "codes":
        arrays[column["codes"]["array"]] = arrays[column["codes"]["array"]] + 99
    if change == "words":
        arrays[column["words"]["array"]] = np.frombuffer(b"[1, 2]", np.uint8)
    with pytest.raises(ValueError, match=r"lie in|codes|must hold|no text"):
        ANSWERS.read(ANSWERS.pack(told, arrays))


def test_a_ctrl_c_while_the_fork_server_imports_says_nothing():
    script = (
        "import os, signal, psutil\n"
        "from lore_core.data import processes\n"
        "processes.preload(processes.READING)\n"
        "assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "others = psutil.Process().children()\n"
        "while not any('numpy' in file.path for one in others for file in one.memory_maps()):\n"
        "    pass\n"
        "os.killpg(0, signal.SIGINT)\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, start_new_session=True)
    assert (done.returncode, done.stderr) == (0, "")
