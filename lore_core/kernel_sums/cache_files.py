"""Files of compiled kernels, each with a checksum at its end.

Machine code with one bit flipped ends the process or gives wrong numbers.
"""

import contextlib
import shutil
import stat
import warnings
import zlib
from pathlib import Path

#: Part of the names of such files, so that numba's own are not taken for damaged.
MARK = ".checked"
_CHECKSUM = 4
#: Folders of which it was said that something in them was damaged.
_REPORTED: set[Path] = set()


def sealed(content: bytes, name: str) -> bytes:
    """Return what a file of this name and content holds; under another name it is damaged."""
    checksum = zlib.crc32(content, zlib.crc32(name.encode()))
    return content + checksum.to_bytes(_CHECKSUM, "little")


def unsealed(content: bytes) -> bytes:
    """Return the content of what a file holds."""
    return content[:-_CHECKSUM]


def is_damaged(path: Path) -> bool:
    """Return whether something else is there than what was written; False where nothing is."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for
            return True
        content = path.read_bytes()
    except FileNotFoundError:
        return False
    except OSError:  # what may not be read
        return True
    return len(content) <= _CHECKSUM or sealed(unsealed(content), path.name) != content


def names(folder: Path) -> list[str]:
    """Return the names of such files in a folder."""
    return sorted(path.name for path in folder.glob(f"*{MARK}.*"))


def remove_damaged(folder: Path, also: str = "") -> None:
    """Remove damaged files, and ``also`` if unusable otherwise, from a folder; warn of it once."""
    for path in [folder / name for name in names(folder)]:
        if path.name == also or is_damaged(path):
            with contextlib.suppress(OSError):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
    if folder in _REPORTED:
        return
    _REPORTED.add(folder)
    warnings.warn(
        f"Compiled kernels in '{folder}' were damaged; they are compiled again (up to 30 s).",
        RuntimeWarning,
        stacklevel=2,
    )
