import numpy as np
import pandas as pd
import pytest

from lore_core import InputError
from lore_core.mergeable import partitions_of, sample_rows


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
    assert whole.is_all
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
