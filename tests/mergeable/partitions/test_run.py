import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from lore_core import Cancelled, InputError, load, local_errors
from lore_core.embedding import MapName
from lore_core.mergeable import (
    LocalDistribution,
    LocalErrorSums,
    Plan,
    make_plan,
    parquet_files,
    partitions_of,
    rows_in,
    sample_rows,
    sum_files,
)
from lore_core.mergeable.partitions.plan import unit_groups


def read_whole(files):
    return load(str(files[0].parent / "part-*.parquet"))


def test_sums_of_files_are_those_of_their_rows(files, tmp_path):
    parts = partitions_of(parquet_files([str(tmp_path / "part-*.parquet")]))
    assert [part.n_rows for part in parts] == [400, 300, 500]
    plan = make_plan(parts)
    run = sum_files(parts, plan)
    rows = read_whole(files)
    assert len(rows) == rows_in(files) == 1200
    places = plan.embedding.transform(rows.features)
    whole = LocalErrorSums.of(rows.confidence, rows.outcome, places, map_digest=plan.digest)
    np.testing.assert_array_equal(run.sums.cells.table, whole.cells.table)
    np.testing.assert_array_equal(run.sums.of_bins, whole.of_bins)
    exact = local_errors(rows.confidence, rows.outcome, places, gamma=0.5)
    found = LocalDistribution.of(run.sums, gamma=0.5).average
    assert found.low <= exact.average <= found.high
    assert run.sums.mean_score("NLL") == pytest.approx(
        -np.log(rows.probabilities[np.arange(1200), rows.labels]).mean(), abs=1e-9
    )


def test_processes_make_no_difference(files, tmp_path, watched_part):
    """Nor does a worker that is killed: it costs its part alone."""
    parts = partitions_of(files)
    plan = make_plan(parts, feature_map=MapName("identity", None), n_bins=5)
    once = [parts[2], watched_part(parts[1], flag=tmp_path / "flag"), parts[0]]
    run = sum_files(once, plan, n_workers=2)
    assert run.sums.digest == sum_files(parts, plan).sums.digest
    assert run.n_files == 3
    with pytest.raises(MemoryError, match="ended from outside"):
        sum_files([parts[0], watched_part(parts[1])], plan, n_workers=2)


def test_units_span_files_and_any_type_names_them(files):
    unit = np.arange(1200) % 37
    kinds = zip(files, np.split(unit, [400, 700]), ("int64", str, float), strict=True)
    for path, names, kind in kinds:
        pd.read_parquet(path).assign(unit=names.astype(kind)).to_parquet(path)
    parts = partitions_of(files)
    _, _, group, (rows, *_) = sum_files(parts, make_plan(parts[:1])).sums.strata_of_groups()
    expected = np.bincount(unit_groups(pd.Series(unit)).astype(int), minlength=64)
    np.testing.assert_array_equal(np.bincount(group, rows, 64), expected)
    assert len(set(unit_groups(pd.Series([None] * 100)))) > 30  # rows of no unit are alone


def test_machines_share_a_directory(files, tmp_path):
    parts, directory = partitions_of(files), tmp_path / "sums"
    plan = make_plan(parts)
    for some in (parts[:1], parts[1:]):
        sum_files(some, plan, directory=directory)
    run = sum_files(parts, Plan.load(directory / "plan.npz"), directory=directory)
    assert (run.n_kept, run.n_summed) == (3, 0)
    assert run.sums.digest == sum_files(parts, plan).sums.digest


def test_a_run_that_was_stopped_goes_on(files, tmp_path):
    parts = partitions_of(files)
    plan = make_plan(parts, binning="equal-mass", n_bins=4)
    directory = tmp_path / "sums"

    def stop(share, message):
        if message.startswith("400 "):
            raise Cancelled

    with pytest.raises(Cancelled):
        sum_files(parts, plan, directory=directory, progress=stop)
    again = Plan.load(directory / "plan.npz")
    assert again.digest == plan.digest
    run = sum_files(parts, again, directory=directory)
    assert run.n_kept >= 1
    assert run.sums.digest == sum_files(parts, plan).sums.digest
    first = next(path for path in directory.iterdir() if path.name != "plan.npz")
    first.write_bytes(first.read_bytes()[:-100])
    assert sum_files(parts, again, directory=directory).n_kept == 2
    pd.read_parquet(files[0]).iloc[:-1].to_parquet(files[0])
    run = sum_files(partitions_of(files), again, directory=directory)
    assert (run.n_kept, run.sums.n_rows) == (2, 1199)


def of_row_groups(files):
    """Return parts of one row group each, as those of large files are of some."""
    parts = partitions_of(files)
    return [part.row_group(k) for part in parts for k in range(len(part.row_groups))]


@pytest.mark.parametrize("row", [0, 170, 499])
def test_a_bad_value_is_told_with_its_file_and_its_row_there(files, row):
    plan = make_plan(partitions_of(files))
    frame = pd.read_parquet(files[2])
    frame.loc[row, "p_yes"] = np.nan
    frame.to_parquet(files[2], row_group_size=150)
    parts = of_row_groups(files)
    assert len(parts) == 9
    there = f"be finite; got a missing value \\(NaN\\) at row {row}"
    with pytest.raises(InputError, match=f"'part-2.parquet' must {there} "):
        sum_files(parts, plan)
    in_all = f"column 'p_yes' of 'part-\\*.parquet' must {there} of 'part-2.parquet'"
    for read in (read_whole, lambda _: sample_rows(parts, 2000)):
        with pytest.raises(InputError, match=in_all):
            read(files)
    with pytest.raises(InputError, match=in_all):
        make_plan(parts)


def test_files_that_are_called_alike_are_told_apart_by_their_folders(files, tmp_path):
    frame = pd.read_parquet(files[1])
    frame.loc[7, "f_b"] = np.inf
    frame.to_parquet(files[1])
    for k, path in enumerate(files):
        (tmp_path / f"day={k}").mkdir()
        path.rename(tmp_path / f"day={k}" / "rows.parquet")
    with pytest.raises(InputError, match=r"'day=\*.parquet' must .* row 7 of 'day=1/rows.parquet'"):
        load(str(tmp_path / "day=*" / "*.parquet"))


def test_columns_are_matched_by_their_names(files):
    parts = partitions_of(files)
    expected = read_whole(files)
    sums = sum_files(parts, make_plan(parts)).sums.digest
    frame = pd.read_parquet(files[1])
    frame[frame.columns[::-1]].to_parquet(files[1], row_group_size=150)
    parts = partitions_of(files)
    np.testing.assert_array_equal(read_whole(files).features, expected.features)
    assert sum_files(parts, make_plan(parts)).sums.digest == sums
    drawn = sample_rows(parts, 2000)
    np.testing.assert_array_equal(drawn.rows.probabilities, expected.probabilities)
    assert drawn.table.column_names == pd.read_parquet(files[0]).columns.to_list()


def test_columns_of_several_kinds(files):
    frame = pd.read_parquet(files[1])
    frame.astype({"f_a": int}).to_parquet(files[1])
    assert sample_rows(partitions_of(files), 2000).rows.features.dtype == np.float64
    frame.astype({"p_no": str}).to_parquet(files[1])
    parts = partitions_of(files)
    kinds = "Field p_no has incompatible types: double vs (large_)?string"
    for work in (make_plan, lambda parts: sample_rows(parts, 2000)):
        with pytest.raises(InputError, match=f"must hold values of one kind .*{kinds}"):
            work(parts)


def test_a_word_that_is_no_split_is_told_with_its_row(files):
    for path in files:
        frame = pd.read_parquet(path).assign(split="test")
        if path == files[1]:
            frame.loc[160, "split"] = "other"
        frame.to_parquet(path, row_group_size=150)
    with pytest.raises(InputError, match=r"'part-1.parquet' must hold.*got 'other' at row 160 "):
        sample_rows(of_row_groups(files), 20, split="evaluation")


def test_unreadable_files_are_named_and_the_others_kept(files, tmp_path, spoil):
    parts, content = partitions_of(files), files[1].read_bytes()
    plan = make_plan(parts)
    said = content.rindex(b"\x16\xd8\x04")  # its 300 rows, among the last that it says
    files[1].write_bytes(content[:said] + b"\x16\x94\x02" + content[said + 3 :])
    assert pq.read_metadata(files[1]).num_rows == 138
    with pytest.raises(InputError, match=r"'part-1.parquet'.*parts of 300 of its 138 rows"):
        partitions_of(files)
    files[1].write_bytes(content)
    spoil(files[1])
    with pytest.raises(InputError, match="part-1.parquet"):
        sum_files(parts, plan, directory=tmp_path / "sums")
    assert len(list((tmp_path / "sums").iterdir())) == 2
    with pytest.raises(InputError, match="fits no file"):
        parquet_files([str(tmp_path / "none-*.parquet")])


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
    for work in (partitions_of, read_whole):
        with pytest.raises(InputError, match="'part-1.parquet' lacks f_b of 'part-0.parquet'"):
            work(files)


def test_every_row_is_as_likely(files):
    every = pd.concat([pd.read_parquet(path) for path in files], ignore_index=True)
    place = {value: row for row, value in enumerate(every["f_a"])}
    parts = partitions_of(files)
    drawn = np.zeros(len(every))
    for seed in range(40):
        rows = sample_rows(parts, 300, random_state=seed).rows
        at = [place[value] for value in rows.features[:, 0]]
        assert len(set(at)) == 300
        assert at == sorted(at)
        drawn[at] += 1
    # 40 draws of a quarter: 10 each, and between files no more than chance (4 standard errors).
    for part in np.split(drawn, [400, 700]):
        assert abs(part.mean() - 10) < 4 * np.sqrt(7.5 / len(part))
    whole = sample_rows(parts, 5000)
    assert len(whole.rows) == whole.n_total
    np.testing.assert_array_equal(whole.rows.features[:, 0], every["f_a"])


def test_rows_of_one_half(files):
    for path in files:
        frame = pd.read_parquet(path)
        frame["split"] = np.where(np.arange(len(frame)) % 3 == 0, "cal", "test")
        frame.to_parquet(path, row_group_size=130)
    parts = partitions_of(files)
    sample = sample_rows(parts, 200, split="calibration")
    assert (len(sample.rows), sample.n_total) == (200, 134 + 100 + 167)
    assert set(sample.rows.split) == {"calibration"}
    frame["split"] = "test"
    frame.to_parquet(files[2])
    with pytest.raises(InputError, match="calibration rows"):
        sample_rows(partitions_of(files[2:]), 10, split="calibration")
