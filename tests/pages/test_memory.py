"""Memory is given back when no page runs, once for all pages that ran before."""

import sys
from pathlib import Path

import numpy as np
import pytest

from pages.shared import scheduler as memory


def test_the_heap_is_given_back_once_for_many_pages(monkeypatch):
    asked, done = {}, []
    monkeypatch.setattr(memory, "run_when_idle", asked.__setitem__)
    monkeypatch.setattr(memory, "release_pages", lambda: done.append("files"))
    monkeypatch.setattr(memory, "_heap_function", lambda name: lambda *_: done.append(name))
    for _ in range(3):
        memory.trim_memory()
    (trim,) = asked.values()
    assert done == ["files"] * 3
    trim()
    assert done[3:] == ["files", "malloc_trim"]


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_other_heaps_are_left_alone(monkeypatch, system):
    monkeypatch.setattr(sys, "platform", system)
    memory._heap_function("no such function")(0)
    if system != "linux":
        memory._heap_function("malloc_trim")(0)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_was_freed_is_given_back(monkeypatch):
    """Small arrays, each kept by the heap; every other one is freed, so that its end stays."""
    trim = memory._heap_function("malloc_trim")
    if trim(0) is None:
        pytest.skip("no glibc")
    arrays = [np.ones(12_000) for _ in range(2_000)]
    del arrays[::2]

    def held():
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    before = held()
    monkeypatch.setattr(memory, "run_when_idle", lambda key, do: do())
    memory.trim_memory()
    assert before - held() > 50e6
    assert len(arrays) == 1_000
