import mmap
import shutil
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import lore_core as lore
from lore_core.dashboard.large_arrays import (
    map_arrays,
    new_file,
    pickle_mapped,
    release_pages,
    unpickle_mapped,
)
from lore_core.view import View
from lore_core.view.methods import remaining_of
from pages.shared.compute import work

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="files without a name")


def large(n=300_000):
    data = lore.demo.synthetic(n).dataset
    return lore.Dataset(
        data.probabilities,
        data.labels,
        features=data.features,
        groups={"side": np.where(data.features[:, 0] > 0, "left", "right")},
        weights=np.linspace(0.5, 1.5, n),
        name="large",
    )


def same(one, other):
    assert one.digest == other.digest
    for half in ("calibration", "evaluation"):
        left, right = getattr(one, half), getattr(other, half)
        assert left.digest == right.digest
        np.testing.assert_array_equal(left.confidence, right.confidence)
        np.testing.assert_array_equal(left.outcome, right.outcome)


def in_a_file(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, memoryview) and isinstance(array.obj, mmap.mmap)


@only_linux
@pytest.mark.parametrize("together", [False, True])
def test_data_kept_in_a_file_are_the_same(tmp_path, monkeypatch, together):
    data = large().with_split(0.4)
    if together:
        data = data.rows(np.argsort(data.split, kind="stable"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mapped = map_arrays(data)
    assert not list(tmp_path.iterdir())
    same(mapped, data)
    for part in (mapped, mapped.evaluation, mapped.calibration):
        assert in_a_file(part.probabilities)
        assert in_a_file(part.features)
        with pytest.raises(ValueError, match="read-only"):
            part.probabilities[0, 0] = 0.5
    assert np.shares_memory(mapped.probabilities, mapped.evaluation.probabilities) == together


def memory_of_files():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssFile")) * 1024


@only_linux
def test_what_was_looked_at_is_let_go_and_found_again():
    mapped = map_arrays(large().with_split(0.4))
    total = mapped.probabilities.sum() + mapped.features.sum()
    before = memory_of_files()
    release_pages()
    size = mapped.probabilities.nbytes + mapped.features.nbytes
    assert before - memory_of_files() > 0.9 * size
    assert mapped.probabilities.sum() + mapped.features.sum() == total


def there(value, file):
    return unpickle_mapped(pickle_mapped(value, file), file)


@only_linux
def test_what_lies_in_a_file_is_not_written_again():
    file, other = new_file(), new_file()
    array = np.arange(2.0**20).reshape(2, -1)
    mapped = file.map_array(array)
    value = {"whole": mapped, "part": mapped[1, 2**18 + 1 :], "small": array[0, :9]}
    assert len(pickle_mapped(value, other)) < 2_000
    assert other.map_array(mapped) is mapped
    assert not other.n_bytes
    for name, here in value.items():
        np.testing.assert_array_equal(there(value, other)[name], here)
    for new, is_by_row in ((array, True), (array.T, False), (array[:, ::2], True)):
        back = there(new, other)
        assert in_a_file(back)
        assert back.flags.c_contiguous == is_by_row
        np.testing.assert_array_equal(back, new)


def fails(*_, **__):
    raise OSError("no disk")


@only_linux
def test_where_there_is_no_file_or_no_room_arrays_stay_in_memory(monkeypatch):
    array, file = np.arange(2.0**20), new_file()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2**30))
    assert file.map_array(array) is array
    for where in (file, None):
        assert not in_a_file(there(array, where))
        np.testing.assert_array_equal(there(array, where), array)
    monkeypatch.setattr(tempfile, "TemporaryFile", fails)
    data = large().with_split(0.4)
    mapped = map_arrays(data)
    same(mapped, data)
    assert not in_a_file(mapped.probabilities)
    release_pages()


def test_a_worker_is_given_neither_images_nor_what_is_only_read():
    data = lore.Dataset(
        [[0.2, 0.8]] * 4,
        [0, 1, 1, 0],
        images=np.zeros((4, 2, 2), np.uint8),
        metadata={"text": list("abcd")},
        split=["calibration", "evaluation"] * 2,
    )
    view = View(data)
    assert view.evaluation.images is not None
    told = there(view, None)
    for part in (told.dataset, told.evaluation):
        assert part.images is None
        assert part.metadata is None
    assert work(remaining_of, view).is_whole
    whole = unpickle_mapped(pickle_mapped(view, None, is_whole=True), None)
    assert whole.evaluation.metadata["text"].tolist() == ["b", "d"]
    assert whole.evaluation.images is not None
    assert told.evaluation.labels.tolist() == [1, 0]
