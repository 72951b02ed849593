"""Compiled once, kept on disk, never stale, also beside sources nobody may write to."""

from __future__ import annotations

import itertools
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from lore_core import kernel_sums
from lore_core.kernel_sums import (
    blocked,
    cache_files,
    compiled,
    laplacian_means,
    laplacian_sums,
    sweep1d,
    sweep2d,
    sweep3d,
    underflow,
    warmup,
)
from lore_core.kernel_sums.compile_once import compile_kernels
from lore_core.kernel_sums.compiled import cache_folder

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
    return copy_package(tmp_path)


def copy_package(folder):
    source = Path(kernel_sums.__file__).parent
    package = folder / "site" / "lore_core"
    (package / "kernel_sums").mkdir(parents=True)
    for file in source.glob("*.py"):
        shutil.copy(file, package / "kernel_sums" / file.name)
    (package / "data").mkdir()
    for name in ("arrays.py", "errors.py", "validation.py", "probabilities.py", "progress.py"):
        shutil.copy(source.parent / "data" / name, package / "data" / name)
    for place in (package, package / "data"):
        (place / "__init__.py").touch()
    return package


def _without_roots_right_to_write_anywhere():
    """Return what to put before a command so that a folder's mode binds root too (Linux)."""
    return ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override", "--"]


def _process(package, home, *, before=(), **variables):
    environment = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    environment |= {
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "LOCALAPPDATA": str(home / ".cache"),
    } | variables
    return subprocess.run(
        [*before, sys.executable, "-c", PROGRAM],
        env=environment, cwd=home, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip


def _run(package, home, **options):
    done = _process(package, home, **options)
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


def _flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 16
    path.write_bytes(content)


def _put_a_directory(path):
    path.unlink()
    path.mkdir()
    (path / "file").touch()


DAMAGES = {
    "emptied": lambda path: os.truncate(path, 0),
    "cut": lambda path: os.truncate(path, 1_000),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "noise": lambda path: path.write_bytes(np.random.default_rng(0).bytes(9_000)),
    "one bit": _flip_a_bit,
    "directory": _put_a_directory,
    "unreadable": lambda path: path.chmod(0),
    "of another kernel": lambda path: path.write_bytes(cache_files.sealed(b"code", "another")),
    "something else": lambda path: path.write_bytes(
        cache_files.sealed(pickle.dumps(numba.__version__) + pickle.dumps(7), path.name)
    ),
}
if hasattr(os, "mkfifo"):
    DAMAGES["pipe"] = lambda path: (path.unlink(), os.mkfifo(path))


@pytest.fixture(scope="module")
def compiled_package(tmp_path_factory):
    """A copy of what the sums need whose one kernel is compiled."""
    folder = tmp_path_factory.mktemp("compiled")
    package = copy_package(folder)
    _run(package, folder)
    return package


@pytest.mark.parametrize(
    ("damage", "suffix"),
    [*zip(DAMAGES, itertools.cycle(["nbi", "nbc", "nbc"])), ("something else", "nbi")],
)
def test_what_is_damaged_is_never_loaded_but_made_again(damage, suffix, compiled_package):
    before = []
    if damage == "unreadable" and os.name == "posix" and os.geteuid() == 0:
        before = _without_roots_right_to_write_anywhere()
        before = [
            word.replace("-dac_override", "-dac_override,-dac_read_search") for word in before
        ]
        if not shutil.which(before[0]):
            pytest.skip("root may read everything, and setpriv is not installed")
    home = compiled_package.parent
    cache = compiled_package / "kernel_sums" / "__pycache__"
    for path in list(cache.glob(f"*.{suffix}")):
        DAMAGES[damage](path)
    first, second = (_process(compiled_package, home, before=before) for _ in range(2))
    values = [done.stdout.strip().split("|")[1:] for done in (first, second)]
    assert [hits for hits, _ in values] == ["0", "1"]
    assert float(values[0][1]) == float(values[1][1]) == pytest.approx(np.exp(-1.0))
    assert first.stderr.count("Compiled kernels in") == 1
    assert str(cache) in first.stderr
    assert second.stderr == ""


def test_files_of_another_numba_are_no_damage(compiled_package, tmp_path):
    """They are made again, and nothing is said."""
    (tmp_path / "sitecustomize.py").write_text("import numba\nnumba.__version__ = '0.1'\n")
    path = f"{compiled_package.parent}{os.pathsep}{tmp_path}"
    other = _process(compiled_package, tmp_path, PYTHONPATH=path)
    again = _process(compiled_package, tmp_path)
    assert [done.stdout.split("|")[1] for done in (other, again)] == ["0", "0"]
    assert other.stderr == again.stderr == ""


def test_damage_and_loss_are_found_before_anything_is_served(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    folder = cache_folder()
    assert folder.is_relative_to(tmp_path)
    name = f"kernel{cache_files.MARK}.nbi"

    def compile_one():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(cache_files.sealed(b"code", name))

    monkeypatch.setattr(kernel_sums, "warmup", compile_one)
    said = []
    assert compile_kernels(said.append)
    (file,) = folder.iterdir()
    file.write_bytes(cache_files.sealed(b"code", name)[:-1])
    with pytest.warns(RuntimeWarning, match="were damaged"):
        assert compile_kernels(said.append)
    file.unlink()
    assert compile_kernels(said.append)
    assert not compile_kernels(said.append)
    (stamp,) = tmp_path.glob("warm-*")
    for damage in ("emptied", "zeros", "noise"):
        DAMAGES[damage](stamp)
        assert compile_kernels(said.append)
        assert not compile_kernels(said.append)


def test_of_two_processes_that_save_at_once_none_gets_the_kernel_of_the_other(tmp_path):
    one, two = (compiled._CheckedFiles(str(tmp_path), "kernel", "stamp") for _ in range(2))
    save_index = one._save_index

    def save_meanwhile(index):
        save_index(index)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(two, "_load_index", dict)  # as it was before
            two.save("key of two", "code of two")

    one._save_index = save_meanwhile
    one.save("key of one", "code of one")
    assert one.load("key of two") == "code of two"
    assert one.load("key of one") in (None, "code of one")
    one._save_index = save_index
    one.save("key of one", "code of one")
    assert [one.load(f"key of {name}") for name in ("one", "two")] == ["code of one", "code of two"]
    assert len(list(tmp_path.glob("*.nbc"))) == 2
