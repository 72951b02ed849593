"""Files become the sums of their rows, whoever sums them, and go on where they were stopped."""

import dataclasses
import os
import signal

import numpy as np
import pandas as pd
import pytest

from lore_core import Cancelled, InputError, local_errors
from lore_core.embedding import MapName
from lore_core.mergeable import (
    LocalDistribution,
    LocalErrorSums,
    Partition,
    Plan,
    make_plan,
    parquet_files,
    partitions_of,
    read_whole,
    rows_in,
    sum_files,
)
from lore_core.mergeable.cell_sums import stored
from lore_core.reading.mapping import ColumnMapping


def test_sums_of_files_are_those_of_their_rows(files, tmp_path):
    parts = partitions_of(parquet_files([str(tmp_path / "part-*.parquet")]))
    assert [part.n_rows for part in parts] == [400, 300, 500]
    plan = make_plan(parts)
    run = sum_files(parts, plan)
    rows = read_whole(files, ColumnMapping())
    assert len(rows) == rows_in(files) == 1200
    places = plan.embedding.transform(rows.features)
    whole = LocalErrorSums.of(rows.confidence, rows.outcome, places, place=plan.digest)
    np.testing.assert_array_equal(run.sums.cells.table, whole.cells.table)
    np.testing.assert_array_equal(run.sums.of_bins, whole.of_bins)
    exact = local_errors(rows.confidence, rows.outcome, places, gamma=0.5)
    found = LocalDistribution.of(run.sums, gamma=0.5).average
    assert found.low <= exact.average <= found.high
    assert run.sums.mean_score("NLL") == pytest.approx(
        -np.log(rows.probabilities[np.arange(1200), rows.labels]).mean(), abs=1e-9
    )


def test_processes_make_no_difference(files):
    parts = partitions_of(files)
    plan = make_plan(parts, feature_map=MapName("identity", None), n_bins=5)
    one = sum_files(parts, plan)
    two = sum_files(parts[::-1], plan, n_workers=2)
    assert stored.digest(one.sums) == stored.digest(two.sums)
    assert two.n_files == 3


def test_a_run_that_was_stopped_goes_on(files, tmp_path):
    parts = partitions_of(files)
    plan = make_plan(parts, binning="equal-mass", n_bins=4)
    kept = tmp_path / "sums"

    def stop(share, message):
        if message.startswith("400 "):
            raise Cancelled

    with pytest.raises(Cancelled):
        sum_files(parts, plan, directory=kept, progress=stop)
    again = Plan.load(kept / "plan.npz")
    assert again.digest == plan.digest
    run = sum_files(parts, again, directory=kept)
    assert run.n_kept >= 1
    assert stored.digest(run.sums) == stored.digest(sum_files(parts, plan).sums)
    # A damaged part is summed again, and one whose file has changed.
    first = next(path for path in kept.iterdir() if path.name != "plan.npz")
    first.write_bytes(first.read_bytes()[:-100])
    assert sum_files(parts, again, directory=kept).n_kept == 2
    pd.read_parquet(files[0]).iloc[:-1].to_parquet(files[0])
    run = sum_files(partitions_of(files), again, directory=kept)
    assert (run.n_kept, run.sums.n_rows) == (2, 1199)


def test_an_unreadable_file_is_named_and_the_others_kept(files, tmp_path):
    parts = partitions_of(files)
    plan = make_plan(parts)
    content = bytearray(files[1].read_bytes())
    content[4 : len(content) // 2] = b"\0" * (len(content) // 2 - 4)
    files[1].write_bytes(bytes(content))
    with pytest.raises(InputError, match="part-1.parquet"):
        sum_files(parts, plan, directory=tmp_path / "sums")
    assert len(list((tmp_path / "sums").iterdir())) == 2
    with pytest.raises(InputError, match="fits no file"):
        parquet_files([str(tmp_path / "none-*.parquet")])


def test_a_bad_value_is_told_with_its_file_and_row(files):
    frame = pd.read_parquet(files[2])
    frame.loc[170, "p_yes"] = 1.7
    frame.to_parquet(files[2])
    parts = partitions_of(files)
    with pytest.raises(InputError, match=r"part-.*row"):
        sum_files(parts, make_plan(parts[:2]))


def test_calibration_rows_are_left_out(files):
    for path in files:
        frame = pd.read_parquet(path)
        frame["split"] = "calibration"
        if path != files[0]:
            frame.loc[::2, "split"] = "test"
        frame.to_parquet(path)
    parts = partitions_of(files)
    run = sum_files(parts, make_plan(parts))
    assert run.sums.n_rows == 150 + 250


def test_what_cannot_be_planned_is_refused(files):
    parts = partitions_of(files)
    with pytest.raises(InputError, match="target"):
        make_plan(parts, target="maybe")
    with pytest.raises(InputError, match="dimensions"):
        make_plan(parts, feature_map=MapName("pca", 4))
    pd.read_parquet(files[1]).drop(columns="f_b").to_parquet(files[1])
    with pytest.raises(InputError, match="f_b"):
        partitions_of(files)


def _killing(part, flag):
    """Return a part that ends the process that reads it: once, or always without a flag."""

    # (A class within a function is sent to other processes as it is, not by its name.)
    class Killing(Partition):
        def batches(self, n_rows, columns=None):
            if flag is None or not flag.exists():
                if flag is not None:
                    flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return Partition.batches(self, n_rows, columns)

    return Killing(**dataclasses.asdict(part))


def test_a_worker_that_is_killed_costs_its_part_alone(files, tmp_path):
    parts = partitions_of(files)
    plan = make_plan(parts)
    once = [parts[0], _killing(parts[1], tmp_path / "flag"), parts[2]]
    run = sum_files(once, plan, n_workers=2)
    assert stored.digest(run.sums) == stored.digest(sum_files(parts, plan).sums)
    with pytest.raises(MemoryError, match="ended from outside"):
        sum_files([parts[0], _killing(parts[1], None)], plan, n_workers=2)
