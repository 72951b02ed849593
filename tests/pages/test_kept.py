"""What the server keeps, and for how long."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from pages.shared import store as store_module
from pages.shared.loaded import DEMO, Loaded, bytes_of
from pages.shared.store import Kept


def test_data_are_kept_by_their_bytes(made):
    small, large = Loaded(made(n=100), "a"), Loaded(made(n=1000), "b")
    assert bytes_of(large) > 9 * bytes_of(small)
    assert bytes_of(Loaded(made(n=1000), DEMO)) == 0
    kept: Kept[Loaded] = Kept(15 * bytes_of(small), bytes_of)
    kept.put("demo", Loaded(made(n=100), DEMO))
    for number in range(8):
        kept.put(number, small)
    assert all(kept.get(number) is small for number in range(8))
    kept.put("one", large)
    kept.put("two", large)
    assert kept.get("one") is None  # used longest ago, but for the small ones before it
    assert kept.get("two") is large
    assert kept.get("demo") is not None


def test_nothing_is_kept_without_end(made, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(store_module.time, "monotonic", lambda: now[0])
    kept: Kept[int] = Kept(5)
    kept.put("a", 1)
    now[0] = 100_000.0
    kept.put("b", 2)
    assert kept.get("a") is None
    now[0] = 170_000.0
    assert kept.get("b") == 2
    now[0] = 300_000.0
    assert kept.get("b") is None  # though nobody came in between


def test_a_link_to_data_of_others_lives_an_hour(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(store_module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(store_module, "answers_this_machine_only", lambda: False)
    kept: Kept[int] = Kept(5)
    kept.put("a", 1)
    now[0] = 3_500.0
    kept.use("a")  # a page that shows them runs
    now[0] = 7_000.0
    assert kept.get("a") == 1
    now[0] = 11_000.0
    assert kept.get("a") is None


def write(path, n):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([2, 1], n)
    np.savez(path, probs=probs, labels=rng.integers(0, 2, n), features=rng.normal(size=(n, 3)))


@pytest.mark.parametrize("way", ["same reader", "by link"])
def test_a_file_that_changed_on_disk_is_said(open_page, tmp_path, monkeypatch, way):
    path = tmp_path / "model.npz"
    write(path, 120)
    argv = ["app.py", "--data-root", "/", "--data", str(path)]
    page = open_page("data", arguments=argv)
    link = page.app.query_params["data"]
    page.run()
    assert "changed on disk" not in page.text
    write(path, 140)
    os.utime(path, ns=(1, 1))
    if way == "by link":
        page = open_page("data", data=link if isinstance(link, str) else link[0], arguments=argv)
    else:
        page.run()
    assert "model.npz changed on disk since it was read" in page.text.replace("\\", "")
    assert "120 rows" in page.text
    page.run()
    assert "changed on disk" not in page.text  # once
    assert "140 rows" in open_page("data", arguments=argv).text
    assert sys.argv == argv


def test_a_file_that_was_removed_is_said(open_page, tmp_path):
    path = tmp_path / "model.npz"
    write(path, 120)
    page = open_page("data", arguments=["app.py", "--data-root", "/", "--data", str(path)])
    path.unlink()
    page.run()
    assert "model.npz was removed since it was read" in page.text.replace("\\", "")
    assert "read it again" not in page.text
    assert "120 rows" in page.text
