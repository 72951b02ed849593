"""Files that are there as a whole or not at all; where what can be made again is kept."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from lore_core.data.errors import InputError


@contextlib.contextmanager
def replaced_at_once(path: str | Path) -> Iterator[Path]:
    """Give a temporary path to write to, and put it in the place of ``path`` at the end.

    A link stays a link; what it points to is replaced. Where the system can (Linux, local disks)
    the temporary file has no name, and is gone however the process ends. Else it is hidden in the
    same directory, gone if the block raises, and stays behind if the process is killed. ``path`` is
    what it was then. Raises InputError if the directory does not exist or cannot be written.
    """
    target = Path(path).expanduser().resolve()
    if not target.parent.is_dir():
        raise InputError(f"the directory of '{path}' must exist; create '{target.parent}' first.")
    if target.is_dir():
        raise InputError(f"'{path}' must be the name of a file; it is a directory.")
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    unnamed = _unnamed(target.parent)
    try:
        if unnamed is None:
            # Of one's own making, so that nothing of that name is overwritten.
            part.touch(exist_ok=False)
            yield part
            _sync(part)
        else:
            written = Path(f"/proc/{os.getpid()}/fd/{unnamed}")
            yield written
            os.fsync(unnamed)
            try:
                # (With a directory named, for only then Python follows the link in /proc.)
                os.link(written, part, src_dir_fd=unnamed, follow_symlinks=True)
            except OSError:  # where /proc is closed, it gets its name as a copy
                shutil.copyfile(written, part)
                _sync(part)
        part.replace(target)
        if os.name == "posix":
            _sync(target.parent)
    except OSError as error:
        raise InputError(f"'{path}' must be writable; got {error.strerror or error}.") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        if unnamed is not None:
            os.close(unnamed)


def _unnamed(directory: Path) -> int | None:
    """Open a file that is in no directory; None where there can be none, or it gets no name."""
    if not hasattr(os, "O_TMPFILE"):
        return None
    with contextlib.suppress(OSError):
        return os.open(directory, os.O_TMPFILE | os.O_RDWR, 0o666)
    return None


def _sync(path: Path) -> None:
    """Wait until a file, or a directory's list of files, is on the disk."""
    handle = os.open(path, os.O_RDONLY if path.is_dir() or os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file as a whole or not at all.

    ``path``: where to; an existing file is replaced.
    """
    with replaced_at_once(path) as part:
        part.write_bytes(content)


def user_cache() -> Path:
    """Return this user's folder of LoRe Lens below the system's cache folder; it may not exist."""
    if sys.platform == "win32":
        users = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        users = "~/Library/Caches"
    else:
        users = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(users).expanduser() / "lore-lens"
