"""Compile the numba kernels once, with a notice, instead of in the middle of a slider move."""

import atexit
import contextlib
import hashlib
import importlib.metadata
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from lore_core.data.atomic_files import user_cache
from lore_core.kernel_sums.cache_files import is_damaged, names, remove_damaged, sealed, unsealed

_SOURCES = Path(__file__).resolve().parent


def compile_kernels(notify: Callable[[str], None], *, force: bool = False) -> bool:
    """Compile the kernels unless this machine already has them; whether anything was done.

    ``notify`` gets one sentence before and one after. ``force``: even if a stamp says it was done.

    The stamp lies beside numba's cache (or in the user's), is named after the sources, numba and
    the machine, and lists the files: where one is damaged or missing all that lack are compiled
    again.
    """
    name = f"warm-{_state()}"
    if not force and any(_is_true(folder / name) for folder in _stamp_folders()):
        return False
    kept = any(map(_can_be_written, _stamp_folders()))
    notify(f"Compiling the kernels {'once' if kept else 'anew'} (about 30 s) …")
    if not kept:
        # (Read by numba when it is imported; UMAP's own kernels cannot be made without any.)
        passing = tempfile.mkdtemp(prefix="lore-lens-kernels-")
        os.environ["NUMBA_CACHE_DIR"] = passing
        atexit.register(shutil.rmtree, passing, ignore_errors=True)
    started = time.monotonic()
    from lore_core.kernel_sums import warmup  # imports numba: only when needed
    from lore_core.kernel_sums.compiled import cache_folder

    warmup()
    files = [] if (place := cache_folder()) is None else [str(place), *names(place)]
    for folder in _stamp_folders():
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            for old in folder.glob("warm-*"):
                old.unlink()
            (folder / name).write_bytes(sealed("\n".join(files).encode(), name))
            break
    notify(f"Compiled in {time.monotonic() - started:.0f} s.")
    if not kept:
        notify(
            "They are compiled at every start: neither this installation nor your cache folder can "
            "be written. Name a folder that can be in NUMBA_CACHE_DIR."
        )
    return True


def _is_true(stamp: Path) -> bool:
    """Return whether there is a stamp, and what was compiled is there as it was."""
    if is_damaged(stamp) or not stamp.exists():
        return False
    folder, *files = unsealed(stamp.read_bytes()).decode().split("\n")
    paths = [Path(folder, file) for file in files]
    if any(map(is_damaged, paths)):
        remove_damaged(Path(folder))
    return all(path.exists() for path in paths)


def _can_be_written(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(2**16))
    except OSError:
        return False
    return True


def _state() -> str:
    state = hashlib.sha256()
    for source in sorted(_SOURCES.rglob("*.py")):
        state.update(source.read_bytes())
    versions = [importlib.metadata.version("numba"), platform.python_version(), platform.node()]
    state.update(" ".join(versions).encode())
    return state.hexdigest()[:16]


def _stamp_folders() -> list[Path]:
    """Return where the stamp may be: beside numba's cache, or where a user can always write."""
    beside = Path(os.environ.get("NUMBA_CACHE_DIR") or _SOURCES / "__pycache__")
    # One folder an installation, so that two do not remove each other's stamps.
    place = hashlib.sha256(str(_SOURCES).encode()).hexdigest()[:16]
    return [beside, user_cache() / place]
