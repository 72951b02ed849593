"""Data whose large arrays lie in a file are the same data, and take no memory until looked at."""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import lore_core as lore
from lore_core.dashboard.large_arrays import kept_apart, let_go, put_apart

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="files without a name")


def large(n=900_000):
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
    """Every array is the same to the last bit, and so are both halves."""
    assert one.digest == other.digest
    for half in ("calibration", "evaluation"):
        left, right = getattr(one, half), getattr(other, half)
        assert left.digest == right.digest
        np.testing.assert_array_equal(left.confidence, right.confidence)
        np.testing.assert_array_equal(left.outcome, right.outcome)


def in_a_file(array):
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


@only_linux
@pytest.mark.parametrize("together", [False, True])
def test_data_kept_in_a_file_are_the_same(tmp_path, monkeypatch, together):
    data = large().with_split(0.4)
    if together:
        data = data.rows(np.argsort(data.split, kind="stable"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kept = kept_apart(data)
    assert not list(tmp_path.iterdir())
    same(kept, data)
    for part in (kept, kept.evaluation, kept.calibration):
        assert in_a_file(part.probabilities)
        assert in_a_file(part.features)
        with pytest.raises(ValueError, match="read-only"):
            part.probabilities[0, 0] = 0.5
    # Neighbours are looked at where they are, others are copied once, into the file.
    assert np.shares_memory(kept.probabilities, kept.evaluation.probabilities) == together


def held(of):
    """Bytes of memory that this process has of files, or in all."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(of)) * 1024


@only_linux
def test_what_was_looked_at_is_let_go_and_found_again():
    kept = kept_apart(large().with_split(0.4))
    total = kept.probabilities.sum() + kept.features.sum()
    before = held("RssFile")
    let_go()
    assert before - held("RssFile") > 0.9 * (kept.probabilities.nbytes + kept.features.nbytes)
    assert kept.probabilities.sum() + kept.features.sum() == total


def test_without_a_file_they_stay_in_memory(monkeypatch):
    def fails(*_, **__):
        raise OSError("no disk")

    monkeypatch.setattr(tempfile, "TemporaryFile", fails)
    data = large(300_000).with_split(0.4)
    kept = kept_apart(data)
    same(kept, data)
    assert not in_a_file(kept.probabilities)
    let_go()


@only_linux
def test_local_errors_are_put_apart():
    data = large(600_000)
    found = lore.local_errors(data.confidence, data.outcome, data.features[:, :1])
    kept = put_apart(found)
    for name, value in vars(found).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(kept, name), value)
            assert in_a_file(getattr(kept, name))
        else:
            assert getattr(kept, name) is value
