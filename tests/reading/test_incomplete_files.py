import dataclasses
import io
import json
import os
import random
import shutil
import sqlite3
import struct
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest

import lore_core as lore
from benchmarks.attack import files, models
from benchmarks.attack.__main__ import BAD
from benchmarks.attack.cases import run
from benchmarks.attack.files import Sample, samples
from lore_core import InputError
from lore_core.reading import DoubtfulDataError, read
from tests.refusals import refused

WRITTEN = Path(__file__).parent / "written"
N, PART = 60, 10
PAGE = 1024
DIRECTORY_ENTRY, DIRECTORY_END = b"PK\1\2", b"PK\5\6"


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    risk = rng.random(N)
    return pd.DataFrame({"label": (rng.random(N) < risk).astype(int), "p": risk, "f_0": risk**2})


def doubted(source, message, rows, **options):
    with pytest.raises(DoubtfulDataError, match=message) as caught:
        lore.load(source, **options)
    assert caught.value.check == "incomplete"
    found = read(source, mapping={"accept": "incomplete"}, **options)
    assert len(found.dataset) == rows
    assert any(sentence.startswith("Accepted: ") for sentence in found.report.warnings)


def lowered(content, page, by):
    """A database one of whose pages names so many fewer cells, if it holds as many."""
    start = page * PAGE + (100 if page == 0 else 0)
    cells = int.from_bytes(content[start + 3 : start + 5], "big")
    if content[start] not in (2, 5, 10, 13) or cells < by:
        return None
    return content[: start + 3] + struct.pack(">H", cells - by) + content[start + 5 :]


@pytest.fixture
def database(tmp_path, frame):
    def write(rows=frame, *, index=False, mode="delete"):
        path = tmp_path / "runs.sqlite"
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as opened:
            opened.execute(f"PRAGMA page_size = {PAGE}")
            opened.execute(f"PRAGMA journal_mode = {mode}")
            rows.to_sql("rows", opened, index=index)
        return path

    return write


def test_pages_of_sqlite_that_name_fewer_rows(database):
    content = database(index=True).read_bytes()
    tried = 0
    for page in range(len(content) // PAGE):
        for by in (1, 5):
            damaged = lowered(content, page, by)
            if damaged is not None:
                tried += 1
                (path := database()).write_bytes(damaged)
                refused(path, r"'runs.sqlite' is damaged.*rows may be missing")
    assert tried > 6
    for isolate in (False, True):
        refused(path, "'runs.sqlite' is damaged", mapping={"query": "SELECT 1"}, isolate=isolate)


def test_pages_of_sqlite_from_before(database, frame, tmp_path):
    """A page of an older state is sound in itself: only the index tells."""
    old = database(frame[:-1], index=True).read_bytes()
    path = database(index=True)
    new = path.read_bytes()
    pages = [slice(start, start + PAGE) for start in range(0, len(old), PAGE)]
    changed = [page for page in pages[1:] if old[page] != new[page]]
    assert len(changed) == 2
    for page in changed:
        path.write_bytes(new[: page.start] + old[page] + new[page.stop :])
        refused(path, "the table 'rows' holds (59|60) rows, its index (60|59)")
    # Rows that break a rule of their table are no damage.
    path = tmp_path / "rules.sqlite"
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("PRAGMA ignore_check_constraints = ON")
        opened.execute("CREATE TABLE rows (label, p CHECK (p > 0.5), f_0)")
        frame.to_sql("rows", opened, index=False, if_exists="append")
    assert len(lore.load(path)) == N


def test_a_database_without_its_log(database):
    path = database(mode="wal")
    for isolate in (False, True):
        with path.open("rb") as upload:
            for source in (path, upload):
                found = read(source, isolate=isolate)
                assert len(found.dataset) == N
                assert any(
                    "'runs.sqlite-wal', which was not there" in n for n in found.report.notes
                )
    assert [item.name for item in path.parent.iterdir()] == [path.name]
    path = database(mode="wal")
    log = path.with_name("runs.sqlite-wal")
    page, header = struct.pack(">2I", PAGE, 0), b"\x37\x7f\x06\x82" + struct.pack(">I", 3_007_000)
    log.write_bytes(header + page + bytes(16) + bytes(24 + PAGE // 2))
    assert any("'runs.sqlite-wal', which ends too early" in n for n in read(path).report.notes)


@pytest.mark.parametrize("name", ["inspect.eval", "runs.npz"])
def test_directories_of_archives(tmp_path, name, npz):
    whole = npz() if name == "runs.npz" else WRITTEN / name
    content, path = whole.read_bytes(), tmp_path / f"damaged-{name}"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        first = archive.start_dir
        names = [item.filename.encode() for item in archive.infolist()]
    for entry in names:
        start = content.index(entry, first)
        for at in range(start, start + len(entry), 3):
            path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
            refused(path, "is damaged.*(differ|characters|codec)")
    # An entry whose comment is said to be as long as all that follow, and an end that counts more.
    at = content.index(DIRECTORY_ENTRY, first) + 32
    rest = content.index(DIRECTORY_END) - at - 14 - len(names[0])
    path.write_bytes(content[:at] + struct.pack("<H", rest) + content[at + 2 :])
    refused(path, f"is damaged.*its directory lists 1 of {len(names)} entries")


def without(path, *names):
    whole = WRITTEN / "inspect.eval"
    with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(path, "w") as kept:
        for item in archive.infolist():
            if item.filename not in names:
                start = item.header_offset + 30 + len(item.filename)
                packed = whole.read_bytes()[start:][: item.compress_size]
                content = pa.decompress(packed, item.file_size, codec="zstd", asbytes=True)
                kept.writestr(item.filename, content)
    return path


def test_samples_that_an_inspect_log_counts(tmp_path):
    path = tmp_path / "log.eval"
    assert len(lore.load(without(path))) == 8
    lost = "samples/4_epoch_1.json"
    message = "'log.eval' holds 7 samples but says that 8 were logged"
    for about in ("header.json", "summaries.json"):
        doubted(without(path, lost, about), message, 7)
    doubted(path, message, 7, isolate=True)
    log = json.loads((WRITTEN / "inspect.json").read_text())
    del log["samples"][4]
    (tmp_path / "log.json").write_text(json.dumps(log))
    doubted(tmp_path / "log.json", "'log.json' holds 7 samples", 7)


def arrow_stream(frame):
    table, stream = pa.Table.from_pandas(frame), io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        ends = [stream.tell()]
        for batch in table.to_batches(max_chunksize=PART):
            writer.write_batch(batch)
            ends.append(stream.tell())
    return stream.getvalue(), ends


def test_streams_that_were_cut_off(tmp_path, frame):
    content, ends = arrow_stream(frame)
    path = tmp_path / "rows.arrow"
    path.write_bytes(content)
    assert len(lore.load(path)) == N
    for count, end in enumerate(ends[1:], start=1):
        path.write_bytes(content[:end])
        doubted(path, f"'rows.arrow' has no end.* these {count * PART} may be", count * PART)
    doubted(path, "has no end marker", N, isolate=True)
    path.write_bytes(2 * content)
    doubted(path, "has no end marker where the file ends", N)


def test_an_arrow_file_whose_end_lists_fewer_batches(tmp_path, frame):
    path = tmp_path / "rows.feather"
    written = {}
    for rows in (N - PART, N):
        pa.feather.write_feather(frame[:rows], path, chunksize=PART, compression="uncompressed")
        content = path.read_bytes()
        length = 10 + int.from_bytes(content[-10:-6], "little")
        written[rows] = (content[:-length], content[-length:])
    path.write_bytes(written[N][0] + written[N - PART][1])
    assert pd.read_feather(path).shape[0] == N - PART
    refused(path, "'rows.feather' is damaged.*its end lists 5 of 6 batches")
    path = tmp_path / "rows.csv"
    text = frame.assign(note="a note", site="here").to_csv(index=False)
    path.write_text(text.rstrip("\n"))
    assert len(lore.load(path)) == N
    path.write_text(text[: -len("here\n") - 1])
    doubted(path, r"the last line of 'rows.csv' holds 4 of 5 values and does not end", N)


@pytest.fixture
def folder(tmp_path):
    def copy(**changed):
        place = tmp_path / "runs"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(WRITTEN / "hf_dict", place)
        for name, change in changed.items():
            path = place / name.replace("__", "/").replace("_json", ".json")
            path.write_text(change(path.read_text()))
        return place

    return copy


def test_parts_of_a_saved_dataset(folder, tmp_path, frame):
    lost = "lacks the part data-00001-of-00002"
    first, second = "data-00000-of-00002", "data-00001-of-00002"
    twice = folder(validation__state_json=lambda text: text.replace(second, first))
    refused(twice, f"state.json of 'runs_validation' {lost}")
    one = json.dumps({"_data_files": [{"filename": f"{first}.arrow"}]})
    refused(folder(validation__state_json=lambda _: one), lost)
    misnamed = folder(dataset_dict_json=lambda text: text.replace("test", "tesu"))
    refused(misnamed, "dataset_dict.json of 'runs' does not name the folder test")
    shutil.rmtree((place := folder()) / "train")
    assert len(lore.load(place)) == 22
    path = place / "test" / "data-00000-of-00001.arrow"
    path.write_bytes(path.read_bytes()[:-8])
    refused(place, "'data-00000-of-00001.arrow' is.*no part of 'runs_test'.*cut off after 10 rows")
    frame.to_parquet(tmp_path / "test-00001-of-00003.parquet")
    message = "lacks the part test-00000-of-00003"
    refused(tmp_path, message)
    assert len(lore.load(tmp_path / "test-00001-of-00003.parquet")) == N


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_text_that_was_cut_off_between_two_values(tmp_path, frame, suffix):
    path = tmp_path / f"rows.{suffix}"
    is_csv, records = suffix == "csv", {"orient": "records", "lines": True}
    path.write_text(frame.to_csv(index=False) if is_csv else frame.to_json(**records))
    said = "does not end with a line break"
    assert not any(said in note for note in read(path).report.notes)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-20]).rstrip())
    found = read(path)
    assert len(found.dataset) == N - 20
    assert any(said in note for note in found.report.notes)


in_processes = pytest.mark.skipif(not hasattr(os, "fork"), reason="cases run in processes of POSIX")


@in_processes
def test_rows_are_never_fewer_wherever_a_file_is_damaged():
    """Cut, without some bytes, or with others, at many places: the same rows, or refused."""
    kinds = {name: sample for name, sample in samples().items() if sample.counts_rows}
    for name in ("inspect.eval", "hf.parquet"):
        kinds[name] = Sample({name: (WRITTEN / name).read_bytes()}, name)
    assert len(kinds) > 10
    chance = random.Random(0)
    damaged = []
    for name, sound in kinds.items():
        rows = sound.found()[1]
        for turn in range(24):
            part = chance.choice(list(sound.parts))
            content = bytearray(sound.parts[part])
            at = chance.randrange(len(content))
            if turn % 3 == 0:
                del content[at:]
            elif turn % 3 == 1:
                del content[at : at + chance.randrange(1, 100)]
            else:
                content[at] ^= 1 << chance.randrange(8)
            parts = {**sound.parts, part: bytes(content)}
            damaged.append((name, rows, dataclasses.replace(sound, parts=parts)))

    def case(number):
        name, rows, sample = damaged[number]
        found = sample.found()[1]
        return "read" if found >= rows else f"{name}: {found} of {rows} rows"

    outcome = run(case, 0, len(damaged), memory=2**29, error=InputError)
    assert set(outcome.counts) == {"read", "refused"}, outcome.counts


@in_processes
@pytest.mark.parametrize(("kind", "n", "refused"), [(files, 160, 90), (models, 60, 35)])
def test_damaged_and_edited_files(kind, n, refused):
    outcome = kind.attack(0, n)
    assert not [(word, outcome.examples.get(word)) for word in BAD if outcome.counts[word]]
    assert not outcome.counts["damaged, others"]
    assert outcome.counts.total() == n
    assert outcome.counts["refused"] > refused
