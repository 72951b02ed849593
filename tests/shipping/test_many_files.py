import os

import numpy as np
import pandas as pd
import pytest

from lore_core import InputError, TemperatureScaling, load
from lore_core.shipping.files import recalibrate_file, recalibrate_files


@pytest.fixture
def sources(tmp_path):
    rng = np.random.default_rng(0)
    folder = tmp_path / "in"
    folder.mkdir()
    for k in range(3):
        p = rng.uniform(0.05, 0.95, 120)
        frame = pd.DataFrame({"p_no": 1 - p, "p_yes": p, "f_a": rng.normal(size=120)})
        frame["label"] = np.where(rng.random(120) < p**2, "yes", "no")
        frame.to_parquet(folder / f"part-{k}.parquet")
    return sorted(folder.iterdir())


@pytest.fixture
def model(sources, tmp_path):
    path = tmp_path / "m.lore"
    TemperatureScaling().fit(load(sources[0])).save(path)
    return path


def test_each_is_what_it_is_alone(sources, model, tmp_path):
    alone, out = tmp_path / "alone.parquet", tmp_path / "out"
    recalibrate_file(model, sources[1], alone)
    done = recalibrate_files(model, sources, out, chunk_rows=50)
    assert (done.n_rows, done.n_written, done.n_kept) == (360, 3, 0)
    pd.testing.assert_frame_equal(pd.read_parquet(out / "part-1.parquet"), pd.read_parquet(alone))
    assert recalibrate_files(model, sources, out).n_kept == 3
    os.utime(sources[0], (0, 0))
    assert recalibrate_files(model, sources, out).n_written == 1
    assert recalibrate_files(model, sources, out, suffix="_new").n_written == 3
    pd.read_parquet(sources[2]).to_parquet(out / "part-2.parquet")
    assert recalibrate_files(model, sources, out, suffix="_new").n_written == 1


def test_a_bad_file_is_named_and_the_others_kept(sources, model, tmp_path):
    frame = pd.read_parquet(sources[1])
    frame.loc[3, "p_yes"] = np.nan
    frame.to_parquet(sources[1])
    out = tmp_path / "out"
    with pytest.raises(InputError, match=r"part-1\.parquet.*row 3"):
        recalibrate_files(model, sources, out)
    assert [path.name for path in out.iterdir()] == ["part-0.parquet"]
    with pytest.raises(InputError, match="two of the files"):
        recalibrate_files(model, [sources[0], sources[0]], out)
