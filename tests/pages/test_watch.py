"""The Watch page: what the command keeps, shown; what it says of other directories."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from lore_core.mergeable import Batches, make_plan, partitions_of
from pages.shared.header import plain


@pytest.fixture
def kept(tmp_path):
    """Three batches, of which the last promises too much on one side; a name is no Markdown."""
    rng = np.random.default_rng(1)
    paths = []
    for name in ("day-1", "day-2", "day-10 ![x](y)"):
        p, z = rng.uniform(0.02, 0.98, 1500), rng.normal(size=(1500, 2))
        told = np.where(name.startswith("day-10") & (z[:, 0] > 0), 1 - p, p)
        frame = pd.DataFrame({"p_no": 1 - p, "p_yes": p, "f_a": z[:, 0], "f_b": z[:, 1]})
        frame["label"] = np.where(rng.random(1500) < told, "yes", "no")
        paths.append(tmp_path / f"{name}.parquet")
        frame.to_parquet(paths[-1])
    batches = Batches.begun(tmp_path / "kept", make_plan(partitions_of(paths[:2]), n_bins=5))
    batches.add(paths)
    return batches


@pytest.fixture
def watch(open_page):
    page = open_page("watch")
    if not page.app.text_input:
        pytest.skip("paths are offered only on the reader's own machine")

    def look(directory):
        page.app.text_input(key="watch_path").set_value(str(directory))
        return page.run()

    look.page = page
    return look


def test_batches_are_those_of_the_command(watch, kept):
    assert "lore watch kept" in watch.page.app.get("code")[0].value
    page = watch(kept.directory)
    assert page.errors == []
    expected = kept.movement()
    numbers, places = (frame.value for frame in page.app.dataframe)
    assert numbers["batch"].tolist() == kept.names
    shown = [float(p.removesuffix(" *")) for p in numbers["p"][1:]]
    assert shown == [float(f"{of.p_value:.2g}") for of in expected[1:]]
    assert numbers["p"].str.endswith("*").tolist() == [False, False, True]
    assert plain(f"by more than chance in {kept.names[2]}.") in page.text
    assert places["rows of the batch"][0] == f"{expected[2].change.places['rows_after'][0]:,.0f}"
    assert page.figures == ["watch_movement", "watch_before", "watch_batch_map"]
    before, own = (page.figure(key)["layout"] for key in page.figures[1:])
    for axis in ("xaxis", "yaxis"):
        assert before[axis]["range"] == own[axis]["range"]
    assert "2 batches before it" in before["title"]["text"]
    page.app.button_group(key="watch_beside").set_value("the one before")
    page.run()
    assert "day-2" in page.figure("watch_before")["layout"]["title"]["text"]
    page.app.selectbox(key="watch_batch").set_value("day-2")
    page.run()
    assert "No more than chance shows, p" in page.text


def test_other_directories_are_one_sentence(watch, kept, tmp_path, monkeypatch):
    def said(directory):
        (sentence,) = watch(directory).errors
        assert watch.page.figures == []
        return sentence.replace("\\", "")

    assert "does not exist" in said(tmp_path / "nowhere")
    assert "is a file" in said(tmp_path / "day-1.parquet")
    assert "has no plan" in said(tmp_path)
    sums = kept.directory / "day-2.sums.npz"
    whole = sums.read_bytes()
    sums.write_bytes(whole[:2000] + b"?" + whole[2001:])
    assert "'day-2.sums.npz' is damaged" in said(kept.directory)
    sums.write_bytes((kept.directory / "plan.npz").read_bytes())
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
