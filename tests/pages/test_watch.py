import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest

from lore_core.mergeable import Batches, make_plan, metrics_of_sums, partitions_of
from pages.shared.header import plain
from pages.watch import looking

PATIENCE = 120


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
def begin(open_page):
    def begin(directory=None, page=None):
        page = page or open_page("watch")
        if not page.app.text_input:
            pytest.skip("paths are offered only on the reader's own machine")
        if directory is not None:
            page.app.text_input(key="watch_path").set_value(str(directory))
        return page.run()

    return begin


@pytest.fixture
def watch(begin):
    page = begin()

    def look(directory):
        return settled(begin(directory, page))

    look.page = page
    return look


def is_at_work(page):
    return any(button.key == "cancel_job" for button in page.app.button)


def settled(page):
    end = time.monotonic() + PATIENCE
    while is_at_work(page):
        assert time.monotonic() < end
        time.sleep(0.05)
        page.run()
    return page


@pytest.fixture
def gate(monkeypatch):
    class Gate:
        def __init__(self):
            self.free, self.rows, self.n_asked = threading.Semaphore(0), [], 0

        def measure(self, sums, *, gamma):
            self.n_asked += 1
            assert self.free.acquire(timeout=PATIENCE)
            self.rows.append(sums.n_rows)
            return metrics_of_sums(sums, gamma=gamma)

        def let(self, count, page):
            before = len(self.rows)
            self.free.release(count)
            end = time.monotonic() + PATIENCE
            while len(self.rows) < before + count or self.is_behind(page):
                assert time.monotonic() < end
                time.sleep(0.05)
                page.run()

        def is_behind(self, page):
            if len(page.app.dataframe) == 0:
                return True
            return n_seen(page) < min(len(self.rows), len(page.app.dataframe[0].value))

    made = Gate()
    monkeypatch.setattr(looking, "metrics_of_sums", made.measure)
    return made


def n_seen(page):
    return int((page.app.dataframe[0].value["rows"] != "…").sum())


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
    page.set("watch_beside", "the one before")
    assert "day-2" in page.figure("watch_before")["layout"]["title"]["text"]
    page.set("watch_batch", "day-2")
    assert "No more than chance shows, p" in page.text


def test_other_directories_are_one_sentence(watch, kept, tmp_path, monkeypatch):
    def said(directory):
        (sentence,) = watch(directory).errors
        return sentence.replace("\\", "")

    assert "does not exist" in said(tmp_path / "nowhere")
    assert "is a file" in said(tmp_path / "day-1.parquet")
    assert "has no plan" in said(tmp_path)
    sums = kept.directory / "day-2.sums.npz"
    whole = sums.read_bytes()
    sums.write_bytes(whole[:2000] + b"?" + whole[2001:])
    assert "'day-2.sums.npz' is damaged" in said(kept.directory)
    assert "give the rows of 'day-2' to lore watch once more." in watch.page.errors[0]
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


def test_batches_fill_in_and_two_readers_share_the_work(begin, kept, gate):
    page = begin(kept.directory)
    assert is_at_work(page)
    assert page.app.dataframe[0].value["batch"].tolist() == kept.names
    assert n_seen(page) == 0
    gate.let(2, page)
    assert n_seen(page) == 2
    assert is_at_work(page)
    assert "None of the first 2 batches shows a significant change" in page.text
    assert plain(f"{kept.names[2]} has not been looked at yet.") in page.text
    other = begin(kept.directory)
    assert is_at_work(other)
    assert n_seen(other) == 2
    page.go("runs")  # who leaves does not lose it
    assert is_at_work(page)
    gate.let(1, other)
    settled(page).go("watch")
    assert not is_at_work(page)
    for shown in (page, settled(other)):
        assert n_seen(shown) == 3
        assert plain(f"by more than chance in {kept.names[2]}.") in shown.text
    assert len(gate.rows) == 3


def test_cancel_keeps_what_was_found_and_goes_on_when_asked(begin, kept, gate):
    page = begin(kept.directory)
    gate.let(1, page)
    end = time.monotonic() + PATIENCE
    while gate.n_asked < 2:
        assert time.monotonic() < end
        time.sleep(0.01)
    page.click("cancel_job")
    gate.free.release()  # it stops at its next step: the batch that is being measured is finished
    settled(page)
    assert "Cancelled. Looked at so far: 2 of 3 batches; what was found stays." in page.text
    assert "nothing else changed" not in page.text
    assert page.errors == []
    assert n_seen(page.run()) == 2
    assert not is_at_work(page)
    page.click("watch_go_on")
    gate.let(1, page)
    assert n_seen(settled(page)) == 3
    assert len(gate.rows) == 3
    assert "Cancelled" not in page.text
    kept.path_of("day-2").rename(kept.path_of("day-11"))  # what is before the others is known
    page.run()
    gate.let(1, page)
    settled(page)
    expected = [f"{of.p_value:.2g}" for of in kept.movement()[1:]]
    shown = page.app.dataframe[0].value["p"][1:]
    assert [f"{float(p.removesuffix(' *')):.2g}" for p in shown] == expected


def test_a_failure_is_said_once_and_not_begun_again(begin, kept, gate, monkeypatch):
    begun = []
    start = looking.start_job
    monkeypatch.setattr(looking, "start_job", lambda *of: (begun.append(of), start(*of))[1])
    gate.free.release(99)
    sums = kept.path_of("day-2")
    whole = sums.read_bytes()
    sums.write_bytes(whole[:2000] + b"?" + whole[2001:])
    for page in (settled(begin(kept.directory)), settled(begin(kept.directory))):
        for _ in range(2):
            (sentence,) = page.errors
            assert "'day-2.sums.npz' is damaged" in sentence.replace("\\", "")
            assert "Looked at so far: 1 of 3 batches." in sentence
            page.run()
    assert len(begun) == 1
    page.app.button(key="watch_go_on").click()
    assert len(settled(page.run()).errors) == 1
    assert len(begun) == 2
    sums.write_bytes(whole)
    assert settled(page.run()).errors == []
    assert n_seen(page) == 3
