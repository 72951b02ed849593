"""Files that are written as a whole or not at all; the user's cache folder."""

import contextlib
import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

from lore_core.data.errors import InputError


@contextlib.contextmanager
def replaced_at_once(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces ``path`` at the end; a link stays a link.

    A killed process leaves the temporary file, which is hidden. Raises InputError if the directory
    is missing or not writable.
    """
    target = Path(path).expanduser().resolve()
    if not target.parent.is_dir():
        raise InputError(f"the directory of '{path}' must exist; create '{target.parent}' first.")
    if target.is_dir():
        raise InputError(f"'{path}' must be the name of a file; it is a directory.")
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        # Private, so that nothing of that name is overwritten.
        part.touch(exist_ok=False)
        yield part
        _sync(part)
        part.replace(target)
        if os.name == "posix":
            _sync(target.parent)
    except OSError as error:
        raise InputError(f"'{path}' must be writable; got {error.strerror or error}.") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


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
