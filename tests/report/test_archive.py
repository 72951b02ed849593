import io
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import lore_core as lore
from lore_core import cli
from lore_core.report import archive
from lore_core.report.archive import write_bundle, zipped

FILES = {
    "config.json": b'{"format": "lore-lens-report"}',
    "rerun.sh": b"#!/bin/sh\n",
    "a/b.csv": b"1\n",
}
QUICK = shlex.split("--gamma 0.4 --bins 5 --draws 20 --method 'No recalibration' --method LoRe")


def contents(place: Path) -> dict[str, bytes]:
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file()
    }


def test_a_directory_and_a_zip_hold_the_same(tmp_path):
    write_bundle(FILES, tmp_path / "out")
    write_bundle(FILES, tmp_path / "out.zip")
    assert contents(tmp_path / "out") == FILES
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == FILES
        assert archive.testzip() is None
    assert os.access(tmp_path / "out" / "rerun.sh", os.X_OK)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "out.zip"]
    place = tmp_path / "out"
    write_bundle({**FILES, "old.txt": b"old"}, place)
    write_bundle(FILES, place)
    assert contents(place) == FILES
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "out.zip"]


def test_a_zip_has_the_same_bytes_on_every_day(monkeypatch):
    first = zipped(FILES)
    monkeypatch.setattr("time.time", lambda: 2e9)
    assert zipped(dict(reversed(FILES.items()))) == first
    infos = zipfile.ZipFile(io.BytesIO(first)).infolist()
    assert {info.date_time for info in infos} == {(1980, 1, 1, 0, 0, 0)}
    modes = {info.filename: info.external_attr >> 16 & 0o777 for info in infos}
    assert modes == {"a/b.csv": 0o644, "config.json": 0o644, "rerun.sh": 0o755}


def test_other_files_are_left_alone(tmp_path, dataset):
    place = tmp_path / "thesis"
    place.mkdir()
    (place / "chapter.tex").write_text("years of work")
    with pytest.raises(lore.InputError, match="must be a new or empty directory, or an earlier"):
        lore.write_report(dataset, place)
    assert (place / "chapter.tex").read_text() == "years of work"
    with pytest.raises(lore.InputError, match="the directory of .* must exist"):
        lore.write_report(dataset, tmp_path / "no" / "where.zip")
    with pytest.raises(lore.InputError, match=r"must be a directory or end in \.zip"):
        lore.write_report(dataset, place / "chapter.tex")


def test_a_disk_that_fills_up_leaves_the_earlier_report(tmp_path, monkeypatch):
    place = tmp_path / "out"
    write_bundle(FILES, place)
    write = Path.write_bytes

    def full(path, content):
        if path.name == "b.csv":
            raise OSError(28, "No space left on device")
        return write(path, content)

    monkeypatch.setattr(archive.Path, "write_bytes", full)
    with pytest.raises(lore.InputError, match="must be writable; got No space left"):
        write_bundle({**FILES, "config.json": b"new"}, place)
    assert contents(place) == FILES
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.fixture(scope="module")
def data_file(tmp_path_factory, make_dataset):
    path = tmp_path_factory.mktemp("data") / "my data.npz"
    lore.save_npz(make_dataset(), path)
    return path


@pytest.fixture(scope="module")
def first_report(data_file):
    place = data_file.parent / "first"
    assert cli.main(["report", str(data_file), *QUICK, "-o", str(place)]) == 0
    return place


@pytest.mark.skipif(shutil.which("sh") is None, reason="no POSIX shell")
def test_rerun_makes_the_same_numbers(first_report, data_file, tmp_path):
    command = tmp_path / "lore"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lore_core.cli "$@"\n')
    command.chmod(0o755)
    root = Path(lore.__file__).parents[1]
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    names = {"PATH": path, "PYTHONPATH": str(root), "OUT": str(tmp_path / "again")}
    again = ["sh", str(first_report / "rerun.sh")]
    options = {"capture_output": True, "text": True, "check": False}
    run = subprocess.run(again, env=os.environ | names, cwd=tmp_path, **options)
    assert run.returncode == 0, run.stderr
    before, after = contents(first_report), contents(tmp_path / "again")
    assert set(before) == set(after)
    tables = [name for name in before if name.startswith("tables/")]
    assert len(tables) > 20
    assert [name for name in before if before[name] != after[name]] == []


def test_other_data_are_refused(first_report, data_file, make_dataset, tmp_path, capsys):
    other = tmp_path / "my data.npz"
    lore.save_npz(make_dataset(seed=1), other)
    script = (first_report / "rerun.sh").read_text()
    digest = script.split("--expect-data ")[1].split()[0]
    arguments = ["report", str(other), "--expect-data", digest, "-o", str(tmp_path / "out")]
    assert cli.main(arguments) == 1
    assert "these are not the data the report was made from" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_without_a_file_rerun_asks_for_one(files):
    script = files["rerun.sh"].decode()
    assert '"${1:?name the data file' in script
    assert 'lore report "$@" --map pca-2 --gamma 0.4 --bins 5' in script
