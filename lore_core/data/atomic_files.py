"""Files that are written as a whole or not at all; the user's cache folder."""

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
    """Yield a temporary path to write to, which replaces ``path`` at the end; a link stays a link.

    On Linux's local disks the temporary file is unnamed and never left behind; elsewhere a killed
    process leaves it. Raises InputError if the directory is missing or not writable.
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
            # Private, so that nothing of that name is overwritten.
            part.touch(exist_ok=False)
            yield part
            _sync(part)
        else:
            written = Path(f"/proc/{os.getpid()}/fd/{unnamed}")
            yield written
            os.fsync(unnamed)
            try:
                # (Python follows the link in /proc only with a directory named.)
                os.link(written, part, src_dir_fd=unnamed, follow_symlinks=True)
            except OSError:  # where /proc is closed, copy it
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
    """Open a file without a name; None where that is impossible, or it could get no name later."""
    if not hasattr(os, "O_TMPFILE"):
        return None
    with contextlib.suppress(OSError):
        return os.open(directory, os.O_TMPFILE | os.O_RDWR, 0o666)
    return None


def _sync(path: Path) -> None:
    """Wait until a file, or a directory's list of files, is on disk."""
    handle = os.open(path, os.O_RDONLY if path.is_dir() or os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file as a whole or not at all, replacing an existing one."""
    with replaced_at_once(path) as part:
        part.write_bytes(content)


def user_cache() -> Path:
    """Return this user's LoRe Lens folder in the system's cache; it may not exist."""
    if sys.platform == "win32":
        users = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        users = "~/Library/Caches"
    else:
        users = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(users).expanduser() / "lore-lens"
