"""Compile the numba kernels once, with a notice, instead of in the middle of a slider move."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["compile_kernels"]


def compile_kernels(notify: Callable[[str], None], *, force: bool = False) -> bool:
    """Compile the numba kernels unless this machine already has them, and say so.

    Parameters
    ----------
    notify : callable
        Gets one sentence before and one after.
    force : bool
        Compile even if a stamp says it was done.

    Returns
    -------
    bool
        Whether anything was done.

    Notes
    -----
    numba keeps what it compiled beside the sources. The stamp lies in the same folder and names
    the sources, numba and the machine, so it goes when the cache goes and fails when it is stale.
    """
    stamp = _kernel_stamp()
    if stamp.exists() and not force:
        return False
    notify("Compiling the kernels once (about 30 s) …")
    started = time.monotonic()
    from lore_core.kernel_sums import warmup  # imports numba: only when needed

    warmup()
    with contextlib.suppress(OSError):  # read-only installation: numba then caches elsewhere
        for old in stamp.parent.glob("warm-*"):
            old.unlink()
        stamp.parent.mkdir(exist_ok=True)
        stamp.touch()
    notify(f"Compiled in {time.monotonic() - started:.0f} s.")
    return True


def _kernel_stamp() -> Path:
    folder = Path(__file__).resolve().parent / "kernel_sums"
    state = hashlib.sha256()
    for source in sorted(folder.rglob("*.py")):
        state.update(source.read_bytes())
    versions = [importlib.metadata.version("numba"), platform.python_version(), platform.node()]
    state.update(" ".join(versions).encode())
    cache = Path(os.environ.get("NUMBA_CACHE_DIR") or folder / "__pycache__")
    return cache / f"warm-{state.hexdigest()[:16]}"
