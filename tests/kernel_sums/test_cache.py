"""Compiled once, kept on disk, never stale, also beside sources nobody may write to."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

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
    warmup,
)
from lore_core.kernel_sums.cache_files import kernel_folder
from lore_core.kernel_sums.compile_once import compile_kernels

KERNELS = [
    sweep1d.line_sweep, sweep2d.plane_tree, sweep2d.plane_order, sweep2d.plane_join,
    sweep3d.space_tree, sweep3d.space_split, sweep3d.space_collect,
    blocked.block,
]  # fmt: skip


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


# Compiles one kernel; says where its cache is, whether it was used, and exp(-1).
PROGRAM = """
import numpy as np
from lore_core.kernel_sums import sweep1d, laplacian_sums
value = laplacian_sums([0.0], [1.0], [1.0], bandwidth=1.0, n_jobs=1)[0]
kernel = sweep1d.line_sweep
hits = sum(kernel.stats.cache_hits.values())
print("|".join([str(kernel._cache.cache_path), str(hits), repr(float(value))]))
"""


@pytest.fixture
def package(tmp_path):
    source = Path(kernel_sums.__file__).parent
    copy = tmp_path / "site" / "lore_core"
    (copy / "kernel_sums").mkdir(parents=True)
    (copy / "data").mkdir()
    names = ("arrays", "atomic_files", "errors", "validation", "probabilities", "progress")
    files = [*source.glob("*.py"), *(source.parent / "data" / f"{name}.py" for name in names)]
    for file in files:
        shutil.copy(file, copy / file.parent.name / file.name)
    for folder in (copy, copy / "data"):
        (folder / "__init__.py").touch()
    return copy


def run(package, home, before=()):
    environment = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    environment |= {
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "LOCALAPPDATA": str(home / ".cache"),
    }
    done = subprocess.run(
        [*before, sys.executable, "-c", PROGRAM],
        env=environment, cwd=home, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    folder, hits, value = done.stdout.strip().split("|")
    return Path(folder), int(hits), float(value), done.stderr


def test_an_updated_file_is_never_answered_from_the_cache(package, tmp_path):
    """numba alone would: the kernel's own file, sweep1d.py, stays as it was."""
    folder, *first = run(package, tmp_path)
    assert folder.is_relative_to(package)
    assert first == [0, pytest.approx(np.exp(-1.0)), ""]
    assert run(package, tmp_path)[1:] == (1, first[1], "")
    edited = package / "kernel_sums" / "exponential.py"
    text, count = re.subn("p = p \\* r \\+ 1.0\n", "p = p * r + 2.0\n", edited.read_text())
    assert count == 1
    edited.write_text(text)
    _, hits, value, _ = run(package, tmp_path)
    assert hits == 0
    assert value > 1.5 * first[1]


@pytest.mark.skipif(os.name != "posix", reason="Windows has other rules")
def test_what_may_not_be_written_or_read(package, tmp_path):
    before, home = [], tmp_path / "home"
    if os.geteuid() == 0:
        # Without root's right to write and read anywhere a mode binds root too (Linux).
        rights = "-dac_override,-dac_read_search"
        before = ["setpriv", "--bounding-set", rights, "--inh-caps", rights, "--"]
        if not shutil.which(before[0]):
            pytest.skip("root may write to read-only folders, and setpriv is not installed")
    home.mkdir()
    (package / "kernel_sums").chmod(0o555)
    runs = [run(package, home, before) for _ in range(2)]
    for path in runs[0][0].glob("*.kernel"):
        path.chmod(0)
    runs.append(run(package, home, before))
    (package / "kernel_sums").chmod(0o755)
    folders, hits, values, said = zip(*runs, strict=True)
    assert hits == (0, 1, 0)
    assert values == pytest.approx([np.exp(-1.0)] * 3)
    assert len({*folders}) == 1
    assert folders[0].is_relative_to(home)
    assert [text.count(f"Compiled kernels in '{folders[0]}'") for text in said] == [0, 0, 1]


@pytest.fixture
def start(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "first"))
    for variable in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path / "user"))
    source = tmp_path / "small.py"
    source.write_text("def double(x):\n    return 2.0 * x\n")
    function = runpy.run_path(str(source))["double"]

    def begin():
        kernel = compiled.compiled(function)
        assert kernel(3.0) == 6.0
        return sum(kernel.stats.cache_hits.values()) > 0

    return begin


def places(tmp_path):
    return {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*.kernel")}


@pytest.mark.parametrize("where", ["first", "user"])
def test_the_cache_is_where_it_can_be_written_and_where_numba_wants_it(where, start, tmp_path):
    if where == "user":
        (tmp_path / "first").write_text("in the way")
    assert [start() for _ in range(2)] == [False, True]
    assert places(tmp_path) == {where}


@pytest.mark.parametrize("why", ["no folder", "full disk"])
def test_where_nothing_can_be_kept_sums_are_made_all_the_same(why, start, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    if why == "full disk":
        monkeypatch.setattr(Path, "write_bytes", full)
    else:
        (tmp_path / "first").write_text("in the way")
        (tmp_path / "user").write_text("in the way")
    assert [start() for _ in range(2)] == [False, False]
    assert not places(tmp_path)


def _flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 16
    path.write_bytes(content)


DAMAGES = {
    "emptied": lambda path: os.truncate(path, 0),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "noise": lambda path: path.write_bytes(np.random.default_rng(0).bytes(9_000)),
    "one bit": _flip_a_bit,
    "of another kernel": lambda path: (
        cache_files.write_sealed(path.with_name("another"), b"code"),
        path.with_name("another").replace(path),
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_never_loaded_but_made_again(damage, start, tmp_path):
    assert not start()
    (path,) = tmp_path.rglob("*.kernel")
    DAMAGES[damage](path)
    with pytest.warns(RuntimeWarning, match="Compiled kernels in") as said:
        assert not start()
    assert len(said) == 1
    assert start()


def test_kernels_are_compiled_once_or_at_every_start_and_that_is_said(tmp_path, monkeypatch):
    made, in_the_way = [], tmp_path / "in the way"
    in_the_way.write_text("a file")
    monkeypatch.setattr(kernel_sums, "warmup", lambda: made.append(True))

    def compile_in(first, user):
        """Whether it compiled, where the stamp may be in these folders; what was said."""
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(first))
        for variable in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE"):
            monkeypatch.setenv(variable, str(user))
        said = []
        return compile_kernels(said.append), said

    for first in (tmp_path / "cache", in_the_way):
        folders = first, tmp_path / "user"
        has_compiled, said = compile_in(*folders)
        assert has_compiled
        assert said[0] == "Compiling the kernels once (about 30 s) …"
        assert compile_in(*folders) == (False, [])
    assert len(list((tmp_path / "user").rglob("complete"))) == 1
    has_compiled, said = compile_in(in_the_way, in_the_way)
    assert has_compiled
    assert Path(os.environ["NUMBA_CACHE_DIR"]).is_dir()
    assert said[0].startswith("Compiling the kernels anew")
    assert "compiled at every start" in said[-1]
    assert len(made) == 3


def test_damage_and_loss_are_found_before_anything_is_served(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = kernel_folder()
    assert folder.is_relative_to(tmp_path)
    file = folder / "kernel.kernel"
    monkeypatch.setattr(kernel_sums, "warmup", lambda: cache_files.write_sealed(file, b"code"))
    said = []
    assert compile_kernels(said.append)
    assert not compile_kernels(said.append)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.warns(RuntimeWarning, match="were damaged"):
        assert compile_kernels(said.append)
    file.unlink()
    assert compile_kernels(said.append)
    assert not compile_kernels(said.append)
    for damage in ("emptied", "zeros", "noise"):
        DAMAGES[damage](folder / "complete")
        assert compile_kernels(said.append)
        assert not compile_kernels(said.append)


FEW_ROWS = """
import sys
import numpy as np
from lore_core.kernel_sums import laplacian_means
points = np.random.default_rng(0).normal(size=(500, 2))
def means():
    return laplacian_means(points, None, points, bandwidth=[0.01, 1.0]).mean
before = means()
assert "numba" not in sys.modules
import lore_core.kernel_sums.compiled
np.testing.assert_allclose(before, means(), rtol=1e-11, atol=1e-13)
"""


def test_a_few_rows_neither_load_nor_compile_kernels():
    subprocess.run([sys.executable, "-c", FEW_ROWS], check=True, timeout=300)
