"""Compiled kernels on disk: where they are, and whether they are whole.

Machine code with one bit flipped ends the process or gives wrong numbers, so that each file ends
with a checksum of its content and name.
"""

import contextlib
import hashlib
import importlib.metadata
import os
import platform
import tempfile
import warnings
import zlib
from functools import cache
from itertools import chain
from pathlib import Path

from lore_core.data.atomic_files import user_cache, write_bytes
from lore_core.data.errors import InputError

#: How files of kernels end.
KERNEL = ".kernel"
#: Name of the file that lists a folder's kernels when all are there.
COMPLETE = "complete"
_SOURCES = Path(__file__).resolve().parent
_CHECKSUM = 4


def kernel_folder() -> Path | None:
    """Return the folder of compiled kernels, which may not exist; None if none can be written.

    It is numba's, beside the sources or in the user's cache: the first that is complete, or else
    that can be written. Its name is a hash of what kernels depend on: no update can leave it stale.
    """
    beside = os.environ.get("NUMBA_CACHE_DIR") or _SOURCES / "__pycache__"
    return _first_folder(Path(beside), user_cache())


@cache
def _first_folder(*places: Path) -> Path | None:
    folders = [place / _folder_name() for place in places]
    return next(chain(filter(is_complete, folders), filter(_can_be_written, folders)), None)


def _folder_name() -> str:
    from llvmlite.binding import get_host_cpu_name  # type: ignore[import-untyped]

    owner = [str(_SOURCES), platform.python_version(), get_host_cpu_name()]
    state = hashlib.sha256(importlib.metadata.version("numba").encode())
    for source in sorted(_SOURCES.glob("*.py")):
        state.update(source.read_bytes())
    of_owner = hashlib.sha256(" ".join(owner).encode()).hexdigest()
    return f"lore-lens-{of_owner[:12]}-{state.hexdigest()[:12]}"


def _can_be_written(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(2**16))
    except OSError:
        return False
    return True


def is_complete(folder: Path | None) -> bool:
    """Return whether all kernels are there as they were written."""
    if folder is None or (names := read_sealed(folder / COMPLETE)) is None:
        return False
    return None not in [read_sealed(folder / name) for name in names.decode().split()]


def _sealed(content: bytes, name: str) -> bytes:
    checksum = zlib.crc32(content, zlib.crc32(name.encode()))
    return content + checksum.to_bytes(_CHECKSUM, "little")


def write_sealed(path: Path, content: bytes) -> None:
    """Write a file with its checksum as a whole or, where the disk is full, not at all."""
    with contextlib.suppress(InputError, OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, _sealed(content, path.name))


def read_sealed(path: Path) -> bytes | None:
    """Return what was written; None where nothing is, or what is damaged."""
    try:
        found = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:  # what may not be read
        found = b""
    content = found[:-_CHECKSUM]
    if found and _sealed(content, path.name) == found:
        return content
    _warn_of_damage(path.parent)
    return None


@cache
def _warn_of_damage(folder: Path) -> None:
    warnings.warn(
        f"Compiled kernels in '{folder}' were damaged; they are compiled again (up to 30 s).",
        RuntimeWarning,
        stacklevel=3,
    )
