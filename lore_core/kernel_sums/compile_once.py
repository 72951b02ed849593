"""Compile the kernels once, with a notice, instead of in the middle of a slider move."""

import atexit
import importlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable

from lore_core.kernel_sums.cache_files import (
    COMPLETE,
    KERNEL,
    is_complete,
    kernel_folder,
    write_sealed,
)


def load_kernels() -> None:
    """Load the kernels if they are compiled: sums by numpy, of few rows, differ in the last bit."""
    if is_complete(kernel_folder()):
        importlib.import_module("lore_core.kernel_sums.compiled")


def compile_kernels(notify: Callable[[str], None]) -> bool:
    """Compile the kernels unless this machine already has them; whether anything was done.

    ``notify`` gets one sentence before and one after.
    """
    folder = kernel_folder()
    if is_complete(folder):
        return False
    notify(f"Compiling the kernels {'anew' if folder is None else 'once'} (about 30 s) …")
    if folder is None:
        # (Read by numba when it is imported; UMAP's own kernels cannot be made without any.)
        passing = tempfile.mkdtemp(prefix="lore-lens-kernels-")
        os.environ["NUMBA_CACHE_DIR"] = passing
        atexit.register(shutil.rmtree, passing, ignore_errors=True)
    started = time.monotonic()
    from lore_core.kernel_sums import warmup  # imports numba: only when needed

    warmup()
    if folder is not None:
        names = sorted(path.name for path in folder.glob(f"*{KERNEL}"))
        write_sealed(folder / COMPLETE, "\n".join(names).encode())
        # Those of other versions of this installation are not needed any more.
        for other in folder.parent.glob(f"{folder.name.rpartition('-')[0]}-*"):
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
    notify(f"Compiled in {time.monotonic() - started:.0f} s.")
    if folder is None:
        notify(
            "They are compiled at every start: neither this installation nor your cache folder can "
            "be written. Name a folder that can be in NUMBA_CACHE_DIR."
        )
    return True
