"""Compiled once, kept on disk, never stale, also beside sources nobody may write to."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lore_core import kernel_sums
from lore_core.kernel_sums import (
    blocked,
    laplacian_means,
    laplacian_sums,
    sweep1d,
    sweep2d,
    sweep3d,
    underflow,
    warmup,
)

KERNELS = [
    sweep1d.line_sweep, sweep2d.plane_tree, sweep2d.plane_order, sweep2d.plane_join,
    sweep3d.space_tree, sweep3d.space_order, sweep3d.space_split, sweep3d.space_collect,
    blocked.block_within, blocked.block_across, underflow.direct_means,
]  # fmt: skip

# Compiles one kernel; says where its cache is, whether it was used, and exp(-1).
PROGRAM = """
import numpy as np
from lore_core.kernel_sums import sweep1d, laplacian_sums
value = laplacian_sums([0.0], [1.0], [1.0], bandwidth=1.0, n_jobs=1)[0]
kernel = sweep1d.line_sweep
hits = sum(kernel.stats.cache_hits.values())
print("|".join([str(kernel._cache.cache_path), str(hits), repr(float(value))]))
"""


def test_warmup_leaves_nothing_to_compile(rng):
    warmup()
    assert [len(kernel.signatures) for kernel in KERNELS] == [1] * len(KERNELS)
    for d in (1, 2, 3, 5, 10):
        points = rng.normal(size=(3_000 if d < 4 else 70, d)).astype(np.float32)
        points.flags.writeable = False
        ones = np.ones(len(points), dtype=int)
        laplacian_means(points, points[:9] + 1e3, np.ones((9, 2)), bandwidth=[0.1, 1.0])
        laplacian_sums(points, None, ones, bandwidth=np.geomspace(1, 9, 50), exclude_self=True)
    assert [len(kernel.signatures) for kernel in KERNELS] == [1] * len(KERNELS)


@pytest.fixture
def copied_package(tmp_path):
    """A copy of what the sums need, without any cache, and a home of its own."""
    source = Path(kernel_sums.__file__).parent
    package = tmp_path / "site" / "lore_core"
    (package / "kernel_sums").mkdir(parents=True)
    for file in source.glob("*.py"):
        shutil.copy(file, package / "kernel_sums" / file.name)
    (package / "data").mkdir()
    for name in ("arrays.py", "validation.py", "progress.py"):
        shutil.copy(source.parent / "data" / name, package / "data" / name)
    for folder in (package, package / "data"):
        (folder / "__init__.py").touch()
    return package


def _without_roots_right_to_write_anywhere():
    """Return what to put before a command so that a folder's mode binds root too (Linux)."""
    return ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override", "--"]


def _run(package, home, *, before=(), **variables):
    environment = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    environment |= {
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "LOCALAPPDATA": str(home / ".cache"),
    } | variables
    done = subprocess.run(
        [*before, sys.executable, "-c", PROGRAM],
        env=environment, cwd=home, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    folder, hits, value = done.stdout.strip().split("|")
    return Path(folder), int(hits), float(value)


def test_an_updated_file_is_never_answered_from_the_cache(copied_package, tmp_path):
    """numba alone would: the kernel's own file, sweep1d.py, stays as it was."""
    first = _run(copied_package, tmp_path)
    assert first[0].is_relative_to(copied_package)
    assert first[1:] == (0, pytest.approx(np.exp(-1.0)))
    assert _run(copied_package, tmp_path)[1:] == (1, first[2])
    edited = copied_package / "kernel_sums" / "exponential.py"
    text, count = re.subn("p = p \\* r \\+ 1.0\n", "p = p * r + 2.0\n", edited.read_text())
    assert count == 1
    edited.write_text(text)
    hits, value = _run(copied_package, tmp_path)[1:]
    assert hits == 0
    assert value > 1.5 * first[2]


@pytest.mark.parametrize("how", ["mode", "file"])
def test_a_read_only_installation_caches_in_the_users_folder(how, copied_package, tmp_path):
    folder = copied_package / "kernel_sums"
    home = tmp_path / "home"
    home.mkdir()
    before = []
    if how == "mode":
        if not hasattr(os, "geteuid"):
            pytest.skip("Windows has other rules")
        if os.geteuid() == 0:
            before = _without_roots_right_to_write_anywhere()
            if not shutil.which(before[0]):
                pytest.skip("root may write to read-only folders, and setpriv is not installed")
        folder.chmod(0o555)
    else:
        # What everyone, root included, cannot make a folder of.
        (folder / "__pycache__").write_text("in the way")
    try:
        cold = _run(copied_package, home, before=before)
        warm = _run(copied_package, home, before=before)
    finally:
        folder.chmod(0o755)
    assert cold[0].is_relative_to(home)
    assert (cold[1], warm[1]) == (0, 1)
    assert warm[2] == pytest.approx(np.exp(-1.0))


def test_the_cache_goes_where_numba_is_told(copied_package, tmp_path):
    folder = tmp_path / "elsewhere"
    assert _run(copied_package, tmp_path, NUMBA_CACHE_DIR=str(folder))[0].is_relative_to(folder)
    assert _run(copied_package, tmp_path, NUMBA_CACHE_DIR=str(folder))[1] == 1


def test_the_stamp_finds_a_folder_it_may_write_to(tmp_path, monkeypatch):
    from lore_core.kernel_sums import compile_once

    compiled, said = [], []
    monkeypatch.setattr(kernel_sums, "warmup", lambda: compiled.append(True))
    in_the_way = tmp_path / "__pycache__"
    in_the_way.write_text("a file")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(in_the_way))
    for variable in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path / "user"))
    assert compile_once.compile_kernels(said.append) is True
    assert compile_once.compile_kernels(said.append) is False
    assert len(list((tmp_path / "user").rglob("warm-*"))) == len(compiled) == 1


def test_without_any_folder_to_write_to_sums_are_made_all_the_same(copied_package, tmp_path):
    (copied_package / "kernel_sums" / "__pycache__").write_text("in the way")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".cache").write_text("in the way")
    folder, hits, value = _run(copied_package, home)
    assert (str(folder), hits) == ("None", 0)
    assert value == pytest.approx(np.exp(-1.0))


def test_on_a_full_disk_sums_are_made_all_the_same(copied_package, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "def full(*arguments):\n    raise OSError(28, 'No space left on device')\n"
        "import numba.core.caching as c\n"
        "c.IndexDataCacheFile.save = full\n"
    )
    path = f"{copied_package.parent}{os.pathsep}{tmp_path}"
    assert _run(copied_package, tmp_path, PYTHONPATH=path)[2] == pytest.approx(np.exp(-1.0))


def test_compiling_at_every_start_is_said(tmp_path, monkeypatch):
    from lore_core.kernel_sums import compile_once

    said = []
    monkeypatch.setattr(kernel_sums, "warmup", lambda: None)
    in_the_way = tmp_path / "a file"
    in_the_way.write_text("")
    monkeypatch.setattr(compile_once, "_stamp_folders", lambda: [in_the_way])
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    assert compile_once.compile_kernels(said.append) is True
    assert Path(os.environ["NUMBA_CACHE_DIR"]).is_dir()
    assert said[0].startswith("Compiling the kernels anew")
    assert "compiled at every start" in said[-1]
