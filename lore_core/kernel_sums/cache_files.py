"""Files of compiled kernels, each of which ends with a checksum of what is before it.

Machine code with one bit flipped ends the process or gives wrong numbers, so that nothing is loaded
of a file that is not as it was written.
"""

from __future__ import annotations

import contextlib
import shutil
import warnings
import zlib
from pathlib import Path

#: Part of the names of such files, so that numba's own are not taken for damaged.
MARK = ".crc32"
_CHECKSUM = 4


def sealed(content: bytes) -> bytes:
    """Return what a file with this content holds."""
    return content + zlib.crc32(content).to_bytes(_CHECKSUM, "little")


def is_damaged(path: Path) -> bool:
    """Return whether something else is there than what was written; False where nothing is."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return False
    except OSError:  # a directory, or what may not be read
        return True
    return len(content) <= _CHECKSUM or sealed(content[:-_CHECKSUM]) != content


def names(folder: Path) -> list[str]:
    """Return the names of such files in a folder."""
    return sorted(path.name for path in folder.glob(f"*{MARK}.*"))


def remove_damaged(folder: Path) -> None:
    """Remove what is damaged of such files in a folder, and warn of it."""
    for path in [folder / name for name in names(folder)]:
        if is_damaged(path):
            with contextlib.suppress(OSError):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
    warnings.warn(
        f"Compiled kernels in '{folder}' were damaged; they are compiled again (up to 30 s).",
        RuntimeWarning,
        stacklevel=2,
    )
