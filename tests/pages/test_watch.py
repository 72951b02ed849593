import sys

import numpy as np
import pandas as pd
import pytest

from lore_core import demo
from lore_core.comparison import conclude_batches
from lore_core.mergeable import Batches, make_plan, partitions_of
from pages.shared.header import plain
from pages.watch.looking import LEVEL


@pytest.fixture
def kept(tmp_path):
    """Three batches, of which the last is overconfident on one side; a name is no Markdown."""
    rng = np.random.default_rng(1)
    paths = []
    for name in ("day-1", "day-2", "day-10 ![x](y)"):
        p, z = rng.uniform(0.02, 0.98, 1500), rng.normal(size=(1500, 2))
        truth = np.where(name.startswith("day-10") & (z[:, 0] > 0), 1 - p, p)
        frame = pd.DataFrame({"p_no": 1 - p, "p_yes": p, "f_a": z[:, 0], "f_b": z[:, 1]})
        frame["label"] = np.where(rng.random(1500) < truth, "yes", "no")
        paths.append(tmp_path / f"{name}.parquet")
        frame.to_parquet(paths[-1])
    batches = Batches.begun(tmp_path / "kept", make_plan(partitions_of(paths[:2]), n_bins=5))
    batches.add(paths)
    return batches


@pytest.fixture
def watch(open_page):
    return open_page("watch")


@pytest.fixture
def look_at(watch):
    def look(directory):
        if "Directory" not in watch.app.button_group(key="watch_from").options:
            pytest.skip("paths are offered only on the reader's own machine")
        return watch.set("watch_from", "Directory").set("watch_path", str(directory))

    return look


def headline(page):
    return page.app.info[0].value.replace("\\", "").replace("\N{NO-BREAK SPACE}", " ")


def written(rows, folder):
    """Write the days of a sample as one table each, without the column that names the day."""
    names = rows.metadata["day"].to_numpy()
    for day in np.unique(names):
        some = rows.rows(names == day)
        table = some.metadata.drop(columns="day").assign(
            label=[some.class_name(k) for k in some.labels],
            prediction=[some.class_name(k) for k in some.predictions],
            confidence=some.confidence,
            **{f"f_{k}": column for k, column in enumerate(some.features.T)},
        )
        table.to_csv(folder / f"{day}.csv", index=False)
    return folder


def test_the_sample_is_one_click_and_names_the_planted_change(watch):
    assert "lore watch sums" in watch.app.get("code")[0].value
    watch.set("watch_from", "Sample")
    assert watch.errors == []
    rows = demo.batches()
    since = (rows.metadata["day"] >= "day-07") & (rows.metadata["weather"] == "rain")
    gap = 100 * (rows.confidence - rows.outcome)[since.to_numpy()].mean()
    start = f"Since day-07 overconfident by {gap:.0f} points on {since.sum():,} rows with weather"
    assert headline(watch).startswith(start)
    (listed,) = [table for table in watch.tables if "which rows" in table]
    assert listed["which rows"][0] == "rows with weather rain"
    scene = watch.sent("watch_change")
    assert scene["scale"]["limit"] < 1
    assert 0 < scene["vivid"].mean() < 255  # parts are pale
    error = watch.sent("watch_change")["error"].astype(float)
    assert error[error > -128].mean() > 0


def test_uploads_and_a_directory_of_tables_are_batches(open_page, watch, look_at, tmp_path):
    folder = written(demo.batches(3, 700, changed=3, overconfidence=0.4), tmp_path)
    files = [(path.name, path.read_bytes()) for path in folder.iterdir()]
    watch.set("watch_from", "Upload").upload(*files[::-1])
    assert watch.errors == []
    sentence = headline(watch)
    assert sentence.startswith("Since day-03 overconfident by")
    assert "rows with weather rain" in sentence
    again = open_page("watch")
    watch.app = again.app
    assert headline(look_at(folder)) == sentence


def test_sums_are_those_of_the_command(watch, look_at, kept):
    look_at(kept.directory)
    assert watch.errors == []
    expected = kept.movement()
    sentence = headline(watch)
    assert sentence == plain(conclude_batches(kept, expected, LEVEL).sentence).replace(
        "\\", ""
    ).replace("\N{NO-BREAK SPACE}", " ")
    assert kept.names[2] in sentence
    (places,) = [table for table in watch.tables if "where" in table]
    assert places["rows of the batch"][0] == f"{expected[2].change.places['rows_after'][0]:,.0f}"
    watch.app.query_params["watch_tab"] = "All batches"
    watch.run()
    numbers = watch.table("batch", "p")
    shown = [float(p.removesuffix(" *")) for p in numbers["p"][1:]]
    assert shown == [float(f"{of.p_value:.2g}") for of in expected[1:]]
    assert numbers["p"].str.endswith("*").tolist() == [False, False, True]


def test_other_directories_are_one_sentence(watch, look_at, kept, tmp_path, monkeypatch):

    def said(directory):
        (sentence,) = look_at(directory).errors
        return sentence.replace("\\", "")

    assert "No such file" in said(tmp_path / "nowhere")
    assert "is a file" in said(tmp_path / "day-1.parquet")
    (tmp_path / "nothing").mkdir()
    assert "has no plan" in said(tmp_path / "nothing")
    sums = kept.directory / "day-2.sums.npz"
    whole = sums.read_bytes()
    sums.write_bytes(whole[:2000] + b"?" + whole[2001:])
    assert "'day-2.sums.npz' is damaged" in said(kept.directory)
    assert "give the rows of 'day-2' to lore watch once more." in watch.errors[0]
    np.savez(sums, numbers=np.zeros(3))
    assert "no file of sums" in said(kept.directory)
    other = Batches.begun(
        tmp_path / "other", make_plan(partitions_of([tmp_path / "day-1.parquet"]), n_bins=4)
    )
    other.add([tmp_path / "day-2.parquet"])
    sums.write_bytes((other.directory / sums.name).read_bytes())
    assert "on the map and in the bins" in said(kept.directory)
    (kept.directory / "plan.npz").write_bytes(b"no archive")
    assert "'plan.npz' is damaged" in said(kept.directory)
    monkeypatch.setattr(sys, "argv", ["app.py", "--data-root", str(tmp_path / "kept")])
    assert "lies outside" in said(tmp_path)
    (kept.directory / "plan.npz").unlink()
    (kept.directory / "plan.npz").symlink_to(other.directory / "plan.npz")
    assert "lies outside" in said(kept.directory)
