import os
import stat
import subprocess
import sys
import time
from datetime import date

import numpy as np
import pandas as pd
import pytest

from lore_core.dashboard import disk_cache
from lore_core.dashboard.disk_cache import MAX_AGE_SECONDS, DiskCache
from lore_core.data.validation import InputError
from lore_core.embedding import Embedding
from lore_core.embedding.result import LinearMap, NeighbourMap
from lore_core.reading import Check
from pages.shared import store as store_module
from pages.shared.store import DEMO, Cache, Loaded, Store


def test_data_are_kept_by_their_bytes(made):
    small, large = Loaded(made(n=100), "a"), Loaded(made(n=1000), "b")
    assert large.n_bytes > 9 * small.n_bytes
    assert Loaded(made(n=1000), DEMO).n_bytes == 0
    kept: Cache[Loaded] = Cache(15 * small.n_bytes, lambda loaded: loaded.n_bytes)
    kept.put("demo", Loaded(made(n=100), DEMO))
    for number in range(8):
        kept.put(number, small)
    assert all(kept.get(number) is small for number in range(8))
    kept.put("one", large)
    kept.put("two", large)
    assert kept.get("one") is None  # used longest ago, but for the small ones before it
    assert kept.get("two") is large
    assert kept.get("demo") is not None


@pytest.mark.parametrize(("others", "hour"), [(False, 24.0), (True, 1.0)])
def test_nothing_is_kept_without_end(monkeypatch, others, hour):
    now = [0.0]
    monkeypatch.setattr(store_module.time, "monotonic", lambda: now[0] * hour * 3600)
    monkeypatch.setattr(store_module, "answers_this_machine_only", lambda: not others)
    kept: Cache[int] = Cache(5)
    kept.put("a", 1)
    now[0] = 0.9
    kept.use("a")  # a page that shows it runs
    kept.put("b", 2)
    now[0] = 1.8
    assert kept.get("a") == 1
    now[0] = 2.0
    assert kept.get("b") is None
    now[0] = 2.9
    assert kept.get("a") is None  # though nobody came in between


def write(path, n):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([2, 1], n)
    np.savez(path, probs=probs, labels=rng.integers(0, 2, n), features=rng.normal(size=(n, 3)))


@pytest.mark.parametrize("way", ["same reader", "by link", "removed"])
def test_a_file_that_changed_on_disk_is_said(open_page, tmp_path, way):
    path = tmp_path / "model.npz"
    write(path, 120)
    argv = ["app.py", "--data-root", "/", "--data", str(path)]
    page = open_page("data", arguments=argv)
    link = page.app.query_params["data"]
    page.run()
    assert "since it was read" not in page.text
    if way == "removed":
        path.unlink()
    else:
        write(path, 140)
        os.utime(path, ns=(1, 1))
    if way == "by link":
        page = open_page("data", data=link if isinstance(link, str) else link[0], arguments=argv)
    else:
        page.run()
    what = "was removed" if way == "removed" else "changed on disk"
    assert f"model.npz {what} since it was read" in page.plain
    assert ("read it again" in page.text) == (way != "removed")
    assert "120 rows" in page.text
    page.run()
    assert "since it was read" not in page.text  # once
    if way != "removed":
        assert "140 rows" in open_page("data", arguments=argv).text
    assert sys.argv == argv


@pytest.fixture
def files(tmp_path, monkeypatch):
    kept = DiskCache(tmp_path / "cache" / "kept", store_module.FORMS)
    monkeypatch.setattr(store_module, "disk_cache", lambda: kept)
    return kept


def loaded(made):
    frame = pd.DataFrame({"day": [date(2020, 1, 2)] * 400, "site": ["a", "<b>"] * 200})
    dataset = made(metadata=frame, groups=frame[["site"]])
    check = Check(name="sums", level="fine", found="all 1")
    return Loaded(
        dataset, "upload", ("a fact",), (), ("careful",), (check,), (0.5, 0), (("f", 1, 2),)
    )


def learned(dataset):
    """A map as t-SNE leaves it, without the quarter of a minute that t-SNE takes."""
    rng = np.random.default_rng(1)
    n, p = dataset.features.shape
    places = rng.normal(size=(n, 2))
    known = LinearMap(np.zeros(p), np.eye(3, p), ("three components",))
    made = NeighbourMap(known.place(dataset.features), places, known, ("placed",))
    factors = np.array([2.0, 3.0])
    return Embedding(places / factors, "tsne", 2, "unit", factors, 0, n, n, p, made)


def test_a_fresh_server_finds_what_another_kept(files, made):
    before, after = Store(), Store()
    first = loaded(made)
    first_map = learned(first.dataset)
    names = (first.dataset.digest, "t-SNE 2-D"), ("report", first.key)
    before.loaded.put(first.key, first)
    before.maps.put(names[0], first_map)
    before.reports.put(names[1], b"PK of a report")
    second = after.loaded.get(first.key)
    assert second.dataset.digest == first.dataset.digest
    assert (second.facts, second.checks, second.files) == (first.facts, first.checks, first.files)
    second_map = after.maps.get(names[0])
    assert second_map.digest == first_map.digest
    assert second_map.description == first_map.description
    some = first.dataset.features[:9] + 0.1
    assert (second_map.transform(some) == first_map.transform(some)).all()
    assert after.reports.get(names[1]) == b"PK of a report"
    modes = [stat.S_IMODE(path.stat().st_mode) for path in files.folder.iterdir()]
    assert modes == [0o600] * 3
    assert stat.S_IMODE(files.folder.stat().st_mode) == 0o700
    assert sum(entry.n_bytes for entry in files.entries()) > 10_000
    files.clear()
    assert not files.folder.exists()


@pytest.mark.parametrize("place", [0, 40, 9_000])
def test_a_damaged_file_is_as_if_it_were_not_there(files, made, place):
    first = loaded(made)
    Store().loaded.put(first.key, first)
    (path,) = files.folder.iterdir()
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    assert Store().loaded.get(first.key) is None
    Store().loaded.put(first.key, first)  # and makes room for a sound one
    assert Store().loaded.get(first.key).dataset.digest == first.dataset.digest


def paths(kept):
    return [thing.path for thing in kept.entries()]


def test_it_is_bounded_in_bytes_and_in_time(tmp_path):
    kept = DiskCache(tmp_path / "kept", max_bytes=5_000)
    for name in "abc":
        kept.put("data", name, np.zeros(200))
        os.utime(kept.path_of("data", name), (time.time() - 100 + ord(name),) * 2)
    assert paths(kept) == [kept.path_of("data", key) for key in "cb"]  # 1,600 bytes each, and more
    assert kept.get("data", "b") is not None
    os.utime(kept.path_of("data", "c"), (time.time() - MAX_AGE_SECONDS - 9,) * 2)
    assert kept.get("data", "c") is None
    assert paths(kept) == [kept.path_of("data", key) for key in "b"]
    with pytest.raises(InputError, match="it takes 0 MB, of which the disk has no more"):
        kept.put("data", "d", np.zeros(2_000))


def test_where_nothing_can_be_kept_it_is_said_and_the_data_are_shown(files, made, monkeypatch):
    def full(place):
        raise InputError(f"'{place.name}' must be writable; got No space left on device.")

    monkeypatch.setattr(disk_cache, "replaced_at_once", full)
    store, first = Store(), loaded(made)
    store.loaded.put(first.key, first)
    assert store.loaded.get(first.key) is first
    assert "No space left on device" in store.problem


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs two accounts")
def test_a_folder_of_another_account_is_not_written(tmp_path):
    (tmp_path / "kept").mkdir()
    os.chown(tmp_path / "kept", 65534, -1)
    with pytest.raises(InputError, match="it is another's"):
        DiskCache(tmp_path / "kept").put("data", "a", "")


def clean(cache, *options):
    command = [sys.executable, "-m", "lore_core.cli", "clean", *options]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def cache(tmp_path):
    kept = DiskCache(tmp_path / "lore-lens" / "kept")
    kept.put("data", "a", "")
    return tmp_path


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the cache folder of Linux")


@linux_only
@pytest.mark.parametrize("key", ["b", None])
def test_what_is_no_file_is_neither_waited_for_nor_removed(cache, key):
    """A pipe that nobody writes to; ``key``: whether it has the name of a file that is kept."""
    kept = DiskCache(cache / "lore-lens" / "kept")
    pipe = kept.path_of("data", key) if key else kept.folder / "report.kept"
    os.mkfifo(pipe)
    assert kept.get("data", "b") is None
    code, printed = clean(cache)
    assert (code, printed[:18]) == (0, "Removed 1 dataset:")
    assert list(kept.folder.iterdir()) == [pipe]
    if key:  # and what is to be kept by that name takes its place
        kept.put("data", key, "")
        assert paths(kept) == [kept.path_of("data", key) for key in "b"]


@linux_only
def test_nothing_is_removed_through_a_link(cache, tmp_path_factory):
    folder, other = cache / "lore-lens" / "kept", tmp_path_factory.mktemp("other")
    (folder / "token").write_text("a token")
    names = sorted(path.name for path in folder.iterdir())
    folder.rename(other / "kept")
    folder.symlink_to(other / "kept")
    code, printed = clean(cache)
    assert code == 1
    assert "must be a folder; it is a link to" in printed
    assert sorted(path.name for path in (other / "kept").iterdir()) == names


@linux_only
def test_files_of_others_in_the_folder_stay(cache, tmp_path_factory):
    kept = DiskCache(cache / "lore-lens" / "kept")
    other = tmp_path_factory.mktemp("other") / "file"
    other.write_text("mine")
    (kept.folder / "notes.kept.txt").write_text("mine")
    link = kept.path_of("data", "b")
    link.symlink_to(other)
    assert paths(kept) == [kept.path_of("data", key) for key in "a"]
    assert kept.get("data", "b") is None
    kept.clear()
    assert sorted(path.name for path in kept.folder.iterdir()) == [link.name, "notes.kept.txt"]
    kept.put("data", "b", "")
    assert other.read_text() == "mine"
    assert not link.is_symlink()
